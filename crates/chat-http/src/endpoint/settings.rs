//! `/settings`: what people change of their own account, and how they like things.

use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::{PasswordHash, User, check_password};
use chat_core::people::account;
use chat_core::people::address::{self, EmailChangeRequest};
use chat_core::people::password_reset;
use chat_core::people::personal::preference::{self, PreferenceChange, PreferenceScope};
use chat_core::permission::access;
use chat_core::permission::administer::AccountError;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::endpoint::invites::fresh_secret;
use crate::endpoint::user_settings_defaults::chosen;
use crate::error::Fault;
use crate::params::{ParamFault, Params, Reader, Text};
use crate::password::{self, Claim};
use crate::routes::{Routes, nothing, patch};

pub(crate) fn routes() -> Routes {
    let update = || endpoint(update).says("Change the caller's account and preferences.", nothing);
    Routes::of("users")
        .api("/settings", patch(update()))
        // Older clients know an address for each part, and send it nothing else.
        .api("/settings/display", patch(update()))
        .api("/settings/notifications", patch(update()))
}

/// What of the account shall be otherwise. What is empty stays as it is: existing clients send whole forms.
///
/// An address is the caller's once they opened the link in the letter that is sent there.
struct Update {
    email: Option<String>,
    full_name: Option<String>,
    timezone: Option<String>,
    preferences: Vec<PreferenceChange>,
    old_password: String,
    new_password: Option<String>,
}

impl Params for Update {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let filled = |text: &String| !text.is_empty();
        Ok(Self {
            email: given.optional::<Text>("email")?.filter(filled),
            full_name: given.optional::<Text>("full_name")?.filter(filled),
            timezone: given.optional::<Text>("timezone")?.filter(filled),
            preferences: chosen(given, PreferenceScope::Own)?,
            old_password: given.or::<Text>("old_password", String::new())?,
            new_password: given.optional::<Text>("new_password")?.filter(filled),
        })
    }
}

/// Changes the caller's name, time zone, preferences and password, together or not at all.
async fn update(call: Call<Caller>, wish: Update) -> Result<Answer, Fault> {
    access::require_human(&call.who.user)?;
    let password_hash = match wish.new_password {
        Some(password) => Some(new_hash(&call, wish.old_password, password).await?),
        None => None,
    };
    let secret = fresh_secret(&call.app)?;
    let base_url = &call.app.settings.base_url;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let mut user = User::clone(call.who.again(realm)?);
        preference::choose(realm, &user, &wish.preferences, commit)?;
        if let Some(timezone) = &wish.timezone {
            user = account::set_timezone(&user, timezone, commit)?;
        }
        if let Some(full_name) = &wish.full_name {
            account::rename(&user, full_name, commit)?;
        }
        if let Some(address) = &wish.email {
            address::ask(realm, &user, &EmailChangeRequest { address, secret: &secret, base_url }, commit)?;
        }
        if let Some(hash) = &password_hash {
            // The browser that changes it stays signed in.
            let current = call.who.secret.session();
            password_reset::set_password(realm, user.id, Some(hash.clone()), current, commit);
        }
        Ok(())
    };
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}

/// Returns the hash of the new password, for who knows the old one. A guess counts as one at the login does.
async fn new_hash(call: &Call<Caller>, old: String, new: String) -> Result<PasswordHash, Fault> {
    let (app, address) = (&call.app, call.who.user.email_key());
    check_password(&new).map_err(AccountError::from)?;
    let claim = Claim { account: &address, user_id: Some(call.who.id()), from: call.from };
    password::check(app, claim, old).await?.ok_or(AccountError::WrongPassword)?;
    Ok(app.passwords.hash(new).await?)
}
