//! `/fhir/{type}` and `/fhir/{type}/_search`: searches.

use axum::extract::State;
use axum::response::Response;
use fhir_store::ResourceType;
use http::StatusCode;

use super::list::{self, List};
use crate::address::Kind;
use crate::answer;
use crate::asked::Asked;
use crate::call::Call;
use crate::error::Fault;
use crate::searching::{self, Searching};
use crate::state::App;

/// Searches a type: by search parameters where it has some, else by its elements.
pub(crate) async fn get(State(app): State<App>, Kind(kind): Kind, call: Call) -> Result<Response, Fault> {
    let prepared = prepare(&app, &call, &kind, (&call.query, &call.asked)).await?;
    let found = answer(&app, &call, prepared).await?;
    Ok(answer::json_text(StatusCode::OK, call.dialect, found))
}

/// The same with its parameters in a form.
///
/// # Source
/// FHIR R4, `RESTful` API, search: the parameters of the form and those of the address belong together.
pub(crate) async fn post(app: State<App>, kind: Kind, call: Call) -> Result<Response, Fault> {
    get(app, kind, call).await
}

/// A search that the caller may make.
pub(crate) enum Prepared<'a> {
    /// By search parameters.
    Search(Box<Searching<'a>>),
    /// By elements.
    List(List<'a>),
}

/// Reads what a search of a type asks for, for whom may search it.
pub(crate) async fn prepare<'a>(
    app: &App,
    call: &Call,
    kind: &ResourceType,
    (pairs, asked): (&'a [(String, String)], &Asked),
) -> Result<Prepared<'a>, Fault> {
    if searching::applies(app, call, kind).await? {
        searching::prepare(app, call, kind, (pairs, asked)).await.map(Box::new).map(Prepared::Search)
    } else {
        list::prepare(app, call, kind, (pairs, asked)).await.map(Prepared::List)
    }
}

/// The Bundle that answers it, as JSON.
pub(crate) async fn answer(app: &App, call: &Call, prepared: Prepared<'_>) -> Result<Vec<u8>, Fault> {
    match prepared {
        Prepared::Search(search) => search.answer(app, call).await,
        Prepared::List(list) => Ok(list.answer(app, call).await?.to_string().into_bytes()),
    }
}
