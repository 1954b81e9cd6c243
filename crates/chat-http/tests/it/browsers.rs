//! Browsers: how they are signed in and out, and what their session opens.

mod cross_origin;
mod finding_accounts;
mod first_page;
mod json_api;
mod polling;
mod resetting;
mod sessions;
mod sign_in_links;
mod signing_in;

use std::collections::BTreeMap;
use std::sync::Mutex;

use axum::body::Body;
use chat_core::event_log::realm_commit::{CommitOutcome, CredentialChange, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::UserId;
use chat_core::model::role::Role;
use chat_core::model::user::PasswordHash;
use http::{HeaderMap, Request};
use serde_json::Value;

use crate::test_app::{Person, TestApp, TestResponse};

const SESSION: &str = "__Host-sessionid";
const CSRF: &str = "__Host-csrftoken";

/// A page, as a browser gets it.
struct Page {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Page {
    /// Where it leads.
    fn location(&self) -> Option<&str> {
        self.headers.get("location").map(|value| value.to_str().unwrap())
    }

    /// The token in its form.
    fn token(&self) -> &str {
        let rest = self.text.split_once("name=\"csrfmiddlewaretoken\" value=\"").unwrap().1;
        rest.split_once('"').unwrap().0
    }
}

/// A browser: it stores cookies and sends them back.
#[derive(Default)]
struct Browser {
    jar: Mutex<BTreeMap<String, String>>,
}

impl Browser {
    /// A browser that a person is signed in with.
    async fn signed_in(app: &TestApp, email: &str, password: &str) -> Self {
        let browser = Self::default();
        let page = browser.sign_in(app, email, password).await;
        assert_eq!((page.status, page.location()), (303, Some("/")), "{}", page.text);
        browser
    }

    fn cookie(&self, name: &str) -> Option<String> {
        self.jar.lock().unwrap().get(name).cloned()
    }

    fn plant(&self, name: &str, value: &str) {
        self.jar.lock().unwrap().insert(name.to_owned(), value.to_owned());
    }

    /// Sends a request with its cookies and these headers, and stores the cookies of the answer.
    async fn send(&self, app: &TestApp, call: &str, headers: &[(&str, &str)], body: Option<String>) -> Page {
        let (method, path) = call.split_once(' ').unwrap();
        let cookies: Vec<_> = self.jar.lock().unwrap().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = Request::builder().method(method).uri(path).header("user-agent", "Firefox/150 Linux");
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        if let Some(body) = &body {
            request = request.header("content-type", "application/x-www-form-urlencoded");
            request = request.header("content-length", body.len());
        }
        request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(body.map_or_else(Body::empty, Body::from)).unwrap();
        let (status, headers, bytes) = app.respond(request).await;
        for set in headers.get_all("set-cookie") {
            let (pair, rest) = set.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            assert!(rest.contains("Secure") && rest.contains("SameSite=Lax") && rest.contains("Path=/"), "{rest}");
            assert_eq!(rest.contains("HttpOnly"), name == SESSION, "{name}");
            if rest.contains("Max-Age=0") {
                self.jar.lock().unwrap().remove(name);
            } else {
                self.plant(name, value);
            }
        }
        Page { status: status.as_u16(), headers, text: String::from_utf8(bytes).unwrap() }
    }

    async fn get(&self, app: &TestApp, path: &str) -> Page {
        self.send(app, &format!("GET {path}"), &[], None).await
    }

    async fn post(&self, app: &TestApp, path: &str, fields: &[(&str, &str)]) -> Page {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(app, &format!("POST {path}"), &[("sec-fetch-site", "same-origin")], Some(body)).await
    }

    /// Opens a page with a form, and sends it with these fields.
    async fn fill(&self, app: &TestApp, path: &str, fields: &[(&str, &str)]) -> Page {
        let page = self.get(app, path).await;
        let token = page.token().to_owned();
        self.post(app, path, &[fields, &[("csrfmiddlewaretoken", &token)]].concat()).await
    }

    async fn sign_in(&self, app: &TestApp, email: &str, password: &str) -> Page {
        self.fill(app, "/login/", &[("username", email), ("password", password)]).await
    }

    /// Calls `METHOD /path` below `/json` as the client does.
    async fn call(&self, app: &TestApp, call: &str, parameters: &[(&str, &str)]) -> TestResponse {
        let token = self.cookie(CSRF).unwrap_or_default();
        self.call_with(app, call, parameters, &[("x-csrftoken", &token)]).await
    }

    /// The same with these headers alone.
    async fn call_with(
        &self,
        app: &TestApp,
        call: &str,
        parameters: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> TestResponse {
        let (method, path) = call.split_once(' ').unwrap();
        let fields = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        let (call, body) = match method {
            "GET" => (format!("GET /json{path}?{fields}"), None),
            _ => (format!("{method} /json{path}"), Some(fields)),
        };
        let page = self.send(app, &call, headers, body).await;
        let body = serde_json::from_str(&page.text).unwrap_or(Value::Null);
        TestResponse { status: page.status.try_into().unwrap(), body }
    }

    /// Whether the session opens the API.
    async fn is_in(&self, app: &TestApp) -> bool {
        let response = self.call(app, "GET /users/me", &[]).await;
        match response.status.as_u16() {
            200 => true,
            401 => false,
            other => panic!("{other}: {}", response.body),
        }
    }
}

/// A person whose password is `secret`.
async fn with_password(app: &TestApp, name: &str) -> Person {
    let person = app.person(name, Role::Member).await;
    let mut commit = RealmCommit { decided_at: app.realm().changed_at(), ..RealmCommit::default() };
    let hash = Some(PasswordHash("secret".to_owned()));
    commit.credentials.push(CredentialChange::PasswordHash(UserId(person.id), hash));
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    person
}

/// What every page is held to.
fn assert_hardened(page: &Page) {
    let header = |name: &str| page.headers[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!((header("x-frame-options"), header("cache-control")), ("DENY".to_owned(), "no-store".to_owned()));
    assert_eq!((header("referrer-policy"), header("x-content-type-options")), ("no-referrer".into(), "nosniff".into()));
    assert!(!page.text.contains("<script") && !page.text.contains("style="), "{}", page.text);
}
