//! The events that the owner of an upload receives.

use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::files::{Attachment, AttachmentWithMessages};
use crate::id::UserId;

/// A change of an upload, for the `attachment` event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachmentChange {
    /// It came.
    Add,
    /// Other messages use it.
    Update,
}

/// Returns the event that tells the owner of an upload about a change. `used_bytes` is the size of all uploads.
/// `used_bytes` is what all uploads take together then.
#[must_use]
pub fn attachment_changed_event(change: AttachmentChange, used: &AttachmentWithMessages, used_bytes: i64) -> NewEvent {
    let op = match change {
        AttachmentChange::Add => "add",
        AttachmentChange::Update => "update",
    };
    tell(used.attachment.owner_id, op, &used.to_wire_object(), used_bytes)
}

/// Returns the event that tells the owner that an upload was deleted.
#[must_use]
pub fn attachment_removed_event(attachment: &Attachment, used_bytes: i64) -> NewEvent {
    tell(attachment.owner_id, "remove", &json!({"id": attachment.id}), used_bytes)
}

fn tell(owner_id: UserId, op: &str, attachment: &Value, used_bytes: i64) -> NewEvent {
    let event = json!({"type": "attachment", "op": op, "attachment": attachment, "upload_space_used": used_bytes});
    NewEvent::same_for_everyone(EventAudience::from_users([owner_id]), event)
}
