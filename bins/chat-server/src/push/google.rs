//! Google's devices, through FCM.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use chat_core::push_notifications::{NotificationPurpose, PushDevice, PushError, PushNotification};
use gcp_auth::{CustomServiceAccount, TokenProvider as _};
use http::Uri;
use reqwest::{Client, Response, StatusCode};
use serde_json::{Map, Value, json};

use super::vendor::{self, DeliveryOutcome};

const FCM: &str = "https://fcm.googleapis.com";
const SCOPES: &[&str] = &["https://www.googleapis.com/auth/firebase.messaging"];
/// How long it may take to get an access token. One is asked for about once an hour.
const TOKEN_PATIENCE: Duration = Duration::from_secs(20);

/// Whom Google knows us as.
pub(crate) struct Google {
    client: Client,
    /// Where messages are sent.
    url: String,
    account: CustomServiceAccount,
}

impl Google {
    /// Reads the key file of a service account.
    ///
    /// # Errors
    /// When it is none, or HTTP cannot be set up.
    pub(super) fn new(path: &Path) -> anyhow::Result<Self> {
        Self::at(path, FCM)
    }

    /// The same at another address.
    pub(super) fn at(path: &Path, base_url: &str) -> anyhow::Result<Self> {
        let text = vendor::key_file("--fcm-service-account", path)?;
        let said: Value = serde_json::from_str(&text).unwrap_or_default();
        // Taken as it is when a token is asked for.
        let address: Option<Uri> = said.get("token_uri").and_then(Value::as_str).and_then(|url| url.parse().ok());
        let has_address = address.is_some_and(|address| address.authority().is_some());
        let account = match CustomServiceAccount::from_json(&text) {
            Ok(account) if has_address => account,
            Err(error @ gcp_auth::Error::Io(..)) => return Err(error).context("FCM cannot be called"),
            // The errors of a reader quote what they could not read.
            _ => bail!("--fcm-service-account {} is no key file of a service account", path.display()),
        };
        let Some(project) = account.project_id().filter(|id| is_project(id)) else {
            bail!("--fcm-service-account {} names no project", path.display());
        };
        let url = format!("{base_url}/v1/projects/{project}/messages:send");
        Ok(Self { client: vendor::client().build().context("FCM cannot be called")?, url, account })
    }

    /// Tells one device.
    ///
    /// # Source
    /// Firebase's reference of `projects.messages.send`. The app shows what it is told, so it is told data alone, which
    /// are texts.
    pub(super) async fn tell(
        &self,
        device: &PushDevice,
        notice: &PushNotification,
    ) -> Result<DeliveryOutcome, PushError> {
        let token = match tokio::time::timeout(TOKEN_PATIENCE, self.account.token(SCOPES)).await {
            Ok(token) => token.map_err(|error| PushError::Bouncer(error.into()))?,
            Err(error) => return Err(PushError::Bouncer(error.into())),
        };
        let priority = if notice.purpose == NotificationPurpose::Remove { "NORMAL" } else { "HIGH" };
        let message = json!({"token": device.token, "data": texts(&notice.google), "android": {"priority": priority}});
        let request = self.client.post(&self.url).bearer_auth(token.as_str());
        outcome(request.json(&json!({"message": message})).send().await.map_err(vendor::unreached)?).await
    }
}

fn is_project(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte))
}

fn texts(payload: &Value) -> Map<String, Value> {
    let members = payload.as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    members.map(|(key, value)| (key.clone(), text(value).into())).collect()
}

/// Only what FCM itself says of the device makes it one that is gone: 404 is also what a project that does not exist
/// gets, for all devices at once.
async fn outcome(answer: Response) -> Result<DeliveryOutcome, PushError> {
    let status = answer.status();
    if status == StatusCode::OK {
        return Ok(DeliveryOutcome::Accepted);
    }
    let response = vendor::response_json(answer).await;
    let details = response.pointer("/error/details").and_then(Value::as_array);
    let mut codes = details.into_iter().flatten().filter_map(|detail| detail.get("errorCode")?.as_str());
    if codes.clone().any(|code| code == "UNREGISTERED") {
        return Ok(DeliveryOutcome::UnknownDevice);
    }
    let reason = codes.next().or_else(|| response.pointer("/error/status")?.as_str()).unwrap_or_default();
    Err(vendor::refused("FCM", status, reason))
}
