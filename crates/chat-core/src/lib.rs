//! The rules of the chat server, without I/O: no HTTP, no SQL, no clock.
//!
//! This crate is where it is decided who may do what, what the limits are, how a message looks, what a narrow
//! selects and what an event says. Handlers and storage ask it; it asks nobody, except through the traits it
//! declares. What exists so far is the part that needs nothing else:
//!
//! - [`markdown`] turns what people type into HTML and into the facts the server needs (who is mentioned, what is
//!   linked);
//! - [`emoji`] knows the names of Unicode emoji;
//! - [`alert_words`] finds the words people want to be told about;
//! - [`id`] holds the number types they use.
//!
//! Permissions, limits, narrows and events are still to come and will be modules beside these.
//!
//! Rendering happens once, when a message is written, not when it is read: the HTML is stored. The other way, to
//! render for each reader, would let names in old messages follow a rename, at the price of doing the work a
//! thousand times over.

pub mod alert_words;
pub mod emoji;
pub mod id;
pub mod markdown;
