//! Parameter decoding from the bytes up without a router, and the API through the router over a real database.
//!
//! `cfg(test)` on the modules tells the lints that their helpers are test code too.

#[cfg(test)]
mod addresses;
#[cfg(test)]
mod bots;
#[cfg(test)]
mod browsers;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod channels;
#[cfg(test)]
#[path = "../../../chat-core/tests/it/checker.rs"]
mod checker;
#[cfg(test)]
mod data_exports;
#[cfg(test)]
mod document;
#[cfg(test)]
mod domains;
#[cfg(test)]
mod drafts;
#[cfg(test)]
mod engine;
#[cfg(test)]
mod event_keys;
#[cfg(test)]
mod events;
#[cfg(test)]
mod exports;
#[cfg(test)]
mod file_store;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod invites;
#[cfg(test)]
mod json;
#[cfg(test)]
mod leaks;
#[cfg(test)]
mod levels;
#[cfg(test)]
mod login;
#[cfg(test)]
mod messages;
mod names;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod organization;
#[cfg(test)]
mod organization_items;
#[cfg(test)]
#[path = "../../../chat-core/tests/it/payloads.rs"]
mod payloads;
#[cfg(test)]
mod personal;
#[cfg(test)]
mod presence;
#[cfg(test)]
mod profile_fields;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod push;
#[cfg(test)]
mod races;
#[cfg(test)]
mod recipients;
#[cfg(test)]
mod register;
#[cfg(test)]
mod repolls;
#[cfg(test)]
mod request_parsing;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod scheduled;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod spec;
#[cfg(test)]
mod startup;
#[cfg(test)]
mod test_app;
#[cfg(test)]
mod texts;
#[cfg(test)]
mod typing;
#[cfg(test)]
mod uploads;
#[cfg(test)]
mod user_settings_defaults;
#[cfg(test)]
mod users;
