//! Who may do what: questions about the realm in memory that change nothing and report nothing.

pub mod access;
pub mod account_administration;
pub mod authentication;
pub mod channel_membership;
pub mod group_settings;
pub mod send_message;
