//! Telephones notified without a bouncer, each by its maker's service.

use async_trait::async_trait;
use chat_core::id::UserId;
use chat_core::push_notifications::{
    self, NotificationOrigin, NotificationPurpose, PushDevice, PushDeviceKind, PushError, PushNotification, PushService,
};
use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::Value;

use super::apple::Apple;
use super::google::Google;
use super::vendor::DeliveryOutcome;
use crate::config::PushConfig;

/// Devices of one user that are told at the same time.
const DEVICES_AT_ONCE: usize = 8;

/// The services of the makers, as far as the operator has keys for them. Devices of others are kept, and told nothing.
pub(crate) struct Direct {
    pub(super) apple: Option<Apple>,
    pub(super) google: Option<Google>,
    pub(super) base_url: String,
    pub(super) brand: String,
}

impl Direct {
    /// Returns the services that the configuration has keys for, when there is one. Reads the keys.
    ///
    /// # Errors
    /// When a key cannot be used; the text names its file and nothing of what is in it.
    pub(crate) fn new(config: &PushConfig, (base_url, brand): (&str, &str)) -> anyhow::Result<Option<Self>> {
        let apple = config.apple().map(|given| Apple::new(&given)).transpose()?;
        let google = config.google().map(Google::new).transpose()?;
        if apple.is_none() && google.is_none() {
            return Ok(None);
        }
        Ok(Some(Self { apple, google, base_url: base_url.to_owned(), brand: brand.to_owned() }))
    }

    async fn tell(&self, device: &PushDevice, notice: &PushNotification) -> Result<DeliveryOutcome, PushError> {
        match (device.kind, &self.apple, &self.google) {
            (PushDeviceKind::Apple, Some(apple), _) => apple.tell(device, notice).await,
            (PushDeviceKind::Google, _, Some(google)) => google.tell(device, notice).await,
            _ => Ok(DeliveryOutcome::Accepted),
        }
    }
}

#[async_trait]
impl PushService for Direct {
    async fn register_device(&self, _: &PushDevice) -> Result<(), PushError> {
        Ok(())
    }

    async fn unregister_device(&self, _: UserId, _: PushDeviceKind, _: &str) -> Result<(), PushError> {
        Ok(())
    }

    async fn send_test_notification(&self, device: &PushDevice, payload: &Value) -> Result<(), PushError> {
        let origin = NotificationOrigin { base_url: &self.base_url, brand: &self.brand };
        let notice = PushNotification {
            user_id: device.user_id,
            devices: Vec::new(),
            purpose: NotificationPurpose::Test,
            google: payload.clone(),
            apple: push_notifications::apple_test_payload(&origin, payload),
        };
        match self.tell(device, &notice).await? {
            DeliveryOutcome::Accepted => Ok(()),
            DeliveryOutcome::UnknownDevice => Err(PushError::NotRecognizedThere),
        }
    }

    /// A device that is not reached keeps no other from being told, and none from being forgotten.
    async fn send_notification(&self, notice: &PushNotification) -> Result<Vec<(PushDeviceKind, String)>, PushError> {
        let telling = stream::iter(notice.devices.clone()).map(async |device| {
            let reached = self.tell(&device, notice).await;
            (device, reached)
        });
        let outcomes: Vec<_> = telling.buffer_unordered(DEVICES_AT_ONCE).collect().await;
        let mut gone = Vec::new();
        for (device, reached) in outcomes {
            match reached {
                Ok(DeliveryOutcome::Accepted) => {}
                Ok(DeliveryOutcome::UnknownDevice) => gone.push((device.kind, device.token)),
                Err(error) => {
                    let error = anyhow::Error::from(error);
                    tracing::warn!(error = format!("{error:#}"), "a telephone was not notified of a message");
                }
            }
        }
        Ok(gone)
    }
}

#[cfg(test)]
mod tests;
