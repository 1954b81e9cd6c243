//! The rules of the crate through its public face, over stores in memory, with a fixed clock and a
//! seeded generator.

mod access;
mod assertion;
mod claim;
mod introspection;
mod jose;
mod jwks;
mod keys;
mod malformed;
mod scope;
mod secret;
mod world;
