//! `/channels/create`: one new channel with its subscribers.

use chat_core::channels::{self, CreateChannelRequest};
use chat_core::id::UserId;
use chat_core::limits::MAX_CHANNEL_DESCRIPTION_CHARS;
use serde_json::json;

use super::decide;
use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::subscriptions::new_channel_settings;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, MaxCharsParam, ParamError, ParamReader, TextParam};

impl EndpointParams for CreateChannelRequest {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        type Description = MaxCharsParam<TextParam, MAX_CHANNEL_DESCRIPTION_CHARS>;
        Ok(Self {
            name: reader.required::<TextParam>("name")?,
            description: reader.optional_or::<Description>("description", String::new())?,
            subscribers: reader.required::<JsonParam<Vec<UserId>>>("subscribers")?,
            settings: new_channel_settings(reader)?,
        })
    }
}

/// Creates a channel.
pub(super) async fn create(
    call: ApiCall<AuthenticatedCaller>,
    request: CreateChannelRequest,
) -> Result<ApiResponsePayload, ApiError> {
    let id = decide(&call, [], |env, commit| channels::create_channel(env, &request, commit)).await?;
    ApiResponsePayload::from_payload(&json!({"id": id}))
}

/// Returns the members of the response.
pub(super) fn create_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("id", JsonSchema::integer())]
}
