//! Searching a store: what is asked of it, and what it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use fhir_resource::{ResourceId, ResourceType, StoredResource, StoredText};
use fhir_search::{SearchParameter, SearchParameterCatalog, SearchRequest};

use super::StoreError;
use crate::filter::Filter;
use crate::selection::AccessFilter;

/// A page of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchQuery {
    /// What is asked for.
    pub search: SearchRequest,
    /// Conditions on elements that no search parameter names; all of them have to hold.
    pub filters: Vec<Filter>,
    /// What of the type the caller reaches; nothing else is found or counted.
    pub within: AccessFilter,
    /// What of other types the caller reaches: what a chain looks at has to lie in here. A type that is
    /// missing is closed.
    pub reaches: BTreeMap<ResourceType, AccessFilter>,
    /// Matches on a page.
    pub count: u32,
    /// Whether the matches are counted.
    pub counting: MatchCounting,
}

/// The way in which the matches of a search are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchCounting {
    /// No: their number is reported where the page shows it.
    No,
    /// As long as there are no more than these.
    UpTo(u32),
    /// Yes, whatever it costs.
    All,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchMatches {
    /// The matches of the page in their order.
    pub entries: Vec<StoredText>,
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

/// The selection of resources that refer to others, for `_revinclude`.
#[derive(Clone, Copy, Debug)]
pub struct ReferringResources<'a> {
    /// The type that refers.
    pub resource_type: &'a ResourceType,
    /// By which of its references; by any when there is none.
    pub by: Option<&'a SearchParameter>,
    /// The type that is referred to.
    pub to: &'a ResourceType,
    /// The ids that are referred to.
    pub ids: &'a [ResourceId],
}

/// A store that keeps an index for searches.
#[async_trait]
pub trait SearchStore: Send + Sync {
    /// Returns the search parameters as of now.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn catalog(&self) -> Result<Arc<SearchParameterCatalog>, StoreError>;

    /// Returns the search parameters as this node knows them, which may be those of before an installation on another
    /// one: enough for a search that names none it does not have.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn known_catalog(&self) -> Result<Arc<SearchParameterCatalog>, StoreError>;

    /// Returns whether resources of the type are in the index; the others are listed by their elements.
    fn indexes(&self, catalog: &SearchParameterCatalog, resource_type: &ResourceType) -> bool;

    /// One page of what a search finds.
    ///
    /// # Errors
    /// The outer error means the store itself failed, the inner one that the search cannot be carried out.
    async fn search(&self, query: &SearchQuery) -> Result<Result<SearchMatches, SearchExecutionError>, StoreError>;

    /// Returns the types of which something is in a patient's compartment, and those of the compartment that are not in
    /// the index, where something of them is stored at all.
    ///
    /// # Errors
    /// See [`SearchStore::search`].
    async fn kinds_about(
        &self,
        patient: &ResourceId,
    ) -> Result<Result<Vec<ResourceType>, SearchExecutionError>, StoreError>;

    /// Returns the resources with these ids that lie in `within`, in the order of their ids.
    ///
    /// # Errors
    /// See [`SearchStore::search`].
    async fn among(
        &self,
        resource_type: &ResourceType,
        ids: &[ResourceId],
        within: &AccessFilter,
    ) -> Result<Result<Vec<StoredResource>, SearchExecutionError>, StoreError>;

    /// Returns the resources that refer to others and lie in `within`, in the order of their ids, `limit` at most.
    ///
    /// # Errors
    /// See [`SearchStore::search`].
    async fn referring(
        &self,
        referring: ReferringResources<'_>,
        within: &AccessFilter,
        limit: u32,
    ) -> Result<Result<Vec<StoredResource>, SearchExecutionError>, StoreError>;
}
