use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
};
use axum::Router;
use axum::extract::Request;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use chat_core::id::MessageId;
use http::{HeaderMap, StatusCode, Version};
use http_body_util::BodyExt as _;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::*;
use crate::config::AppleConfig;

/// A request as a service got it.
#[derive(Clone)]
struct Got {
    line: String,
    version: Version,
    headers: HeaderMap,
    body: String,
}

impl Got {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn bearer_token(&self) -> &str {
        self.header("authorization").unwrap().strip_prefix("Bearer ").unwrap()
    }
}

/// A service on this machine, for as long as its task lasts.
struct Service {
    url: String,
    got: Arc<Mutex<Vec<Got>>>,
    _task: JoinSet<()>,
}

impl Service {
    /// One that answers by the path and the body it is asked.
    async fn answering(answer: impl Fn(&str, &str) -> (u16, Value) + Clone + Send + Sync + 'static) -> Self {
        let got = Arc::<Mutex<Vec<Got>>>::default();
        let seen = Arc::clone(&got);
        let take = move |request: Request| {
            let (seen, answer) = (Arc::clone(&seen), answer.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
                let (status, response) = answer(parts.uri.path(), &body);
                let line = format!("{} {}", parts.method, parts.uri.path());
                seen.lock().unwrap().push(Got { line, version: parts.version, headers: parts.headers, body });
                (StatusCode::from_u16(status).unwrap(), response.to_string())
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut task = JoinSet::new();
        task.spawn(async move { axum::serve(listener, Router::new().fallback(take)).await.unwrap() });
        Self { url, got, _task: task }
    }

    fn got(&self) -> Vec<Got> {
        std::mem::take(&mut self.got.lock().unwrap())
    }
}

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
}

/// Whom Apple knows us as: the folder of the key file, the public key, and the service at an address.
struct AppleAccount {
    dir: TempDir,
    public: Vec<u8>,
}

impl AppleAccount {
    fn new() -> Self {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("key.p8"), pem(document.as_ref())).unwrap();
        Self { dir, public: pair.public_key().as_ref().to_vec() }
    }

    fn at(&self, url: &str) -> Apple {
        let key = self.dir.path().join("key.p8");
        let given =
            AppleConfig { key: &key, key_id: "KEY1", team_id: "TEAM1", topic: "org.example.App", is_sandbox: false };
        Apple::at(&given, url).unwrap()
    }
}

/// Whom Google knows us as.
struct GoogleAccount {
    dir: TempDir,
    public: Vec<u8>,
}

impl GoogleAccount {
    fn new() -> Self {
        let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("key.pem"), pem(der.as_ref())).unwrap();
        Self { dir, public: pair.public_key().as_ref().to_vec() }
    }

    /// Its key file, whose tokens are made at that address.
    fn file(&self, url: &str) -> PathBuf {
        let document = json!({
            "type": "service_account", "project_id": "acme-1", "client_email": "chat@acme-1.example.org",
            "token_uri": format!("{url}/token"),
            "private_key": std::fs::read_to_string(self.dir.path().join("key.pem")).unwrap(),
        });
        let path = self.dir.path().join("account.json");
        std::fs::write(&path, document.to_string()).unwrap();
        path
    }

    fn at(&self, url: &str) -> Google {
        Google::at(&self.file(url), url).unwrap()
    }
}

/// Google: tokens are always made, messages answered as said.
async fn google(answer: impl Fn(&str) -> (u16, Value) + Clone + Send + Sync + 'static) -> Service {
    let token = json!({"access_token": "ya29.token", "expires_in": 3600, "token_type": "Bearer"});
    Service::answering(move |path, body| if path == "/token" { (200, token.clone()) } else { answer(body) }).await
}

fn device(kind: PushDeviceKind, token: &str, app_id: Option<&str>) -> PushDevice {
    PushDevice { user_id: UserId(4), kind, token: token.to_owned(), app_id: app_id.map(str::to_owned) }
}

fn notice(purpose: NotificationPurpose, devices: Vec<PushDevice>) -> PushNotification {
    let google = json!({"event": "message", "user_id": 4, "content_truncated": true, "content": "hi \"you\""});
    let apple = json!({"alert": {"title": "Ada"}, "sound": "default", "custom": {"zulip": {"message_ids": [50]}}});
    PushNotification { user_id: UserId(4), devices, purpose, google, apple }
}

const SHOW: NotificationPurpose = NotificationPurpose::Show(MessageId(50));

fn direct(apple: Option<Apple>, google: Option<Google>) -> Direct {
    Direct { apple, google, base_url: "https://chat.example.org".to_owned(), brand: "zulip".to_owned() }
}

#[tokio::test]
async fn apple_is_asked_over_http_2_with_a_token_that_its_public_key_verifies() {
    let (account, service) = (AppleAccount::new(), Service::answering(|_, _| (200, Value::Null)).await);
    let apple = account.at(&service.url);
    let device = device(PushDeviceKind::Apple, "c0ffee", None);
    assert_eq!(apple.tell(&device, &notice(SHOW, Vec::new())).await.unwrap(), DeliveryOutcome::Accepted);
    let got = service.got().remove(0);
    assert_eq!((got.line.as_str(), got.version), ("POST /3/device/c0ffee", Version::HTTP_2));
    let headers = ["apns-topic", "apns-push-type", "apns-priority", "apns-collapse-id", "content-type"];
    let expected = ["org.example.App", "alert", "10", "50", "application/json"].map(Some);
    assert_eq!(headers.map(|name| got.header(name)), expected);
    assert_eq!(
        got.json(),
        json!({"aps": {"alert": {"title": "Ada"}, "sound": "default"}, "zulip": {"message_ids": [50]}})
    );
    let mut rules = Validation::new(Algorithm::ES256);
    rules.required_spec_claims.clear();
    let key = DecodingKey::from_ec_der(&account.public);
    let token = jsonwebtoken::decode::<Value>(got.bearer_token(), &key, &rules).unwrap();
    assert_eq!((token.header.kid.as_deref(), &token.claims["iss"]), (Some("KEY1"), &json!("TEAM1")));
    assert!(token.claims["iat"].is_i64() && token.claims.as_object().unwrap().len() == 2, "{}", token.claims);
}

#[tokio::test]
async fn a_removal_wakes_the_app_that_the_device_named_and_shows_nothing() {
    let (account, service) = (AppleAccount::new(), Service::answering(|_, _| (200, Value::Null)).await);
    let named = device(PushDeviceKind::Apple, "c0ffee", Some("org.example.Beta"));
    let apple = json!({"content-available": 1, "custom": {"zulip": {"event": "remove"}}});
    let removal = PushNotification { apple, ..notice(NotificationPurpose::Remove, Vec::new()) };
    account.at(&service.url).tell(&named, &removal).await.unwrap();
    let got = service.got().remove(0);
    let headers = ["apns-topic", "apns-push-type", "apns-priority", "apns-collapse-id"];
    assert_eq!(headers.map(|name| got.header(name)), [Some("org.example.Beta"), Some("background"), Some("5"), None]);
    assert_eq!(got.json(), json!({"aps": {"content-available": 1}, "zulip": {"event": "remove"}}));
}

#[tokio::test]
async fn apple_is_shown_one_token_until_it_is_too_old() {
    let (account, service) = (AppleAccount::new(), Service::answering(|_, _| (200, Value::Null)).await);
    let apple = account.at(&service.url);
    let now_s = crate::system_runtime::SystemRuntime.now_s();
    let first = apple.bearer_token(now_s).unwrap();
    // Each signature differs, also of the same text.
    assert_eq!(apple.bearer_token(now_s + 49 * 60).unwrap(), first);
    assert_ne!(apple.bearer_token(now_s + 51 * 60).unwrap(), first);
}

#[tokio::test]
async fn only_what_apple_says_of_a_device_makes_it_one_that_is_gone() {
    let account = AppleAccount::new();
    for (status, reason, is_gone) in [
        (410, "Unregistered", true),
        (410, "ExpiredToken", true),
        (400, "BadDeviceToken", true),
        (400, "DeviceTokenNotForTopic", false),
        (410, "", false),
        (403, "InvalidProviderToken", false),
        (429, "TooManyRequests", false),
        (500, "<b>c0ffee</b>", false),
    ] {
        let service = Service::answering(move |_, _| (status, json!({"reason": reason}))).await;
        let device = device(PushDeviceKind::Apple, "c0ffee", None);
        match account.at(&service.url).tell(&device, &notice(SHOW, Vec::new())).await {
            Ok(reached) => assert!(is_gone && reached == DeliveryOutcome::UnknownDevice, "{status} {reason}"),
            Err(PushError::Bouncer(error)) => {
                assert!(!is_gone && error.to_string().starts_with(&format!("APNs answers {status}")), "{error}");
                assert!(!error.to_string().contains('<'), "{error}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn google_is_told_texts_with_an_access_token_that_is_asked_for_once() {
    let account = GoogleAccount::new();
    let service = google(|_| (200, json!({"name": "projects/acme-1/messages/1"}))).await;
    let google = account.at(&service.url);
    for purpose in [SHOW, NotificationPurpose::Remove] {
        let device = device(PushDeviceKind::Google, "token:1", None);
        assert_eq!(google.tell(&device, &notice(purpose, Vec::new())).await.unwrap(), DeliveryOutcome::Accepted);
    }
    let got = service.got();
    let [token_request, show, remove] = got.as_slice() else { panic!("{} requests", got.len()) };
    assert_eq!(token_request.line, "POST /token");
    let data = json!({"event": "message", "user_id": "4", "content_truncated": "true", "content": "hi \"you\""});
    for (request, priority) in [(show, "HIGH"), (remove, "NORMAL")] {
        assert_eq!(request.line, "POST /v1/projects/acme-1/messages:send");
        assert_eq!(request.bearer_token(), "ya29.token");
        let message = json!({"token": "token:1", "data": data, "android": {"priority": priority}});
        assert_eq!(request.json(), json!({"message": message}));
    }
    let form: Vec<_> = url::form_urlencoded::parse(token_request.body.as_bytes()).into_owned().collect();
    let [(_, grant), (name, assertion)] = form.as_slice() else { panic!("{form:?}") };
    assert_eq!((grant.as_str(), name.as_str()), ("urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion"));
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let signature = URL_SAFE.decode(signature).unwrap();
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &account.public).verify(signed.as_bytes(), &signature).unwrap();
    let claims: Value = serde_json::from_slice(&URL_SAFE.decode(signed.split_once('.').unwrap().1).unwrap()).unwrap();
    let said = ["iss", "aud", "scope"].map(|name| claims[name].as_str().unwrap());
    let address = format!("{}/token", service.url);
    let scope = "https://www.googleapis.com/auth/firebase.messaging";
    assert_eq!(said, ["chat@acme-1.example.org", address.as_str(), scope]);
}

#[tokio::test]
async fn only_what_fcm_says_of_a_device_makes_it_one_that_is_gone() {
    let account = GoogleAccount::new();
    let said = |status: &str, code: &str| json!({"error": {"status": status, "details": [{"errorCode": code}]}});
    for (status, answer, is_gone) in [
        (404, said("NOT_FOUND", "UNREGISTERED"), true),
        (404, json!({"error": {"status": "NOT_FOUND"}}), false),
        (400, said("INVALID_ARGUMENT", "INVALID_ARGUMENT"), false),
        (403, said("PERMISSION_DENIED", "SENDER_ID_MISMATCH"), false),
        (401, said("UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"), false),
        (503, Value::Null, false),
    ] {
        let service = google({
            let answer = answer.clone();
            move |_| (status, answer.clone())
        })
        .await;
        let device = device(PushDeviceKind::Google, "token:1", None);
        match account.at(&service.url).tell(&device, &notice(SHOW, Vec::new())).await {
            Ok(reached) => assert!(is_gone && reached == DeliveryOutcome::UnknownDevice, "{status} {answer}"),
            Err(PushError::Bouncer(error)) => {
                assert!(!is_gone && error.to_string().starts_with(&format!("FCM answers {status}")), "{error}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn a_device_that_is_gone_is_named_and_one_that_fails_keeps_no_other_from_being_told() {
    let apples = Service::answering(|path, _| match path {
        "/3/device/dead" => (410, json!({"reason": "Unregistered"})),
        "/3/device/bad0" => (500, json!({"reason": "InternalServerError"})),
        _ => (200, Value::Null),
    })
    .await;
    let gone = json!({"error": {"details": [{"errorCode": "UNREGISTERED"}]}});
    let googles =
        google(move |body| if body.contains("\"old\"") { (404, gone.clone()) } else { (200, json!({})) }).await;
    let both = direct(Some(AppleAccount::new().at(&apples.url)), Some(GoogleAccount::new().at(&googles.url)));
    let apple = ["bad0", "dead", "c0ffee"].map(|token| device(PushDeviceKind::Apple, token, None));
    let google = ["old", "new"].map(|token| device(PushDeviceKind::Google, token, None));
    let devices: Vec<_> = apple.into_iter().chain(google).collect();
    let mut named = both.send_notification(&notice(SHOW, devices.clone())).await.unwrap();
    named.sort();
    assert_eq!(named, [(PushDeviceKind::Apple, "dead".to_owned()), (PushDeviceKind::Google, "old".to_owned())]);
    assert_eq!((apples.got().len(), googles.got().len()), (3, 3));
    // Without keys for one of them, its devices stay as they are.
    let one = direct(Some(AppleAccount::new().at(&apples.url)), None);
    assert_eq!(
        one.send_notification(&notice(SHOW, devices)).await.unwrap(),
        [(PushDeviceKind::Apple, "dead".to_owned())]
    );
    assert_eq!((apples.got().len(), googles.got().len()), (3, 0));
}

#[tokio::test]
async fn a_test_is_shown_and_says_when_the_device_is_not_known_there() {
    let service = Service::answering(|path, _| match path {
        "/3/device/dead" => (400, json!({"reason": "BadDeviceToken"})),
        _ => (200, Value::Null),
    })
    .await;
    let direct = direct(Some(AppleAccount::new().at(&service.url)), None);
    let payload = json!({"event": "test", "realm_name": "Acme"});
    direct.send_test_notification(&device(PushDeviceKind::Apple, "c0ffee", None), &payload).await.unwrap();
    let response = direct.send_test_notification(&device(PushDeviceKind::Apple, "dead", None), &payload).await;
    assert!(matches!(response, Err(PushError::NotRecognizedThere)));
    let got = service.got().remove(0);
    assert_eq!((got.header("apns-push-type"), &got.json()["zulip"]), (Some("alert"), &payload));
    assert_eq!(got.json()["aps"]["alert"]["title"], "Test notification");
    direct.register_device(&device(PushDeviceKind::Apple, "c0ffee", None)).await.unwrap();
    direct.unregister_device(UserId(4), PushDeviceKind::Apple, "c0ffee").await.unwrap();
}

#[test]
fn a_key_that_cannot_be_used_is_refused_by_its_file_and_without_what_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("secret");
    let rsa = GoogleAccount::new();
    let wrong_key = rsa.dir.path().join("key.pem");
    let no_project = dir.path().join("account.json");
    let text = std::fs::read_to_string(rsa.file("http://127.0.0.1")).unwrap();
    std::fs::write(&no_project, text.replace("acme-1\"", "../x\"")).unwrap();
    std::fs::write(&secret, r#"{"private_key": "hunter2", "token_uri": "hunter2", "client_email": "x"}"#).unwrap();
    let missing = dir.path().join("missing");
    let apple = |key: &PathBuf| {
        let given = AppleConfig { key, key_id: "K", team_id: "T", topic: "t", is_sandbox: true };
        format!("{:#}", Apple::new(&given).err().unwrap())
    };
    let google = |path: &PathBuf| format!("{:#}", Google::new(path).err().unwrap());
    for (line, begins) in [
        (apple(&missing), "cannot read --apns-key /"),
        (apple(&secret), "--apns-key /"),
        (apple(&wrong_key), "--apns-key /"),
        (google(&missing), "cannot read --fcm-service-account /"),
        (google(&secret), "--fcm-service-account /"),
        (google(&no_project), "--fcm-service-account /"),
    ] {
        assert!(line.starts_with(begins) && !line.contains("hunter2") && !line.contains('\n'), "{line}");
        assert!(!line.contains("PRIVATE KEY"), "{line}");
    }
}
