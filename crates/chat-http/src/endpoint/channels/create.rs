//! `/channels/create`: one new channel with its subscribers.

use chat_core::channels::{self, ChannelContext, CreateChannelRequest};
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::UserId;
use chat_core::limits::MAX_CHANNEL_DESCRIPTION_CHARS;
use chat_core::messages::notices::ChannelNoticeOptions;
use serde_json::json;

use super::decide_and_report;
use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::subscriptions::new_channel_settings;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, MaxCharsParam, ParamError, ParamReader, TextParam};

/// The parameters of `POST /channels/create`.
pub(super) struct CreateChannelParams {
    request: CreateChannelRequest,
    announces: bool,
}

impl EndpointParams for CreateChannelParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        type Description = MaxCharsParam<TextParam, MAX_CHANNEL_DESCRIPTION_CHARS>;
        let request = CreateChannelRequest {
            name: reader.required::<TextParam>("name")?,
            description: reader.optional_or::<Description>("description", String::new())?,
            subscribers: reader.required::<JsonParam<Vec<UserId>>>("subscribers")?,
            settings: new_channel_settings(reader)?,
        };
        Ok(Self { request, announces: reader.optional_or::<JsonParam<bool>>("announce", false)? })
    }
}

/// Creates a channel.
pub(super) async fn create(
    call: ApiCall<AuthenticatedCaller>,
    CreateChannelParams { request, announces }: CreateChannelParams,
) -> Result<ApiResponsePayload, ApiError> {
    let options = ChannelNoticeOptions { announces, tells_subscribers: false };
    let create = |env: &ChannelContext<'_>, commit: &mut RealmCommit| channels::create_channel(env, &request, commit);
    let (id, _) = decide_and_report(&call, [], options, create).await?;
    ApiResponsePayload::from_payload(&json!({"id": id}))
}

/// Returns the members of the response.
pub(super) fn create_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("id", JsonSchema::integer())]
}
