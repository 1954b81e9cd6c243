//! The resources that the condition of a write finds.

use fhir_resource::{ResourceKey, ResourceType};
use fhir_store::{
    AccessFilter, ConditionalWriteCriteria, ListQuery, MatchCountMode, ResourceWrite, SearchQuery, WriteError,
};

use crate::access::{self, AccessCheck};
use crate::error::ServiceError;
use crate::request_context::RequestContext;
use crate::request_query::RequestQuery;
use crate::service_state::FhirService;
use crate::{resource_lookup, security_resources};

/// Returns the one resource that the condition of a write finds, for a caller who may list what meets it.
///
/// # Errors
/// Why the caller may not, [`WriteError::NothingMatches`] and [`WriteError::MultipleMatches`].
pub(crate) async fn find_target(
    service: &FhirService,
    context: &RequestContext,
    write: &ResourceWrite,
    query: &RequestQuery,
) -> Result<ResourceKey, ServiceError> {
    // A caller who may not do it anyway gets to know that first, whatever the condition finds.
    access::scope_filter(service, context, &AccessCheck::write(write, query)).await?;
    let Some(criteria) = &write.precondition.if_none_exist else { return Err(ServiceError::Unanswered) };
    let within = access::authorize_search(service, context, &write.resource_type, (query, criteria)).await?;
    let kind = write.resource_type.clone();
    let refused = |cause| ServiceError::Refused { cause, entry: None };
    let mut found = find_matches(service, context, (&kind, criteria), within).await?.into_iter();
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(refused(WriteError::NothingMatches(kind))),
        (Some(_), Some(_)) => Err(refused(WriteError::MultipleMatches { resource_type: kind })),
    }
}

/// Returns the keys of what meets a condition, two at most.
///
/// # Errors
/// When it is not searched by.
pub(crate) async fn find_matches(
    service: &FhirService,
    context: &RequestContext,
    (kind, criteria): (&ResourceType, &ConditionalWriteCriteria),
    within: AccessFilter,
) -> Result<Vec<ResourceKey>, ServiceError> {
    let filters = criteria.filters.clone();
    let Some(condition) = &criteria.search else {
        let query = ListQuery { filters, count: 2, ..ListQuery::all_of_type(kind.clone()) };
        let (_, page) = resource_lookup::page(service, query, within).await?;
        return Ok(page.entries.into_iter().map(|stored| stored.key).collect());
    };
    security_resources::check_filters(kind, &filters)?;
    let query = SearchQuery {
        search: condition.search.clone(),
        filters,
        within,
        reaches: access::searchable_types(service, context, criteria.chained_resource_types()).await?,
        count: 2,
        counting: MatchCountMode::No,
    };
    let found = service.search.search(&query).await??;
    Ok(found.entries.into_iter().map(|text| text.key).collect())
}
