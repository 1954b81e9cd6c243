//! What clients are shown: JSON objects, one file each, made in one place for answers, events and the first state of
//! a queue.

mod bot;
pub mod channel;
pub mod group;
pub mod item;
pub mod message;
pub mod permission;
pub mod presence;
pub mod settings;
pub mod subscription;
mod text;
mod user;

pub use bot::bot;
pub use group::group;
pub use text::{MessageJson, StoredMessage};
pub use user::{AvatarUrls, UserFields, avatar, avatar_url, bot_type, sender, user};
