//! A search as a condition on one resource.

use std::collections::BTreeSet;

use fhir_resource::{ResourceType, StoredResource};

use crate::clause::{SearchClause, SearchRequest};
use crate::entry::IndexedDocument;
use crate::matching::ReferenceResolver;

/// The search whose matches decide a conditional write.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionalWriteSearch {
    /// The search, of which only the clauses count.
    pub search: SearchRequest,
    /// The base URL of this server's FHIR endpoint, which absolute references to its resources begin with.
    pub base_url: String,
}

impl ConditionalWriteSearch {
    /// Returns the resource types that the chains of the search lead to.
    #[must_use]
    pub fn chained_resource_types(&self) -> BTreeSet<&ResourceType> {
        self.search.clauses.iter().flat_map(SearchClause::chained_resource_types).collect()
    }

    /// Returns whether a resource matches. A condition on other resources is met by none without a `resolver`.
    #[must_use]
    pub fn matches_resource(&self, stored: &StoredResource, resolver: Option<&dyn ReferenceResolver>) -> bool {
        let document = IndexedDocument {
            resource_type: &stored.key.resource_type,
            id: stored.key.id.as_str(),
            updated_us: stored.updated_us,
            body: &stored.resource,
            base_url: &self.base_url,
        };
        self.search.matches(&document, resolver) == Ok(true)
    }
}
