//! Apple's devices, through APNs.
//!
//! The best kept client for APNs (`apns-h2`) speaks to Apple's two hosts alone, so nothing it sends can be tested; it
//! writes its bearer tokens with an alphabet that is not that of a JWT, and brings thirty crates for certificates that
//! we do not use. What is left without it is one request.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chat_core::push_notifications::{self, NotificationPurpose, PushDevice, PushError, PushNotification};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Map, Value, json};

use super::vendor::{self, DeliveryOutcome};
use crate::config::AppleConfig;
use crate::system_runtime::SystemRuntime;

const PRODUCTION: &str = "https://api.push.apple.com";
const SANDBOX: &str = "https://api.sandbox.push.apple.com";
/// Seconds for which a bearer token is used. Apple refuses one older than an hour, and whoever makes more than one in
/// twenty minutes.
const TOKEN_LIFETIME_S: i64 = 50 * 60;
/// Apple asks for connections that stay open; one that broke is noticed by this.
const PING_EVERY: Duration = Duration::from_mins(1);
/// How long a connection stays open without a notification.
const IDLE_MAX: Duration = Duration::from_hours(1);

/// Whom Apple knows us as, and for which app.
pub(crate) struct Apple {
    client: Client,
    base_url: String,
    key: EncodingKey,
    key_id: String,
    team_id: String,
    topic: String,
    /// When it was made, and the bearer token.
    token: Mutex<Option<(i64, String)>>,
}

impl Apple {
    /// Reads the key, and signs with it once.
    ///
    /// # Errors
    /// When the key is none, or HTTP cannot be set up.
    pub(super) fn new(given: &AppleConfig<'_>) -> anyhow::Result<Self> {
        Self::at(given, if given.is_sandbox { SANDBOX } else { PRODUCTION })
    }

    /// The same at another address.
    pub(super) fn at(given: &AppleConfig<'_>, base_url: &str) -> anyhow::Result<Self> {
        let none = || format!("--apns-key {} is no key of Apple's: PEM with an EC key (P-256)", given.key.display());
        let pem = vendor::key_file("--apns-key", given.key)?;
        let apple = Self {
            client: client()?,
            base_url: base_url.to_owned(),
            key: EncodingKey::from_ec_pem(pem.as_bytes()).with_context(none)?,
            key_id: given.key_id.to_owned(),
            team_id: given.team_id.to_owned(),
            topic: given.topic.to_owned(),
            token: Mutex::default(),
        };
        apple.bearer_token(SystemRuntime.now_s()).with_context(none)?;
        Ok(apple)
    }

    /// Tells one device.
    ///
    /// # Source
    /// Apple's "Sending notification requests to APNs". Not specified: a device that named its app is told under that
    /// name; a message that is told twice is shown once.
    pub(super) async fn tell(
        &self,
        device: &PushDevice,
        notice: &PushNotification,
    ) -> Result<DeliveryOutcome, PushError> {
        let token = self.bearer_token(SystemRuntime.now_s()).map_err(|error| PushError::Bouncer(error.into()))?;
        let (push_type, priority) = match notice.purpose {
            NotificationPurpose::Show(_) | NotificationPurpose::Test => ("alert", "10"),
            NotificationPurpose::Remove => ("background", "5"),
        };
        let mut request = self
            .client
            .post(format!("{}/3/device/{}", self.base_url, hexadecimal(&device.token)))
            .bearer_auth(token)
            .header("apns-topic", device.app_id.as_ref().unwrap_or(&self.topic))
            .header("apns-push-type", push_type)
            .header("apns-priority", priority);
        if let NotificationPurpose::Show(id) = notice.purpose {
            request = request.header("apns-collapse-id", id.to_string());
        }
        outcome(request.json(&body(&notice.apple)).send().await.map_err(vendor::unreached)?).await
    }

    /// One that is young enough.
    pub(super) fn bearer_token(&self, now_s: i64) -> jsonwebtoken::errors::Result<String> {
        let mut kept = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, token)) = kept.as_ref().filter(|(made_s, _)| now_s - made_s < TOKEN_LIFETIME_S) {
            return Ok(token.clone());
        }
        let header = Header { kid: Some(self.key_id.clone()), ..Header::new(Algorithm::ES256) };
        let token = jsonwebtoken::encode(&header, &json!({"iss": self.team_id, "iat": now_s}), &self.key)?;
        *kept = Some((now_s, token.clone()));
        Ok(token)
    }
}

/// Returns the token in the digits that APNs takes. Some apps send theirs in base64.
fn hexadecimal(token: &str) -> Cow<'_, str> {
    if push_notifications::is_hex_bytes(token) {
        return Cow::Borrowed(token);
    }
    let bytes = STANDARD.decode(token).unwrap_or_default();
    Cow::Owned(hex::encode(bytes))
}

/// APNs speaks HTTP/2 alone.
fn client() -> anyhow::Result<Client> {
    let builder = vendor::client().http2_prior_knowledge();
    let builder = builder.pool_idle_timeout(IDLE_MAX).http2_keep_alive_interval(PING_EVERY);
    builder.http2_keep_alive_while_idle(true).build().context("APNs cannot be called")
}

/// Returns the body of a notification: Apple's members below `aps`, ours beside it.
fn body(payload: &Value) -> Value {
    let mut aps = payload.as_object().cloned().unwrap_or_default();
    let own = aps.remove("custom");
    let mut body = Map::from_iter([("aps".to_owned(), Value::Object(aps))]);
    if let Some(Value::Object(own)) = own {
        body.extend(own);
    }
    Value::Object(body)
}

/// Only what is said of the device makes it one that is gone; a topic that is not ours may be the operator's mistake,
/// and would be it for all devices at once.
async fn outcome(answer: Response) -> Result<DeliveryOutcome, PushError> {
    let status = answer.status();
    if status == StatusCode::OK {
        return Ok(DeliveryOutcome::Accepted);
    }
    let response = vendor::response_json(answer).await;
    let reason = response.get("reason").and_then(Value::as_str).unwrap_or_default();
    match (status, reason) {
        (StatusCode::GONE, "Unregistered" | "ExpiredToken") | (StatusCode::BAD_REQUEST, "BadDeviceToken") => {
            Ok(DeliveryOutcome::UnknownDevice)
        }
        _ => Err(vendor::refused("APNs", status, reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::hexadecimal;

    #[test]
    fn a_token_in_base64_is_the_same_device_in_hexadecimal() {
        for (token, expected) in [("c0ffee", "c0ffee"), ("C0FFEE", "C0FFEE"), ("wP/u", "c0ffee"), ("wA==", "c0")] {
            assert_eq!(hexadecimal(token), expected);
        }
    }
}
