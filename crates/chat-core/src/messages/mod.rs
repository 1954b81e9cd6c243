//! What becomes of messages: composing, scheduling, finding, editing, marking and deleting them.

pub mod attachment_event;
pub mod channel_activity;
pub mod compose;
pub mod delete;
pub mod draft;
pub mod edit;
pub mod emoji_choice;
pub mod flag_change;
pub mod flag_update;
pub mod narrow;
pub mod notices;
pub mod reaction;
pub mod readable_message;
pub mod reminders;
pub mod reports;
pub mod retention;
pub mod scheduled;
pub mod send;
pub mod store;
pub mod submessage;
pub mod topic_visibility_policy;
pub mod upload_access;
pub mod widget;
pub mod workflow_context;
