//! The append-only log: what is committed together, the events of it, and the stores of both.

pub mod commit;
pub mod decision;
pub mod event;
pub mod mail;
pub mod newcomer;
pub mod store;
