//! `$member-match`, `$bulk-member-match` and `$provider-member-match`.

use axum::extract::State;
use axum::response::Response;
use fhir_service::member_match;
use http::{Method, StatusCode, Uri};
use payer_exchange::MatchRequesterKind;

use super::jobs;
use crate::address::CalledAddress;
use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response;
use crate::state::App;

/// Matches many members for another payer.
pub(crate) async fn bulk(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    many(&app, &CalledAddress::new(&method, &uri), call, MatchRequesterKind::Payer).await
}

/// Matches many patients of a provider.
pub(crate) async fn provider(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    many(&app, &CalledAddress::new(&method, &uri), call, MatchRequesterKind::Provider).await
}

/// Matches one member for another payer, and answers at once.
pub(crate) async fn one(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let (called, body) = (CalledAddress::new(&method, &uri), call.take_body());
    let answer = member_match::match_single_member(&app.fhir, &call.context, called.as_operation(), body).await?;
    Ok(response::json(StatusCode::OK, call.context.format, &answer))
}

async fn many(
    app: &App,
    called: &CalledAddress<'_>,
    mut call: ResourceRequest,
    kind: MatchRequesterKind,
) -> Result<Response, ApiError> {
    let body = call.take_body();
    let job = member_match::start_bulk_match(&app.fhir, &call.context, called.as_operation(), kind, body).await?;
    Ok(jobs::accepted(app, jobs::match_status(kind), &job))
}
