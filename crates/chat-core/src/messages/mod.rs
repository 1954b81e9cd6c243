//! What becomes of messages: composing, scheduling, finding, editing, marking and deleting them.

pub mod attachment_event;
pub mod compose;
pub mod draft;
pub mod edit;
pub mod emoji_choice;
pub mod flag_change;
pub mod narrow;
pub mod ports;
pub mod reaction;
pub mod retention;
pub mod scheduled;
pub mod send;
pub mod store;
pub mod topic_policy;
pub mod uploads;
pub mod widget;
