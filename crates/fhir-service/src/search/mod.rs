//! Searches and lists of a type: from parameters to the Bundle that answers them.
//!
//! What the caller reaches of the type goes into the statement; so does what it reaches of the types that
//! chains look at. What comes with the matches is looked up within what the caller reaches of each type.

mod elements;
mod include;
mod parameters;
mod scope;
pub(crate) mod value_sets;

pub use scope::SearchScope;

use crate::error::ServiceError;
use crate::request_budget::RequestBudget;
use crate::request_context::RequestContext;
use crate::request_query::RequestQuery;
use crate::service_state::FhirService;
use elements::PreparedList;
use parameters::PreparedSearch;

/// Searches resources of a type, by search parameters or by elements, and returns a Bundle as JSON.
///
/// # Errors
/// [`ServiceError::Denied`]; [`ServiceError::Search`] or [`ServiceError::Query`] for a wrong parameter;
/// [`fhir_store::StoreError::TooCostly`] when the search takes too long.
pub async fn search_resources(
    service: &FhirService,
    context: &RequestContext,
    scope: SearchScope<'_>,
) -> Result<Vec<u8>, ServiceError> {
    let mut budget = RequestBudget::new(service.settings.searches_time());
    let found = budget.search(async {
        let prepared = prepare(service, context, scope, (&context.parameters, &context.query)).await?;
        prepared.answer(service, context).await
    });
    found.await
}

/// A search or a list that the caller may make.
pub(crate) enum PreparedRead<'a> {
    /// By search parameters.
    Search(Box<PreparedSearch<'a>>),
    /// By elements.
    List(PreparedList<'a>),
}

/// Reads the parameters of a search, for a caller who may search the type.
pub(crate) async fn prepare<'a>(
    service: &FhirService,
    context: &RequestContext,
    scope: SearchScope<'_>,
    (pairs, query): (&'a [(String, String)], &RequestQuery),
) -> Result<PreparedRead<'a>, ServiceError> {
    if parameters::applies(service, context, scope.kind).await? {
        parameters::prepare(service, context, scope, (pairs, query)).await.map(Box::new).map(PreparedRead::Search)
    } else {
        elements::prepare(service, context, scope, (pairs, query)).await.map(PreparedRead::List)
    }
}

impl PreparedRead<'_> {
    /// Returns the Bundle that answers it, as JSON.
    pub(crate) async fn answer(self, service: &FhirService, context: &RequestContext) -> Result<Vec<u8>, ServiceError> {
        match self {
            Self::Search(search) => search.answer(service, context).await,
            Self::List(list) => Ok(list.answer(service, context).await?.to_string().into_bytes()),
        }
    }
}
