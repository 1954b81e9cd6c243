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

use crate::answer::JSON;
use crate::call::Anyone;
use crate::describe::document;
use crate::error::Fault;
use crate::plain::{Plain, plain};
use crate::router::api;
use crate::routes::{Routes, get as on_get};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    let document = plain(get).says("Describe this API as an OpenAPI document.", told).outside_envelope();
    Routes::of("server").api("/openapi.json", on_get(document))
}

/// Returns the members of the response.
fn told() -> Vec<Member> {
    vec![
        has("openapi", Schema::string()),
        has("info", Schema::any()),
        has("servers", Schema::any()),
        has("security", Schema::any()),
        has("tags", Schema::any()),
        has("paths", Schema::any()),
        has("components", Schema::any()),
    ]
}

/// The document and its tag. Made when somebody asks for it the first time: what it says is part of the program.
static DOCUMENT: LazyLock<(Bytes, HeaderValue)> = LazyLock::new(|| {
    let document = document(&api().into_operations()).to_string();
    let tag = format!("\"{}\"", STANDARD.encode(Sha256::digest(&document)));
    let tag = HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"\""));
    (Bytes::from(document), tag)
});

/// Returns the document, or that the caller has it. Needs no account: it tells nothing of the organization.
///
/// # Source
/// Not specified.
async fn get(call: Plain<Anyone>, _: Body) -> Result<Response, Fault> {
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
