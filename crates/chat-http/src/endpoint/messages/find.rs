//! Reading one message.

use chat_core::id::MessageId;
use chat_core::permission::access::{self, MessageNotFound};
use chat_core::wire_format::{MessageFormat, MessageWithCachedJson};

use super::list::{MessageRendering, write_all};
use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::{ApiError, InternalError};
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader};

/// The parameters of `GET /messages/{message_id}`.
pub(crate) struct GetMessageParams {
    html: bool,
}

impl EndpointParams for GetMessageParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { html: reader.optional_or::<JsonParam<bool>>("apply_markdown", true)? })
    }
}

/// A message the caller may read, and its text as typed, which is deprecated and always sent.
pub(crate) async fn get(
    call: ApiCall<AuthenticatedCaller>,
    params: GetMessageParams,
) -> Result<ApiResponsePayload, ApiError> {
    let id = MessageId(call.path_id("message_id")?);
    let found = call.app.messages.find_messages(call.caller.user_id(), &[id]).await?.into_iter();
    let mut read =
        found.filter(|(message, _)| access::may_read_message(&call.caller.realm, &call.caller.user, message));
    let found = read
        .next()
        .map(|(message, flags)| (MessageWithCachedJson::without_cache(message), flags))
        .ok_or(MessageNotFound)?;
    let (message, _) = &found;
    let mut body = b"{\"raw_content\":".to_vec();
    serde_json::to_writer(&mut body, &message.content)
        .map_err(|error| InternalError::new("a text was not serialized", error))?;
    let format = MessageFormat { html: params.html, client_gravatar: true };
    let mut list = Vec::new();
    write_all(
        &call.app,
        &call.app.realm(),
        (std::slice::from_ref(&found), &MessageRendering { format, marked: Vec::new() }),
        &mut list,
    )
    .await?;
    body.extend_from_slice(b",\"message\":");
    body.extend_from_slice(list.get(1..list.len().saturating_sub(1)).unwrap_or_default());
    body.push(b'}');
    Ok(ApiResponsePayload::from_serialized_object(&body))
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<SchemaMember> {
    vec![
        required_schema_member("raw_content", JsonSchema::string()),
        required_schema_member("message", JsonSchema::reference_to("Message")),
    ]
}
