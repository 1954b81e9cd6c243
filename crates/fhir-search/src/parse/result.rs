//! Parameters about the answer: order, size, what comes with it.

use fhir_resource::ResourceType;

use super::SearchError;
use crate::catalog::SearchParameterCatalog;
use crate::clause::{IncludeClause, IncludeReferences, SearchRequest, SortCriterion, SummaryMode, TotalMode};
use crate::limits;
use crate::parameter::SearchParameterType;

/// The values of `_summary`, for the reader.
const SUMMARIES: &str = "true, false, text, data or count";

/// Parameters about how the answer is written, which a search has nothing to do with.
const PRESENTATION: [&str; 2] = ["_format", "_pretty"];

/// Parameters about the answer: its order, its size, how much it shows.
const ABOUT_THE_ANSWER: [&str; 8] =
    ["_count", "_cursor", "_total", "_summary", "_elements", "_sort", "_include", "_revinclude"];

/// Returns whether the name is that of a search result parameter such as `_count` or `_sort`, which selects no
/// resources; `_format` is not one.
#[must_use]
pub fn is_search_result_parameter(name: &str) -> bool {
    ABOUT_THE_ANSWER.contains(&name.split_once(':').map_or(name, |(code, _)| code))
}

/// Parses `_summary` and `_elements` for a request that is not a search.
///
/// # Errors
/// [`SearchError::Value`].
pub fn parse_summary_and_elements<'a>(
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(SummaryMode, Vec<String>), SearchError> {
    let (mut whole, mut chosen) = (SummaryMode::default(), Vec::new());
    for (name, value) in pairs {
        let fault = |expected| SearchError::Value { name: name.to_owned(), value: shown(value), expected };
        match name {
            "_summary" => whole = summary(value).ok_or_else(|| fault(SUMMARIES))?,
            "_elements" => chosen.extend(elements(value).ok_or_else(|| fault("names of elements"))?),
            _ => {}
        }
    }
    Ok((whole, chosen))
}

/// Reads a parameter about the answer; says whether it was one.
pub(super) fn read(
    catalog: &SearchParameterCatalog,
    search: &mut SearchRequest,
    name: &str,
    value: &str,
) -> Result<bool, SearchError> {
    let fault = |expected| SearchError::Value { name: name.to_owned(), value: shown(value), expected };
    if value.len() > limits::MAX_SEARCH_VALUE_BYTES && name.starts_with('_') && name != "_id" {
        return Err(SearchError::LongValue(name.to_owned()));
    }
    match name {
        "_count" => search.count = Some(count(value).ok_or_else(|| fault("a number"))?),
        "_cursor" => search.cursor = Some(value.to_owned()),
        "_total" => search.total = total(value).ok_or_else(|| fault("none, estimate or accurate"))?,
        "_summary" => search.summary = summary(value).ok_or_else(|| fault(SUMMARIES))?,
        "_elements" => search.elements.extend(elements(value).ok_or_else(|| fault("names of elements"))?),
        "_sort" => sort(catalog, search, value)?,
        "_include" | "_include:iterate" => {
            let include = include(catalog, name, value)?;
            search.includes.push(IncludeClause { iterate: name != "_include", ..include });
        }
        "_revinclude" | "_revinclude:iterate" => {
            let include = include(catalog, name, value)?;
            search.revincludes.push(IncludeClause { iterate: name != "_revinclude", ..include });
        }
        _ => return presentation(name),
    }
    Ok(true)
}

fn presentation(name: &str) -> Result<bool, SearchError> {
    let (code, modifier) = name.split_once(':').unwrap_or((name, ""));
    if matches!(code, "_include" | "_revinclude") {
        return Err(SearchError::Modifier {
            code: code.to_owned(),
            parameter_type: "special",
            modifier: modifier.to_owned(),
            supported: ":iterate".to_owned(),
        });
    }
    Ok(PRESENTATION.contains(&name))
}

/// As much of a value as a fault repeats.
pub(super) fn shown(value: &str) -> String {
    value.chars().take(100).collect()
}

fn count(value: &str) -> Option<u32> {
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = value.parse().ok().filter(|_| digits)?;
    Some(u32::try_from(number).unwrap_or(u32::MAX).min(limits::MAX_PAGE_SIZE))
}

fn total(value: &str) -> Option<TotalMode> {
    match value {
        "none" => Some(TotalMode::None),
        "estimate" => Some(TotalMode::Estimate),
        "accurate" => Some(TotalMode::Accurate),
        _ => None,
    }
}

fn summary(value: &str) -> Option<SummaryMode> {
    match value {
        "true" => Some(SummaryMode::True),
        "false" => Some(SummaryMode::False),
        "text" => Some(SummaryMode::Text),
        "data" => Some(SummaryMode::Data),
        "count" => Some(SummaryMode::Count),
        _ => None,
    }
}

fn elements(value: &str) -> Option<Vec<String>> {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let names = value.split(',').map(|name| is_name(name).then(|| name.to_owned()));
    names.collect()
}

fn sort(catalog: &SearchParameterCatalog, search: &mut SearchRequest, value: &str) -> Result<(), SearchError> {
    for criterion in value.split(',') {
        let (code, descending) = criterion.strip_prefix('-').map_or((criterion, false), |code| (code, true));
        let parameter = catalog.find_parameter_by_code(&search.resource_type, code).ok_or_else(|| {
            SearchError::UnknownParameter {
                resource_type: search.resource_type.to_string(),
                name: format!("_sort={}", shown(criterion)),
            }
        })?;
        if parameter.parameter_type == SearchParameterType::Composite {
            return Err(SearchError::Value {
                name: "_sort".to_owned(),
                value: shown(criterion),
                expected: "a parameter with one value to order by, which a composite has not",
            });
        }
        if search.sort.len() >= limits::MAX_SORT_CRITERIA {
            return Err(SearchError::TooManyValues("_sort".to_owned()));
        }
        search.sort.push(SortCriterion { parameter: parameter.clone(), descending });
    }
    Ok(())
}

/// `Observation:patient`, `Observation:subject:Patient`, `Observation:*`, `*`.
fn include(catalog: &SearchParameterCatalog, name: &str, value: &str) -> Result<IncludeClause, SearchError> {
    let fault = || SearchError::Value {
        name: name.to_owned(),
        value: shown(value),
        expected: "a type, a reference of it and, if wanted, what it is to: Observation:subject:Patient",
    };
    if value == "*" {
        return Ok(IncludeClause { resource_type: None, by: IncludeReferences::All, target: None, iterate: false });
    }
    let mut parts = value.splitn(3, ':');
    let (Some(resource_type), Some(code)) = (parts.next(), parts.next()) else { return Err(fault()) };
    let resource_type: ResourceType = resource_type.parse().map_err(|_| fault())?;
    let target = parts.next().map(|target| target.parse().map_err(|_| fault())).transpose()?;
    let by = if code == "*" {
        IncludeReferences::All
    } else {
        let parameter =
            catalog.find_parameter_by_code(&resource_type, code).ok_or_else(|| SearchError::UnknownParameter {
                resource_type: resource_type.to_string(),
                name: format!("{name}={}", shown(value)),
            })?;
        if parameter.parameter_type != SearchParameterType::Reference {
            return Err(SearchError::NotAReference(code.to_owned()));
        }
        IncludeReferences::Parameter(parameter.clone())
    };
    Ok(IncludeClause { resource_type: Some(resource_type), by, target, iterate: false })
}
