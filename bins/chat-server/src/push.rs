//! Notifications on telephones: the services that send them, and the task that looks through the log for them.

mod direct;
mod worker;

mod apple;
mod bouncer;
mod google;
mod vendor;

use std::sync::Arc;

use chat_core::push_notifications::PushService;

pub(crate) use worker::PushWorker;

use crate::config::PushConfig;

/// Returns the service that the configuration names, when it names one; `base_url` and `brand` are this server's.
///
/// # Errors
/// When a key cannot be used, or HTTP cannot be set up.
pub(crate) fn service(
    config: &PushConfig,
    base_url: &str,
    brand: &str,
) -> anyhow::Result<Option<Arc<dyn PushService>>> {
    if let Some(direct) = direct::Direct::new(config, (base_url, brand))? {
        return Ok(Some(Arc::new(direct)));
    }
    Ok(bouncer::HttpBouncer::new(config)?.map(|bouncer| bouncer as Arc<dyn PushService>))
}

#[cfg(test)]
mod tests;
