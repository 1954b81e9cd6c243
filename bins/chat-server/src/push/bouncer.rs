//! The bouncer over HTTP.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use chat_core::id::UserId;
use chat_core::push_notifications::{
    NotificationPurpose, PushDevice, PushDeviceKind, PushError, PushNotification, PushService,
};
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;

use crate::config::PushConfig;

/// How long the bouncer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest answer of the bouncer that is read, in bytes.
const ANSWER_MAX_BYTES: u64 = 256 * 1024;

/// A bouncer that is spoken to over HTTP.
///
/// # Source
/// Not specified; the paths and members are those of the bouncer existing servers use.
pub(crate) struct HttpBouncer {
    pub(super) client: Client,
    pub(super) base_url: String,
    pub(super) id: String,
    pub(super) key: String,
}

impl HttpBouncer {
    /// Returns the bouncer of the configuration, when there is one.
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

    fn request(&self, path: &str) -> RequestBuilder {
        let request = self.client.post(format!("{}/api/v1/remotes/push/{path}", self.base_url));
        request.basic_auth(&self.id, Some(&self.key))
    }

    /// Registrations are forms, as existing bouncers read them.
    async fn send_form(&self, path: &str, fields: &[(&str, &str)]) -> Result<(), PushError> {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.request(path).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        answer(request.body(form)).await.map(drop)
    }

    async fn send_json(&self, path: &str, body: &Value) -> Result<Value, PushError> {
        answer(self.request(path).json(body)).await
    }

    /// Returns the organization of this server, for the bouncer.
    fn realm_uuid(&self) -> String {
        self.uuid("realm", 0)
    }

    /// Returns the user, for the bouncer.
    fn user_uuid(&self, user_id: UserId) -> String {
        self.uuid("user", user_id.0)
    }

    /// Not specified; bouncers know users by UUIDs that no other server has. Ours follow from what this server is
    /// called there and from the number, so that every node and every run has the same ones and nothing has to be kept.
    fn uuid(&self, of: &str, number: i64) -> String {
        let digest = Sha256::new().chain_update(&self.id).chain_update([0]).chain_update(of).chain_update([0]);
        let digest = digest.chain_update(number.to_be_bytes()).finalize();
        let bytes = digest.first_chunk().copied().unwrap_or_default();
        uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
    }
}

async fn answer(request: RequestBuilder) -> Result<Value, PushError> {
    let failed = |error: reqwest::Error| PushError::Bouncer(error.without_url().into());
    let answer = request.send().await.map_err(failed)?;
    let status = answer.status();
    if answer.content_length().is_some_and(|bytes| bytes > ANSWER_MAX_BYTES) {
        return Err(PushError::Bouncer("the answer is too long".into()));
    }
    let response: Value = answer.json().await.map_err(failed)?;
    match (status, response.get("code").and_then(Value::as_str)) {
        (StatusCode::OK, _) => Ok(response),
        (_, Some("INVALID_REMOTE_PUSH_DEVICE_TOKEN")) => Err(PushError::NotRecognizedThere),
        _ => Err(PushError::Bouncer(format!("the answer is {status}").into())),
    }
}

#[async_trait]
impl PushService for HttpBouncer {
    async fn register_device(&self, device: &PushDevice) -> Result<(), PushError> {
        let PushDevice { user_id, kind, token, app_id } = device;
        let (user, kind, uuid) = (user_id.to_string(), kind.wire_number().to_string(), self.user_uuid(*user_id));
        let mut fields = vec![
            ("server_uuid", self.id.as_str()),
            ("user_uuid", &uuid),
            ("user_id", &user),
            ("token", token),
            ("token_kind", &kind),
        ];
        fields.extend(app_id.as_ref().map(|app_id| ("ios_app_id", app_id.as_str())));
        self.send_form("register", &fields).await
    }

    async fn unregister_device(&self, user_id: UserId, kind: PushDeviceKind, token: &str) -> Result<(), PushError> {
        let (user, kind) = (user_id.to_string(), kind.wire_number().to_string());
        let (uuid, realm) = (self.user_uuid(user_id), self.realm_uuid());
        let fields = [
            ("server_uuid", self.id.as_str()),
            ("realm_uuid", &realm),
            ("user_uuid", &uuid),
            ("user_id", &user),
            ("token", token),
            ("token_kind", &kind),
        ];
        self.send_form("unregister", &fields).await
    }

    /// As [`PushService::send_notification`] it holds a payload, so it is JSON too.
    async fn send_test_notification(&self, device: &PushDevice, payload: &Value) -> Result<(), PushError> {
        let PushDevice { user_id, kind, token, .. } = device;
        let body = json!({
            "realm_uuid": self.realm_uuid(),
            "user_uuid": self.user_uuid(*user_id),
            "user_id": user_id,
            "token": token,
            "token_kind": kind.wire_number(),
            "base_payload": payload,
        });
        self.send_json("test_notification", &body).await.map(drop)
    }

    async fn send_notification(&self, notice: &PushNotification) -> Result<Vec<(PushDeviceKind, String)>, PushError> {
        let tokens = |kind| {
            let devices = notice.devices.iter().filter(move |device| device.kind == kind);
            devices.map(|device| device.token.as_str()).collect::<Vec<_>>()
        };
        let body = json!({
            "realm_uuid": self.realm_uuid(),
            "user_uuid": self.user_uuid(notice.user_id),
            "user_id": notice.user_id,
            "gcm_payload": notice.google,
            "apns_payload": notice.apple,
            "gcm_options": {"priority": if notice.purpose == NotificationPurpose::Remove { "normal" } else { "high" }},
            "android_devices": tokens(PushDeviceKind::Google),
            "apple_devices": tokens(PushDeviceKind::Apple),
        });
        let response = self.send_json("notify", &body).await?;
        let gone = |kind, key: &str| {
            let list = response.get("deleted_devices").and_then(|deleted| deleted.get(key)).and_then(Value::as_array);
            let tokens = list.into_iter().flatten().filter_map(Value::as_str);
            tokens.map(|token| (kind, token.to_owned())).collect::<Vec<_>>()
        };
        Ok([gone(PushDeviceKind::Google, "android_devices"), gone(PushDeviceKind::Apple, "apple_devices")].concat())
    }
}
