//! What clients are shown: JSON objects, one file each, made in one place for answers, events and the first state of
//! a queue.

mod bot;
pub mod channel;
pub mod group;
pub mod item;
pub mod message;
mod message_parts;
pub mod settings;
pub mod subscription;
mod text;
mod user;

pub use bot::bot;
pub use group::group;
pub use message_parts::{DisplayRecipient, DisplayUser, MessageFormat, MessageSender, TopicLinkText};
pub use text::{MessageJson, StoredMessage};
pub use user::{AvatarUrls, UserFields, avatar, avatar_url, bot_type, medium_avatar_url, sender, user};

use serde_json::Value;

/// Adds the members of one object to another.
pub(crate) fn add(event: &mut Value, more: Value) {
    if let (Value::Object(event), Value::Object(more)) = (event, more) {
        event.extend(more);
    }
}
