//! How much of each resource a reader asked for.

use fhir_store::search::{self, SearchRequest, SummaryMode};
use fhir_store::subset::subset;
use serde_json::Value;

use crate::error::ApiError;

/// What `_summary` and `_elements` say.
///
/// # Source
/// FHIR R4, `RESTful` API, General Parameters: they are for every interaction that shows resources.
#[derive(Debug, Clone, Default)]
pub(crate) struct SummaryView {
    summary: SummaryMode,
    elements: Vec<String>,
}

impl SummaryView {
    /// Reads them from among the parameters of a request.
    ///
    /// # Errors
    /// For a value that is none.
    pub(crate) fn of(pairs: &[(String, String)]) -> Result<Self, ApiError> {
        let own = pairs.iter().filter(|(name, _)| Self::reads(name));
        let (summary, elements) = search::view(own.map(|(name, value)| (name.as_str(), value.as_str())))?;
        Ok(Self { summary, elements })
    }

    /// What a search says.
    pub(crate) fn of_search(search: &SearchRequest) -> Self {
        Self { summary: search.summary, elements: search.elements.clone() }
    }

    /// Returns whether this is one of them.
    pub(crate) fn reads(name: &str) -> bool {
        matches!(name, "_summary" | "_elements")
    }

    /// Returns whether they leave a document as it is.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.summary, SummaryMode::False | SummaryMode::Count) && self.elements.is_empty()
    }

    /// As much of a document as they say.
    pub(crate) fn of_document(&self, document: Value) -> Value {
        subset(document, self.summary, &self.elements)
    }
}
