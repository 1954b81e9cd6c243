//! `/auth/introspect`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use fhir_service::error::ServiceError;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, PRAGMA};
use oauth_core::access::AccessRequest;
use oauth_core::introspection::{self, IntrospectionError};
use serde::Serialize;
use serde_json::json;

use crate::error::ApiError;
use crate::form::OAuthForm;
use crate::media;
use crate::state::App;
use crate::told;

/// Says what a token is worth.
///
/// # Source
/// RFC 7662; a foreign token is shown to whom a policy allows this address.
pub(crate) async fn post(State(app): State<App>, form: OAuthForm) -> Result<Response, ApiError> {
    let request = || json!({"request-method": "post", "uri": "/auth/introspect"});
    let access = AccessRequest { target: None, operation: "Introspect", explicit: false, request: &request };
    match introspection::introspect(&app.env(), &app.authority, &form.request(), access).await {
        Ok(answer) => private_json(&answer),
        Err(cause) => {
            if let IntrospectionError::Request(cause) = &cause {
                told::refused(&app, cause);
            }
            Err(ApiError::Introspection { cause, credentials: form.credentials() })
        }
    }
}

/// JSON that no cache may keep (RFC 6749, section 5.1).
pub(crate) fn private_json(body: &impl Serialize) -> Result<Response, ApiError> {
    let bytes = serde_json::to_vec(body).map_err(ServiceError::Unwritable)?;
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media::JSON));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    Ok(response)
}
