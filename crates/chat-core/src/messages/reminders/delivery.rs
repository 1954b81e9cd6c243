//! Sending reminders when they are due.
//!
//! A failure of the server leaves a reminder for the next look. A reminder that cannot be sent, because the account of
//! its user is closed, ends without a message.

use super::{Reminder, ReminderEnd, ReminderStore};
use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::messages::notices::{Notice, compose_notice, reminder_text};
use crate::messages::readable_message::find_readable_message;
use crate::messages::store::NewMessage;
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::organization::system_bots::SystemBot;

/// Reminders of one look. When there are so many, there may be more.
const AT_ONCE: usize = 100;

/// Sends the reminders that are due. Returns whether there may be more.
///
/// # Errors
/// When the server failed for one of them; the others are sent all the same.
pub async fn send_due_reminders(
    ports: &MessageWorkflowContext<'_>,
    store: &dyn ReminderStore,
) -> Result<bool, MessageWorkflowError> {
    let due = store.due_reminders(ports.now_s, AT_ONCE).await?;
    let (mut failed, found) = (None, due.len());
    for reminder in &due {
        if let Err(error) = deliver(ports, store, reminder).await {
            failed = Some(error);
        }
    }
    failed.map_or(Ok(found == AT_ONCE), Err)
}

async fn deliver(
    ports: &MessageWorkflowContext<'_>,
    store: &dyn ReminderStore,
    reminder: &Reminder,
) -> Result<(), MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let message = composed(ports, reminder).await?;
        if store.end_reminder(reminder, message, ports.now_s).await? != ReminderEnd::Stale {
            return Ok(());
        }
    }
    Err(StaleDecisionError("the realm").into())
}

/// Returns the message of a reminder; `None` when it is refused. Where the realm has no Notification Bot, it is among the
/// messages that the user sends to themselves.
async fn composed(
    ports: &MessageWorkflowContext<'_>,
    reminder: &Reminder,
) -> Result<Option<NewMessage>, MessageWorkflowError> {
    let content = content(ports, reminder).await?;
    let realm = ports.snapshot();
    let Some(user) = realm.user(reminder.user_id).filter(|user| user.is_active) else { return Ok(None) };
    let author = SystemBot::Notification.find(&realm).unwrap_or(user);
    match compose_notice(ports, &realm, author, &Notice::to_user(user.id, content)).await {
        Ok(composed) => Ok(Some(composed.message)),
        Err(error @ (MessageWorkflowError::Store(_) | MessageWorkflowError::Stale(_))) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Returns the text by what the message is now; the stored text when the user cannot read the message any more.
async fn content(ports: &MessageWorkflowContext<'_>, reminder: &Reminder) -> Result<String, MessageWorkflowError> {
    let realm = ports.snapshot();
    let Some(user) = realm.user(reminder.user_id) else { return Ok(reminder.content.clone()) };
    match find_readable_message(ports, user, reminder.message_id).await {
        Ok(found) => Ok(reminder_text(&found.realm, &found.message, &reminder.note)),
        Err(error @ (MessageWorkflowError::Store(_) | MessageWorkflowError::Stale(_))) => Err(error),
        Err(_) => Ok(reminder.content.clone()),
    }
}
