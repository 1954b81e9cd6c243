//! `/_history`, `/{type}/_history`, `/{type}/{id}/_history`: what was written before.

use axum::extract::State;
use axum::response::Response;
use fhir_store::bundle::{self, ListLinks};
use fhir_store::{AccessFilter, HistoryPage, HistoryQuery, HistoryRange, ResourceId, ResourceKey, ResourceType, query};
use http::StatusCode;
use oauth_core::access::AccessError;
use serde_json::Value;

use crate::address::{ResourcePath, TypePath};
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::state::App;
use crate::{answer, known_types};

/// Returns the versions of a resource, newest first; of what was deleted as well.
pub(crate) async fn of_resource(
    State(app): State<App>,
    ResourcePath(key): ResourcePath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let within = gate::permit(&app, &call, &AccessCheck::history_of(&key, &call.asked)).await?;
    let asked = HistoryQuery { kinds: vec![(key.kind, within)], id: Some(key.id), window: window(&call)? };
    answered(&app, &call, &asked).await
}

/// Returns the versions of the resources of a type.
pub(crate) async fn of_type(
    State(app): State<App>,
    TypePath(kind): TypePath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let within = gate::permit(&app, &call, &AccessCheck::history(&kind, &call.asked)).await?;
    known_types::demand(&app, call.dialect, &kind).await?;
    let asked = HistoryQuery { kinds: vec![(kind, within)], id: None, window: window(&call)? };
    answered(&app, &call, &asked).await
}

/// Returns the versions of everything.
///
/// Not specified; it is the histories of the types together, each as far as the caller may ask for it, and
/// who may ask for none is refused.
pub(crate) async fn of_system(State(app): State<App>, call: ResourceRequest) -> Result<Response, ApiError> {
    let mut kinds = Vec::new();
    let mut denied = AccessError::Forbidden;
    for kind in app.resources.kinds().await? {
        match gate::permit(&app, &call, &AccessCheck::history(&kind, &call.asked)).await {
            Ok(within) => kinds.push((kind, within)),
            Err(AccessError::Store(failed)) => return Err(failed.into()),
            Err(cause) => denied = cause,
        }
    }
    if kinds.is_empty() {
        return Err(denied.into());
    }
    answered(&app, &call, &HistoryQuery { kinds, id: None, window: window(&call)? }).await
}

/// A history as an entry of a Bundle asks for it.
pub(crate) async fn entry(
    app: &App,
    call: &ResourceRequest,
    (kind, id): (&ResourceType, Option<&ResourceId>),
    (window, within): (HistoryRange, AccessFilter),
) -> Result<Value, ApiError> {
    known_types::demand(app, call.dialect, kind).await?;
    let asked = HistoryQuery { kinds: vec![(kind.clone(), within)], id: id.cloned(), window };
    let page = read(app, &asked).await?;
    Ok(shown(app, call, (&asked, &page), &[]))
}

fn window(call: &ResourceRequest) -> Result<HistoryRange, ApiError> {
    Ok(query::history(call.query.iter().map(|(name, value)| (name.as_str(), value.as_str())))?)
}

async fn answered(app: &App, call: &ResourceRequest, asked: &HistoryQuery) -> Result<Response, ApiError> {
    let page = read(app, asked).await?;
    Ok(answer::json(StatusCode::OK, call.dialect, &shown(app, call, (asked, &page), &call.query)))
}

/// A page, or the fault of there never having been such a resource, in the same words whether or not
/// there are versions the caller does not reach.
async fn read(app: &App, asked: &HistoryQuery) -> Result<HistoryPage, ApiError> {
    let page = app.resources.history(asked).await?;
    let HistoryRange { since_us, after, .. } = asked.window;
    let is_whole = since_us.is_none() && after.is_none() && page.next.is_none();
    match (&asked.id, asked.kinds.as_slice()) {
        (Some(id), [(kind, _)]) if is_whole && page.entries.is_empty() => {
            Err(ApiError::NotFound(ResourceKey { kind: kind.clone(), id: id.clone() }))
        }
        _ => Ok(page),
    }
}

fn shown(
    app: &App,
    call: &ResourceRequest,
    (asked, page): (&HistoryQuery, &HistoryPage),
    parameters: &[(String, String)],
) -> Value {
    let base = answer::base(app, call.dialect);
    let mut address = base.clone();
    if let (Some((kind, _)), [_]) = (asked.kinds.first(), asked.kinds.as_slice()) {
        address.extend(["/", kind.as_str()]);
    }
    address.extend(asked.id.iter().flat_map(|id| ["/", id.as_str()]));
    address.push_str("/_history");
    let entries = page.entries.iter();
    let entries = entries
        .map(|version| bundle::history_entry(&base, version, answer::shown(app, call.dialect, &version.stored)))
        .collect();
    bundle::history(asked.window.after, page, ListLinks { address: &address, parameters }, entries)
}
