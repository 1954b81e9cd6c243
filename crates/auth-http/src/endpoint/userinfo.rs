//! `/auth/userinfo`.

use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;
use oauth_core::access::AccessError;
use oauth_core::userinfo::userinfo_response;

use crate::error::ApiError;
use crate::form;
use crate::response::private_json;
use crate::state::App;

/// Says who signed in, to the bearer of the token that says so; the same for GET and POST.
///
/// # Source
/// OpenID Connect Core 1.0, section 5.3.1.
pub(crate) async fn answer(State(app): State<App>, headers: HeaderMap, request: Request) -> Result<Response, ApiError> {
    let authorization = form::authorization(&headers)?;
    let address = form::address(request.extensions());
    let caller =
        app.oauth.callers.authenticate_header_from_address(&app.env(), authorization, address.as_deref()).await?;
    private_json(&userinfo_response(&app.oauth.issuer.documents, &caller).map_err(AccessError::from)?)
}
