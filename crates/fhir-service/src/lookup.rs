//! Reading what is stored, within what the caller reaches. What lies outside is answered as what is not there, in the
//! same words.

use fhir_resource::{ResourceKey, StoredResource, StoredText};
use fhir_store::history::{ChangeKind, Version};
use fhir_store::{AccessFilter, ListPage, ListQuery, ResourceLookup};

use crate::access::{self, AccessCheck};
use crate::error::{ServiceError, UnreadableResource};
use crate::request_context::RequestContext;
use crate::service::FhirService;
use crate::{access_filter, security_resources};

/// Reads the current version of a resource.
///
/// # Errors
/// [`ServiceError::NotFound`], [`ServiceError::Gone`], or why the caller may not read it.
pub async fn read(
    service: &FhirService,
    context: &RequestContext,
    key: &ResourceKey,
) -> Result<StoredText, ServiceError> {
    let within = access::authorize(service, context, &AccessCheck::read(key, &context.query)).await?;
    current_text(service, key, &within).await
}

/// Reads a version of a resource, named as in the address.
///
/// # Errors
/// [`ServiceError::NoVersion`], [`ServiceError::Gone`] for the version that is a deletion, or why the caller may not
/// read it.
///
/// # Source
/// FHIR R4, `RESTful` API, vread.
pub async fn read_version(
    service: &FhirService,
    context: &RequestContext,
    key: ResourceKey,
    version: String,
) -> Result<StoredText, ServiceError> {
    let beneath = format!("/_history/{version}");
    let within = access::authorize(service, context, &AccessCheck::vread(&key, &beneath, &context.query)).await?;
    let Ok(number) = version.parse() else { return Err(ServiceError::NoVersion { key, version }) };
    Ok(StoredText::from(&self::version(service, (&key, number), &within).await?))
}

/// Returns the current version of a resource within what the caller reaches.
///
/// Whose a deleted resource was is not known any more, so only a caller who reaches everything learns of the deletion.
///
/// # Errors
/// [`ServiceError::NotFound`] and [`ServiceError::Gone`].
pub(crate) async fn current(
    service: &FhirService,
    key: &ResourceKey,
    within: &AccessFilter,
) -> Result<StoredResource, ServiceError> {
    match service.resources.read(key).await? {
        ResourceLookup::Found(stored) if within.contains(&stored.key, &stored.resource) => Ok(stored),
        ResourceLookup::Deleted { .. } if !within.hides(key) => Err(ServiceError::Gone(key.clone())),
        ResourceLookup::Found(_) | ResourceLookup::Deleted { .. } | ResourceLookup::Missing => {
            Err(ServiceError::NotFound(key.clone()))
        }
    }
}

/// As [`current`], with the body as text, which is looked into where the caller does not reach everything.
pub(crate) async fn current_text(
    service: &FhirService,
    key: &ResourceKey,
    within: &AccessFilter,
) -> Result<StoredText, ServiceError> {
    match service.resources.read_text(key).await? {
        ResourceLookup::Found(found) if !within.is_confined() => Ok(found),
        ResourceLookup::Found(found) => {
            let stored = found.read().ok_or(UnreadableResource)?;
            within.contains(key, &stored.resource).then_some(found).ok_or_else(|| ServiceError::NotFound(key.clone()))
        }
        ResourceLookup::Deleted { .. } if !within.hides(key) => Err(ServiceError::Gone(key.clone())),
        ResourceLookup::Deleted { .. } | ResourceLookup::Missing => Err(ServiceError::NotFound(key.clone())),
    }
}

/// Returns a version of a resource within what the caller reaches.
///
/// # Errors
/// [`ServiceError::NoVersion`] and [`ServiceError::Gone`].
pub(crate) async fn version(
    service: &FhirService,
    (key, number): (&ResourceKey, i64),
    within: &AccessFilter,
) -> Result<StoredResource, ServiceError> {
    let found = service.resources.version(key, number).await?;
    let reached = found.filter(|version| within.contains(&version.stored.key, &version.stored.resource));
    match reached {
        Some(Version { change: ChangeKind::Deleted, .. }) => Err(ServiceError::Gone(key.clone())),
        Some(Version { stored, .. }) => Ok(stored),
        None => Err(ServiceError::NoVersion { key: key.clone(), version: number.to_string() }),
    }
}

/// Returns a page of what the caller reaches, and the query that read it.
///
/// # Errors
/// For a condition on what is never shown, and when the scopes need an index.
pub(crate) async fn page(
    service: &FhirService,
    query: ListQuery,
    within: AccessFilter,
) -> Result<(ListQuery, ListPage), ServiceError> {
    security_resources::check_filters(&query.resource_type, &query.filters)?;
    access_filter::check_listable(&query.resource_type, &within)?;
    let query = ListQuery { within, ..query };
    let page = service.resources.list(&query).await?;
    Ok((query, page))
}
