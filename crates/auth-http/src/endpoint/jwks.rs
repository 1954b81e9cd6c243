//! `/.well-known/jwks.json`.

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;

use super::discovery;
use crate::state::App;

/// Returns the server's public keys, as `application/json`: the registered type of a key set breaks some clients.
pub(crate) async fn get(State(app): State<App>, headers: HeaderMap) -> Response {
    discovery::answer(&headers, &app.oauth.issuer.published_jwks())
}
