//! `/fetch_api_key` and `/dev_fetch_api_key`: from address and password to the key.

use chat_core::event_log::store::Credentials;
use chat_core::id::UserId;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::{ApiKey, User, fold_case, parse_email};
use serde_json::json;

use crate::api_call::{Anonymous, ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::PasswordLoginError;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, ParamError, ParamReader, TextParam};
use crate::password::{self, PasswordAttempt};
use crate::routes::{Routes, post};
use crate::state::AppState;

pub(crate) fn routes() -> Routes {
    let fetch = endpoint(fetch).documented("Tell a person their API key, for their password.", response_schema);
    let without = endpoint(fetch_without_password)
        .documented("Tell a key without a password; nowhere in production.", response_schema);
    Routes::of("server").api("/fetch_api_key", post(fetch)).api("/dev_fetch_api_key", post(without))
}

/// The parameters of `POST /fetch_api_key`.
struct FetchKeyParams {
    username: String,
    password: String,
}

impl EndpointParams for FetchKeyParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            username: reader.required::<TextParam>("username")?,
            password: reader.required::<TextParam>("password")?,
        })
    }
}

/// Gives a person their key for their password.
///
/// # Source
/// Specification, `POST /fetch_api_key`. Not specified: a wrong address and a wrong password give one answer, after
/// the same work; that an account is closed is revealed to a caller who knows its password; bots have none.
async fn fetch(call: ApiCall<Anonymous>, login: FetchKeyParams) -> Result<ApiResponsePayload, ApiError> {
    let app = &call.app;
    // A wrong password counts, so nobody is refused here whom another node has just let in.
    app.realm.refresh_realm().await?;
    let realm = app.realm();
    if realm.realm().is_none_or(|realm| realm.is_deactivated) {
        return Err(PasswordLoginError::RealmDeactivated.into());
    }
    let address = fold_case(parse_email(&login.username)?);
    let user = person(&realm, &address);
    let claim = PasswordAttempt { account: &address, user_id: user.map(|user| user.id), from: call.from };
    let credentials = password::check(app, claim, login.password).await?;
    let (user, credentials) = user.zip(credentials).ok_or(PasswordLoginError::WrongPassword)?;
    opened(app, user, credentials).await
}

/// Returns the key of a person who is let in; a new one when they have none.
async fn opened(app: &AppState, user: &User, credentials: Credentials) -> Result<ApiResponsePayload, ApiError> {
    if !user.is_active {
        return Err(PasswordLoginError::AccountDeactivated.into());
    }
    let api_key = match credentials.api_key {
        Some(key) => key,
        None => new_key(app, user.id).await?,
    };
    ApiResponsePayload::from_payload(&json!({"api_key": api_key.expose(), "email": user.email, "user_id": user.id}))
}

/// Returns the members of the response.
fn response_schema() -> Vec<SchemaMember> {
    vec![
        required_schema_member("api_key", JsonSchema::string()),
        required_schema_member("email", JsonSchema::string()),
        required_schema_member("user_id", JsonSchema::integer()),
    ]
}

/// Gives a person their key without a password, where developers are at work.
async fn fetch_without_password(
    call: ApiCall<Anonymous>,
    UsernameParams(address): UsernameParams,
) -> Result<ApiResponsePayload, ApiError> {
    let app = &call.app;
    if !app.settings.development_login {
        return Err(ApiError::ForDevelopment);
    }
    let realm = app.realm();
    if realm.realm().is_none_or(|realm| realm.is_deactivated) {
        return Err(PasswordLoginError::RealmDeactivated.into());
    }
    let user = person(&realm, &fold_case(parse_email(&address)?)).ok_or(PasswordLoginError::WrongPassword)?;
    let credentials = app.realm.load_credentials(user.id).await?.ok_or(PasswordLoginError::WrongPassword)?;
    opened(app, user, credentials).await
}

/// The parameters of `POST /dev_fetch_api_key`.
struct UsernameParams(String);

impl EndpointParams for UsernameParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        reader.required::<TextParam>("username").map(Self)
    }
}

/// Returns the person of a folded address.
pub(super) fn person<'a>(realm: &'a RealmSnapshot, address: &str) -> Option<&'a User> {
    realm.user_by_email(address).map(AsRef::as_ref).filter(|user| user.bot.is_none())
}

/// Makes a key for the user, in place of the one they have.
pub(crate) async fn new_key(app: &AppState, user_id: UserId) -> Result<ApiKey, ApiError> {
    let key = app.fresh_key()?;
    app.commit(|realm, commit| {
        commit.set_api_key(realm, user_id, key.clone());
        Ok(())
    })
    .await?;
    Ok(key)
}
