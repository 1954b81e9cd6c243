//! Which pages of other origins may read an answer.
//!
//! Never with credentials: a session cookie and an echoed foreign origin together would let any
//! page read as the person who is logged in.
//!
//! # Source
//! SMART App Launch 2.2.0, "Considerations for Cross-Origin Resource Sharing (CORS) support".

use std::time::Duration;

use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LOCATION, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, LAST_MODIFIED, LOCATION,
    RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderName, Method};
use server_kit::middleware::request_id;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// For how long a browser may remember the answer to a preflight.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_hours(1);

/// Public documents: `*`.
pub(crate) fn any_origin() -> CorsLayer {
    common().allow_origin(AllowOrigin::any())
}

/// Everything a browser-based app calls with a token of its own: the asking origin, echoed.
pub(crate) fn echoed_origin() -> CorsLayer {
    common().allow_origin(AllowOrigin::mirror_request())
}

fn common() -> CorsLayer {
    CorsLayer::new()
        .allow_methods([
            Method::GET,
            Method::HEAD,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
            Method::OPTIONS,
        ])
        .allow_headers([
            AUTHORIZATION,
            CONTENT_TYPE,
            ACCEPT,
            IF_MATCH,
            IF_NONE_MATCH,
            HeaderName::from_static("if-none-exist"),
            HeaderName::from_static("prefer"),
            request_id::REQUEST_ID_HEADER,
        ])
        .expose_headers([
            LOCATION,
            CONTENT_LOCATION,
            ETAG,
            LAST_MODIFIED,
            RETRY_AFTER,
            WWW_AUTHENTICATE,
            HeaderName::from_static("x-progress"),
            request_id::REQUEST_ID_HEADER,
        ])
        .max_age(PREFLIGHT_MAX_AGE)
}
