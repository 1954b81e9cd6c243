//! The conditions of writes: read as the searches of the same endpoint are, and decided by the same statement.
//!
//! At the FHIR endpoint a condition names search parameters; of what no parameter is about, and at the native
//! endpoint, it names elements. It decides what is written over, so it is strict whatever the caller prefers.

use std::collections::BTreeMap;
use std::sync::Arc;

use fhir_store::search::{SearchContext, SearchParameterCatalog};
use fhir_store::{AccessFilter, CriteriaError, Precondition, ResourceType, Write, WriteCriteria};

use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::searching;
use crate::state::App;
use crate::surface::ResourceFormat;
use crate::value_sets;

/// What conditions are read by.
pub(crate) struct CriteriaReader<'a> {
    app: &'a App,
    /// The search parameters; none where conditions name elements.
    catalog: Option<Arc<SearchParameterCatalog>>,
    own: String,
}

impl<'a> CriteriaReader<'a> {
    /// For the conditions of a request.
    pub(crate) async fn of(app: &'a App, dialect: ResourceFormat) -> Result<Self, ApiError> {
        let catalog = match dialect {
            ResourceFormat::Fhir => Some(app.search.catalog().await?),
            ResourceFormat::Native => None,
        };
        Ok(Self { app, catalog, own: app.settings.fhir_base() })
    }

    /// For a request without conditions, which are not read by this.
    pub(crate) fn of_none(app: &'a App) -> Self {
        Self { app, catalog: None, own: String::new() }
    }

    /// Reads one.
    pub(crate) fn read(&self, kind: &ResourceType, text: &str) -> Result<WriteCriteria, CriteriaError> {
        let searched = self.catalog.as_ref().filter(|catalog| self.app.search.indexes(catalog, kind));
        match searched {
            Some(catalog) => {
                let request = SearchContext::strict(kind, &self.own, self.app.now_us());
                WriteCriteria::by_parameters(catalog, &request, text)
            }
            None => WriteCriteria::by_elements(text),
        }
    }
}

/// Returns the conditions of a create: `If-Match` and `If-None-Exist`.
pub(crate) async fn of_create(
    app: &App,
    call: &ResourceRequest,
    kind: &ResourceType,
) -> Result<Precondition, ApiError> {
    let if_none_exist = match call.if_none_exist()? {
        Some(text) => Some(read(app, call, kind, text).await?),
        None => None,
    };
    Ok(Precondition { if_match: call.if_match()?, if_none_match: call.if_none_match()?, if_none_exist })
}

/// Returns the conditions of a write whose target the query finds. A second condition in a header is refused: policies
/// are asked about the one that decides.
pub(crate) async fn of_address(
    app: &App,
    call: &ResourceRequest,
    kind: &ResourceType,
) -> Result<Precondition, ApiError> {
    if call.if_none_exist()?.is_some() {
        return Err(ApiError::ConditionOnPut);
    }
    let text = call.asked.query.as_deref().unwrap_or_default();
    let if_none_exist = Some(read(app, call, kind, text).await?);
    Ok(Precondition { if_match: call.if_match()?, if_none_match: call.if_none_match()?, if_none_exist })
}

async fn read(app: &App, call: &ResourceRequest, kind: &ResourceType, text: &str) -> Result<WriteCriteria, ApiError> {
    let mut criteria = CriteriaReader::of(app, call.dialect).await?.read(kind, text)?;
    expand(app, &mut criteria).await?;
    Ok(criteria)
}

/// Returns the write with the codes of the value sets that its condition names.
pub(crate) async fn expanded(app: &App, mut write: Write) -> Result<Write, ApiError> {
    if let Some(criteria) = &mut write.precondition.if_none_exist {
        expand(app, criteria).await?;
    }
    Ok(write)
}

/// Puts the codes of the value sets that criteria name in their places.
pub(crate) async fn expand(app: &App, criteria: &mut WriteCriteria) -> Result<(), ApiError> {
    match &mut criteria.sought {
        Some(sought) => value_sets::expand(app, &mut sought.search).await,
        None => Ok(()),
    }
}

/// Returns what the caller reaches of the types that a condition looks at.
pub(crate) async fn chained(
    app: &App,
    call: &ResourceRequest,
    criteria: &WriteCriteria,
) -> Result<BTreeMap<ResourceType, AccessFilter>, ApiError> {
    searching::reaches(app, call, criteria.looks_at()).await
}
