//! `/settings`: what people change of their own account, and how they like things.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::{PasswordHash, User, check_password_strength};
use chat_core::people::account;
use chat_core::people::email_change::{self, EmailChangeRequest};
use chat_core::people::password_reset;
use chat_core::people::personal_settings::preferences::{self, PreferenceChange, PreferenceScope};
use chat_core::permission::access;
use chat_core::permission::account_administration::AccountChangeError;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::invites::fresh_secret;
use crate::endpoint::user_settings_defaults::chosen;
use crate::error::ApiError;
use crate::params::{EndpointParams, ParamError, ParamReader, TextParam};
use crate::password::{self, PasswordAttempt};
use crate::routes::{Routes, no_members, patch};

pub(crate) fn routes() -> Routes {
    let update = || endpoint(update).documented("Change the caller's account and preferences.", no_members);
    Routes::of("users")
        .api("/settings", patch(update()))
        // Older clients know an address for each part, and send it nothing else.
        .api("/settings/display", patch(update()))
        .api("/settings/notifications", patch(update()))
}

/// What of the account shall be otherwise. What is empty stays as it is: existing clients send whole forms.
///
/// An address is the caller's once they opened the link in the letter that is sent there.
struct UpdateSettingsParams {
    email: Option<String>,
    full_name: Option<String>,
    timezone: Option<String>,
    preferences: Vec<PreferenceChange>,
    old_password: String,
    new_password: Option<String>,
}

impl EndpointParams for UpdateSettingsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let filled = |text: &String| !text.is_empty();
        Ok(Self {
            email: reader.optional::<TextParam>("email")?.filter(filled),
            full_name: reader.optional::<TextParam>("full_name")?.filter(filled),
            timezone: reader.optional::<TextParam>("timezone")?.filter(filled),
            preferences: chosen(reader, PreferenceScope::Own)?,
            old_password: reader.optional_or::<TextParam>("old_password", String::new())?,
            new_password: reader.optional::<TextParam>("new_password")?.filter(filled),
        })
    }
}

/// Changes the caller's name, time zone, preferences and password, together or not at all.
async fn update(
    call: ApiCall<AuthenticatedCaller>,
    params: UpdateSettingsParams,
) -> Result<ApiResponsePayload, ApiError> {
    access::require_human(&call.caller.user)?;
    let password_hash = match params.new_password {
        Some(password) => Some(new_hash(&call, params.old_password, password).await?),
        None => None,
    };
    let secret = fresh_secret(&call.app)?;
    let base_url = &call.app.settings.base_url;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let mut user = User::clone(call.caller.account_in_realm(realm)?);
        preferences::change_preferences(realm, &user, &params.preferences, commit)?;
        if let Some(timezone) = &params.timezone {
            user = account::set_timezone(&user, timezone, commit)?;
        }
        if let Some(full_name) = &params.full_name {
            account::rename_user(&user, full_name, commit)?;
        }
        if let Some(address) = &params.email {
            email_change::request_email_change(
                realm,
                &user,
                &EmailChangeRequest { address, secret: &secret, base_url },
                commit,
            )?;
        }
        if let Some(hash) = &password_hash {
            // The browser that changes it stays signed in.
            let current = call.caller.secret.session_hash();
            password_reset::set_password(realm, user.id, Some(hash.clone()), current, commit);
        }
        Ok(())
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

/// Returns the hash of the new password, for who knows the old one. A guess counts as one at the login does.
async fn new_hash(call: &ApiCall<AuthenticatedCaller>, old: String, new: String) -> Result<PasswordHash, ApiError> {
    let (app, address) = (&call.app, call.caller.user.email_key());
    check_password_strength(&new).map_err(AccountChangeError::from)?;
    let claim = PasswordAttempt { account: &address, user_id: Some(call.caller.user_id()), from: call.from };
    password::check(app, claim, old).await?.ok_or(AccountChangeError::WrongPassword)?;
    Ok(app.passwords.hash(new).await?)
}
