//! Reading one message.

use chat_core::id::MessageId;
use chat_core::permission::access::{self, MessageNotFound};
use chat_core::wire::{MessageFormat, StoredMessage};

use super::list::{MessageRendering, write_all};
use crate::auth::Caller;
use crate::call::ApiCall;
use crate::error::{ApiError, InternalError};
use crate::params::{Json, ParamError, ParamReader, Params};
use crate::response::ApiResponse;
use crate::schema::{Member, Schema, has};

/// The parameters of `GET /messages/{message_id}`.
pub(crate) struct GetMessageParams {
    html: bool,
}

impl Params for GetMessageParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { html: reader.or::<Json<bool>>("apply_markdown", true)? })
    }
}

/// A message the caller may read, and its text as typed, which is deprecated and always sent.
pub(crate) async fn get(call: ApiCall<Caller>, params: GetMessageParams) -> Result<ApiResponse, ApiError> {
    let id = MessageId(call.path_id("message_id")?);
    let found = call.app.messages.find(call.caller.id(), &[id]).await?.into_iter();
    let mut read = found.filter(|(message, _)| access::reads(&call.caller.realm, &call.caller.user, message));
    let found = read.next().map(|(message, flags)| (StoredMessage::passing(message), flags)).ok_or(MessageNotFound)?;
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
    Ok(ApiResponse::from_object(&body))
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<Member> {
    vec![has("raw_content", Schema::string()), has("message", Schema::named("Message"))]
}
