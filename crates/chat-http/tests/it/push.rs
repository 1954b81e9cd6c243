//! Devices that are notified, and tests of them.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chat_core::id::UserId;
use chat_core::model::role::Role;
use chat_core::push_notifications::{
    PushDevice, PushDeviceKind, PushError, PushNotification, PushService, PushStore as _,
};
use serde_json::{Value, json};

use crate::test_app::{NOW_S, Person, TestApp};

/// A bouncer that remembers what it was told, knows no token that begins with `x`, and does nothing about `fail`.
#[derive(Default)]
pub(crate) struct Listening {
    requests: Mutex<Vec<String>>,
    pub(crate) payloads: Mutex<Vec<Value>>,
}

impl Listening {
    fn note(&self, what: &str, token: &str) -> Result<(), PushError> {
        self.requests.lock().unwrap().push(format!("{what} {token}"));
        match token {
            token if token.starts_with('x') => Err(PushError::NotRecognizedThere),
            "fail" => Err(PushError::Bouncer("no answer".into())),
            _ => Ok(()),
        }
    }

    pub(crate) fn notified(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

#[async_trait]
impl PushService for Listening {
    async fn register_device(&self, device: &PushDevice) -> Result<(), PushError> {
        if device.token == "fail" {
            self.note("register", "fail")
        } else {
            self.note("register", &device.token).or(Ok(()))
        }
    }

    async fn unregister_device(&self, _: UserId, _: PushDeviceKind, token: &str) -> Result<(), PushError> {
        self.note("forget", token)
    }

    async fn send_test_notification(&self, device: &PushDevice, payload: &Value) -> Result<(), PushError> {
        self.payloads.lock().unwrap().push(payload.clone());
        self.note("test", &device.token)
    }

    async fn send_notification(&self, _: &PushNotification) -> Result<Vec<(PushDeviceKind, String)>, PushError> {
        Ok(Vec::new())
    }
}

pub(crate) async fn with_bouncer() -> (TestApp, Arc<Listening>) {
    let bouncer = Arc::<Listening>::default();
    let app = TestApp::with_bouncer(Arc::<Listening>::clone(&bouncer)).await;
    (app, bouncer)
}

async fn devices(app: &TestApp, who: &Person) -> Vec<(PushDeviceKind, String)> {
    let devices = app.store.devices_of_users(&[UserId(who.id)]).await.unwrap();
    devices.into_iter().map(|device| (device.kind, device.token)).collect()
}

const APPLE: &str = "/users/me/apns_device_token";
const GOOGLE: &str = "/users/me/android_gcm_reg_id";
const TEST: &str = "POST /mobile_push/test_notification";

#[tokio::test]
async fn a_device_is_registered_once_and_forgotten_once() {
    for (path, kind) in [(APPLE, PushDeviceKind::Apple), (GOOGLE, PushDeviceKind::Google)] {
        let (app, bouncer) = with_bouncer().await;
        let sam = app.person("sam", Role::Guest).await;
        for _ in 0..2 {
            app.call(&sam, &format!("POST {path}"), &[("token", "c0ffee"), ("appid", "org.example.App")])
                .await
                .success();
        }
        assert_eq!(devices(&app, &sam).await, [(kind, "c0ffee".to_owned())]);
        assert_eq!(bouncer.notified(), ["register c0ffee", "register c0ffee"]);
        app.call(&app.ada, &format!("DELETE {path}"), &[("token", "c0ffee")]).await.refused("Token does not exist");
        let other = if path == APPLE { GOOGLE } else { APPLE };
        app.call(&sam, &format!("DELETE {other}"), &[("token", "c0ffee")]).await.refused("Token does not exist");
        assert!(bouncer.notified().is_empty());
        app.call(&sam, &format!("DELETE {path}"), &[("token", "c0ffee")]).await.success();
        assert_eq!((devices(&app, &sam).await, bouncer.notified()), (vec![], vec!["forget c0ffee".to_owned()]));
        app.call(&sam, &format!("DELETE {path}"), &[("token", "c0ffee")]).await.refused("Token does not exist");
    }
}

#[tokio::test]
async fn a_token_that_is_none_is_not_registered() {
    let (app, bouncer) = with_bouncer().await;
    let long = "a".repeat(4_097);
    for (path, parameters, text) in [
        (APPLE, &[][..], "Missing 'token' argument"),
        (GOOGLE, &[("token", "")], "Empty or invalid length token"),
        (GOOGLE, &[("token", long.as_str())], "Empty or invalid length token"),
        (APPLE, &[("token", "not base64")], "Invalid APNS token"),
        (APPLE, &[("token", "c0ffee"), ("appid", "two words")], "Invalid app ID"),
    ] {
        app.call(&app.ada, &format!("POST {path}"), parameters).await.refused(text);
    }
    assert!(devices(&app, &app.ada).await.is_empty() && bouncer.notified().is_empty());
}

#[tokio::test]
async fn a_device_the_bouncer_is_not_told_of_is_not_registered() {
    let (app, _) = with_bouncer().await;
    let response = app.call(&app.ada, &format!("POST {GOOGLE}"), &[("token", "fail")]).await;
    assert_eq!(response.error(), (502, "INTERNAL_SERVER_ERROR", "The push bouncer cannot be reached"));
    assert!(devices(&app, &app.ada).await.is_empty());
}

#[tokio::test]
async fn all_devices_are_tested_unless_one_is_named() {
    let (app, bouncer) = with_bouncer().await;
    let sam = app.person("sam", Role::Member).await;
    for token in ["one", "two"] {
        app.call(&sam, &format!("POST {GOOGLE}"), &[("token", token)]).await.success();
    }
    app.call(&app.ada, &format!("POST {GOOGLE}"), &[("token", "three")]).await.success();
    bouncer.notified();
    app.call(&sam, TEST, &[]).await.success();
    assert_eq!(bouncer.notified(), ["test one", "test two"]);
    app.call(&sam, TEST, &[("token", "two")]).await.success();
    assert_eq!(bouncer.notified(), ["test two"]);
}

#[tokio::test]
async fn a_test_is_called_test_and_carries_the_name_of_the_organization() {
    let (app, bouncer) = with_bouncer().await;
    app.call(&app.ada, &format!("POST {GOOGLE}"), &[("token", "one")]).await.success();
    app.call(&app.ada, TEST, &[]).await.success();
    let payload = bouncer.payloads.lock().unwrap()[0].clone();
    let said = ["event", "realm_name", "user_id", "time", "server"].map(|key| payload[key].clone());
    assert_eq!(said, [json!("test"), json!("Example"), json!(9), json!(NOW_S), json!("chat.example.org")]);
}

#[tokio::test]
async fn a_device_unknown_to_the_server_is_not_tested() {
    let (app, bouncer) = with_bouncer().await;
    let sam = app.person("sam", Role::Member).await;
    app.call(&sam, &format!("POST {GOOGLE}"), &[("token", "one")]).await.success();
    bouncer.notified();
    for token in ["two", "one", ""] {
        let response = app.call(&app.ada, TEST, &[("token", token)]).await;
        assert_eq!(response.error(), (400, "INVALID_PUSH_DEVICE_TOKEN", "Device not recognized"), "{token}");
    }
    assert!(bouncer.notified().is_empty());
}

#[tokio::test]
async fn a_device_unknown_to_the_bouncer_is_told_apart() {
    let (app, _) = with_bouncer().await;
    app.call(&app.ada, &format!("POST {GOOGLE}"), &[("token", "x1")]).await.success();
    let response = app.call(&app.ada, TEST, &[("token", "x1")]).await;
    let text = "Device not recognized by the push bouncer";
    assert_eq!(response.error(), (400, "INVALID_REMOTE_PUSH_DEVICE_TOKEN", text));
}

#[tokio::test]
async fn without_a_bouncer_devices_are_kept_and_tests_succeed() {
    let app = TestApp::found().await;
    app.call(&app.ada, TEST, &[]).await.success();
    app.call(&app.ada, &format!("POST {GOOGLE}"), &[("token", "one")]).await.success();
    app.call(&app.ada, TEST, &[("token", "one")]).await.success();
    let response = app.call(&app.ada, TEST, &[("token", "two")]).await;
    assert_eq!(response.error(), (400, "INVALID_PUSH_DEVICE_TOKEN", "Device not recognized"));
}

#[tokio::test]
async fn clients_are_told_whether_telephones_are_notified() {
    let (notifying, _) = with_bouncer().await;
    for (app, is_on) in [(notifying, true), (TestApp::found().await, false)] {
        let settings = app.call_as_nobody("GET /server_settings", &[]).await.success();
        assert_eq!(settings["push_notifications_enabled"], is_on);
        let state = app.call(&app.ada, "POST /register", &[]).await.success();
        assert_eq!(state["realm_push_notifications_enabled"], is_on);
    }
}
