//! `/fhir/{type}` and `/fhir/{type}/_search`: searches.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::list;
use crate::address::Kind;
use crate::answer;
use crate::call::Call;
use crate::error::Fault;
use crate::searching;
use crate::state::App;

/// Searches a type: by search parameters where it has some, else by its elements.
pub(crate) async fn get(State(app): State<App>, Kind(kind): Kind, call: Call) -> Result<Response, Fault> {
    if !searching::applies(&app, &call, &kind).await? {
        return list::answer(&app, kind, &call).await;
    }
    let found = searching::run(&app, &call, kind, (&call.query, &call.asked)).await?;
    Ok(answer::json(StatusCode::OK, call.dialect, &found))
}

/// The same with its parameters in a form.
///
/// # Source
/// FHIR R4, `RESTful` API, search: the parameters of the form and those of the address belong together.
pub(crate) async fn post(app: State<App>, kind: Kind, call: Call) -> Result<Response, Fault> {
    get(app, kind, call).await
}
