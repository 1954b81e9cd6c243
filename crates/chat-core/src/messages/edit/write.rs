//! Editing and moving: decided on the newest message and realm, and written where neither has changed since.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::text::rewritten;
use super::{EditContext, EditError, EditPlan, EditRequest, RenderedText, apply, companions, plan};
use crate::id::MessageId;
use crate::log::decision::{DECISIONS_MAX, StaleDecisionError};
use crate::markdown::WildcardScope;
use crate::messages::ports::{MessagePorts, WorkflowError};
use crate::messages::readable::{self, ReadableMessage};
use crate::messages::store::{MessageEdit, WriteOutcome};
use crate::messages::topic_policy::automatic::{self, MovedTopic};
use crate::model::message::{self, Conversation, Recipient, topic_key};
use crate::model::render_context::RenderSettings;
use crate::model::user::User;
use crate::permission::send::under_topic;
use crate::wire::message as object;

/// Edits a message, or moves it and those that go with it. The topic of the request is taken as typed.
///
/// # Errors
/// See [`EditError`]; when the message is not there for the caller, or the server failed.
pub async fn edit(
    ports: &MessagePorts<'_>,
    caller: &Arc<User>,
    id: MessageId,
    request: EditRequest<'_>,
) -> Result<(), WorkflowError> {
    for _ in 0..DECISIONS_MAX {
        let found = readable::find(ports, caller, id).await?;
        let (edit, moved_topic) = decide(ports, &found, request).await?;
        if ports.messages.edit(edit).await? != WriteOutcome::Unchanged {
            if let Some(moved) = moved_topic {
                automatic::after_moving(ports, &found.message, &moved).await;
            }
            return Ok(());
        }
    }
    Err(StaleDecisionError("a message").into())
}

/// Returns the edit that is requested, of the message as it is now; and where its topic goes, when all of it moves.
async fn decide(
    ports: &MessagePorts<'_>,
    found: &ReadableMessage,
    request: EditRequest<'_>,
) -> Result<(MessageEdit, Option<MovedTopic>), WorkflowError> {
    let ReadableMessage { realm, user, message } = found;
    let now_s = ports.now_s;
    let plan = checked_plan(found, request, now_s)?;
    let text = match &plan.content {
        Some(content) => Some(rendered(ports, found, content).await?),
        None => None,
    };
    let (mut moves, mut topic_links, mut moved_topic) = (Vec::new(), Vec::new(), None);
    if let Some(to) = &plan.to {
        let from = Conversation { recipient: message.recipient, topic_key: topic_key(&message.topic) };
        let all = ports.messages.conversation(&from, MessageId(0)).await?;
        moves = companions(realm, user, message, (to, &all, now_s))?;
        topic_links = object::topic_links(&to.topic, &ports.render_contexts.get(realm));
        let moves_all = moves.len() == all.len();
        moved_topic =
            moves_all.then(|| MovedTopic { channel_id: to.channel_id, topic: to.topic.clone(), messages: moves.len() });
    }
    let around = EditContext { text: text.as_ref(), moves: &moves, topic_links: &topic_links, now_s };
    Ok((apply(realm, user, message, (&plan, around)), moved_topic))
}

fn checked_plan(found: &ReadableMessage, request: EditRequest<'_>, now_s: i64) -> Result<EditPlan, EditError> {
    let ReadableMessage { realm, user, message } = found;
    if request.prev_content_sha256.is_some_and(|expected| expected != sha256(&message.content)) {
        return Err(EditError::ContentChanged);
    }
    let topic = match request.topic {
        Some(topic) if matches!(message.recipient, Recipient::Channel(_)) => {
            let topic = message::topic(topic)?;
            under_topic(realm, &topic)?;
            Some(topic)
        }
        topic => topic.map(str::to_owned),
    };
    plan(realm, user, message, (EditRequest { topic: topic.as_deref(), ..request }, now_s))
}

/// Returns the SHA-256 of a text in lower-case hexadecimal.
fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        // Writing to memory does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Returns what a new text says.
async fn rendered(
    ports: &MessagePorts<'_>,
    found: &ReadableMessage,
    content: &str,
) -> Result<RenderedText, WorkflowError> {
    let ReadableMessage { realm, user, message } = found;
    let render_context = ports.render_contexts.get(realm);
    let uploads = ports.uploads().linked(realm, user, content).await?;
    let MessagePorts { realm_url, now_s, .. } = *ports;
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: Some(&uploads), now_s };
    let rendered = setting.render(realm, user, content);
    let asks = rendered.wildcards.contains(&WildcardScope::Topic) && matches!(message.recipient, Recipient::Channel(_));
    let topic = || Conversation { recipient: message.recipient, topic_key: topic_key(&message.topic) };
    let participants = if asks { ports.messages.participants(&topic()).await? } else { Vec::new() };
    Ok(rewritten(&setting, found, content, rendered, &participants).map_err(EditError::from)?)
}
