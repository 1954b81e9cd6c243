//! `/auth/revoke`.

use axum::extract::State;
use http::StatusCode;
use oauth_core::introspection;

use crate::error::Fault;
use crate::form::Form;
use crate::state::App;

/// Ends a token; silent about tokens that are unknown or another client's.
///
/// # Source
/// RFC 7009, section 2.
pub(crate) async fn post(State(app): State<App>, form: Form) -> Result<StatusCode, Fault> {
    introspection::revoke(&app.env(), &app.authority, &form.request())
        .await
        .map_err(|cause| Fault::Token { cause, credentials: form.credentials() })?;
    Ok(StatusCode::OK)
}
