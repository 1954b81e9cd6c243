//! `/openapi.json`: what the API is, for programs.

use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::api_call::Anonymous;
use crate::api_response::JSON;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::openapi::document;
use crate::raw_endpoint::{RawCall, raw_endpoint};
use crate::router::api;
use crate::routes::{Routes, get as on_get};

pub(crate) fn routes() -> Routes {
    let document =
        raw_endpoint(get).documented("Describe this API as an OpenAPI document.", response_schema).outside_envelope();
    Routes::of("server").api("/openapi.json", on_get(document))
}

/// Returns the members of the response.
fn response_schema() -> Vec<SchemaMember> {
    vec![
        required_schema_member("openapi", JsonSchema::string()),
        required_schema_member("info", JsonSchema::any()),
        required_schema_member("servers", JsonSchema::any()),
        required_schema_member("security", JsonSchema::any()),
        required_schema_member("tags", JsonSchema::any()),
        required_schema_member("paths", JsonSchema::any()),
        required_schema_member("components", JsonSchema::any()),
    ]
}

/// The document and its tag. Made at the first request: its content is part of the program.
static DOCUMENT: LazyLock<(Bytes, HeaderValue)> = LazyLock::new(|| {
    let document = document(&api().into_operations()).to_string();
    let tag = format!("\"{}\"", STANDARD.encode(Sha256::digest(&document)));
    let tag = HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"\""));
    (Bytes::from(document), tag)
});

/// Returns the document, or that the caller has it. Needs no account: nothing of the organization is in it.
///
/// # Source
/// Not specified.
async fn get(call: RawCall<Anonymous>, _: Body) -> Result<Response, ApiError> {
    let (document, tag) = &*DOCUMENT;
    let known = call.headers.get_all(IF_NONE_MATCH).iter().any(|sent| sent == tag);
    let mut response = Response::new(if known { Body::empty() } else { Body::from(document.clone()) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        response.headers_mut().insert(CONTENT_TYPE, JSON);
    }
    response.headers_mut().insert(ETAG, tag.clone());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    Ok(response)
}
