//! The rules of the crate through its public face, over stores in memory, with a fixed clock and a
//! seeded generator.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets what it does not expect must end there"
)]

mod access;
mod app;
mod assertion;
mod audit;
mod authorize;
mod bindings;
mod claim;
mod code;
mod connected;
mod consent;
mod exchange_grant;
mod introspection;
mod jose;
mod jwks;
mod keys;
mod launch;
mod malformed;
mod member_token;
mod password;
mod people;
mod promises;
mod refresh;
mod scope;
mod secret;
mod sign_in;
mod world;
