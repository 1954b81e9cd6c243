//! `/users`: who there is, and what administrators and people themselves do to accounts.

use std::sync::Arc;

use chat_core::id::{ChannelId, UserId};
use chat_core::log::commit::RealmCommit;
use chat_core::messages::narrow::{Anchor, MessageSelection, MessageWindow};
use chat_core::model::address_visibility;
use chat_core::model::role::Role;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::{User, check_password};
use chat_core::people::account::{self, NewUser};
use chat_core::people::profile::ProfileValue as Reply;
use chat_core::permission::access;
use chat_core::permission::administer::{self, AccountError};
use chat_core::wire::{self, UserFields};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::describe::objects;
use crate::endpoint::fetch_api_key::new_key;
use crate::endpoint::profile_fields::{Answers, answered};
use crate::error::Fault;
use crate::params::{Json, Listed, Numbers, ParamFault, Params, Reader, Text};
use crate::routes::{Routes, get, nothing, post};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    const NAMED: &[(&str, &str)] = &[("user_id", "The user's number or address.")];
    let all = get(endpoint(list).says("List all users, closed accounts too.", listed))
        .post(endpoint(create).says("Make an account of a member.", || vec![has("user_id", Schema::integer())]));
    let own = get(endpoint(me).says("Describe the caller.", oneself))
        .delete(endpoint(leave).says("Close the caller's own account.", nothing));
    let key = || vec![has("api_key", Schema::string())];
    let one = get(endpoint(one).says("Describe a user.", || vec![has("user", Schema::named("User"))]).by(NAMED))
        .patch(endpoint(update).says("Change a user's name, role and answers to profile fields.", nothing))
        .delete(endpoint(deactivate).says("Close a person's account.", nothing));
    Routes::of("users")
        .api("/users", all)
        .api("/users/me", own)
        .api("/users/me/api_key/regenerate", post(endpoint(regenerate_key).says("Give the caller another key.", key)))
        .api("/users/{user_id}", one)
        .api("/users/{user_id}/reactivate", post(endpoint(reactivate).says("Reopen an account.", nothing)))
}

/// How users are shown.
struct Shown(UserFields);

impl Params for Shown {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self(UserFields {
            client_gravatar: given.or::<Json<bool>>("client_gravatar", true)?,
            profile_data: given.or::<Json<bool>>("include_custom_profile_fields", false)?,
            is_active: true,
            address: false,
        }))
    }
}

/// All users, closed accounts too, in the order of their numbers.
async fn list(call: Call<Caller>, Shown(form): Shown) -> Result<Answer, Fault> {
    let realm = &call.who.realm;
    let mut users: Vec<_> = realm.users().collect();
    users.sort_unstable_by_key(|user| user.id);
    let shown = |user: &Arc<User>| wire::user(realm, user, form.told_to(&call.who.user, user));
    let members: Vec<Value> = users.into_iter().map(shown).collect();
    Answer::of(&json!({"members": members}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("members", Schema::list(Schema::named("User")))]
}

/// A user by their number, or by their address.
async fn one(call: Call<Caller>, Shown(form): Shown) -> Result<Answer, Fault> {
    let (realm, named) = (&call.who.realm, call.path_text("user_id")?);
    let user = match call.path_id("user_id") {
        Ok(id) => realm.user(UserId(id)),
        Err(_) => address_visibility::find_user(realm, &call.who.user, named),
    };
    let user = user.ok_or(AccountError::NoSuchUser)?;
    Answer::of(&json!({"user": wire::user(realm, user, form.told_to(&call.who.user, user))}))
}

/// Returns the caller, with the number of the last message they may have; -1 when there is none.
async fn me(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let Caller { user, realm, .. } = &call.who;
    let newest = MessageWindow { anchor: Anchor::Newest, before: 1, after: 0, include_anchor: true };
    let page = call.app.messages.window(&MessageSelection::new(realm, user, Vec::new()), newest).await?;
    let newest_id = page.messages.last().map_or(-1, |(message, _)| message.id.0);
    let form = UserFields { client_gravatar: false, profile_data: true, is_active: true, address: true };
    let mut shown = wire::user(realm, user, form);
    if let Value::Object(members) = &mut shown {
        members.insert("max_message_id".to_owned(), newest_id.into());
    }
    Answer::of(&shown)
}

/// Returns the members of the response.
fn oneself() -> Vec<Member> {
    objects::user().into_iter().chain([has("max_message_id", Schema::integer())]).collect()
}

/// An account to be made.
struct Creation {
    email: String,
    password: String,
    full_name: String,
}

impl Params for Creation {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            email: given.required::<Text>("email")?,
            password: given.required::<Text>("password")?,
            full_name: given.required::<Text>("full_name")?,
        })
    }
}

/// Makes an account of a member. What can be refused is refused before the password costs a hash.
async fn create(call: Call<Caller>, wish: Creation) -> Result<Answer, Fault> {
    let app = &call.app;
    access::require_administrator(&call.who.user)?;
    account::check_new(&call.who.realm, &wish.full_name, &wish.email)?;
    check_password(&wish.password).map_err(AccountError::from)?;
    let new = NewUser {
        email: wish.email,
        full_name: wish.full_name,
        role: Role::Member,
        password_hash: Some(app.passwords.hash(wish.password).await?),
        api_key: app.fresh_key()?,
    };
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        access::require_administrator(call.who.again(realm)?)?;
        Ok(account::create(realm, &new, commit)?)
    };
    Answer::of(&json!({"user_id": app.commit(decide).await?}))
}

/// What of an account shall be otherwise.
struct Update {
    full_name: Option<String>,
    role: Option<Role>,
    answers: Vec<(i64, Option<Reply>)>,
}

impl Numbers for Role {
    const NUMBERS: &'static [(i64, Self)] = &[
        (100, Self::Owner),
        (200, Self::Administrator),
        (300, Self::Moderator),
        (400, Self::Member),
        (600, Self::Guest),
    ];
}

impl Params for Update {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            full_name: given.optional::<Text>("full_name")?,
            role: given.optional::<Json<Listed<Role>>>("role")?.map(|Listed(role)| role),
            answers: given.or::<Answers>("profile_data", Vec::new())?,
        })
    }
}

/// Changes a user's name, role and answers to profile fields, together or not at all. Bots answer none.
async fn update(call: Call<Caller>, wish: Update) -> Result<Answer, Fault> {
    let user_id = UserId(call.path_id("user_id")?);
    let channels: Vec<ChannelId> = match wish.role {
        Some(_) => call.who.realm.channels().map(|channel| channel.id).collect(),
        None => Vec::new(),
    };
    let figures = super::channels::figures(&call.app, channels).await?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let mut user = User::clone(known(realm, user_id)?);
        administer::may_edit(call.who.again(realm)?)?;
        if let Some(role) = wish.role.filter(|role| *role != user.role) {
            administer::may_set_role(realm, call.who.again(realm)?, &user, role)?;
            user = account::set_role(realm, &user, role, &figures, commit);
        }
        // Not specified; existing servers pass a blank name over, and their clients send one that was not changed.
        if let Some(full_name) = wish.full_name.as_ref().filter(|name| !name.trim().is_empty()) {
            account::rename(&user, full_name, commit)?;
        }
        if user.bot.is_some() && !wish.answers.is_empty() {
            return Err(AccountError::NoSuchUser.into());
        }
        answered(&call.app, realm, (&user, &wish.answers), commit)
    };
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}

/// Closes a person's account. Bots are closed elsewhere, and what is closed is not there to be closed.
async fn deactivate(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let user_id = UserId(call.path_id("user_id")?);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let caller = call.who.again(realm)?;
        access::require_administrator(caller)?;
        let user = known(realm, user_id)?;
        if user.bot.is_some() || !user.is_active {
            return Err(AccountError::NoSuchUser.into());
        }
        administer::may_deactivate(realm, caller, user)?;
        account::deactivate(realm, user, commit);
        Ok(())
    };
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}

/// Reopens an account.
async fn reactivate(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let user_id = UserId(call.path_id("user_id")?);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let user = known(realm, user_id)?;
        administer::may_reactivate(call.who.again(realm)?, user)?;
        account::reactivate(realm, user, commit);
        Ok(())
    };
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}

/// Closes the caller's own account.
async fn leave(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let user = call.who.again(realm)?;
        administer::may_leave(realm, user)?;
        account::deactivate(realm, user, commit);
        Ok(())
    };
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}

/// Gives the caller another key; the one before opens nothing any more.
async fn regenerate_key(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let key = new_key(&call.app, call.who.id()).await?;
    Answer::of(&json!({"api_key": key.expose()}))
}

pub(crate) fn known(realm: &RealmSnapshot, id: UserId) -> Result<&User, AccountError> {
    realm.user(id).map(AsRef::as_ref).ok_or(AccountError::NoSuchUser)
}
