//! Sending what is due.
//!
//! Any node may try at any time: what a message becomes is written together with the end of its waiting, and only by
//! the node that finds it as it was read. A failure of the server leaves a message waiting for the next look; a refusal
//! ends its waiting and is reported to its sender.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

use super::{
    MAX_DELIVERY_LATENESS_S, ScheduledEndOutcome, ScheduledMessage, ScheduledMessageEnd, ScheduledMessageError,
    ScheduledMessageStore,
};
use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::messages::channel_activity;
use crate::messages::compose::ComposedMessage;
use crate::messages::notices::{Notice, compose_notice};
use crate::messages::send::compose_message;
use crate::messages::topic_visibility_policy::automatic_policies::{self, SentTopic};
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::organization::system_bots::SystemBot;
use crate::permission::authentication;

/// Messages of one look. When there are so many, there may be more.
const AT_ONCE: usize = 100;
/// The reason that a sender is given for a message on which the server panics.
const PANICKED: &str = "Internal server error";

/// The reason why a message that is due is not sent.
enum DueError {
    /// The server failed: the message waits for the next look.
    Failed(MessageWorkflowError),
    /// The message is refused, for this reason in words for its sender.
    Refused(String),
}

impl From<MessageWorkflowError> for DueError {
    fn from(error: MessageWorkflowError) -> Self {
        match error {
            MessageWorkflowError::Store(_) | MessageWorkflowError::Stale(_) => Self::Failed(error),
            refusal => Self::Refused(refusal.to_string()),
        }
    }
}

/// Sends the scheduled messages that are due, or marks them as failed. Returns whether there may be more.
///
/// # Errors
/// When the server failed for one of them; the others are settled all the same.
pub async fn send_due_scheduled_messages(
    ports: &MessageWorkflowContext<'_>,
    scheduled: &dyn ScheduledMessageStore,
) -> Result<bool, MessageWorkflowError> {
    let due = scheduled.due_scheduled_messages(ports.now_s, AT_ONCE).await?;
    let (mut failed, found) = (None, due.len());
    for message in &due {
        if let Err(error) = deliver(ports, scheduled, message).await {
            failed = Some(error);
        }
    }
    // One that cannot be settled does not hold up the others.
    failed.map_or(Ok(found == AT_ONCE), Err)
}

/// Sends one, or has it fail.
async fn deliver(
    ports: &MessageWorkflowContext<'_>,
    scheduled: &dyn ScheduledMessageStore,
    message: &ScheduledMessage,
) -> Result<(), MessageWorkflowError> {
    let mut heard_of = None;
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let composing = AssertUnwindSafe(compose_due(ports, message)).catch_unwind();
        let composed = composing.await.unwrap_or_else(|_| Err(DueError::Refused(PANICKED.to_owned())));
        let (end, topic) = match composed {
            Ok(composed) => {
                let topic = SentTopic::of(&composed);
                (ScheduledMessageEnd::Sent(Box::new(composed.message)), topic)
            }
            Err(DueError::Failed(failure)) => return Err(failure),
            // Another node may have changed what it is refused for.
            Err(_) if heard_of.is_none_or(|changed| changed < ports.snapshot().changed_at()) => {
                ports.realm.refresh_realm().await?;
                heard_of = Some(ports.snapshot().changed_at());
                continue;
            }
            Err(DueError::Refused(failure)) => (failed(ports, message, failure).await?, None),
        };
        match scheduled.end_scheduled_message(message, end, ports.now_s).await? {
            ScheduledEndOutcome::Done { sent } => {
                if let Some((topic, id)) = topic.zip(sent) {
                    channel_activity::after_message(ports, topic.channel_id()).await;
                    automatic_policies::after_sending(ports, message.user_id, &topic, id).await;
                }
                return Ok(());
            }
            ScheduledEndOutcome::Gone => return Ok(()),
            ScheduledEndOutcome::Stale => {}
        }
    }
    Err(StaleDecisionError("the realm").into())
}

async fn compose_due(
    ports: &MessageWorkflowContext<'_>,
    message: &ScheduledMessage,
) -> Result<ComposedMessage, DueError> {
    if ports.now_s - message.due_s > MAX_DELIVERY_LATENESS_S {
        return Err(MessageWorkflowError::from(ScheduledMessageError::TooLate).into());
    }
    let realm = ports.snapshot();
    let sender = authentication::find_active_account(&realm, message.user_id).map_err(MessageWorkflowError::from)?;
    Ok(compose_message(ports, &realm, sender, message.to_send_request()).await?)
}

/// Returns the end of a scheduled message that is refused. The Notification Bot writes to its sender; without it, the
/// notice is among the messages that the sender sends to themselves. A sender whose account is closed gets none.
async fn failed(
    ports: &MessageWorkflowContext<'_>,
    message: &ScheduledMessage,
    failure: String,
) -> Result<ScheduledMessageEnd, MessageWorkflowError> {
    let realm = ports.snapshot();
    let sender = realm.user(message.user_id).filter(|user| user.is_active);
    let Some(sender) = sender else { return Ok(ScheduledMessageEnd::Failed { failure, notice: None }) };
    let author = SystemBot::Notification.find(&realm).unwrap_or(sender);
    let notice = Notice::to_user(message.user_id, message.failure_notice(&failure));
    let notice = match compose_notice(ports, &realm, author, &notice).await.map_err(DueError::from) {
        Ok(composed) => Some(Box::new(composed.message)),
        Err(DueError::Failed(failure)) => return Err(failure),
        Err(DueError::Refused(_)) => None,
    };
    Ok(ScheduledMessageEnd::Failed { failure, notice })
}
