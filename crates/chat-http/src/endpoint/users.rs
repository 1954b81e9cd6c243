//! `/users`: who there is, and what administrators and people themselves do to accounts.

use std::collections::BTreeSet;
use std::sync::Arc;

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::{ChannelId, UserId};
use chat_core::messages::narrow::{Anchor, MessageWindow, ReadableMessageSelection};
use chat_core::messages::notices;
use chat_core::model::email_address_visibility;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::role::Role;
use chat_core::model::user::{User, check_password_strength};
use chat_core::people::account::{self, NewUser};
use chat_core::people::custom_profile_fields::ProfileFieldValue as Reply;
use chat_core::people::email_change;
use chat_core::permission::access;
use chat_core::permission::account_administration::{self, AccountChangeError};
use chat_core::wire_format::{self, UserObjectFields};
use serde_json::{Value, json};

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::fetch_api_key::new_key;
use crate::endpoint::profile_fields::{ProfileAnswersParam, answered};
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::openapi::schemas;
use crate::params::{EndpointParams, EnumNumberJson, JsonParam, NumberEnum, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, get, no_members, post};

pub(crate) fn routes() -> Routes {
    const NAMED: &[(&str, &str)] = &[("user_id", "The user's number or address.")];
    let all = get(endpoint(list).documented("List all users, closed accounts too.", listed)).post(
        endpoint(create).documented("Make an account of a member.", || {
            vec![required_schema_member("user_id", JsonSchema::integer())]
        }),
    );
    let own = get(endpoint(me).documented("Describe the caller.", oneself))
        .delete(endpoint(leave).documented("Close the caller's own account.", no_members));
    let key = || vec![required_schema_member("api_key", JsonSchema::string())];
    let one = get(endpoint(one)
        .documented("Describe a user.", || vec![required_schema_member("user", JsonSchema::reference_to("User"))])
        .by(NAMED))
    .patch(
        endpoint(update).documented("Change a user's name, role and answers to profile fields.", no_members).by(NAMED),
    )
    .delete(endpoint(deactivate).documented("Close a person's account.", no_members));
    Routes::of("users")
        .api("/users", all)
        .api("/users/me", own)
        .api(
            "/users/me/api_key/regenerate",
            post(endpoint(regenerate_key).documented("Give the caller another key.", key)),
        )
        .api("/users/{user_id}", one)
        .api("/users/{user_id}/reactivate", post(endpoint(reactivate).documented("Reopen an account.", no_members)))
}

/// The parameters of `GET /users`.
struct ListUsersParams {
    form: UserObjectFields,
    user_ids: Option<BTreeSet<UserId>>,
}

impl EndpointParams for ListUsersParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let FormParams(form) = FormParams::from_reader(reader)?;
        let user_ids = reader.optional::<JsonParam<Vec<UserId>>>("user_ids")?;
        Ok(Self { form, user_ids: user_ids.map(|ids| ids.into_iter().collect()) })
    }
}

/// The parameters that say what is returned of a user.
struct FormParams(UserObjectFields);

impl EndpointParams for FormParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(UserObjectFields {
            client_gravatar: reader.optional_or::<JsonParam<bool>>("client_gravatar", true)?,
            profile_data: reader.optional_or::<JsonParam<bool>>("include_custom_profile_fields", false)?,
            is_active: true,
            address: false,
        }))
    }
}

/// All users, or those that are named and exist; closed accounts too, in the order of their numbers. The server's own
/// bots are no users of the organization.
async fn list(call: ApiCall<AuthenticatedCaller>, params: ListUsersParams) -> Result<ApiResponsePayload, ApiError> {
    let (realm, form) = (&call.caller.realm, params.form);
    let is_wanted = |id: &UserId| params.user_ids.as_ref().is_none_or(|ids| ids.contains(id));
    let mut users: Vec<_> = realm.users().filter(|user| !user.is_system_bot() && is_wanted(&user.id)).collect();
    users.sort_unstable_by_key(|user| user.id);
    let shown = |user: &Arc<User>| wire_format::user_object(realm, user, form.visible_to(&call.caller.user, user));
    let members: Vec<Value> = users.into_iter().map(shown).collect();
    ApiResponsePayload::from_payload(&json!({"members": members}))
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("members", JsonSchema::list(JsonSchema::reference_to("User")))]
}

/// A user by their number, or by their address.
async fn one(call: ApiCall<AuthenticatedCaller>, FormParams(form): FormParams) -> Result<ApiResponsePayload, ApiError> {
    let realm = &call.caller.realm;
    let user = named(&call)?;
    ApiResponsePayload::from_payload(
        &json!({"user": wire_format::user_object(realm, user, form.visible_to(&call.caller.user, user))}),
    )
}

/// Returns the user whom the path names, by number or by an address that the caller may see.
fn named(call: &ApiCall<AuthenticatedCaller>) -> Result<&Arc<User>, ApiError> {
    let AuthenticatedCaller { user: caller, realm, .. } = &call.caller;
    let user = match call.path_id("user_id") {
        Ok(id) => realm.user(UserId(id)),
        Err(_) => email_address_visibility::find_user_by_visible_email(realm, caller, call.path_text("user_id")?),
    };
    Ok(user.ok_or(AccountChangeError::NoSuchUser)?)
}

/// Returns the caller, with the number of the last message they may have; -1 when there is none.
async fn me(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let AuthenticatedCaller { user, realm, .. } = &call.caller;
    let newest = MessageWindow { anchor: Anchor::Newest, before: 1, after: 0, include_anchor: true };
    let page =
        call.app.messages.load_message_window(&ReadableMessageSelection::new(realm, user, Vec::new()), newest).await?;
    let newest_id = page.messages.last().map_or(-1, |(message, _)| message.id.0);
    let form = UserObjectFields { client_gravatar: false, profile_data: true, is_active: true, address: true };
    let mut shown = wire_format::user_object(realm, user, form);
    if let Value::Object(members) = &mut shown {
        members.insert("max_message_id".to_owned(), newest_id.into());
    }
    ApiResponsePayload::from_payload(&shown)
}

/// Returns the members of the response.
fn oneself() -> Vec<SchemaMember> {
    schemas::user().into_iter().chain([required_schema_member("max_message_id", JsonSchema::integer())]).collect()
}

/// The parameters of `POST /users`.
struct CreateUserParams {
    email: String,
    password: String,
    full_name: String,
}

impl EndpointParams for CreateUserParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            email: reader.required::<TextParam>("email")?,
            password: reader.required::<TextParam>("password")?,
            full_name: reader.required::<TextParam>("full_name")?,
        })
    }
}

/// Makes an account of a member. What can be refused is refused before the password costs a hash.
async fn create(call: ApiCall<AuthenticatedCaller>, params: CreateUserParams) -> Result<ApiResponsePayload, ApiError> {
    let app = &call.app;
    access::require_administrator(&call.caller.user)?;
    account::check_new_account(&call.caller.realm, &params.full_name, &params.email)?;
    check_password_strength(&params.password).map_err(AccountChangeError::from)?;
    let new = NewUser {
        email: params.email,
        full_name: params.full_name,
        role: Role::Member,
        password_hash: Some(app.passwords.hash(params.password).await?),
        api_key: app.fresh_key()?,
    };
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        access::require_administrator(call.caller.account_in_realm(realm)?)?;
        Ok(account::create_account(realm, &new, commit)?)
    };
    let user_id = app.commit(decide).await?;
    notices::welcome_newcomer(&app.message_ports(), user_id).await;
    ApiResponsePayload::from_payload(&json!({"user_id": user_id}))
}

/// The parameters of `PATCH /users/{user_id}`.
struct UpdateUserParams {
    full_name: Option<String>,
    new_email: Option<String>,
    role: Option<Role>,
    answers: Vec<(i64, Option<Reply>)>,
}

impl NumberEnum for Role {
    const NUMBERS: &'static [(i64, Self)] = &[
        (100, Self::Owner),
        (200, Self::Administrator),
        (300, Self::Moderator),
        (400, Self::Member),
        (600, Self::Guest),
    ];
}

impl EndpointParams for UpdateUserParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            full_name: reader.optional::<TextParam>("full_name")?,
            new_email: reader.optional::<TextParam>("new_email")?,
            role: reader.optional::<JsonParam<EnumNumberJson<Role>>>("role")?.map(|EnumNumberJson(role)| role),
            answers: reader.optional_or::<ProfileAnswersParam>("profile_data", Vec::new())?,
        })
    }
}

/// Changes a user's name, address, role and answers to profile fields, together or not at all. Bots answer none.
async fn update(call: ApiCall<AuthenticatedCaller>, params: UpdateUserParams) -> Result<ApiResponsePayload, ApiError> {
    let user_id = named(&call)?.id;
    let channels: Vec<ChannelId> = match params.role {
        Some(_) => call.caller.realm.channels().map(|channel| channel.id).collect(),
        None => Vec::new(),
    };
    let figures = super::channels::figures(&call.app, channels).await?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let mut user = User::clone(known(realm, user_id)?);
        account_administration::may_edit_account(call.caller.account_in_realm(realm)?)?;
        if let Some(role) = params.role.filter(|role| *role != user.role) {
            account_administration::may_set_role(realm, call.caller.account_in_realm(realm)?, &user, role)?;
            user = account::set_user_role(realm, &user, role, &figures, commit);
        }
        if let Some(address) = &params.new_email {
            let caller = call.caller.account_in_realm(realm)?;
            user = email_change::replace_address(realm, (caller, &user), address, commit)?;
        }
        // Not specified; existing servers pass a blank name over, and their clients send one that was not changed.
        if let Some(full_name) = params.full_name.as_ref().filter(|name| !name.trim().is_empty()) {
            account::rename_user(&user, full_name, commit)?;
        }
        if user.bot.is_some() && !params.answers.is_empty() {
            return Err(AccountChangeError::NoSuchUser.into());
        }
        answered(&call.app, realm, (&user, &params.answers), commit)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

/// Closes a person's account. Bots are closed elsewhere, and what is closed is not there to be closed.
async fn deactivate(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let user_id = UserId(call.path_id("user_id")?);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let caller = call.caller.account_in_realm(realm)?;
        access::require_administrator(caller)?;
        let user = known(realm, user_id)?;
        if user.bot.is_some() || !user.is_active {
            return Err(AccountChangeError::NoSuchUser.into());
        }
        account_administration::may_deactivate_account(realm, caller, user)?;
        account::deactivate_account(realm, user, commit);
        Ok(())
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

/// Reopens an account.
async fn reactivate(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let user_id = UserId(call.path_id("user_id")?);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let user = known(realm, user_id)?;
        account_administration::may_reactivate_account(call.caller.account_in_realm(realm)?, user)?;
        account::reactivate_account(realm, user, commit);
        Ok(())
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

/// Closes the caller's own account.
async fn leave(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let user = call.caller.account_in_realm(realm)?;
        account_administration::may_deactivate_own_account(realm, user)?;
        account::deactivate_account(realm, user, commit);
        Ok(())
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

/// Gives the caller another key; the one before opens nothing any more.
async fn regenerate_key(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let key = new_key(&call.app, call.caller.user_id()).await?;
    ApiResponsePayload::from_payload(&json!({"api_key": key.expose()}))
}

/// Returns the account of that number that can be administered: the server's own bots cannot.
pub(crate) fn known(realm: &RealmSnapshot, id: UserId) -> Result<&User, AccountChangeError> {
    realm.user(id).map(AsRef::as_ref).filter(|user| !user.is_system_bot()).ok_or(AccountChangeError::NoSuchUser)
}
