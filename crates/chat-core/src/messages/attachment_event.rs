//! The events that the owner of an upload receives.

use serde_json::{Value, json};

use crate::files::{Attachment, AttachmentUse};
use crate::id::UserId;
use crate::log::event::{EventAudience, NewEvent};

/// A change of an upload, for the `attachment` event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachmentChange {
    /// It came.
    Add,
    /// Other messages use it.
    Update,
}

/// Notifies the owner of an upload that something happened to it. `used_bytes` is what all uploads take together then.
#[must_use]
pub fn changed_event(change: AttachmentChange, used: &AttachmentUse, used_bytes: i64) -> NewEvent {
    let op = match change {
        AttachmentChange::Add => "add",
        AttachmentChange::Update => "update",
    };
    tell(used.attachment.owner_id, op, &used.shown(), used_bytes)
}

/// Notifies the owner that an upload is gone.
#[must_use]
pub fn removed_event(attachment: &Attachment, used_bytes: i64) -> NewEvent {
    tell(attachment.owner_id, "remove", &json!({"id": attachment.id}), used_bytes)
}

fn tell(owner_id: UserId, op: &str, attachment: &Value, used_bytes: i64) -> NewEvent {
    let event = json!({"type": "attachment", "op": op, "attachment": attachment, "upload_space_used": used_bytes});
    NewEvent::plain(EventAudience::users([owner_id]), event)
}
