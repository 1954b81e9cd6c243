//! Accounts and bots, how people join, sign in and are grouped, and what they say and choose of themselves.

pub mod account;
pub mod address;
pub mod attempts;
pub mod avatar;
pub mod bots;
pub mod groups;
pub mod invitation;
pub mod password_reset;
pub mod personal;
pub mod presence;
pub mod profile;
pub mod session;
pub mod sign_in_link;
pub mod typing;
