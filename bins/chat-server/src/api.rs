//! What stands behind the listener: the wire, and nothing behind it yet.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use axum::Router;
use chat_http::{HealthProbe, Outside, Parts};
use uuid::Uuid;

/// All routes of this version: without a domain the wire answers `/health`, and 404 to the whole API. Whoever
/// looks for more may do so `rate_limit_per_ip` times a minute; 0 is no limit.
pub(crate) fn router(rate_limit_per_ip: u32) -> Router {
    let parts = Parts {
        outside: Arc::new(Machine),
        health: Arc::new(Alone),
        rate_limit_per_ip,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    chat_http::router(parts, None)
}

/// Clock and chance of this machine.
struct Machine;

impl Outside for Machine {
    #[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
    fn now_us(&self) -> i64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn fresh_id(&self) -> u128 {
        Uuid::new_v4().as_u128()
    }

    fn random(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        for part in bytes.chunks_exact_mut(16) {
            part.copy_from_slice(Uuid::new_v4().as_bytes());
        }
        bytes
    }
}

/// A server without a database depends on nothing that could be gone.
struct Alone;

#[async_trait]
impl HealthProbe for Alone {
    async fn is_healthy(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use http::{Request, StatusCode};
    use serde_json::{Value, json};
    use tower::ServiceExt as _;

    use super::*;

    async fn get(router: &Router, path: &str) -> (StatusCode, Value) {
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.headers()["x-request-id"].len(), 32);
        let status = response.status();
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn health_is_ok() {
        let (status, body) = get(&router(0), "/health").await;
        assert_eq!((status, body), (StatusCode::OK, json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")})));
    }

    #[tokio::test]
    async fn every_api_path_is_refused_in_the_envelope_up_to_the_limit() {
        let router = router(3);
        for path in ["/api/v1", "/api/v1/messages", "/api/v1/server_settings"] {
            let (status, body) = get(&router, path).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
            assert_eq!(body, json!({"result": "error", "msg": "Not Found", "code": "BAD_REQUEST"}));
        }
        let (status, body) = get(&router, "/api/v1").await;
        assert_eq!((status, &body["code"]), (StatusCode::TOO_MANY_REQUESTS, &json!("RATE_LIMIT_HIT")));
    }

    #[test]
    fn the_clock_is_after_the_year_2020_and_no_two_requests_share_a_name() {
        assert!(Machine.now_us() > 1_577_836_800_000_000);
        assert_ne!(Machine.fresh_id(), Machine.fresh_id());
    }
}
