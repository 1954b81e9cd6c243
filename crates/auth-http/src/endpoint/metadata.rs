//! `/fhir/metadata`.

use axum::extract::State;
use axum::response::Response;
use fhir_service::capability_statement;
use http::{HeaderMap, HeaderValue};

use crate::error::ApiError;
use crate::state::App;
use crate::{document, media};

/// Returns what the server can do.
pub(crate) async fn get(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    let statement = capability_statement::capability_statement_document(&app.fhir).await?;
    Ok(document::answer(&headers, HeaderValue::from_static(media::FHIR_JSON), &statement))
}
