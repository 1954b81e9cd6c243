//! `/users/me/status` and `/users/{user_id}/status`: what a user says they are doing.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::UserId;
use chat_core::limits::MAX_STATUS_TEXT_CHARS;
use chat_core::messages::reaction::RequestedEmoji;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::people::personal_settings::user_status::{self, UserStatusUpdate};
use chat_core::permission::account_administration::AccountChangeError;
use serde_json::json;

use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, MaxCharsParam, ParamError, ParamReader, TextParam, TrimmedTextParam};

/// The parameters of `POST /users/{user_id}/status`.
pub(crate) struct StatusParams {
    text: Option<String>,
    emoji_name: Option<String>,
    emoji_code: Option<String>,
    reaction_type: Option<String>,
}

impl EndpointParams for StatusParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            text: reader.optional::<MaxCharsParam<TrimmedTextParam, MAX_STATUS_TEXT_CHARS>>("status_text")?,
            emoji_name: reader.optional::<TextParam>("emoji_name")?,
            emoji_code: reader.optional::<TextParam>("emoji_code")?,
            reaction_type: reader.optional::<TextParam>("reaction_type")?,
        })
    }
}

impl StatusParams {
    fn update(&self, away: Option<bool>) -> UserStatusUpdate<'_> {
        let emoji = RequestedEmoji {
            name: self.emoji_name.as_deref(),
            code: self.emoji_code.as_deref(),
            kind: self.reaction_type.as_deref(),
        };
        UserStatusUpdate { text: self.text.as_deref(), emoji, away }
    }
}

/// The parameters of `POST /users/me/status`.
pub(crate) struct OwnStatusParams {
    status: StatusParams,
    away: Option<bool>,
}

impl EndpointParams for OwnStatusParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { status: StatusParams::from_reader(reader)?, away: reader.optional::<JsonParam<bool>>("away")? })
    }
}

/// Changes the status of another person for them.
pub(crate) async fn post_for(
    call: ApiCall<AuthenticatedCaller>,
    params: StatusParams,
) -> Result<ApiResponsePayload, ApiError> {
    let update = (UserId(call.path_id("user_id")?), params.update(None));
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(user_status::set_for(realm, call.caller.account_in_realm(realm)?, update, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

/// Changes the caller's status.
pub(crate) async fn post(
    call: ApiCall<AuthenticatedCaller>,
    params: OwnStatusParams,
) -> Result<ApiResponsePayload, ApiError> {
    let update = params.status.update(params.away);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(user_status::update_user_status(realm, call.caller.account_in_realm(realm)?, update, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

/// Returns the status of a user, empty where nothing is set.
pub(crate) async fn get(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let user = call.caller.realm.user(UserId(call.path_id("user_id")?)).ok_or(AccountChangeError::NoSuchUser)?;
    ApiResponsePayload::from_payload(&json!({"status": user_status::user_status_object(&call.caller.realm, user)}))
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("status", JsonSchema::reference_to("Status"))]
}
