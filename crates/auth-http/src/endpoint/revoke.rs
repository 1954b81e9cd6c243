//! `/auth/revoke`.

use axum::extract::State;
use http::StatusCode;

use crate::error::ApiError;
use crate::form::OAuthForm;
use crate::state::App;
use crate::token_log;

/// Ends a token; silent about tokens that are unknown or another client's.
///
/// # Source
/// RFC 7009, section 2.
pub(crate) async fn post(State(app): State<App>, form: OAuthForm) -> Result<StatusCode, ApiError> {
    match app.oauth.introspection.revoke_token(&app.env(), &form.request()).await {
        Ok(()) => Ok(StatusCode::OK),
        Err(cause) => {
            token_log::refused(&app, &cause);
            Err(ApiError::Token { cause, credentials: form.credentials() })
        }
    }
}
