//! From a query string to a search.

mod date;
mod decimal;
mod name;
mod result;
mod value;

use std::cell::Cell;

use super::catalog::Catalog;
use super::clause::{Search, Summary, Total};
use super::fault::{Ignored, SearchFault};
use crate::key::ResourceType;
use crate::limits;

pub(super) use date::period;
pub(super) use decimal::Decimal;
pub use result::{is_about_the_answer, view};

/// The handling of unsupported search parameters: strict or lenient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handling {
    /// It is passed over and told (`Prefer: handling=lenient`).
    #[default]
    Lenient,
    /// The search is refused (`Prefer: handling=strict`).
    Strict,
}

/// The context in which a query is parsed.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The type that is searched.
    pub kind: &'a ResourceType,
    /// What is done about a parameter that is not supported.
    pub handling: Handling,
    /// The time in unix microseconds: what `ap` of a date is measured from.
    pub now_us: i64,
    /// The address of our own FHIR endpoint, without a slash at the end.
    pub own: &'a str,
}

impl<'a> Request<'a> {
    /// A search that is refused for a parameter that is not supported, as a scope or a condition has to be.
    #[must_use]
    pub const fn strict(kind: &'a ResourceType, own: &'a str, now_us: i64) -> Self {
        Self { kind, handling: Handling::Strict, now_us, own }
    }
}

/// Reads the decoded parameters of a search.
///
/// `_format` and `_pretty` are passed over. A `_count` above [`limits::MAX_COUNT`] is taken as that.
///
/// # Errors
/// See [`SearchFault`]; those that [`SearchFault::is_passed_over`] only under [`Handling::Strict`].
pub fn parse<'a>(
    catalog: &Catalog,
    request: &Request<'_>,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(Search, Vec<Ignored>), SearchFault> {
    let mut search = Search {
        kind: request.kind.clone(),
        clauses: Vec::new(),
        sort: Vec::new(),
        count: None,
        cursor: None,
        total: Total::default(),
        summary: Summary::default(),
        elements: Vec::new(),
        includes: Vec::new(),
        revincludes: Vec::new(),
    };
    let mut ignored = Vec::new();
    let tests = Cell::new(0);
    for (number, (name, value)) in pairs.into_iter().enumerate() {
        if number >= limits::MAX_CLAUSES {
            return Err(SearchFault::TooManyParameters);
        }
        match read(catalog, (request, &tests), &mut search, (name, value)) {
            Ok(()) => {}
            Err(fault) if request.handling == Handling::Lenient && fault.is_passed_over() => {
                ignored.push(Ignored { name: name.to_owned(), fault });
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok((search, ignored))
}

fn read(
    catalog: &Catalog,
    (request, tests): (&Request<'_>, &Cell<usize>),
    search: &mut Search,
    (name, value): (&str, &str),
) -> Result<(), SearchFault> {
    if value.is_empty() {
        return Err(SearchFault::NoValue(name.to_owned()));
    }
    if !result::read(catalog, search, name, value)? {
        let reader = name::Reader { catalog, request, name, value, tests };
        search.clauses.push(reader.clause(request.kind, name, 0)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod properties;
