//! The contract of the store, told once and run on every engine.
//!
//! `cfg(test)` on the modules tells the lints that their helpers are test code too.

#[cfg(test)]
mod home;
#[cfg(test)]
mod people;

#[cfg(test)]
mod bot_storage;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod edits;
#[cfg(test)]
mod exports;
#[cfg(test)]
mod full_disk;
#[cfg(test)]
mod gaps;
#[cfg(test)]
mod history;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod invitations;
#[cfg(test)]
mod log;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod presences;
#[cfg(test)]
mod pushes;
#[cfg(test)]
mod queues;
#[cfg(test)]
mod realm;
#[cfg(test)]
mod recent;
#[cfg(test)]
mod reminders;
#[cfg(test)]
mod resumable_uploads;
#[cfg(test)]
mod scheduled;
#[cfg(test)]
mod searches;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod typing;
#[cfg(test)]
mod uploads;
