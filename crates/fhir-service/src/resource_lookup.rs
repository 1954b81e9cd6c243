//! Reading what is stored, within what the caller reaches. What lies outside is answered as what is not there, in the
//! same words.

use fhir_resource::{ResourceKey, StoredResource, StoredResourceText};
use fhir_store::history::{ResourceVersion, VersionInteraction};
use fhir_store::{AccessFilter, ListPage, ListQuery, ResourceLookup};

use crate::access::{self, AccessCheck};
use crate::error::{ServiceError, UnreadableResourceError};
use crate::request_context::RequestContext;
use crate::service_state::FhirService;
use crate::{access_filter, security_resources};

/// Returns the current version of a resource that the caller may access.
///
/// # Errors
/// [`ServiceError::NotFound`]; [`ServiceError::Gone`]; [`ServiceError::Denied`] when the caller may not read it.
pub async fn read_resource(
    service: &FhirService,
    context: &RequestContext,
    key: &ResourceKey,
) -> Result<StoredResourceText, ServiceError> {
    let within = access::authorize(service, context, &AccessCheck::read(key, &context.query)).await?;
    current_text(service, key, &within).await
}

/// Returns a version of a resource that the caller may access, by the version in the address.
///
/// # Errors
/// [`ServiceError::NoVersion`]; [`ServiceError::Gone`] for the version that is a deletion; [`ServiceError::Denied`]
/// when the caller may not read it.
///
/// # Source
/// FHIR R4, `RESTful` API, vread.
pub async fn read_resource_version(
    service: &FhirService,
    context: &RequestContext,
    key: ResourceKey,
    version: String,
) -> Result<StoredResourceText, ServiceError> {
    let beneath = format!("/_history/{version}");
    let within = access::authorize(service, context, &AccessCheck::vread(&key, &beneath, &context.query)).await?;
    let Ok(number) = version.parse() else { return Err(ServiceError::NoVersion { key, version }) };
    Ok(StoredResourceText::from(&self::version(service, (&key, number), &within).await?))
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
        ResourceLookup::Found(stored) if within.contains_resource(&stored.key, &stored.resource) => Ok(stored),
        ResourceLookup::Deleted { .. } if !within.may_hide_resource(key) => Err(ServiceError::Gone(key.clone())),
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
) -> Result<StoredResourceText, ServiceError> {
    match service.resources.read_as_text(key).await? {
        ResourceLookup::Found(found) if !within.is_restricted() => Ok(found),
        ResourceLookup::Found(found) => {
            let stored = found.parse_body().ok_or(UnreadableResourceError)?;
            within
                .contains_resource(key, &stored.resource)
                .then_some(found)
                .ok_or_else(|| ServiceError::NotFound(key.clone()))
        }
        ResourceLookup::Deleted { .. } if !within.may_hide_resource(key) => Err(ServiceError::Gone(key.clone())),
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
    let found = service.resources.read_version(key, number).await?;
    let reached = found.filter(|version| within.contains_resource(&version.stored.key, &version.stored.resource));
    match reached {
        Some(ResourceVersion { change: VersionInteraction::Deleted, .. }) => Err(ServiceError::Gone(key.clone())),
        Some(ResourceVersion { stored, .. }) => Ok(stored),
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
