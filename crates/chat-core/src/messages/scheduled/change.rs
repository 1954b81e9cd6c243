//! Scheduling a message, and changing one that waits.

use super::{
    ScheduledError, ScheduledMessage, ScheduledMessageUpdate, ScheduledRecipient, ScheduledStore, ScheduledType,
};
use crate::StoreError;
use crate::id::{ScheduledId, UserId};
use crate::log::decision::{DECISIONS_MAX, StaleDecisionError};
use crate::messages::ports::MessagePorts;
use crate::messages::send::{SendMessageError, compose};
use crate::messages::store::WriteOutcome;
use crate::permission::entry::AuthenticationError;

/// The reason why a request about a scheduled message is not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleMessageError {
    /// The message is not scheduled, or stays as it is.
    #[error(transparent)]
    Scheduled(#[from] ScheduledError),
    /// It could not be sent.
    #[error(transparent)]
    Send(#[from] SendMessageError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The message changed faster.
    #[error(transparent)]
    Stale(#[from] StaleDecisionError),
}

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
/// See [`ScheduleMessageError`].
pub async fn schedule(
    ports: &MessagePorts<'_>,
    scheduled: &dyn ScheduledStore,
    message: ScheduledMessage,
) -> Result<ScheduledId, ScheduleMessageError> {
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
/// See [`ScheduleMessageError`], and those of `read`.
pub async fn reschedule<T: Sync, E: From<ScheduleMessageError>>(
    ports: &MessagePorts<'_>,
    scheduled: &dyn ScheduledStore,
    target: ScheduledTarget<'_>,
    update: &ScheduledMessageUpdate<T>,
    read: impl Fn(ScheduledType, &T) -> Result<ScheduledRecipient, E> + Send + Sync,
) -> Result<(), E> {
    update.check(ports.now_s).map_err(ScheduleMessageError::from)?;
    for _ in 0..DECISIONS_MAX {
        let found = scheduled.scheduled(target.user_id, target.id).await.map_err(ScheduleMessageError::from)?;
        let before = found.ok_or(ScheduledError::NoneSuch).map_err(ScheduleMessageError::from)?;
        let update = update.read(&before, &read)?;
        let written = apply(ports, scheduled, (&before, &update), target.client).await?;
        if written != WriteOutcome::Unchanged {
            return Ok(());
        }
    }
    Err(ScheduleMessageError::from(StaleDecisionError::ScheduledMessage).into())
}

async fn apply(
    ports: &MessagePorts<'_>,
    scheduled: &dyn ScheduledStore,
    (before, update): (&ScheduledMessage, &ScheduledMessageUpdate),
    client: &str,
) -> Result<WriteOutcome, ScheduleMessageError> {
    let (message, recompose) = update.applied(before)?;
    let message = ScheduledMessage { client: client.to_owned(), ..message };
    let message = if recompose { as_sent_now(ports, message).await? } else { message };
    Ok(scheduled.reschedule(message, ports.now_s).await?)
}

/// Returns the message as it would be sent now, if it may be.
async fn as_sent_now(
    ports: &MessagePorts<'_>,
    message: ScheduledMessage,
) -> Result<ScheduledMessage, SendMessageError> {
    let realm = ports.realm();
    let sender = realm.user(message.user_id).ok_or(AuthenticationError::UnknownKey)?;
    let as_sent = compose(ports, &realm, sender, message.send_request()).await?;
    Ok(message.composed(&as_sent.message))
}
