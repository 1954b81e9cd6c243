//! Scheduling a message, and changing one that waits.

use super::{
    ScheduledError, ScheduledMessage, ScheduledMessageUpdate, ScheduledRecipient, ScheduledStore, ScheduledType,
};
use crate::id::{ScheduledId, UserId};
use crate::log::decision::{DECISIONS_MAX, StaleDecisionError};
use crate::messages::ports::{MessagePorts, WorkflowError};
use crate::messages::send::compose;
use crate::messages::store::WriteOutcome;
use crate::permission::entry::AuthenticationError;

/// The scheduled message that a request changes.
#[derive(Debug, Clone, Copy)]
pub struct ScheduledTarget<'a> {
    /// Its sender.
    pub user_id: UserId,
    /// Its number.
    pub id: ScheduledId,
    /// The program of the request.
    pub client: &'a str,
}

/// Schedules a message, when it could be sent now. Its number, revision and HTML are given here.
///
/// # Errors
/// When it could not be sent, its sender has too many, or the server failed.
pub async fn schedule(
    ports: &MessagePorts<'_>,
    scheduled: &dyn ScheduledStore,
    message: ScheduledMessage,
) -> Result<ScheduledId, WorkflowError> {
    let message = as_sent_now(ports, message).await?;
    let id = scheduled.schedule(message, ports.now_s).await?;
    Ok(id.ok_or(ScheduledError::TooMany)?)
}

/// Changes a message that waits, or that failed. `read` reads the place of the update as the kind of place that the
/// message will have.
///
/// # Source
/// Specification, `PATCH /scheduled_messages/{scheduled_message_id}`.
///
/// # Errors
/// See [`ScheduledError`]; when it could not be sent, or the server failed; and those of `read`.
pub async fn reschedule<T: Sync, E: From<WorkflowError>>(
    ports: &MessagePorts<'_>,
    scheduled: &dyn ScheduledStore,
    target: ScheduledTarget<'_>,
    update: &ScheduledMessageUpdate<T>,
    read: impl Fn(ScheduledType, &T) -> Result<ScheduledRecipient, E> + Send + Sync,
) -> Result<(), E> {
    update.check(ports.now_s).map_err(WorkflowError::from)?;
    for _ in 0..DECISIONS_MAX {
        let before = scheduled.scheduled(target.user_id, target.id).await.map_err(WorkflowError::from)?;
        let before = before.ok_or(WorkflowError::Scheduled(ScheduledError::NoneSuch))?;
        let (message, recompose) = update.read(&before, &read)?.applied(&before).map_err(WorkflowError::from)?;
        let message = ScheduledMessage { client: target.client.to_owned(), ..message };
        let message = if recompose { as_sent_now(ports, message).await? } else { message };
        let written = scheduled.reschedule(message, ports.now_s).await.map_err(WorkflowError::from)?;
        if written != WriteOutcome::Unchanged {
            return Ok(());
        }
    }
    Err(WorkflowError::from(StaleDecisionError("a scheduled message")).into())
}

/// Returns the message as it would be sent now, if it may be.
async fn as_sent_now(ports: &MessagePorts<'_>, message: ScheduledMessage) -> Result<ScheduledMessage, WorkflowError> {
    let realm = ports.realm();
    let sender = realm.user(message.user_id).ok_or(AuthenticationError::UnknownKey)?;
    let as_sent = compose(ports, &realm, sender, message.send_request()).await?;
    Ok(message.composed(&as_sent.message))
}
