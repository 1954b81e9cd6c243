//! The conditions of writes: read as the searches of the same endpoint are, and decided by the same statement.
//!
//! At the FHIR endpoint a condition names search parameters; of what no parameter is about, and at the native
//! endpoint, it names elements. It decides what is written over, so it is strict whatever the caller prefers.

use std::sync::Arc;

use fhir_resource::ResourceType;
use fhir_search::{SearchParameterCatalog, SearchParseContext};
use fhir_store::{ConditionalWriteCriteria, CriteriaParseError, ResourceWrite};

use crate::error::ServiceError;
use crate::resource_format::ResourceFormat;
use crate::search::value_sets;
use crate::service_state::FhirService;

/// Reads the conditions of the writes of a request.
pub(crate) struct CriteriaReader<'a> {
    service: &'a FhirService,
    /// The search parameters; none where conditions name elements.
    catalog: Option<Arc<SearchParameterCatalog>>,
    own: String,
}

impl<'a> CriteriaReader<'a> {
    /// Returns the reader for an endpoint.
    pub(crate) async fn of(service: &'a FhirService, format: ResourceFormat) -> Result<Self, ServiceError> {
        let catalog = match format {
            ResourceFormat::Fhir => Some(service.search.current_search_parameter_catalog().await?),
            ResourceFormat::Native => None,
        };
        Ok(Self { service, catalog, own: service.settings.fhir_base_url() })
    }

    /// Returns the reader for a request without conditions.
    pub(crate) fn of_none(service: &'a FhirService) -> Self {
        Self { service, catalog: None, own: String::new() }
    }

    /// Reads a condition.
    pub(crate) fn read(&self, kind: &ResourceType, text: &str) -> Result<ConditionalWriteCriteria, CriteriaParseError> {
        let searched = self.catalog.as_ref().filter(|catalog| self.service.search.is_type_indexed(catalog, kind));
        match searched {
            Some(catalog) => {
                let request = SearchParseContext::strict(kind, &self.own, self.service.now_us());
                ConditionalWriteCriteria::parse_search_criteria(catalog, &request, text)
            }
            None => ConditionalWriteCriteria::parse_element_criteria(text),
        }
    }
}

/// Parses the criteria of a conditional write, and expands the value sets that they name.
///
/// # Errors
/// [`ServiceError::Search`] or [`ServiceError::Query`] for criteria that cannot be parsed, and when the store fails.
pub async fn parse_write_criteria(
    service: &FhirService,
    format: ResourceFormat,
    kind: &ResourceType,
    text: &str,
) -> Result<ConditionalWriteCriteria, ServiceError> {
    let mut criteria = CriteriaReader::of(service, format).await?.read(kind, text)?;
    expand(service, &mut criteria).await?;
    Ok(criteria)
}

/// Returns the write with the codes of the value sets that its condition names.
pub(crate) async fn expanded(service: &FhirService, mut write: ResourceWrite) -> Result<ResourceWrite, ServiceError> {
    if let Some(criteria) = &mut write.precondition.if_none_exist {
        expand(service, criteria).await?;
    }
    Ok(write)
}

/// Puts the codes of the value sets that criteria name in their places.
pub(crate) async fn expand(service: &FhirService, criteria: &mut ConditionalWriteCriteria) -> Result<(), ServiceError> {
    match &mut criteria.search {
        Some(condition) => value_sets::expand(service, &mut condition.search).await,
        None => Ok(()),
    }
}
