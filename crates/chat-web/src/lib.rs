//! The chat server's client for browsers: its built files, and how they are served.
//!
//! Owned here: the files of `dist/`, their media types, compression and caching, and the policy that the client's page
//! is held to. The sources of the client are in `client/`.
//!
//! Refused here: who is served the page. `chat-http` decides that, and calls this crate through its port
//! `WebClientFiles`.
//!
//! The decision that shapes the crate: **the built files are in the repository and in the program**, so a server is one
//! file, needs no Node to build, and never serves a page of one version with the script of another. The road not taken
//! is a folder beside the program.
//!
//! ```
//! use chat_web::EmbeddedWebClient;
//! use http::HeaderMap;
//!
//! let client = EmbeddedWebClient::load_and_compress();
//! assert_eq!(client.serve_start_page(&HeaderMap::new()).status(), 200);
//! ```

use std::collections::HashMap;
use std::io::Write as _;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

/// The name of the page that starts the client.
const INDEX: &str = "index.html";
/// The files of `dist/` by their names.
const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// What browsers hold the client's page to: everything comes from this server, and script and style come as files
/// alone.
///
/// `style-src-attr`: rendered formulas are placed by attributes, which the renderer writes and checks
/// (`chat-core`, `markdown/math`). An attribute loads nothing and runs nothing.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; \
                      img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; object-src 'none'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The headers of the page. It is not cached: it names the files of one version.
const PAGE_HEADERS: [(HeaderName, &str); 5] = [
    (CACHE_CONTROL, "no-store"),
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "no-referrer"),
    (X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];
/// A name holds a hash of the content, so what it names never changes.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The built web client that is embedded in the program, ready to be served.
pub struct EmbeddedWebClient {
    index: File,
    files: HashMap<&'static str, File>,
}

/// A file as it is sent.
struct File {
    media_type: &'static str,
    bytes: &'static [u8],
    /// Compressed once, where that makes it smaller.
    compressed: Option<Bytes>,
    etag: HeaderValue,
}

impl EmbeddedWebClient {
    /// Loads the web client that is embedded in the program, and compresses its files, which takes some hundredths of a
    /// second.
    #[must_use]
    pub fn load_and_compress() -> Self {
        Self::of(EMBEDDED)
    }

    fn of(embedded: &'static [(&'static str, &'static [u8])]) -> Self {
        let index = embedded.iter().find(|(name, _)| *name == INDEX).map_or(&b""[..], |(_, bytes)| bytes);
        let others = embedded.iter().filter(|(name, _)| *name != INDEX);
        Self {
            index: File::new(INDEX, index),
            files: others.map(|(name, bytes)| (*name, File::new(name, bytes))).collect(),
        }
    }

    /// Returns the response with the page that starts the web client, compressed when the request headers accept it.
    #[must_use]
    pub fn serve_start_page(&self, headers: &HeaderMap) -> Response {
        let mut response = self.index.response(headers);
        for (name, value) in PAGE_HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// Returns the response with the file `name` of the web client, compressed when the request headers accept it, or
    /// 304 when the browser already has it; `None` when there is no file of that name.
    #[must_use]
    pub fn serve_file(&self, name: &str, headers: &HeaderMap) -> Option<Response> {
        let file = self.files.get(name)?;
        let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let is_known = known.flat_map(|value| value.split(',')).any(|tag| tag.trim() == file.etag || tag.trim() == "*");
        let mut response = if is_known { not_modified() } else { file.response(headers) };
        response.headers_mut().insert(CACHE_CONTROL, IMMUTABLE);
        response.headers_mut().insert(ETAG, file.etag.clone());
        Some(response)
    }
}

fn not_modified() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response
}

impl File {
    fn new(name: &str, bytes: &'static [u8]) -> Self {
        let (media_type, is_text) = media_type(name);
        let compressed = is_text.then(|| compressed(bytes)).flatten();
        Self { media_type, bytes, compressed, etag: etag(bytes) }
    }

    fn response(&self, headers: &HeaderMap) -> Response {
        let compressed = self.compressed.as_ref().filter(|_| takes_gzip(headers));
        let body = compressed.map_or_else(|| Body::from(self.bytes), |bytes| Body::from(bytes.clone()));
        let mut response = Response::new(body);
        let head = response.headers_mut();
        head.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        head.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if self.compressed.is_some() {
            head.insert(VARY, HeaderValue::from_static("accept-encoding"));
        }
        if compressed.is_some() {
            head.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

/// Returns the file compressed, when that makes it smaller.
fn compressed(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    let compressed = encoder.finish().ok()?;
    (compressed.len() < bytes.len()).then(|| compressed.into())
}

/// Returns a weak tag: the compressed and the plain form of a file share it.
fn etag(bytes: &[u8]) -> HeaderValue {
    let digest = Sha256::digest(bytes);
    let short = digest.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    HeaderValue::try_from(format!("W/\"{short:016x}\"")).unwrap_or(HeaderValue::from_static("W/\"0\""))
}

/// Returns whether a client takes a compressed answer.
///
/// # Source
/// RFC 9110, section 12.5.3; `*` alone is not taken for gzip, which is always allowed.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")).and_then(|weight| weight.parse::<f32>().ok());
        is_gzip && weight.is_none_or(|weight| weight > 0.0)
    })
}

/// Returns the media type of a file by the end of its name, and whether it is a text.
fn media_type(name: &str) -> (&'static str, bool) {
    match name.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => ("text/html; charset=utf-8", true),
        "js" | "mjs" => ("text/javascript; charset=utf-8", true),
        "css" => ("text/css; charset=utf-8", true),
        "json" => ("application/json", true),
        "webmanifest" => ("application/manifest+json", true),
        "svg" => ("image/svg+xml", true),
        "txt" => ("text/plain; charset=utf-8", true),
        "png" => ("image/png", false),
        "webp" => ("image/webp", false),
        "ico" => ("image/x-icon", false),
        "woff2" => ("font/woff2", false),
        "mp3" => ("audio/mpeg", false),
        "ogg" => ("audio/ogg", false),
        "wav" => ("audio/wav", false),
        _ => ("application/octet-stream", false),
    }
}

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
