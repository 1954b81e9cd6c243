//! Notifications on telephones: the services that send them, and the task that looks through the log for them.

mod bouncer;
mod watch;

pub(crate) use bouncer::HttpBouncer;
pub(crate) use watch::Watch;

#[cfg(test)]
mod tests;
