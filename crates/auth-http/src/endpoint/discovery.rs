//! The discovery documents: `/.well-known/…`, and one of them under `/fhir` too.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue};
use oauth_core::static_document::StaticDocument;

use crate::state::App;
use crate::{document, media};

/// `smart-configuration` (SMART App Launch 2.2.0, conformance).
pub(crate) async fn smart(State(app): State<App>, headers: HeaderMap) -> Response {
    answer(&headers, &app.oauth.issuer.documents.smart)
}

/// `openid-configuration` (OpenID Connect Discovery 1.0, section 4).
pub(crate) async fn openid(State(app): State<App>, headers: HeaderMap) -> Response {
    answer(&headers, &app.oauth.issuer.documents.openid)
}

/// `oauth-authorization-server` (RFC 8414, section 3).
pub(crate) async fn oauth(State(app): State<App>, headers: HeaderMap) -> Response {
    answer(&headers, &app.oauth.issuer.documents.oauth)
}

/// Returns the look apps take on (SMART App Launch 2.2.0, "Styling").
pub(crate) async fn smart_style(State(app): State<App>, headers: HeaderMap) -> Response {
    answer(&headers, &app.oauth.issuer.documents.smart_style)
}

/// Always `application/json`, whatever the caller accepts (SMART App Launch 2.2.0, conformance).
pub(super) fn answer(request: &HeaderMap, document: &StaticDocument) -> Response {
    document::answer(request, HeaderValue::from_static(media::JSON), document)
}
