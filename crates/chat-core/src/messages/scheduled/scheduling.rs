//! Scheduling a message, and changing one that waits.

use super::{
    ScheduledDestinationType, ScheduledMessage, ScheduledMessageError, ScheduledMessageStore, ScheduledMessageUpdate,
    ScheduledRecipient,
};
use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::id::{ScheduledMessageId, UserId};
use crate::messages::send::compose_message;
use crate::messages::store::MessageWriteOutcome;
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::permission::authentication::AuthenticationError;

/// The scheduled message that a request changes.
#[derive(Debug, Clone, Copy)]
pub struct ScheduledMessageTarget<'a> {
    /// Its sender.
    pub user_id: UserId,
    /// Its number.
    pub id: ScheduledMessageId,
    /// The program of the request.
    pub client: &'a str,
}

/// Schedules a message, if it could be sent now. Its id, revision and HTML are assigned here.
///
/// # Errors
/// When it could not be sent, its sender has too many, or the server failed.
pub async fn schedule_message(
    ports: &MessageWorkflowContext<'_>,
    scheduled: &dyn ScheduledMessageStore,
    message: ScheduledMessage,
) -> Result<ScheduledMessageId, MessageWorkflowError> {
    let message = as_sent_now(ports, message).await?;
    let id = scheduled.add_scheduled_message(message, ports.now_s).await?;
    Ok(id.ok_or(ScheduledMessageError::TooMany)?)
}

/// Changes a scheduled message that is waiting or failed. `read` parses the recipient of the update for the destination
/// type that the message will have.
///
/// # Source
/// Specification, `PATCH /scheduled_messages/{scheduled_message_id}`.
///
/// # Errors
/// See [`ScheduledMessageError`]; when it could not be sent, or the server failed; and those of `read`.
pub async fn update_scheduled_message<T: Sync, E: From<MessageWorkflowError>>(
    ports: &MessageWorkflowContext<'_>,
    scheduled: &dyn ScheduledMessageStore,
    target: ScheduledMessageTarget<'_>,
    update: &ScheduledMessageUpdate<T>,
    read: impl Fn(ScheduledDestinationType, &T) -> Result<ScheduledRecipient, E> + Send + Sync,
) -> Result<(), E> {
    update.validate(ports.now_s).map_err(MessageWorkflowError::from)?;
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let before =
            scheduled.find_scheduled_message(target.user_id, target.id).await.map_err(MessageWorkflowError::from)?;
        let before = before.ok_or(MessageWorkflowError::Scheduled(ScheduledMessageError::NoneSuch))?;
        let (message, recompose) =
            update.with_parsed_recipient(&before, &read)?.apply_to(&before).map_err(MessageWorkflowError::from)?;
        let message = ScheduledMessage { client: target.client.to_owned(), ..message };
        let message = if recompose { as_sent_now(ports, message).await? } else { message };
        let written =
            scheduled.update_scheduled_message(message, ports.now_s).await.map_err(MessageWorkflowError::from)?;
        if written != MessageWriteOutcome::Unchanged {
            return Ok(());
        }
    }
    Err(MessageWorkflowError::from(StaleDecisionError("a scheduled message")).into())
}

/// Returns the message as it would be sent now, if it may be.
async fn as_sent_now(
    ports: &MessageWorkflowContext<'_>,
    message: ScheduledMessage,
) -> Result<ScheduledMessage, MessageWorkflowError> {
    let realm = ports.snapshot();
    let sender = realm.user(message.user_id).ok_or(AuthenticationError::UnknownKey)?;
    let as_sent = compose_message(ports, &realm, sender, message.to_send_request()).await?;
    Ok(message.with_composed_content(&as_sent.message))
}
