//! What clients are shown: JSON objects, one file each, made in one place for answers, events and the first state of
//! a queue.

mod bot;
pub mod channel;
pub mod group;
pub mod message;
mod message_parts;
pub mod realm_and_user_items;
pub mod subscription;
mod text;
mod user;
pub mod user_settings;

pub use bot::bot_object;
pub use group::{group_setting, user_group_object};
pub use message_parts::{DisplayRecipient, DisplayUser, MessageFormat, MessageSender, TopicLinkObject};
pub use text::{MessageJson, MessageWithCachedJson};
pub use user::{
    AvatarUrls, UserObjectFields, avatar_url, avatar_urls, bot_type_number, medium_avatar_url, message_sender,
    user_object,
};

use serde_json::Value;

/// Adds the members of one object to another.
pub(crate) fn add(event: &mut Value, more: Value) {
    if let (Value::Object(event), Value::Object(more)) = (event, more) {
        event.extend(more);
    }
}
