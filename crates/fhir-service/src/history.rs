//! Histories: the versions of a resource, of a type, of everything; newest first.

use fhir_resource::{ResourceId, ResourceKey, ResourceType};
use fhir_store::bundle::{self, ListRequestUrl};
use fhir_store::{AccessFilter, HistoryPage, HistoryPageRange, HistoryQuery};
use oauth_core::access::AccessError;
use serde_json::Value;

use crate::access::{self, AccessCheck};
use crate::error::ServiceError;
use crate::request_context::RequestContext;
use crate::service_state::FhirService;
use crate::{known_types, representation};

/// Returns the history of a resource, newest first, also of a deleted one.
///
/// # Errors
/// [`ServiceError::NotFound`]; [`ServiceError::Denied`] when the caller may not read it.
pub async fn resource_history(
    service: &FhirService,
    context: &RequestContext,
    key: ResourceKey,
) -> Result<Value, ServiceError> {
    let within = access::authorize(service, context, &AccessCheck::history_of(&key, &context.query)).await?;
    let query = HistoryQuery { kinds: vec![(key.resource_type, within)], id: Some(key.id), window: window(context)? };
    answer(service, context, &query).await
}

/// Returns the history of all resources of a type, newest first.
///
/// # Errors
/// [`ServiceError::Denied`] when the caller may not read it; [`ServiceError::UnknownType`].
pub async fn type_history(
    service: &FhirService,
    context: &RequestContext,
    kind: ResourceType,
) -> Result<Value, ServiceError> {
    let within = access::authorize(service, context, &AccessCheck::history(&kind, &context.query)).await?;
    known_types::check(service, context.format, &kind).await?;
    let query = HistoryQuery { kinds: vec![(kind, within)], id: None, window: window(context)? };
    answer(service, context, &query).await
}

/// Returns the history of the resources of every type, newest first.
///
/// Not specified; it consists of the histories of the types, each as far as the caller may read it. A caller who may
/// read none is refused.
///
/// # Errors
/// [`ServiceError::Denied`] when the caller may read the history of no type.
pub async fn system_history(service: &FhirService, context: &RequestContext) -> Result<Value, ServiceError> {
    let mut kinds = Vec::new();
    let mut denied = AccessError::Forbidden;
    for kind in service.resources.types_ever_written().await? {
        match access::authorize(service, context, &AccessCheck::history(&kind, &context.query)).await {
            Ok(within) => kinds.push((kind, within)),
            Err(AccessError::Store(failed)) => return Err(failed.into()),
            Err(cause) => denied = cause,
        }
    }
    if kinds.is_empty() {
        return Err(denied.into());
    }
    answer(service, context, &HistoryQuery { kinds, id: None, window: window(context)? }).await
}

/// Returns a page of a history for an entry of a Bundle.
///
/// # Errors
/// [`ServiceError::NotFound`].
pub(crate) async fn of_entry(
    service: &FhirService,
    context: &RequestContext,
    (kind, id): (&ResourceType, Option<&ResourceId>),
    (window, within): (HistoryPageRange, AccessFilter),
) -> Result<Value, ServiceError> {
    known_types::check(service, context.format, kind).await?;
    let query = HistoryQuery { kinds: vec![(kind.clone(), within)], id: id.cloned(), window };
    let page = read(service, &query).await?;
    Ok(page_bundle(service, context, (&query, &page), &[]))
}

fn window(context: &RequestContext) -> Result<HistoryPageRange, ServiceError> {
    Ok(fhir_store::query_parsing::parse_history_range(
        context.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())),
    )?)
}

async fn answer(service: &FhirService, context: &RequestContext, query: &HistoryQuery) -> Result<Value, ServiceError> {
    let page = read(service, query).await?;
    Ok(page_bundle(service, context, (query, &page), &context.parameters))
}

/// Reads a page. A resource that never existed is not found, in the same words as one whose versions the caller does
/// not reach.
async fn read(service: &FhirService, query: &HistoryQuery) -> Result<HistoryPage, ServiceError> {
    let page = service.resources.read_history(query).await?;
    let HistoryPageRange { since_us, after, .. } = query.window;
    let is_whole = since_us.is_none() && after.is_none() && page.next.is_none();
    match (&query.id, query.kinds.as_slice()) {
        (Some(id), [(kind, _)]) if is_whole && page.entries.is_empty() => {
            Err(ServiceError::NotFound(ResourceKey { resource_type: kind.clone(), id: id.clone() }))
        }
        _ => Ok(page),
    }
}

fn page_bundle(
    service: &FhirService,
    context: &RequestContext,
    (query, page): (&HistoryQuery, &HistoryPage),
    parameters: &[(String, String)],
) -> Value {
    let base = service.settings.format_base_url(context.format);
    let mut address = base.clone();
    if let (Some((kind, _)), [_]) = (query.kinds.first(), query.kinds.as_slice()) {
        address.extend(["/", kind.as_str()]);
    }
    address.extend(query.id.iter().flat_map(|id| ["/", id.as_str()]));
    address.push_str("/_history");
    let entries = page.entries.iter();
    let entries = entries
        .map(|version| {
            bundle::history_entry(&base, version, representation::render(service, context.format, &version.stored))
        })
        .collect();
    bundle::history_bundle(query.window.after, page, ListRequestUrl { address: &address, parameters }, entries)
}
