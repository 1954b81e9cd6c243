//! From a query string to a search.

mod name;
mod result;
mod value;

use std::cell::Cell;

use fhir_resource::ResourceType;

use crate::catalog::SearchParameterCatalog;
use crate::clause::{SearchRequest, SummaryMode, TotalMode};
use crate::error::{IgnoredParameter, SearchError};
use crate::limits;

pub use result::{is_about_the_answer, view};

/// The handling of unsupported search parameters: strict or lenient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownParameterHandling {
    /// It is passed over and reported (`Prefer: handling=lenient`).
    #[default]
    Lenient,
    /// The search is refused (`Prefer: handling=strict`).
    Strict,
}

/// The context in which a query is parsed.
#[derive(Clone, Copy, Debug)]
pub struct SearchContext<'a> {
    /// The type that is searched.
    pub resource_type: &'a ResourceType,
    /// What is done about a parameter that is not supported.
    pub handling: UnknownParameterHandling,
    /// The time in unix microseconds: what `ap` of a date is measured from.
    pub now_us: i64,
    /// The address of our own FHIR endpoint, without a slash at the end.
    pub base_url: &'a str,
}

impl<'a> SearchContext<'a> {
    /// A search that is refused for a parameter that is not supported, as a scope or a condition has to be.
    #[must_use]
    pub const fn strict(resource_type: &'a ResourceType, base_url: &'a str, now_us: i64) -> Self {
        Self { resource_type, handling: UnknownParameterHandling::Strict, now_us, base_url }
    }
}

/// Reads the decoded parameters of a search.
///
/// `_format` and `_pretty` are passed over. A `_count` above [`limits::MAX_COUNT`] is taken as that.
///
/// # Errors
/// See [`SearchError`]; those that [`SearchError::is_passed_over`] only under [`UnknownParameterHandling::Strict`].
pub fn parse<'a>(
    catalog: &SearchParameterCatalog,
    request: &SearchContext<'_>,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(SearchRequest, Vec<IgnoredParameter>), SearchError> {
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
        if number >= limits::MAX_CLAUSES {
            return Err(SearchError::TooManyParameters);
        }
        match read(catalog, (request, &tests), &mut search, (name, value)) {
            Ok(()) => {}
            Err(fault) if request.handling == UnknownParameterHandling::Lenient && fault.is_passed_over() => {
                ignored.push(IgnoredParameter { name: name.to_owned(), fault });
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok((search, ignored))
}

fn read(
    catalog: &SearchParameterCatalog,
    (request, tests): (&SearchContext<'_>, &Cell<usize>),
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
