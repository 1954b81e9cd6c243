//! Refuses what is asked for in a format that the FHIR endpoint does not have.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use fhir_service::resource_format::ResourceFormat;
use http::Method;

use crate::api::Api;
use crate::error::ApiError;
use crate::media::{self, NegotiatedFormat};

/// Where the files of exports are.
const FILES: &str = "/fhir/$export-output/";
/// SMART App Launch 2.2.0: the configuration is JSON whatever the request accepts.
const WELL_KNOWN: &str = "/fhir/.well-known/";

/// Answers 406 to a request below `/fhir` that accepts nothing of what its address produces. `_format` in the address
/// goes before `Accept`; in a form it is looked at where the form is read ([`check`]).
pub(crate) async fn negotiate(request: Request, next: Next) -> Response {
    if is_acceptable(&request) { next.run(request).await } else { ApiError::NotAcceptable.into_response() }
}

fn is_acceptable(request: &Request) -> bool {
    let path = request.uri().path();
    let is_bound = Api::of(path) == Api::Resources(ResourceFormat::Fhir) && !path.starts_with(WELL_KNOWN);
    if !is_bound || request.method() == Method::OPTIONS {
        return true;
    }
    let produced = if path.starts_with(FILES) { NegotiatedFormat::Ndjson } else { NegotiatedFormat::Json };
    let query = request.uri().query().unwrap_or_default();
    let mut formats = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "_format").peekable();
    if formats.peek().is_none() {
        return media::accepts(request.headers(), produced);
    }
    formats.all(|(_, value)| media::is_format(&value, produced))
}

/// Checks the parameters of a search that came in a form.
///
/// # Errors
/// [`ApiError::NotAcceptable`].
pub(crate) fn check(format: ResourceFormat, pairs: &[(String, String)]) -> Result<(), ApiError> {
    let mut formats = pairs.iter().filter(|(name, _)| name == "_format");
    let is_acceptable =
        format != ResourceFormat::Fhir || formats.all(|(_, value)| media::is_format(value, NegotiatedFormat::Json));
    if is_acceptable { Ok(()) } else { Err(ApiError::NotAcceptable) }
}
