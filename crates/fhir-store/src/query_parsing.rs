//! Reading what a list or a condition asks for out of a query string.
//!
//! A parameter is the name of an element (`name=x`), a path of elements after a dot
//! (`.auth.client_credentials.token_format=jwt`), or one of `_id`, `_count`, `_page`. Everything
//! is equality: search parameters, modifiers and prefixes of FHIR are refused by name rather than
//! taken for something else, because a condition that silently matches nothing creates duplicates.

use fhir_resource::ResourceType;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::element_filter::ElementEqualityFilter;
use crate::history::HistoryPageRange;
use crate::limits;
use crate::ports::ListQuery;

/// Parameters about how the answer is written, which a list has nothing to do with.
const PRESENTATION: [&str; 2] = ["_format", "_pretty"];

/// The reason why the query of a list, a history or a condition cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A parameter with a leading underscore that is not supported here.
    #[error("the parameter {0} is not supported")]
    Unsupported(String),
    /// A name that is neither an element nor a path of elements.
    #[error("{0} names no element: `name`, or a path such as `.auth.client_credentials`")]
    Name(String),
    /// An element the store keeps elsewhere and does not compare.
    #[error("{0} cannot be compared")]
    NotComparable(String),
    /// `identifier=system|value`, which needs two values of one element.
    #[error("`system|value` is not supported: use `.identifier.value` or the id")]
    Token,
    /// `_count` or `_page` is no number, or the page is 0.
    #[error("{name} is not a number this list takes")]
    Number {
        /// `_count` or `_page`.
        name: &'static str,
    },
    /// A value that is not a time.
    #[error("{name} is an instant such as 2026-01-31T08:00:00Z, or a day")]
    Instant {
        /// The parameter.
        name: &'static str,
    },
    /// A `_cursor` that is not a position in a history.
    #[error("_cursor is taken from the link of a page")]
    Cursor,
    /// A value longer than [`limits::MAX_FILTER_VALUE_BYTES`].
    #[error("the value of {0} is longer than {max} bytes", max = limits::MAX_FILTER_VALUE_BYTES)]
    LongValue(String),
    /// More than [`limits::MAX_QUERY_FILTERS`] conditions.
    #[error("a query has at most {max} conditions", max = limits::MAX_QUERY_FILTERS)]
    TooMany,
    /// A condition without filters, which would match everything.
    #[error("the condition is empty")]
    Empty,
}

/// Parses the decoded parameters of a list request.
///
/// A `_count` above [`fhir_search::limits::MAX_PAGE_SIZE`] is lowered to it; `_format` and `_pretty` are ignored.
///
/// # Errors
/// See [`QueryError`].
pub fn parse_list_query<'a>(
    resource_type: ResourceType,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<ListQuery, QueryError> {
    let mut query = ListQuery::all_of_type(resource_type);
    for (name, value) in pairs {
        match name {
            "_count" => query.count = number("_count", value)?.min(fhir_search::limits::MAX_PAGE_SIZE),
            "_page" => {
                let page = number("_page", value)?;
                query.page = Some(page).filter(|page| *page > 0).ok_or(PAGE_FAULT)?;
            }
            _ if PRESENTATION.contains(&name) => {}
            _ => query.filters.push(filter(name, value)?),
        }
        if query.filters.len() > limits::MAX_QUERY_FILTERS {
            return Err(QueryError::TooMany);
        }
    }
    Ok(query)
}

/// Parses the decoded parameters of a history request.
///
/// A `_count` above [`fhir_search::limits::MAX_PAGE_SIZE`] is lowered to it, and 0 is raised to 1, because a history
/// has no total to report instead; `_at` and `_list` are refused as not supported.
///
/// # Errors
/// See [`QueryError`].
pub fn parse_history_range<'a>(
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<HistoryPageRange, QueryError> {
    let mut window = HistoryPageRange::default();
    for (name, value) in pairs {
        match name {
            "_count" => window.count = number("_count", value)?.clamp(1, fhir_search::limits::MAX_PAGE_SIZE),
            "_since" => window.since_us = Some(instant("_since", value)?),
            "_cursor" => window.after = Some(value.parse().map_err(|_| QueryError::Cursor)?),
            _ if PRESENTATION.contains(&name) => {}
            _ => return Err(QueryError::Unsupported(name.to_owned())),
        }
    }
    Ok(window)
}

/// An instant in unix microseconds; a day is taken as its beginning in UTC. A plus sign that was sent
/// without being encoded arrives as a blank.
pub(crate) fn instant(name: &'static str, value: &str) -> Result<i64, QueryError> {
    let text = value.replace(' ', "+");
    let day = |text: &str| text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp());
    let at = text.parse::<Timestamp>().ok().or_else(|| day(&text).filter(|_| text.len() == "2026-01-31".len()));
    at.map(Timestamp::as_microsecond).ok_or(QueryError::Instant { name })
}

const PAGE_FAULT: QueryError = QueryError::Number { name: "_page" };

fn number(name: &'static str, value: &str) -> Result<u32, QueryError> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| digits).ok_or(QueryError::Number { name })
}

/// Parses a condition as in `If-None-Exist` into filters.
///
/// # Errors
/// See [`QueryError`]; [`QueryError::Empty`] for a condition without filters.
pub fn parse_condition_filters(text: &str) -> Result<Vec<ElementEqualityFilter>, QueryError> {
    let mut filters = Vec::new();
    for (name, value) in form_urlencoded::parse(strip_condition_prefix(text).as_bytes()) {
        if filters.len() == limits::MAX_QUERY_FILTERS {
            return Err(QueryError::TooMany);
        }
        filters.push(filter(&name, &value)?);
    }
    if filters.is_empty() { Err(QueryError::Empty) } else { Ok(filters) }
}

/// Returns a condition without its leading `Type?` or `?`. A question mark in a value is part of the value.
#[must_use]
pub fn strip_condition_prefix(text: &str) -> &str {
    match text.split_once('?') {
        Some((before, criteria)) if !before.contains(['=', '&']) => criteria,
        _ => text,
    }
}

fn filter(name: &str, value: &str) -> Result<ElementEqualityFilter, QueryError> {
    if value.len() > limits::MAX_FILTER_VALUE_BYTES {
        return Err(QueryError::LongValue(name.to_owned()));
    }
    let path = path(name)?;
    if name == "identifier" {
        // FHIR's token parameter: a bare value means the value of any identifier.
        return if value.contains('|') {
            Err(QueryError::Token)
        } else {
            Ok(ElementEqualityFilter::new(["identifier", "value"], value))
        };
    }
    Ok(ElementEqualityFilter::new(path, value))
}

fn path(name: &str) -> Result<Vec<&str>, QueryError> {
    if name == "_id" {
        return Ok(vec!["id"]);
    }
    if name.starts_with('_') {
        return Err(QueryError::Unsupported(name.to_owned()));
    }
    let path: Vec<&str> = match name.strip_prefix('.') {
        Some(dotted) => dotted.split('.').collect(),
        None => vec![name],
    };
    if path.len() > limits::MAX_FILTER_PATH_SEGMENTS || !path.iter().all(|segment| is_element(segment)) {
        return Err(QueryError::Name(name.to_owned()));
    }
    match path.as_slice() {
        ["resourceType"] | ["meta", "versionId" | "lastUpdated"] => Err(QueryError::NotComparable(name.to_owned())),
        _ => Ok(path),
    }
}

/// Returns the names elements have in the field: a letter or underscore, then also digits and hyphens.
fn is_element(segment: &str) -> bool {
    let first = segment.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && segment.len() <= 64
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(pairs: &[(&str, &str)]) -> Result<ListQuery, QueryError> {
        parse_list_query("Client".parse().unwrap(), pairs.iter().copied())
    }

    #[test]
    fn a_list_without_parameters_is_the_first_hundred() {
        let query = clients(&[]).unwrap();
        assert_eq!((query.count, query.page, query.offset()), (100, 1, 0));
        assert!(query.filters.is_empty());
    }

    #[test]
    fn a_history_is_asked_for_by_time_count_and_place() {
        let window =
            parse_history_range([("_since", "1970-01-01T01:00:00+01:00"), ("_count", "9999"), ("_cursor", "5-3")])
                .unwrap();
        let after = Some("5-3".parse().unwrap());
        assert_eq!(window, HistoryPageRange { since_us: Some(0), after, count: fhir_search::limits::MAX_PAGE_SIZE });
        for (text, us) in [("1970-01-02", 86_400_000_000), ("1970-01-01T01:00:00 01:00", 0)] {
            assert_eq!(parse_history_range([("_since", text)]).unwrap().since_us, Some(us), "{text}");
        }
        for refused in
            [("_since", "yesterday"), ("_since", "2026-01"), ("_cursor", "x"), ("_count", "-1"), ("_at", "1")]
        {
            assert!(parse_history_range([refused]).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn names_paths_and_ids_become_filters() {
        let query = clients(&[
            ("_id", "c1"),
            ("id", "c1"),
            ("name", "Payer A"),
            (".auth.client_credentials.token_format", "jwt"),
            ("allowed-scopes", "x"),
            ("identifier", "7"),
        ]);
        let expected = vec![
            ElementEqualityFilter::by_id("c1"),
            ElementEqualityFilter::by_id("c1"),
            ElementEqualityFilter::new(["name"], "Payer A"),
            ElementEqualityFilter::new(["auth", "client_credentials", "token_format"], "jwt"),
            ElementEqualityFilter::new(["allowed-scopes"], "x"),
            ElementEqualityFilter::new(["identifier", "value"], "7"),
        ];
        assert_eq!(query.unwrap().filters, expected);
    }

    #[test]
    fn count_and_page_are_numbers_in_their_range() {
        let query = clients(&[("_count", "5000"), ("_page", "3")]).unwrap();
        assert_eq!((query.count, query.page, query.offset()), (1000, 3, 2000));
        assert_eq!(clients(&[("_count", "0")]).unwrap().count, 0);
        for (name, value) in [("_page", "0"), ("_page", "-1"), ("_page", "x"), ("_page", "+1")] {
            assert_eq!(clients(&[(name, value)]), Err(PAGE_FAULT), "{value}");
        }
        for value in ["", "1.5", "99999999999"] {
            let fault = QueryError::Number { name: "_count" };
            assert_eq!(clients(&[("_count", value)]), Err(fault), "{value}");
        }
    }

    #[test]
    fn what_is_not_supported_is_refused_by_name() {
        let fault = QueryError::Unsupported("_lastUpdated".to_owned());
        assert_eq!(clients(&[("_lastUpdated", "gt2020")]), Err(fault));
        assert_eq!(clients(&[("identifier", "http://s|1")]), Err(QueryError::Token));
        for name in ["", ".", "..a", ".a..b", "name:exact", "a.b", "1a", "a b", "na'me"] {
            assert_eq!(clients(&[(name, "x")]), Err(QueryError::Name(name.to_owned())));
        }
        for name in ["resourceType", ".meta.versionId"] {
            let fault = QueryError::NotComparable(name.to_owned());
            assert_eq!(clients(&[(name, "x")]), Err(fault));
        }
    }

    #[test]
    fn presentation_parameters_are_passed_over() {
        assert!(clients(&[("_format", "json"), ("_pretty", "true")]).unwrap().filters.is_empty());
    }

    #[test]
    fn sizes_are_limited() {
        let long = "x".repeat(limits::MAX_FILTER_VALUE_BYTES + 1);
        assert_eq!(clients(&[("a", &long)]), Err(QueryError::LongValue("a".to_owned())));
        assert_eq!(clients(&vec![("a", "b"); limits::MAX_QUERY_FILTERS + 1]), Err(QueryError::TooMany));
        let deep = ".a".repeat(limits::MAX_FILTER_PATH_SEGMENTS + 1);
        assert_eq!(clients(&[(&deep, "b")]), Err(QueryError::Name(deep.clone())));
    }

    #[test]
    fn a_condition_is_read_with_or_without_its_type() {
        for text in ["id=m1", "_id=m1", "?id=m1", "PlatformMigration?_id=m1"] {
            assert_eq!(parse_condition_filters(text), Ok(vec![ElementEqualityFilter::by_id("m1")]), "{text}");
        }
        let expected = vec![ElementEqualityFilter::new(["name"], "a b"), ElementEqualityFilter::new(["type"], "x&y")];
        assert_eq!(parse_condition_filters("name=a+b&type=x%26y"), Ok(expected));
    }

    #[test]
    fn a_condition_that_would_match_everything_or_pages_is_refused() {
        for text in ["", "?", "Client?", "&"] {
            assert_eq!(parse_condition_filters(text), Err(QueryError::Empty), "{text}");
        }
        let fault = QueryError::Unsupported("_count".to_owned());
        assert_eq!(parse_condition_filters("_count=1"), Err(fault));
        assert_eq!(parse_condition_filters("a=b&".repeat(33).as_str()), Err(QueryError::TooMany));
    }
}
