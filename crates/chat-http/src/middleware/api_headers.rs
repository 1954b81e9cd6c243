//! What the part of the server that a request is for means for browsers: which pages of other sites may read the
//! answer, and whether a browser asks for a password by itself.
//!
//! `/api/v1` is open to every page, because its callers show an API key with each request and the browser adds nothing
//! ([`is_by_session`](crate::browser::is_by_session)). `/json` answers with the session of the browser, so pages of
//! other sites never read it.

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CACHE_CONTROL,
    COOKIE, ORIGIN, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use crate::routes::{API, JSON_API};

const ANY: HeaderValue = HeaderValue::from_static("*");
/// # Source
/// Fetch, section 3.3.3. Existing servers allow these methods, and the header of the key; with the media type of a form
/// script can also send what is no plain form.
const PREFLIGHT: [(HeaderName, &str); 4] = [
    (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE, PUT, PATCH, HEAD"),
    (
        ACCESS_CONTROL_ALLOW_HEADERS,
        "Authorization, Content-Type, X-Request-Id, Tus-Resumable, Upload-Length, Upload-Metadata, Upload-Offset, \
         X-HTTP-Method-Override",
    ),
    (ACCESS_CONTROL_MAX_AGE, "7200"),
];
/// The headers that script may read beside those of every answer.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Retry-After, WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, Location, \
     Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Expires, Upload-Length, Upload-Metadata, Upload-Offset",
);
/// A challenge that no browser answers by itself: it would ask for a password that there is not.
const SESSION_CHALLENGE: HeaderValue = HeaderValue::from_static("Session realm=\"chat\"");

/// The part of the server that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerArea {
    /// `/api/v1`, for a request that a page of some site makes, or not.
    Api { has_origin: bool },
    /// `/json`.
    Json,
    /// Pages and files, for a browser or a program.
    Page { is_browser: bool },
}

impl ServerArea {
    fn of(request: &Request) -> Self {
        let (path, headers) = (request.uri().path(), request.headers());
        let is_below = |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        if is_below(API) {
            return Self::Api { has_origin: headers.contains_key(ORIGIN) };
        }
        if is_below(JSON_API) {
            return Self::Json;
        }
        let shows_itself = headers.contains_key(COOKIE) || headers.contains_key("sec-fetch-mode");
        Self::Page { is_browser: shows_itself && !headers.contains_key(AUTHORIZATION) }
    }

    fn add_headers(self, response: &mut Response) {
        let is_challenge = response.status() == StatusCode::UNAUTHORIZED;
        let headers = response.headers_mut();
        match self {
            Self::Api { has_origin } => {
                allow_any_origin(headers);
                if has_origin {
                    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
                }
            }
            Self::Json => keep_to_browser(headers),
            Self::Page { .. } => {}
        }
        let is_for_browser = matches!(self, Self::Json | Self::Page { is_browser: true });
        if is_challenge && (is_for_browser || !headers.contains_key(WWW_AUTHENTICATE)) {
            headers.insert(WWW_AUTHENTICATE, SESSION_CHALLENGE);
        }
    }
}

/// Lets script of every site read the answer.
pub(crate) fn allow_any_origin(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
}

/// Keeps what a session opens to the page that asked for it: no cache has it, and no browser guesses what it is.
pub(crate) fn keep_to_browser(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// Answers a request by `next`, with the headers of its part of the server. The preflight of a call is answered here.
///
/// No `async fn`: it would keep the room of the request while the answer is waited for.
pub(crate) fn answer<R>(request: Request, next: impl FnOnce(Request) -> R) -> impl Future<Output = Response>
where
    R: Future<Output = Response>,
{
    let area = ServerArea::of(&request);
    let is_preflight = matches!(area, ServerArea::Api { .. })
        && request.method() == Method::OPTIONS
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let answering = (!is_preflight).then(|| next(request));
    async move {
        let Some(answering) = answering else { return preflight() };
        let mut response = answering.await;
        area.add_headers(&mut response);
        response
    }
}

fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    for (name, value) in PREFLIGHT {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
