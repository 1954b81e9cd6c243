//! Who may do what: questions about the realm in memory that change nothing and report nothing.

pub mod access;
pub mod administer;
pub mod entry;
pub mod membership;
pub mod send;
