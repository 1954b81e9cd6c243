//! The routes of this version: `/health`, and the envelope of a 404 for the API that is not built.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use serde_json::json;
use uuid::Uuid;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest request id taken from a caller, in bytes.
const REQUEST_ID_MAX_BYTES: usize = 128;

/// All routes.
pub(crate) fn router() -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/api/v1", any(not_found))
        .route("/api/v1/{*path}", any(not_found))
        .layer(middleware::from_fn(identify))
}

async fn health() -> Json<serde_json::Value> {
    Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}))
}

/// Clients of this API read JSON whatever the status, and a `code` in it.
async fn not_found() -> Response {
    let envelope = json!({"result": "error", "msg": "Not Found", "code": "BAD_REQUEST"});
    (StatusCode::NOT_FOUND, Json(envelope)).into_response()
}

/// Gives every answer a request id: the caller's when it is well formed, else a new one.
async fn identify(request: Request, next: Next) -> Response {
    let id = given_id(request.headers()).unwrap_or_else(new_id);
    let mut response = next.run(request).await;
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

fn given_id(headers: &HeaderMap) -> Option<HeaderValue> {
    let id = headers.get(REQUEST_ID)?;
    let fits = (1..=REQUEST_ID_MAX_BYTES).contains(&id.len());
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    (fits && id.as_bytes().iter().all(plain)).then(|| id.clone())
}

fn new_id() -> HeaderValue {
    let mut buffer = Uuid::encode_buffer();
    let text = Uuid::new_v4().simple().encode_lower(&mut buffer);
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("none"))
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use tower::ServiceExt as _;

    use super::*;

    async fn get(path: &str, id: Option<&str>) -> (Response<()>, serde_json::Value) {
        let mut request = Request::builder().uri(path);
        if let Some(id) = id {
            request = request.header(REQUEST_ID, id);
        }
        let request = request.body(Body::empty()).unwrap();
        let (parts, body) = router().oneshot(request).await.unwrap().into_parts();
        let body = to_bytes(body, 10_000).await.unwrap();
        let json = serde_json::from_slice(&body).unwrap_or_default();
        (Response::from_parts(parts, ()), json)
    }

    #[tokio::test]
    async fn health_is_ok() {
        let (response, body) = get("/health", None).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(body["status"], "ok");
    }

    #[tokio::test]
    async fn every_api_path_is_refused_in_the_envelope() {
        for path in ["/api/v1", "/api/v1/messages", "/api/v1/users/me/subscriptions"] {
            let (response, body) = get(path, None).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
            assert_eq!(body, json!({"result": "error", "msg": "Not Found", "code": "BAD_REQUEST"}));
        }
    }

    #[tokio::test]
    async fn a_well_formed_request_id_comes_back_and_another_is_replaced() {
        let (response, _) = get("/nowhere", Some("abc-1.2_3")).await;
        assert_eq!(response.headers()[REQUEST_ID], "abc-1.2_3");
        for bad in ["with space", "quote\"", &"x".repeat(129)] {
            let (response, _) = get("/health", Some(bad)).await;
            assert_eq!(response.headers()[REQUEST_ID].len(), 32, "{bad}");
        }
    }
}
