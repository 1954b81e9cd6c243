//! From a query string to a search.

mod name;
mod result;
mod value;

use std::cell::Cell;

use fhir_resource::ResourceType;

use crate::catalog::SearchParameterCatalog;
use crate::clause::{SearchRequest, SummaryMode, TotalMode};
use crate::error::{IgnoredSearchParameter, SearchError};
use crate::limits;

pub use result::{is_search_result_parameter, parse_summary_and_elements};

/// The handling of unknown search parameters: strict refuses them, lenient ignores them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownParameterHandling {
    /// An unknown parameter is ignored and reported (`Prefer: handling=lenient`).
    #[default]
    Lenient,
    /// A search with an unknown parameter is refused (`Prefer: handling=strict`).
    Strict,
}

/// The context in which a query is parsed.
#[derive(Clone, Copy, Debug)]
pub struct SearchParseContext<'a> {
    /// The type that is searched.
    pub resource_type: &'a ResourceType,
    /// The handling of parameters that are not supported.
    pub handling: UnknownParameterHandling,
    /// The current time in UNIX microseconds, which `ap` of a date is relative to.
    pub now_us: i64,
    /// The base URL of this server's FHIR endpoint, without a slash at the end.
    pub base_url: &'a str,
}

impl<'a> SearchParseContext<'a> {
    /// Creates a context that refuses unsupported parameters, as scopes and conditional writes need.
    #[must_use]
    pub const fn strict(resource_type: &'a ResourceType, base_url: &'a str, now_us: i64) -> Self {
        Self { resource_type, handling: UnknownParameterHandling::Strict, now_us, base_url }
    }
}

/// Parses the decoded parameters of a search, and returns it with the parameters that were ignored.
///
/// `_format` and `_pretty` are ignored. A `_count` above [`limits::MAX_PAGE_SIZE`] is lowered to it.
///
/// # Errors
/// See [`SearchError`]; those that [`SearchError::is_ignorable_when_lenient`] only under
/// [`UnknownParameterHandling::Strict`].
pub fn parse_search<'a>(
    catalog: &SearchParameterCatalog,
    request: &SearchParseContext<'_>,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(SearchRequest, Vec<IgnoredSearchParameter>), SearchError> {
    let mut search = SearchRequest {
        resource_type: request.resource_type.clone(),
        clauses: Vec::new(),
        sort: Vec::new(),
        count: None,
        cursor: None,
        total: TotalMode::default(),
        summary: SummaryMode::default(),
        elements: Vec::new(),
        includes: Vec::new(),
        revincludes: Vec::new(),
    };
    let mut ignored = Vec::new();
    let tests = Cell::new(0);
    for (number, (name, value)) in pairs.into_iter().enumerate() {
        if number >= limits::MAX_SEARCH_PARAMETERS {
            return Err(SearchError::TooManyParameters);
        }
        match read(catalog, (request, &tests), &mut search, (name, value)) {
            Ok(()) => {}
            Err(fault)
                if request.handling == UnknownParameterHandling::Lenient && fault.is_ignorable_when_lenient() =>
            {
                ignored.push(IgnoredSearchParameter { name: name.to_owned(), fault });
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok((search, ignored))
}

fn read(
    catalog: &SearchParameterCatalog,
    (request, tests): (&SearchParseContext<'_>, &Cell<usize>),
    search: &mut SearchRequest,
    (name, value): (&str, &str),
) -> Result<(), SearchError> {
    if value.is_empty() {
        return Err(SearchError::NoValue(name.to_owned()));
    }
    if !result::read(catalog, search, name, value)? {
        let reader = name::Reader { catalog, request, name, value, tests };
        search.clauses.push(reader.clause(request.resource_type, name, 0)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod properties;
