//! OAuth 2.0, OpenID and SMART rules without I/O: clients, assertions, tokens, keys, introspection, discovery, policies.

pub mod env;
pub mod jose;
pub mod keys;
pub mod limits;
pub mod ports;
