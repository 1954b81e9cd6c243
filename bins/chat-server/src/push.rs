//! Notifications on telephones: the bouncer over HTTP, and the task that looks through messages for them.
//!
//! One node at a time looks, from where the last one got to, so that a node that is killed is followed by another. A
//! notification may come twice then. One that the bouncer does not take is lost: the message is not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use chat_core::event::{Body, EventRecord};
use chat_core::id::{EventId, UserId};
use chat_core::ports::{EventLog, PresenceStore, RealmStore as _};
use chat_core::push::{self, Bouncer, Device, DeviceKind, Notice, Origin, PushError, PushStore, Trigger};
use chat_storage::Store;
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use crate::config::PushConfig;
use crate::machine::Machine;

/// How often a node looks for messages.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Seconds for which a node has its turn: longer than a look takes.
const TURN_S: i64 = 120;
/// Records looked through at once.
const AT_ONCE: usize = 50;
/// Seconds after which nobody is notified of a message any more: they would hear of it when it is old.
const OLD_S: i64 = 600;
/// How long the bouncer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest answer of the bouncer that is read, in bytes.
const ANSWER_MAX_BYTES: u64 = 256 * 1024;

/// A bouncer that is spoken to over HTTP.
///
/// # Source
/// Not specified; the paths and members are those of the bouncer existing servers use.
pub(crate) struct HttpBouncer {
    client: Client,
    base_url: String,
    id: String,
    key: String,
}

impl HttpBouncer {
    /// The bouncer of the configuration, when there is one.
    ///
    /// # Errors
    /// When HTTP cannot be set up.
    pub(crate) fn new(config: &PushConfig) -> anyhow::Result<Option<Arc<Self>>> {
        let Some((base_url, id, key)) = config.bouncer() else { return Ok(None) };
        let builder = Client::builder().redirect(Policy::none()).referer(false).timeout(PATIENCE);
        let builder = builder.user_agent(concat!("chat-server/", env!("CARGO_PKG_VERSION")));
        let client = builder.build().context("the push bouncer cannot be called")?;
        Ok(Some(Arc::new(Self { client, base_url: base_url.to_owned(), id: id.to_owned(), key: key.to_owned() })))
    }

    async fn call(&self, path: &str, body: Value) -> Result<Value, PushError> {
        let failed = |error: reqwest::Error| PushError::Bouncer(error.without_url().into());
        let request = self.client.post(format!("{}/api/v1/remotes/push/{path}", self.base_url));
        let answer = request.basic_auth(&self.id, Some(&self.key)).json(&body).send().await.map_err(failed)?;
        let status = answer.status();
        if answer.content_length().is_some_and(|bytes| bytes > ANSWER_MAX_BYTES) {
            return Err(PushError::Bouncer("the answer is too long".into()));
        }
        let told: Value = answer.json().await.map_err(failed)?;
        match (status, told.get("code").and_then(Value::as_str)) {
            (StatusCode::OK, _) => Ok(told),
            (_, Some("INVALID_REMOTE_PUSH_DEVICE_TOKEN")) => Err(PushError::NotRecognizedThere),
            _ => Err(PushError::Bouncer(format!("the answer is {status}").into())),
        }
    }
}

#[async_trait]
impl Bouncer for HttpBouncer {
    async fn register(&self, device: &Device) -> Result<(), PushError> {
        let Device { user_id, kind, token, app_id } = device;
        let body = json!({"user_id": user_id, "token": token, "token_kind": kind.number(), "ios_app_id": app_id});
        self.call("register", body).await.map(drop)
    }

    async fn forget(&self, user_id: UserId, kind: DeviceKind, token: &str) -> Result<(), PushError> {
        let body = json!({"user_id": user_id, "token": token, "token_kind": kind.number()});
        self.call("unregister", body).await.map(drop)
    }

    async fn test(&self, device: &Device, payload: &Value) -> Result<(), PushError> {
        let Device { user_id, kind, token, .. } = device;
        let body = json!({"user_id": user_id, "token": token, "token_kind": kind.number(), "base_payload": payload});
        self.call("test_notification", body).await.map(drop)
    }

    async fn notify(&self, notice: &Notice) -> Result<Vec<(DeviceKind, String)>, PushError> {
        let tokens = |kind| {
            let devices = notice.devices.iter().filter(move |device| device.kind == kind);
            devices.map(|device| device.token.as_str()).collect::<Vec<_>>()
        };
        let body = json!({
            "user_id": notice.user_id,
            "gcm_payload": notice.google,
            "apns_payload": notice.apple,
            "gcm_options": {"priority": "high"},
            "android_devices": tokens(DeviceKind::Google),
            "apple_devices": tokens(DeviceKind::Apple),
        });
        let told = self.call("notify", body).await?;
        let gone = |kind, key: &str| {
            let list = told.get("deleted_devices").and_then(|deleted| deleted.get(key)).and_then(Value::as_array);
            let tokens = list.into_iter().flatten().filter_map(Value::as_str);
            tokens.map(|token| (kind, token.to_owned())).collect::<Vec<_>>()
        };
        Ok([gone(DeviceKind::Google, "android_devices"), gone(DeviceKind::Apple, "apple_devices")].concat())
    }
}

/// Looks through messages, and notifies those who want to be.
pub(crate) struct Watch {
    pub(crate) store: Arc<Store>,
    pub(crate) bouncer: Arc<dyn Bouncer>,
    pub(crate) base_url: String,
    pub(crate) brand: String,
    /// What tells this node from others.
    pub(crate) node: String,
}

impl Watch {
    /// Does so for as long as it is let.
    pub(crate) async fn keep(self) {
        let mut tick = tokio::time::interval(LOOK_EVERY);
        let mut seen = EventId::NONE;
        loop {
            tick.tick().await;
            // Nothing is asked of the database while nothing happens.
            if self.store.head() == seen {
                continue;
            }
            match self.look(Machine.now_s()).await {
                Ok(Some(place)) => seen = place,
                Ok(None) => {}
                Err(error) => tracing::error!(error = format!("{error:#}"), "messages cannot be looked through"),
            }
        }
    }

    /// Looks through some records, if it is this node's turn. Returns how far messages are looked through.
    async fn look(&self, now_s: i64) -> anyhow::Result<Option<EventId>> {
        let Some(from) = self.store.take_push_turn(&self.node, now_s, now_s + TURN_S).await? else { return Ok(None) };
        let Ok(records) = self.store.after(from, AT_ONCE).await? else {
            // What was told there is old and gone.
            let head = self.store.head();
            self.store.move_push_turn(&self.node, head).await?;
            return Ok(Some(head));
        };
        let Some(last) = records.last() else { return Ok(Some(from)) };
        let is_due = |record: &&Arc<EventRecord>| now_s - record.at_s < OLD_S && has_message(record);
        let due: Vec<_> = records.iter().filter(is_due).collect();
        if !due.is_empty() {
            self.notify_of(&due).await?;
        }
        self.store.move_push_turn(&self.node, last.id).await?;
        Ok(Some(last.id))
    }

    async fn notify_of(&self, records: &[&Arc<EventRecord>]) -> anyhow::Result<()> {
        let owners = self.store.device_owners().await?;
        let realm = self.store.realm();
        for record in records {
            let presences: &dyn PresenceStore = self.store.as_ref();
            let receivers = push::receivers(&realm, presences, record, &owners);
            if receivers.is_empty() {
                continue;
            }
            let ids: Vec<_> = receivers.iter().map(|(id, _)| *id).collect();
            let mut devices: BTreeMap<UserId, Vec<Device>> = BTreeMap::new();
            for device in self.store.devices(&ids).await? {
                devices.entry(device.user_id).or_default().push(device);
            }
            for (user_id, trigger) in receivers {
                let devices = devices.remove(&user_id).unwrap_or_default();
                self.notify(record, (user_id, trigger), devices).await?;
            }
        }
        Ok(())
    }

    async fn notify(
        &self,
        record: &EventRecord,
        (user_id, trigger): (UserId, Trigger),
        devices: Vec<Device>,
    ) -> anyhow::Result<()> {
        let Some(Body::Message(event)) = record.event.as_ref().map(|event| &event.body) else { return Ok(()) };
        let origin = Origin { base_url: &self.base_url, brand: &self.brand };
        let (google, apple) = push::message(&self.store.realm(), &origin, event, (user_id, trigger));
        match self.bouncer.notify(&Notice { user_id, devices, google, apple }).await {
            Ok(gone) => {
                for (kind, token) in gone {
                    self.store.forget_device(user_id, kind, &token).await?;
                }
            }
            Err(error) => {
                let error = anyhow::Error::from(error);
                tracing::warn!(error = format!("{error:#}"), "telephones were not notified of a message");
            }
        }
        Ok(())
    }
}

fn has_message(record: &EventRecord) -> bool {
    record.event.as_ref().is_some_and(|event| matches!(event.body, Body::Message(_)))
}

#[cfg(test)]
mod tests;
