//! What stands in the test app for the outside: clock, chance, client, health and passwords.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use async_trait::async_trait;
use axum::body::Body;
use axum::response::Response;
use chat_core::model::user::PasswordHash;
use chat_http::error::InternalError;
use chat_http::{ClockAndRandomness, PasswordHashing, WebClientFiles};
use http::HeaderMap;

/// A clock that goes when the test says so, and chance that can be foreseen.
pub(super) struct Clock {
    pub(super) now_us: AtomicI64,
    pub(super) drawn: AtomicU64,
}

impl ClockAndRandomness for Clock {
    fn now_us(&self) -> i64 {
        self.now_us.load(Ordering::SeqCst)
    }

    fn random_id(&self) -> u128 {
        self.drawn.fetch_add(1, Ordering::SeqCst).into()
    }

    fn random_bytes(&self) -> [u8; 64] {
        let drawn = self.drawn.fetch_add(1, Ordering::SeqCst);
        // A digit of the draw's number to base 200 each, so that no two draws begin alike.
        let digit = |place: u32| drawn / 200_u64.pow(place % 8) % 200;
        std::array::from_fn(|place| {
            let place = u32::try_from(place).unwrap();
            u8::try_from((digit(place) + u64::from(place)) % 200).unwrap()
        })
    }
}

/// A client of one page and one file.
pub(super) struct Client;

impl WebClientFiles for Client {
    fn serve_start_page(&self, _: &HeaderMap) -> Response {
        Response::new(Body::from("<!doctype html><title>the client</title>"))
    }

    fn serve_file(&self, name: &str, _: &HeaderMap) -> Option<Response> {
        (name == "app-1.js").then(|| Response::new(Body::from("start()")))
    }
}

/// A server that is never ill.
pub(super) struct Healthy;

#[async_trait]
impl server_kit::health::HealthProbe for Healthy {
    async fn is_healthy(&self) -> bool {
        true
    }
}

/// Passwords that are their own hashes.
pub(super) struct PlainTextPasswords;

#[async_trait]
impl PasswordHashing for PlainTextPasswords {
    async fn hash(&self, password: String) -> Result<PasswordHash, InternalError> {
        Ok(PasswordHash(password))
    }

    async fn verify_password(&self, password: String, hash: Option<PasswordHash>) -> Result<bool, InternalError> {
        Ok(hash.is_some_and(|hash| hash.0 == password))
    }
}
