//! The rules of the chat server, without I/O: no HTTP, no SQL, no clock.
//!
//! This crate is where it is decided who may do what, what the limits are, how a message looks, what a narrow
//! selects and what an event says. Handlers and storage call it; it calls nothing outside itself, except through the
//! store traits that it declares beside the rules that need them.
//!
//! The folders are layers: each uses those above it in this list and none below, and `cargo xtask tidy` refuses a
//! circle.
//!
//! - [`id`] holds the number types, [`limits`] how much there may be of what;
//! - [`text_processing`] reads texts that people type, [`emoji`] knows the names of Unicode emoji, [`files`] is what
//!   people upload;
//! - [`markdown`] turns what people type into HTML and into the facts the server needs (who is mentioned, what is
//!   linked);
//! - [`model`] is the realm as data: users, channels, groups, messages, how they change, and the realm in memory;
//! - [`permission`] decides who may see, read, enter, send and administer;
//! - [`wire_format`] is what clients are shown of all that, in answers and events alike;
//! - [`event_log`] is what is committed together and the events of it;
//! - [`organization`] is what administrators choose for all, and the founding of a realm;
//! - [`messages`] composes, schedules, finds, edits, marks and expires messages;
//! - [`channels`] makes, changes, fills and closes channels;
//! - [`people`] has accounts, bots, groups, invitations, presence, and what people choose for themselves;
//! - [`push_notifications`] notifies telephones;
//! - [`import_export`] takes over a realm that was elsewhere, and hands one out.
//!
//! One folder per concept, and not one per kind of code (all rules, all stores, all errors): a change of what a message
//! may be then stays in one folder, and a reader of that folder needs the layers above it only.
//!
//! Rendering happens once, when a message is written, not when it is read: the HTML is stored. The other way, to
//! render for each reader, would let names in old messages follow a rename, at the price of doing the work a
//! thousand times over.

pub mod id;
pub mod limits;
mod store_error;

pub mod emoji;
pub mod feature_level;
pub mod files;
pub mod markdown;
pub mod text_processing;

pub mod model;
pub mod permission;
pub mod wire_format;

pub mod event_log;

pub mod channels;
pub mod import_export;
pub mod messages;
pub mod organization;
pub mod people;
pub mod push_notifications;

pub use store_error::{DatabaseUnavailable, SearchTimeout, StoreError};

#[cfg(test)]
mod testing;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
