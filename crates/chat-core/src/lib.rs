//! The rules of the chat server, without I/O: no HTTP, no SQL, no clock.
//!
//! This crate is where it is decided who may do what, what the limits are, how a message looks, what a narrow
//! selects and what an event says. Handlers and storage ask it; it asks nobody, except through the traits it
//! declares:
//!
//! - [`snapshot`] is the realm in memory; [`change`] is the one way it changes, [`event`] what is told to whom;
//! - [`access`], [`send`], [`edit`], [`membership`] and [`administer`] decide who may do what;
//! - [`compose`] makes what someone wants to say a message, with the [`lexicon`] of the realm;
//! - [`scheduled`] keeps messages until their time, [`draft`] those that are not done;
//! - [`channels`] makes, changes, fills and closes channels;
//! - [`groups`] makes, changes, fills and removes user groups;
//! - [`mark`] and [`reaction`] are what users make of messages;
//! - [`file`] is what people upload, [`avatar`] and [`custom_emoji`] the pictures that are made of it;
//! - [`linkifiers`] and [`playgrounds`] are links an organization makes of its texts and code;
//! - [`mark`], [`reaction`] and [`widget`] are what users make of messages;
//! - [`retention`] has old messages go;
//! - [`presence`] knows who is there, [`typing`] who is writing;
//! - [`account`] makes, changes and closes accounts, [`address`] says who is shown theirs;
//! - [`personal`] is what people choose for themselves;
//! - [`bots`] are accounts that act for programs; [`domains`] is where the realm expects addresses to be;
//! - [`profile`] asks users about themselves and keeps what they answer;
//! - [`attempts`] says how often a password may be tried;
//! - [`organization`] is what administrators choose for all;
//! - [`founding`] is the first commit of a realm, [`import`] takes over one that was elsewhere, and [`export`] hands one
//!   out;
//! - [`invitation`] asks people in, [`mail`] is the letters that go out, and [`push`] notifies telephones;
//! - [`narrow`] says which messages someone asks for and which of those they may have;
//! - [`object`] is what clients are shown of all that, in answers and events alike;
//! - [`ports`] is what all that needs a database for;
//! - [`markdown`] turns what people type into HTML and into the facts the server needs (who is mentioned, what is
//!   linked);
//! - [`emoji`] knows the names of Unicode emoji;
//! - [`alert_words`] finds the words people want to be told about;
//! - [`id`] holds the number types they use.
//!
//! Rendering happens once, when a message is written, not when it is read: the HTML is stored. The other way, to
//! render for each reader, would let names in old messages follow a rename, at the price of doing the work a
//! thousand times over.

pub mod alert_words;
pub mod id;
pub mod limits;
pub mod role;

pub mod channel;
pub mod group;
pub mod message;
pub mod realm;
pub mod user;

pub mod change;
pub mod event;
pub mod snapshot;

pub mod access;
pub mod account;
pub mod address;
pub mod administer;
pub mod attempts;
pub mod avatar;
pub mod bots;
pub mod channels;
pub mod compose;
pub mod custom_emoji;
pub mod domains;
pub mod draft;
pub mod edit;
pub mod emblem;
pub mod export;
pub mod founding;
pub mod groups;
pub mod import;
pub mod invitation;
pub mod linkifiers;
pub mod mail;
pub mod mark;
pub mod membership;
pub mod narrow;
pub mod newcomer;
pub mod organization;
pub mod own_copy;
pub mod personal;
pub mod playgrounds;
pub mod presence;
pub mod printable;
pub mod problems;
pub mod profile;
pub mod push;
pub mod reaction;
pub mod retention;
pub mod scheduled;
pub mod send;
pub mod typing;
pub mod url_template;
pub mod widget;

pub mod file;

pub mod object;

pub mod emoji;
pub mod lexicon;
pub mod markdown;
pub mod words;

pub mod ports;

#[cfg(test)]
mod testing;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
