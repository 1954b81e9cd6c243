//! `/fhir/{type}` and `/fhir/{type}/_search`: searches; the same below `/fhir/Patient/{id}`, of what is the patient's.

use axum::extract::State;
use axum::response::Response;
use fhir_service::search::{self, SearchScope};
use http::StatusCode;

use crate::address::{CompartmentPath, TypePath};
use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response;
use crate::state::App;

/// Searches a type: by search parameters where it has some, else by its elements.
pub(crate) async fn get(
    State(app): State<App>,
    TypePath(kind): TypePath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    search(&app, &call, SearchScope::of_type(&kind)).await
}

/// The same with its parameters in a form.
///
/// # Source
/// FHIR R4, `RESTful` API, search: the parameters of the form and those of the address belong together.
pub(crate) async fn post(app: State<App>, kind: TypePath, call: ResourceRequest) -> Result<Response, ApiError> {
    get(app, kind, call).await
}

/// Searches what is in a patient's compartment.
///
/// Not specified; a policy is asked about the search of the type, of which this finds a part, and a patient who is not
/// there, or whom the caller may not see, has nothing, in the same words.
///
/// # Source
/// FHIR R4, `RESTful` API, variant searches.
pub(crate) async fn get_about(
    State(app): State<App>,
    CompartmentPath { patient, kind }: CompartmentPath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    search(&app, &call, SearchScope { kind: &kind, patient: Some(&patient) }).await
}

/// The same with its parameters in a form.
pub(crate) async fn post_about(
    app: State<App>,
    place: CompartmentPath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    get_about(app, place, call).await
}

async fn search(app: &App, call: &ResourceRequest, scope: SearchScope<'_>) -> Result<Response, ApiError> {
    let found = search::search_resources(&app.fhir, &call.context, scope).await?;
    Ok(response::json_text(StatusCode::OK, call.context.format, found))
}
