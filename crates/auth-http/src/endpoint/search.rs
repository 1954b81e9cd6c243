//! `/fhir/{type}` and `/fhir/{type}/_search`: searches; the same below `/fhir/Patient/{id}`, of what is the patient's.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::list::{self, ListEndpoint};
use crate::address::{CompartmentPath, TypePath};
use crate::answer;
use crate::asked::RequestQuery;
use crate::budget::RequestBudget;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::searching::{self, PreparedSearch, SearchScope};
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

async fn search(app: &App, call: &ResourceRequest, extent: SearchScope<'_>) -> Result<Response, ApiError> {
    let mut budget = RequestBudget::new(app.settings.searches_time());
    let found = budget.search(async {
        let prepared = prepare(app, call, extent, (&call.query, &call.asked)).await?;
        answer(app, call, prepared).await
    });
    let found = found.await?;
    Ok(answer::json_text(StatusCode::OK, call.dialect, found))
}

/// A search that the caller may make.
pub(crate) enum PreparedRead<'a> {
    /// By search parameters.
    Search(Box<PreparedSearch<'a>>),
    /// By elements.
    List(ListEndpoint<'a>),
}

/// Reads what a search asks for, for whom may search the type.
pub(crate) async fn prepare<'a>(
    app: &App,
    call: &ResourceRequest,
    extent: SearchScope<'_>,
    (pairs, asked): (&'a [(String, String)], &RequestQuery),
) -> Result<PreparedRead<'a>, ApiError> {
    if searching::applies(app, call, extent.kind).await? {
        searching::prepare(app, call, extent, (pairs, asked)).await.map(Box::new).map(PreparedRead::Search)
    } else {
        list::prepare(app, call, extent, (pairs, asked)).await.map(PreparedRead::List)
    }
}

/// Returns the Bundle that answers it, as JSON.
pub(crate) async fn answer(app: &App, call: &ResourceRequest, prepared: PreparedRead<'_>) -> Result<Vec<u8>, ApiError> {
    match prepared {
        PreparedRead::Search(search) => search.answer(app, call).await,
        PreparedRead::List(list) => Ok(list.answer(app, call).await?.to_string().into_bytes()),
    }
}
