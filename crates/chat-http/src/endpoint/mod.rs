//! The endpoints: a module is a path, a function its method.

pub(crate) mod channels;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod messages;
pub(crate) mod register;
pub(crate) mod server_settings;
pub(crate) mod subscriptions;
