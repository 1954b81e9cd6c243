//! The endpoints: a module is a path, a function its method.

pub(crate) mod health;
pub(crate) mod messages;
pub(crate) mod server_settings;
