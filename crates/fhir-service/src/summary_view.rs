//! How much of each resource a caller wants to see: `_summary` and `_elements`.

use fhir_search::{SearchRequest, SummaryMode};
use fhir_store::resource_subset::apply_summary_and_elements;
use serde_json::Value;

use crate::error::ServiceError;
use crate::request_context::RequestContext;
use crate::resource_format::ResourceFormat;

/// The part of each resource that a response shows, by `_summary` and `_elements`.
///
/// # Source
/// FHIR R4, `RESTful` API, General Parameters: they apply to every interaction that returns resources.
#[derive(Debug, Clone, Default)]
pub struct SummaryView {
    summary: SummaryMode,
    elements: Vec<String>,
}

impl SummaryView {
    /// Returns the view of a read of one resource; the native endpoint always shows all of it.
    ///
    /// # Errors
    /// [`ServiceError::Search`] for a value that is not one of the parameter's.
    pub fn for_resource_read(context: &RequestContext) -> Result<Self, ServiceError> {
        match context.format {
            ResourceFormat::Fhir => Self::of(&context.parameters),
            ResourceFormat::Native => Ok(Self::default()),
        }
    }

    /// Reads `_summary` and `_elements` from among the parameters of a request.
    ///
    /// # Errors
    /// [`ServiceError::Search`] for a value that is not one of the parameter's.
    pub(crate) fn of(pairs: &[(String, String)]) -> Result<Self, ServiceError> {
        let own = pairs.iter().filter(|(name, _)| Self::reads(name));
        let (summary, elements) =
            fhir_search::parse_summary_and_elements(own.map(|(name, value)| (name.as_str(), value.as_str())))?;
        Ok(Self { summary, elements })
    }

    /// Returns the part that a search shows.
    pub(crate) fn of_search(search: &SearchRequest) -> Self {
        Self { summary: search.summary, elements: search.elements.clone() }
    }

    /// Returns whether a parameter is `_summary` or `_elements`.
    pub(crate) fn reads(name: &str) -> bool {
        matches!(name, "_summary" | "_elements")
    }

    /// Returns whether documents are shown as they are.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.summary, SummaryMode::False | SummaryMode::Count) && self.elements.is_empty()
    }

    /// Returns the part of a document that is shown.
    pub(crate) fn of_document(&self, document: Value) -> Value {
        apply_summary_and_elements(document, self.summary, &self.elements)
    }
}
