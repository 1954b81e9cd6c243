//! One module per address, one function per method.

pub(crate) mod apps;
pub(crate) mod authorize;
pub(crate) mod b2b_claim;
pub(crate) mod bundle;
pub(crate) mod discovery;
pub(crate) mod grant;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod introspect;
pub(crate) mod jwks;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod metadata;
pub(crate) mod migrations;
pub(crate) mod packages;
pub(crate) mod patient;
pub(crate) mod resource;
pub(crate) mod revoke;
pub(crate) mod rpc;
pub(crate) mod style;
pub(crate) mod token;
pub(crate) mod userinfo;
pub(crate) mod validate;
pub(crate) mod version;
