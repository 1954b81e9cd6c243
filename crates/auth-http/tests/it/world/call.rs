//! A request to a deployment, and what came back.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use super::{ROOT_SECRET, World};

/// A request being made.
pub(crate) struct Call<'a> {
    pub(super) world: &'a World,
    pub(super) request: http::request::Builder,
    pub(super) body: Body,
}

impl Call<'_> {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) fn from(mut self, address: [u8; 4]) -> Self {
        self.request = self.request.extension(ConnectInfo(SocketAddr::from((address, 40_000))));
        self
    }

    pub(crate) fn by_root(self) -> Self {
        self.basic("root", ROOT_SECRET)
    }

    pub(crate) fn basic(self, id: &str, secret: &str) -> Self {
        let pair = STANDARD.encode(format!("{id}:{secret}"));
        self.header("authorization", &format!("Basic {pair}"))
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.text("application/json", body.to_string())
    }

    pub(crate) fn fhir(self, body: &Value) -> Self {
        self.text("application/fhir+json", body.to_string())
    }

    pub(crate) fn form(self, pairs: &[(&str, &str)]) -> Self {
        let encoded = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        self.text("application/x-www-form-urlencoded", encoded)
    }

    pub(crate) fn text(self, media_type: &str, body: impl Into<Body>) -> Self {
        let mut call = self.header("content-type", media_type);
        call.body = body.into();
        call
    }

    pub(crate) async fn send(self) -> Answer {
        let request = self.request.body(self.body).unwrap();
        Answer::of(self.world.router.clone().oneshot(request).await.unwrap()).await
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// `null` when the body is no JSON.
    pub(crate) body: Value,
    pub(crate) length: usize,
    pub(crate) text: String,
}

impl Answer {
    pub(super) async fn of(response: http::Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Self {
            status: parts.status,
            headers: parts.headers,
            body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            length: bytes.len(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// A header's value, `""` when there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The OAuth error, checked to be one as a whole.
    pub(crate) fn oauth_error(&self) -> (u16, &str) {
        assert_eq!(self.header("content-type"), "application/json", "{self:?}");
        assert_eq!(self.header("cache-control"), "no-store", "{self:?}");
        assert_eq!(self.header("pragma"), "no-cache", "{self:?}");
        assert!(self.body["error_description"].is_string(), "{self:?}");
        (self.status.as_u16(), self.body["error"].as_str().unwrap())
    }

    /// The first issue of the `OperationOutcome`, checked to be one as a whole.
    pub(crate) fn outcome(&self) -> (u16, &str) {
        assert_eq!(self.body["resourceType"], "OperationOutcome", "{self:?}");
        assert!(self.body["issue"][0]["diagnostics"].is_string(), "{self:?}");
        (self.status.as_u16(), self.body["issue"][0]["code"].as_str().unwrap())
    }
}
