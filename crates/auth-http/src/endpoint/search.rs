//! `/fhir/{type}` and `/fhir/{type}/_search`: searches; the same below `/fhir/Patient/{id}`, of what is the patient's.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::list::{self, List};
use crate::address::{InCompartment, Kind};
use crate::answer;
use crate::asked::Asked;
use crate::budget::Budget;
use crate::call::Call;
use crate::error::Fault;
use crate::searching::{self, Extent, Searching};
use crate::state::App;

/// Searches a type: by search parameters where it has some, else by its elements.
pub(crate) async fn get(State(app): State<App>, Kind(kind): Kind, call: Call) -> Result<Response, Fault> {
    search(&app, &call, Extent::of_type(&kind)).await
}

/// The same with its parameters in a form.
///
/// # Source
/// FHIR R4, `RESTful` API, search: the parameters of the form and those of the address belong together.
pub(crate) async fn post(app: State<App>, kind: Kind, call: Call) -> Result<Response, Fault> {
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
    InCompartment { patient, kind }: InCompartment,
    call: Call,
) -> Result<Response, Fault> {
    search(&app, &call, Extent { kind: &kind, patient: Some(&patient) }).await
}

/// The same with its parameters in a form.
pub(crate) async fn post_about(app: State<App>, place: InCompartment, call: Call) -> Result<Response, Fault> {
    get_about(app, place, call).await
}

async fn search(app: &App, call: &Call, extent: Extent<'_>) -> Result<Response, Fault> {
    let mut budget = Budget::new(app.settings.searches_time());
    let found = budget.search(async {
        let prepared = prepare(app, call, extent, (&call.query, &call.asked)).await?;
        answer(app, call, prepared).await
    });
    let found = found.await?;
    Ok(answer::json_text(StatusCode::OK, call.dialect, found))
}

/// A search that the caller may make.
pub(crate) enum Prepared<'a> {
    /// By search parameters.
    Search(Box<Searching<'a>>),
    /// By elements.
    List(List<'a>),
}

/// Reads what a search asks for, for whom may search the type.
pub(crate) async fn prepare<'a>(
    app: &App,
    call: &Call,
    extent: Extent<'_>,
    (pairs, asked): (&'a [(String, String)], &Asked),
) -> Result<Prepared<'a>, Fault> {
    if searching::applies(app, call, extent.kind).await? {
        searching::prepare(app, call, extent, (pairs, asked)).await.map(Box::new).map(Prepared::Search)
    } else {
        list::prepare(app, call, extent, (pairs, asked)).await.map(Prepared::List)
    }
}

/// Returns the Bundle that answers it, as JSON.
pub(crate) async fn answer(app: &App, call: &Call, prepared: Prepared<'_>) -> Result<Vec<u8>, Fault> {
    match prepared {
        Prepared::Search(search) => search.answer(app, call).await,
        Prepared::List(list) => Ok(list.answer(app, call).await?.to_string().into_bytes()),
    }
}
