//! Editing and moving: decided on the newest message and realm, and written where neither has changed since.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::text::rewritten;
use super::{
    EditContext, EditPlan, MessageEditError, MessageEditRequest, RenderedText, apply, companions, only_resolves, plan,
};
use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::files::Attachment;
use crate::id::MessageId;
use crate::markdown::WildcardMentionScope;
use crate::messages::channel_activity;
use crate::messages::notices::{self, CompletedMove, MoveNotices};
use crate::messages::readable_message::{self, ReadableMessage};
use crate::messages::store::{MessageEdit, MessageEditOutcome};
use crate::messages::topic_visibility_policy::automatic_policies::{self, MovedTopic};
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::message::{self, Conversation, Recipient, topic_key};
use crate::model::render_context::RenderSettings;
use crate::model::user::User;
use crate::permission::send_message::may_use_topic;
use crate::wire_format::message as object;

/// Edits a message, or moves it and the messages that move with it. The topic of the request is taken as typed.
///
/// Returns the caller's uploads that the text before used and no message uses any more: only its earlier states refer
/// to them.
///
/// # Errors
/// See [`MessageEditError`]; when the message is not there for the caller, or the server failed.
pub async fn edit_or_move_message(
    ports: &MessageWorkflowContext<'_>,
    caller: &Arc<User>,
    id: MessageId,
    request: MessageEditRequest<'_>,
) -> Result<Vec<Attachment>, MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let found = readable_message::find_readable_message(ports, caller, id).await?;
        let (edit, moved_topic) = decide(ports, &found, request).await?;
        let to_channel = edit.to.as_ref().map(|(channel_id, _)| *channel_id);
        if let MessageEditOutcome::Done { detached_uploads, .. } = ports.messages.edit_message(edit).await? {
            if let Some(channel_id) = to_channel {
                channel_activity::after_message(ports, channel_id).await;
            }
            if let Some(moved) = moved_topic {
                after_moving(ports, &found, (&moved, request.notices)).await;
            }
            return Ok(detached_uploads);
        }
    }
    Err(StaleDecisionError("a message").into())
}

/// Moves the visibility policies of a topic that moved, and reports the move.
async fn after_moving(
    ports: &MessageWorkflowContext<'_>,
    found: &ReadableMessage,
    (moved, wanted): (&MovedTopic, MoveNotices),
) {
    let message = &found.message;
    if moved.is_whole_topic {
        automatic_policies::after_moving(ports, message, moved).await;
    }
    let Recipient::Channel(from) = message.recipient else { return };
    let completed = CompletedMove {
        from: (from, &message.topic),
        to: (moved.channel_id, &moved.topic),
        messages: moved.messages,
        is_whole_topic: moved.is_whole_topic,
        only_resolves: from == moved.channel_id && only_resolves(&message.topic, &moved.topic),
    };
    notices::report_move(ports, &found.user, &completed, wanted).await;
}

/// Returns the edit that is requested, of the message as it is now; and where messages move.
async fn decide(
    ports: &MessageWorkflowContext<'_>,
    found: &ReadableMessage,
    request: MessageEditRequest<'_>,
) -> Result<(MessageEdit, Option<MovedTopic>), MessageWorkflowError> {
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
        let all = ports.messages.conversation_messages_from(&from, MessageId(0)).await?;
        moves = companions(realm, user, message, (to, &all, now_s))?;
        topic_links = object::topic_link_objects(&to.topic, &ports.render_contexts.get_or_compile(realm));
        let (messages, is_whole_topic) = (moves.len(), moves.len() == all.len());
        let topic = to.topic.clone();
        moved_topic = Some(MovedTopic { channel_id: to.channel_id, topic, messages, is_whole_topic });
    }
    let around = EditContext { text: text.as_ref(), moves: &moves, topic_links: &topic_links, now_s };
    Ok((apply(realm, user, message, (&plan, around)), moved_topic))
}

fn checked_plan(
    found: &ReadableMessage,
    request: MessageEditRequest<'_>,
    now_s: i64,
) -> Result<EditPlan, MessageEditError> {
    let ReadableMessage { realm, user, message } = found;
    if request.prev_content_sha256.is_some_and(|expected| expected != sha256(&message.content)) {
        return Err(MessageEditError::ContentChanged);
    }
    let topic = match request.topic {
        Some(topic) if matches!(message.recipient, Recipient::Channel(_)) => {
            let topic = message::normalize_topic(topic)?;
            may_use_topic(realm, &topic)?;
            Some(topic)
        }
        topic => topic.map(str::to_owned),
    };
    plan(realm, user, message, (MessageEditRequest { topic: topic.as_deref(), ..request }, now_s))
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
    ports: &MessageWorkflowContext<'_>,
    found: &ReadableMessage,
    content: &str,
) -> Result<RenderedText, MessageWorkflowError> {
    let ReadableMessage { realm, user, message } = found;
    let render_context = ports.render_contexts.get_or_compile(realm);
    let uploads = ports.upload_access_stores().linked_readable_uploads(realm, user, content).await?;
    let MessageWorkflowContext { realm_url, now_s, .. } = *ports;
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: Some(&uploads), now_s };
    let rendered = setting.render_message(realm, user, content);
    let asks =
        rendered.wildcards.contains(&WildcardMentionScope::Topic) && matches!(message.recipient, Recipient::Channel(_));
    let topic = || Conversation { recipient: message.recipient, topic_key: topic_key(&message.topic) };
    let participants = if asks { ports.messages.conversation_participants(&topic()).await? } else { Vec::new() };
    Ok(rewritten(&setting, found, content, rendered, &participants).map_err(MessageEditError::from)?)
}
