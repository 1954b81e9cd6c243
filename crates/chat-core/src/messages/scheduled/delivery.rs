//! Sending what is due.
//!
//! Any node may try at any time: what a message becomes is written together with the end of its waiting, and only by
//! the node that finds it as it was read. A failure of the server leaves a message waiting for the next look; a refusal
//! ends its waiting and is reported to its sender.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

use super::{MAX_LATE_S, ScheduledEnd, ScheduledError, ScheduledMessage, ScheduledOutcome, ScheduledStore};
use crate::log::decision::{DECISIONS_MAX, StaleDecisionError};
use crate::messages::compose::{ComposedMessage, RequestedRecipient, SendRequest};
use crate::messages::ports::{MessagePorts, WorkflowError};
use crate::messages::send::compose;
use crate::messages::topic_policy::automatic::{self, SentTopic};
use crate::permission::entry;

/// Messages of one look. When there are so many, there may be more.
const AT_ONCE: usize = 100;
/// The program that notices name as the one they were sent with.
const CLIENT: &str = "Server";
/// The reason that a sender is given for a message on which the server panics.
const PANICKED: &str = "Internal server error";

/// The reason why a message that is due is not sent.
enum DueError {
    /// The server failed: the message waits for the next look.
    Failed(WorkflowError),
    /// The message is refused, for this reason in words for its sender.
    Refused(String),
}

impl From<WorkflowError> for DueError {
    fn from(error: WorkflowError) -> Self {
        match error {
            WorkflowError::Store(_) | WorkflowError::Stale(_) => Self::Failed(error),
            refusal => Self::Refused(refusal.to_string()),
        }
    }
}

/// Ends the waiting of messages whose time has come. Returns whether there may be more of them.
///
/// # Errors
/// When the server failed for one of them; the others are settled all the same.
pub async fn send_due(ports: &MessagePorts<'_>, scheduled: &dyn ScheduledStore) -> Result<bool, WorkflowError> {
    let due = scheduled.due(ports.now_s, AT_ONCE).await?;
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
    ports: &MessagePorts<'_>,
    scheduled: &dyn ScheduledStore,
    message: &ScheduledMessage,
) -> Result<(), WorkflowError> {
    let mut heard_of = None;
    for _ in 0..DECISIONS_MAX {
        let composing = AssertUnwindSafe(compose_due(ports, message)).catch_unwind();
        let composed = composing.await.unwrap_or_else(|_| Err(DueError::Refused(PANICKED.to_owned())));
        let (end, topic) = match composed {
            Ok(composed) => {
                let topic = SentTopic::of(&composed);
                (ScheduledEnd::Sent(Box::new(composed.message)), topic)
            }
            Err(DueError::Failed(failure)) => return Err(failure),
            // Another node may have changed what it is refused for.
            Err(_) if heard_of.is_none_or(|changed| changed < ports.realm().changed()) => {
                ports.realm.refresh().await?;
                heard_of = Some(ports.realm().changed());
                continue;
            }
            Err(DueError::Refused(failure)) => (failed(ports, message, failure).await?, None),
        };
        match scheduled.settle(message, end, ports.now_s).await? {
            ScheduledOutcome::Done { sent } => {
                if let Some((topic, id)) = topic.zip(sent) {
                    automatic::after_sending(ports, message.user_id, &topic, id).await;
                }
                return Ok(());
            }
            ScheduledOutcome::Gone => return Ok(()),
            ScheduledOutcome::Stale => {}
        }
    }
    Err(StaleDecisionError("the realm").into())
}

async fn compose_due(ports: &MessagePorts<'_>, message: &ScheduledMessage) -> Result<ComposedMessage, DueError> {
    if ports.now_s - message.due_s > MAX_LATE_S {
        return Err(WorkflowError::from(ScheduledError::TooLate).into());
    }
    let realm = ports.realm();
    let sender = entry::account(&realm, message.user_id).map_err(WorkflowError::from)?;
    Ok(compose(ports, &realm, sender, message.send_request()).await?)
}

/// Not specified how a sender learns of it. No account here speaks for the server, so the notice is, unread, among the
/// messages they send to themselves; a sender who cannot have any, because their account is closed, gets none.
async fn failed(
    ports: &MessagePorts<'_>,
    message: &ScheduledMessage,
    failure: String,
) -> Result<ScheduledEnd, WorkflowError> {
    let realm = ports.realm();
    let sender = realm.user(message.user_id).filter(|user| user.is_active);
    let Some(sender) = sender else { return Ok(ScheduledEnd::Failed { failure, notice: None }) };
    let content = message.notice(&failure);
    let to = [message.user_id];
    let request = SendRequest {
        to: RequestedRecipient::Ids(&to),
        content: &content,
        client: CLIENT,
        read_by_sender: false,
        local: None,
        widget: None,
    };
    let notice = match compose(ports, &realm, sender, request).await.map_err(DueError::from) {
        Ok(composed) => Some(Box::new(composed.message)),
        Err(DueError::Failed(failure)) => return Err(failure),
        Err(DueError::Refused(_)) => None,
    };
    Ok(ScheduledEnd::Failed { failure, notice })
}
