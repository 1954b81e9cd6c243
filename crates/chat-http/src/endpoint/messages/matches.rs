//! Which of some messages a narrow selects.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_core::id::MessageId;
use chat_core::limits::MAX_WINDOW;
use chat_core::messages::narrow::{MessageCandidate, WindowError};
use chat_core::model::message::{Flag, Message};
use chat_core::text::search_words::HighlightedMessage;
use serde::Serialize;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::Call;
use crate::endpoint::narrowed;
use crate::error::Fault;
use crate::params::{Json, Narrow, ParamFault, Params, Reader};
use crate::schema::{Member, Schema, has};

/// The messages, and the narrow.
pub(crate) struct Asked {
    ids: Vec<i64>,
    narrow: Narrow,
}

impl Params for Asked {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            ids: given.required::<Json<Vec<i64>>>("msg_ids")?,
            narrow: given.required::<Json<Narrow>>("narrow")?,
        })
    }
}

#[derive(Serialize)]
struct Matches {
    messages: BTreeMap<MessageId, Match>,
}

/// A message as a search would show it.
#[derive(Serialize)]
struct Match {
    match_content: String,
    match_subject: String,
}

/// Those of the messages that the caller received and the narrow selects.
///
/// # Source
/// Specification, `GET /messages/matches_narrow`. Not specified: more messages than a window has are refused.
pub(crate) async fn get(call: Call<Caller>, asked: Asked) -> Result<Answer, Fault> {
    if asked.ids.len() as u64 > MAX_WINDOW {
        return Err(WindowError::TooMany.into());
    }
    let Caller { user, realm, .. } = &call.who;
    let selection = narrowed::select(&call.app, realm, user, Some(&asked.narrow)).await?;
    let ids: Vec<MessageId> = asked.ids.iter().copied().map(MessageId).collect();
    let found = call.app.messages.find(user.id, &ids).await?;
    let realm = Arc::clone(realm);
    let matching = move || {
        let sought = selection.sought().cloned().unwrap_or_default();
        let selected = found.into_iter().filter(|(message, flags)| {
            !flags.contains(&Flag::Historical) && selection.admits(&MessageCandidate::from(message), flags, &realm)
        });
        let shown = |(message, _): (Message, Vec<Flag>)| {
            let HighlightedMessage { html, topic } = sought.mark(&message.topic, &message.html);
            (message.id, Match { match_content: html, match_subject: topic })
        };
        selected.map(shown).collect()
    };
    Answer::of(&Matches { messages: call.app.searches.run(0, matching).await? })
}

/// Returns the members of the response.
pub(super) fn told() -> Vec<Member> {
    let found = Schema::object([has("match_content", Schema::string()), has("match_subject", Schema::string())]);
    vec![has("messages", Schema::map(found))]
}
