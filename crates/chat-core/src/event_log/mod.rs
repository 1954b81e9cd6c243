//! The append-only log: what is committed together, the events of it, and the stores of both.

pub mod decision_queue;
pub mod email_queue;
pub mod event;
pub mod newcomer_backlog;
pub mod realm_commit;
pub mod store;
