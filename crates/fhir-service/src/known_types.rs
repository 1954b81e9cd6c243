//! The types of resources that the FHIR endpoint has. Any other is a misspelling, and not found.
//!
//! At the native endpoint every type is one, and the first resource written there registers it: from then on the FHIR
//! endpoint has the type too.
//!
//! # Source
//! FHIR R4, `RESTful` API, read, create and search: 404 where the resource type is not supported.

use fhir_resource::{ResourceType, type_definitions};
use fhir_store::{ElementEqualityFilter, ListQuery};

use crate::error::ServiceError;
use crate::resource_format::ResourceFormat;
use crate::service_state::FhirService;

/// The types that this server has rules or uses for, besides those of R4.
const PLATFORM: [&str; 5] =
    ["AccessPolicy", "Client", migrations::MIGRATION_RESOURCE_TYPE, "TokenIntrospector", "User"];

/// The type in which packages describe types.
const DEFINITION: &str = "StructureDefinition";

/// Checks that an endpoint has a type.
///
/// # Errors
/// [`ServiceError::UnknownType`], and a failure of the store.
pub(crate) async fn check(
    service: &FhirService,
    format: ResourceFormat,
    kind: &ResourceType,
) -> Result<(), ServiceError> {
    let name = kind.as_str();
    if format == ResourceFormat::Native || type_definitions::is_r4_resource_type(name) || PLATFORM.contains(&name) {
        return Ok(());
    }
    let is_known = service
        .search
        .cached_search_parameter_catalog()
        .await?
        .types_with_parameters()
        .any(|searched| searched == name)
        || service.resources.types_ever_written().await?.contains(kind)
        || is_defined(service, name).await?;
    if is_known { Ok(()) } else { Err(ServiceError::UnknownType(kind.clone())) }
}

/// Returns whether an installed definition describes resources of a type.
async fn is_defined(service: &FhirService, name: &str) -> Result<bool, ServiceError> {
    let Ok(kind) = DEFINITION.parse() else { return Ok(false) };
    let filters = [("type", name), ("kind", "resource"), ("derivation", "specialization")];
    let filters = filters.map(|(element, value)| ElementEqualityFilter::new([element], value)).to_vec();
    let found = service.resources.list(&ListQuery { filters, count: 0, ..ListQuery::all_of_type(kind) }).await?;
    Ok(found.total > 0)
}
