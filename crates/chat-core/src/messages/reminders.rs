//! Reminders: messages that the Notification Bot sends a user about a message, at a time that the user chose.
//!
//! A reminder is composed twice: when it is requested, so that the user sees what it will say, and when it is due, by
//! what its message is then. It is sent in the transaction that ends it ([`ReminderStore::end_reminder`]): any node may
//! try, the first one does it, and a node that dies leaves it as it was.
//!
//! # Source
//! Not specified; feature levels 381, 399 and 415 of the API.

mod delivery;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

pub use delivery::send_due_reminders;

use crate::StoreError;
use crate::event_log::event::{EventAudience, NewEvent};
use crate::id::{MessageId, ReminderId, UserId};
use crate::messages::notices::reminder_text;
use crate::messages::readable_message::find_readable_message;
use crate::messages::scheduled::require_future_time;
use crate::messages::store::NewMessage;
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::render_context::RenderSettings;
use crate::model::user::User;

/// The maximum number of reminders of one user. Not specified; as of scheduled messages.
pub const MAX_REMINDERS_PER_USER: usize = 1_000;
/// The maximum number of characters of a reminder's note.
///
/// # Source
/// Level 415.
pub const MAX_REMINDER_NOTE_CHARS: usize = 1_000;

/// A reminder that waits for its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reminder {
    /// Its id.
    pub id: ReminderId,
    /// The user who is reminded.
    pub user_id: UserId,
    /// The message it is about.
    pub message_id: MessageId,
    /// What the user wants to read with it; empty for nothing.
    pub note: String,
    /// Its text, as of when it was requested.
    pub content: String,
    /// The same in HTML.
    pub html: String,
    /// When it is sent, in unix seconds.
    pub due_s: i64,
}

/// The reason why a reminder is not stored or not deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReminderError {
    /// The user has no reminder of that id.
    #[error("Reminder does not exist")]
    NoneSuch,
    /// The user has [`MAX_REMINDERS_PER_USER`].
    #[error("Too many reminders (maximum {MAX_REMINDERS_PER_USER}).")]
    TooMany,
    /// The note is longer than [`MAX_REMINDER_NOTE_CHARS`].
    #[error("Maximum reminder note length: {MAX_REMINDER_NOTE_CHARS} characters")]
    NoteTooLong,
}

/// The outcome of ending a reminder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReminderEnd {
    /// It is gone, and its message was sent.
    Done,
    /// The realm had changed since the message was composed; nothing was written.
    Stale,
    /// It was gone before. Nothing was written.
    Gone,
}

/// A request for a reminder.
#[derive(Debug, Clone, Copy)]
pub struct ReminderRequest<'a> {
    /// The message to be reminded of.
    pub message_id: MessageId,
    /// When, in unix seconds.
    pub due_s: i64,
    /// What the user wants to read with it.
    pub note: &'a str,
}

/// The store of reminders.
#[async_trait]
pub trait ReminderStore: Send + Sync {
    /// Stores a reminder, assigns its id, and notifies its user. `None` when they have [`MAX_REMINDERS_PER_USER`].
    async fn add_reminder(&self, reminder: Reminder, at_s: i64) -> Result<Option<ReminderId>, StoreError>;

    /// Returns the reminders of a user, the next one first.
    async fn reminders_of_user(&self, user_id: UserId) -> Result<Vec<Reminder>, StoreError>;

    /// Deletes a user's reminder and notifies them. Returns whether it existed.
    async fn delete_reminder(&self, user_id: UserId, id: ReminderId, at_s: i64) -> Result<bool, StoreError>;

    /// Returns reminders of all users that are due, the oldest first, at most `limit`.
    async fn due_reminders(&self, now_s: i64, limit: usize) -> Result<Vec<Reminder>, StoreError>;

    /// Deletes a reminder, notifies its user, and sends the message, in one transaction.
    async fn end_reminder(
        &self,
        reminder: &Reminder,
        message: Option<NewMessage>,
        at_s: i64,
    ) -> Result<ReminderEnd, StoreError>;
}

impl Reminder {
    /// Returns the reminder object of the wire.
    #[must_use]
    pub fn to_wire_object(&self) -> Value {
        json!({
            "reminder_id": self.id,
            "type": "private",
            "to": [self.user_id],
            "content": self.content,
            "rendered_content": self.html,
            "scheduled_delivery_timestamp": self.due_s,
            "failed": false,
            "reminder_target_message_id": self.message_id,
        })
    }

    /// Returns the event that reports the reminder as stored.
    #[must_use]
    pub fn added_event(&self) -> NewEvent {
        let event = json!({"type": "reminders", "op": "add", "reminders": [self.to_wire_object()]});
        NewEvent::same_for_everyone(EventAudience::from_users([self.user_id]), event)
    }

    /// Returns the event that reports a reminder of the user as sent or deleted.
    #[must_use]
    pub fn removed_event(user_id: UserId, id: ReminderId) -> NewEvent {
        let event = json!({"type": "reminders", "op": "remove", "reminder_id": id});
        NewEvent::same_for_everyone(EventAudience::from_users([user_id]), event)
    }
}

/// Stores a reminder of a message that the caller may read.
///
/// # Errors
/// See [`ReminderError`]; when the time is over or the message is not there for the caller, or the server failed.
pub async fn create_reminder(
    ports: &MessageWorkflowContext<'_>,
    store: &dyn ReminderStore,
    caller: &Arc<User>,
    request: ReminderRequest<'_>,
) -> Result<ReminderId, MessageWorkflowError> {
    let note = request.note.trim();
    if note.chars().count() > MAX_REMINDER_NOTE_CHARS {
        return Err(ReminderError::NoteTooLong.into());
    }
    let due_s = require_future_time(request.due_s, ports.now_s)?;
    let found = find_readable_message(ports, caller, request.message_id).await?;
    let content = reminder_text(&found.realm, &found.message, note);
    let uploads = ports.upload_access_stores().linked_readable_uploads(&found.realm, &found.user, &content).await?;
    let render_context = ports.render_contexts.get_or_compile(&found.realm);
    let MessageWorkflowContext { realm_url, now_s, .. } = *ports;
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: Some(&uploads), now_s };
    let reminder = Reminder {
        id: ReminderId(0),
        user_id: caller.id,
        message_id: request.message_id,
        note: note.to_owned(),
        html: setting.render_message(&found.realm, &found.user, &content).html,
        content,
        due_s,
    };
    Ok(store.add_reminder(reminder, now_s).await?.ok_or(ReminderError::TooMany)?)
}
