//! `/auth/introspect`.

use axum::extract::State;
use axum::response::Response;
use oauth_core::access::ResourceAccessRequest;
use oauth_core::introspection::IntrospectionError;
use serde_json::json;

use crate::error::ApiError;
use crate::form::OAuthForm;
use crate::response::private_json;
use crate::state::App;
use crate::token_log;

/// Says what a token is worth.
///
/// # Source
/// RFC 7662; a foreign token is shown to whom a policy allows this address.
pub(crate) async fn post(State(app): State<App>, form: OAuthForm) -> Result<Response, ApiError> {
    let request = || json!({"request-method": "post", "uri": "/auth/introspect"});
    let access = ResourceAccessRequest { target: None, operation: "Introspect", explicit: false, request: &request };
    match app.oauth.introspection.introspect(&app.env(), &form.request(), access).await {
        Ok(answer) => private_json(&answer),
        Err(cause) => {
            if let IntrospectionError::Request(cause) = &cause {
                token_log::refused(&app, cause);
            }
            Err(ApiError::Introspection { cause, credentials: form.credentials() })
        }
    }
}
