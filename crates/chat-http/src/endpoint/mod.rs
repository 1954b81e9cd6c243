//! The endpoints: a module is a path, a function its method.

pub(crate) mod channels;
pub(crate) mod drafts;
pub(crate) mod emoji_data;
pub(crate) mod events;
pub(crate) mod fetch_api_key;
pub(crate) mod flags;
pub(crate) mod following;
pub(crate) mod health;
pub(crate) mod icon;
pub(crate) mod message_edit;
pub(crate) mod messages;
pub(crate) mod narrowed;
pub(crate) mod personal;
pub(crate) mod presence;
pub(crate) mod reactions;
mod readable;
pub(crate) mod register;
pub(crate) mod scheduled_messages;
pub(crate) mod server_settings;
pub(crate) mod settings;
pub(crate) mod subscriptions;
pub(crate) mod typing;
pub(crate) mod user_groups;
pub(crate) mod user_settings_defaults;
pub(crate) mod users;
