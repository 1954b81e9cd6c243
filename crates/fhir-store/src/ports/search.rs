//! Searching a store: what is asked of it, and what it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use fhir_resource::{ResourceId, ResourceType, StoredResource, StoredResourceText};
use fhir_search::{CompiledSearchParameter, SearchParameterCatalog, SearchRequest};

use super::StoreError;
use crate::access_filter::AccessFilter;
use crate::element_filter::ElementEqualityFilter;

/// A request for one page of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchQuery {
    /// What is asked for.
    pub search: SearchRequest,
    /// Conditions on elements that no search parameter names; all of them have to hold.
    pub filters: Vec<ElementEqualityFilter>,
    /// What of the type the caller reaches; nothing else is found or counted.
    pub within: AccessFilter,
    /// What of other types the caller reaches: what a chain looks at has to lie in here. A type that is
    /// missing is closed.
    pub reaches: BTreeMap<ResourceType, AccessFilter>,
    /// Matches on a page.
    pub count: u32,
    /// Whether the matches are counted.
    pub counting: MatchCountMode,
}

/// How far the matches of a search are counted: not, up to a number, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchCountMode {
    /// No: their number is reported where the page shows it.
    No,
    /// As long as there are no more than these.
    UpTo(u32),
    /// Yes, whatever it costs.
    All,
}

/// One page of search matches, with their number and the position of the next page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchMatches {
    /// The matches of the page in their order.
    pub entries: Vec<StoredResourceText>,
    /// Where the next page begins, in the store's own words; `None` on the last one.
    pub next: Option<String>,
    /// How many match in all, where that was asked for or is known anyway.
    pub total: Option<u64>,
}

/// The reason why a search was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchExecutionError {
    /// The resources there were before are not all looked through yet for this parameter.
    #[error("the resources are still being indexed for {parameter}; try again later")]
    Indexing {
        /// Its type and its code.
        parameter: String,
    },
    /// `_cursor` is no place in this search.
    #[error("_cursor is taken from a link of an earlier page, and belongs to the same search")]
    Cursor,
    /// A chain goes to a type that the caller may not search.
    #[error("the caller may not search the type the chain goes to")]
    Closed,
}

/// A query for the resources that refer to given ones, for `_revinclude`.
#[derive(Clone, Copy, Debug)]
pub struct RevincludeQuery<'a> {
    /// The type that refers.
    pub resource_type: &'a ResourceType,
    /// By which of its references; by any when there is none.
    pub by: Option<&'a CompiledSearchParameter>,
    /// The type that is referred to.
    pub to: &'a ResourceType,
    /// The ids that are referred to.
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

    /// Returns the types that a patient's compartment has resources of, and its unindexed types that have any.
    ///
    /// # Errors
    /// See [`SearchStore::search`].
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
