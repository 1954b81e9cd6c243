//! The realm as data: users, channels, groups, messages, and how they change.
//!
//! Everything else in this crate reads these types; they know of nothing but texts. [`snapshot`] is the realm in memory,
//! [`change`] the one way in which it changes.

pub mod address_visibility;
pub mod change;
pub mod channel;
pub mod flag_change;
pub mod group;
pub mod message;
pub mod organization_image;
pub mod realm;
pub mod render_context;
pub mod role;
pub mod snapshot;
pub mod user;
pub mod user_message;
