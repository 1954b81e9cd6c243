//! Which of some messages a narrow selects.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_core::id::MessageId;
use chat_core::limits::MAX_MESSAGES_PER_RESPONSE;
use chat_core::messages::narrow::{MessageWindowError, NarrowCandidate};
use chat_core::model::message::{Message, MessageFlag};
use chat_core::text_processing::search_words::HighlightedMessage;
use serde::Serialize;

use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::narrow_selection;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, RawNarrow};

/// The parameters of `GET /messages/matches_narrow`.
pub(crate) struct MatchNarrowParams {
    ids: Vec<i64>,
    narrow: RawNarrow,
}

impl EndpointParams for MatchNarrowParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            ids: reader.required::<JsonParam<Vec<i64>>>("msg_ids")?,
            narrow: reader.required::<JsonParam<RawNarrow>>("narrow")?,
        })
    }
}

#[derive(Serialize)]
struct MatchedMessages {
    messages: BTreeMap<MessageId, MatchedMessage>,
}

/// A message as a search would show it.
#[derive(Serialize)]
struct MatchedMessage {
    match_content: String,
    match_subject: String,
}

/// Those of the messages that the caller received and the narrow selects.
///
/// # Source
/// Specification, `GET /messages/matches_narrow`. Not specified: more messages than a window has are refused.
pub(crate) async fn get(
    call: ApiCall<AuthenticatedCaller>,
    params: MatchNarrowParams,
) -> Result<ApiResponsePayload, ApiError> {
    if params.ids.len() as u64 > MAX_MESSAGES_PER_RESPONSE {
        return Err(MessageWindowError::TooMany.into());
    }
    let AuthenticatedCaller { user, realm, .. } = &call.caller;
    let selection = narrow_selection::select(&call.app, realm, user, Some(&params.narrow)).await?;
    let ids: Vec<MessageId> = params.ids.iter().copied().map(MessageId).collect();
    let found = call.app.messages.find_messages(user.id, &ids).await?;
    let realm = Arc::clone(realm);
    let matching = move || {
        let sought = selection.search_words().cloned().unwrap_or_default();
        let selected = found.into_iter().filter(|(message, flags)| {
            !flags.contains(&MessageFlag::Historical)
                && selection.matches(&NarrowCandidate::from(message), flags, &realm)
        });
        let shown = |(message, _): (Message, Vec<MessageFlag>)| {
            let HighlightedMessage { html, topic } = sought.highlight_message(&message.topic, &message.html);
            (message.id, MatchedMessage { match_content: html, match_subject: topic })
        };
        selected.map(shown).collect()
    };
    ApiResponsePayload::from_payload(&MatchedMessages { messages: call.app.search_jobs.run(0, matching).await? })
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<SchemaMember> {
    let found = JsonSchema::object([
        required_schema_member("match_content", JsonSchema::string()),
        required_schema_member("match_subject", JsonSchema::string()),
    ]);
    vec![required_schema_member("messages", JsonSchema::map(found))]
}
