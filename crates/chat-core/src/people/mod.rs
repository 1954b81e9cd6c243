//! Accounts and bots, how people join, sign in and are grouped, and what they say and choose of themselves.

pub mod account;
pub mod avatar;
pub mod bots;
pub mod custom_profile_fields;
pub mod email_change;
pub mod groups;
pub mod invitation;
pub mod password_attempts;
pub mod password_reset;
pub mod personal_settings;
pub mod presence;
pub mod session;
pub mod sign_in_link;
pub mod typing_notifications;
