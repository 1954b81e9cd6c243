//! The realm as data: users, channels, groups, messages, and how they change.
//!
//! Everything else in this crate reads these types; they know of nothing but texts. [`realm_snapshot`] is the realm in
//! memory, [`realm_change`] the one way in which it changes.

pub mod channel;
pub mod email_address_visibility;
pub mod flag_change;
pub mod group;
mod group_resolution;
pub mod group_setting_rule;
pub mod message;
pub mod organization_image;
pub mod realm;
pub mod realm_change;
pub mod realm_permission;
pub mod realm_snapshot;
pub mod render_context;
pub mod role;
pub mod user;
pub mod user_message;
