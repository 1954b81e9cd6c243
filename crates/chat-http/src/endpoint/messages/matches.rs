//! Which of some messages a narrow selects.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_core::id::MessageId;
use chat_core::limits::MAX_WINDOW;
use chat_core::messages::narrow::{MessageCandidate, WindowError};
use chat_core::model::message::{Flag, Message};
use chat_core::text::search_words::HighlightedMessage;
use serde::Serialize;

use crate::auth::Caller;
use crate::call::ApiCall;
use crate::endpoint::narrow_selection;
use crate::error::ApiError;
use crate::params::{Json, Narrow, ParamError, ParamReader, Params};
use crate::response::ApiResponse;
use crate::schema::{Member, Schema, has};

/// The parameters of `GET /messages/matches_narrow`.
pub(crate) struct MatchNarrowParams {
    ids: Vec<i64>,
    narrow: Narrow,
}

impl Params for MatchNarrowParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            ids: reader.required::<Json<Vec<i64>>>("msg_ids")?,
            narrow: reader.required::<Json<Narrow>>("narrow")?,
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
pub(crate) async fn get(call: ApiCall<Caller>, params: MatchNarrowParams) -> Result<ApiResponse, ApiError> {
    if params.ids.len() as u64 > MAX_WINDOW {
        return Err(WindowError::TooMany.into());
    }
    let Caller { user, realm, .. } = &call.caller;
    let selection = narrow_selection::select(&call.app, realm, user, Some(&params.narrow)).await?;
    let ids: Vec<MessageId> = params.ids.iter().copied().map(MessageId).collect();
    let found = call.app.messages.find(user.id, &ids).await?;
    let realm = Arc::clone(realm);
    let matching = move || {
        let sought = selection.sought().cloned().unwrap_or_default();
        let selected = found.into_iter().filter(|(message, flags)| {
            !flags.contains(&Flag::Historical) && selection.admits(&MessageCandidate::from(message), flags, &realm)
        });
        let shown = |(message, _): (Message, Vec<Flag>)| {
            let HighlightedMessage { html, topic } = sought.mark(&message.topic, &message.html);
            (message.id, MatchedMessage { match_content: html, match_subject: topic })
        };
        selected.map(shown).collect()
    };
    ApiResponse::from_payload(&MatchedMessages { messages: call.app.search_jobs.run(0, matching).await? })
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<Member> {
    let found = Schema::object([has("match_content", Schema::string()), has("match_subject", Schema::string())]);
    vec![has("messages", Schema::map(found))]
}
