//! `/auth/token`.

use axum::extract::State;
use axum::response::Response;

use crate::error::ApiError;
use crate::form::OAuthForm;
use crate::response::private_json;
use crate::state::App;
use crate::token_log;

/// Issues a token.
///
/// # Source
/// Specification, POST /auth/token variants; RFC 6749, section 5.
pub(crate) async fn post(State(app): State<App>, form: OAuthForm) -> Result<Response, ApiError> {
    match app.oauth.tokens.answer_token_request(&app.env(), &form.request()).await {
        Ok(response) => {
            token_log::issued(&app, &response);
            private_json(&response)
        }
        Err(cause) => {
            token_log::refused(&app, &cause);
            Err(ApiError::Token { cause, credentials: form.credentials() })
        }
    }
}
