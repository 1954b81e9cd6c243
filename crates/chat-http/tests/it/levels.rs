//! Feature levels above the one that the server reports, each by its number.
//!
//! A level that is here is there for every client, whatever level the server reports: it adds and takes nothing away.

mod channels;
mod described;
mod folders;
mod markdown;
mod messages;
mod notices;
mod people;
mod permissions;
mod personal;
mod register;
mod reminders;
mod resumable_uploads;
