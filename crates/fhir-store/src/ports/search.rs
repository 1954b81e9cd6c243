//! Searching a store: what is asked of it, and what it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use fhir_resource::{ResourceId, ResourceType, StoredResource, StoredResourceText};
use fhir_search::{CompiledSearchParameter, SearchParameterCatalog, SearchRequest};

use super::StoreError;
use crate::access_filter::AccessFilter;
use crate::element_filter::ElementEqualityFilter;

/// A query for one page of the matches of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchQuery {
    /// The search.
    pub search: SearchRequest,
    /// Filters on elements that no search parameter names, all of which a match meets.
    pub filters: Vec<ElementEqualityFilter>,
    /// The filter of what the caller may access of the type; nothing else is found or counted.
    pub within: AccessFilter,
    /// The filters of what the caller may access of other types: resources that a chain uses must be inside. A type
    /// that is missing is closed.
    pub reaches: BTreeMap<ResourceType, AccessFilter>,
    /// Most matches on the page.
    pub count: u32,
    /// How far the matches are counted.
    pub counting: MatchCountMode,
}

/// The extent to which the matches of a search are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchCountMode {
    /// Not at all; the number is reported only where the page shows it.
    No,
    /// Up to this number; a larger total is not reported.
    UpTo(u32),
    /// All of them, whatever it costs.
    All,
}

/// One page of search matches, with their number and the position of the next page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchMatches {
    /// The matches of the page in their order.
    pub entries: Vec<StoredResourceText>,
    /// The position at which the next page begins, in a form that only the store reads; `None` on the last page.
    pub next: Option<String>,
    /// The number of matches on all pages, where it was requested or is known anyway.
    pub total: Option<u64>,
}

/// The reason why a search was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchExecutionError {
    /// The resources that existed before the parameter was installed are not all indexed for it yet.
    #[error("the resources are still being indexed for {parameter}; try again later")]
    Indexing {
        /// The type and the code of the parameter.
        parameter: String,
    },
    /// `_cursor` is not a position in this search.
    #[error("_cursor is taken from a link of an earlier page, and belongs to the same search")]
    Cursor,
    /// A chain leads to a type that the caller may not search.
    #[error("the caller may not search the type the chain goes to")]
    Closed,
}

/// A query for the resources that refer to given ones, for `_revinclude`.
#[derive(Clone, Copy, Debug)]
pub struct RevincludeQuery<'a> {
    /// The type of the referring resources.
    pub resource_type: &'a ResourceType,
    /// The reference parameter that refers; any when `None`.
    pub by: Option<&'a CompiledSearchParameter>,
    /// The type of the targets.
    pub to: &'a ResourceType,
    /// The ids of the targets.
    pub ids: &'a [ResourceId],
}

/// A store that keeps an index for searches.
#[async_trait]
pub trait SearchStore: Send + Sync {
    /// Returns the search parameters as the database has them now.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn current_search_parameter_catalog(&self) -> Result<Arc<SearchParameterCatalog>, StoreError>;

    /// Returns the search parameters as this node last read them, which may be outdated after an installation on
    /// another node.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn cached_search_parameter_catalog(&self) -> Result<Arc<SearchParameterCatalog>, StoreError>;

    /// Returns whether resources of the type are in the search index.
    fn is_type_indexed(&self, catalog: &SearchParameterCatalog, resource_type: &ResourceType) -> bool;

    /// Returns one page of the matches of a search.
    ///
    /// # Errors
    /// The outer error means the store itself failed, the inner one that the search cannot be carried out.
    async fn search(&self, query: &SearchQuery) -> Result<Result<SearchMatches, SearchExecutionError>, StoreError>;

    /// Returns the types, `Patient` aside, of which a patient's compartment has resources. A stored type that is not
    /// indexed but may belong to compartments is always among them, because only its resources show whether it does.
    ///
    /// # Errors
    /// As for [`SearchStore::search`]; [`SearchExecutionError::Indexing`] while resources of a type are still being
    /// indexed.
    async fn types_in_patient_compartment(
        &self,
        patient: &ResourceId,
    ) -> Result<Result<Vec<ResourceType>, SearchExecutionError>, StoreError>;

    /// Returns the resources with these ids that `within` contains, ordered by id.
    ///
    /// # Errors
    /// See [`SearchStore::search`].
    async fn read_by_ids(
        &self,
        resource_type: &ResourceType,
        ids: &[ResourceId],
        within: &AccessFilter,
    ) -> Result<Result<Vec<StoredResource>, SearchExecutionError>, StoreError>;

    /// Returns at most `limit` resources that refer to given ones and that `within` contains, ordered by id.
    ///
    /// # Errors
    /// See [`SearchStore::search`].
    async fn read_referring_resources(
        &self,
        referring: RevincludeQuery<'_>,
        within: &AccessFilter,
        limit: u32,
    ) -> Result<Result<Vec<StoredResource>, SearchExecutionError>, StoreError>;
}
