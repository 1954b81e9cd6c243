//! Searching: from parameters to the Bundle that answers them.
//!
//! What the caller reaches of the type goes into the statement; so does what it reaches of the types that
//! chains look at. What comes with the matches is asked for within what the caller reaches of each type.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fhir_store::bundle::{SearchBundle, SearchLinks, SearchMode};
use fhir_store::outcome::{self, IssueSeverity, OperationOutcome, OutcomeIssue};
use fhir_store::search::{
    self, IgnoredParameter, SearchContext, SearchError, SearchParameterCatalog, SearchRequest, SummaryMode, TotalMode,
    UnknownParameterHandling,
};
use fhir_store::{
    AccessFilter, Compartment, Filter, FilterBranch, MatchCounting, ResourceId, ResourceType, SearchMatches,
    SearchQuery, StoredResource, limits, query,
};
use oauth_core::access::AccessError;

use crate::asked::RequestQuery;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::state::App;
use crate::surface::ResourceFormat;
use crate::view::SummaryView;
use crate::{answer, guarded, include, prefer, value_sets};

/// Up to how many matches are counted when nobody asked: so far it costs less than the page.
const COUNTED_UNASKED: u32 = 200;

/// Returns whether a type is searched here, and not listed by its elements.
pub(crate) async fn applies(app: &App, call: &ResourceRequest, kind: &ResourceType) -> Result<bool, ApiError> {
    if call.dialect != ResourceFormat::Fhir {
        return Ok(false);
    }
    let catalog = app.search.known_catalog().await?;
    Ok(app.search.indexes(&catalog, kind))
}

/// What is searched: a type, of one patient where one is named.
#[derive(Clone, Copy)]
pub(crate) struct SearchScope<'a> {
    pub(crate) kind: &'a ResourceType,
    pub(crate) patient: Option<&'a ResourceId>,
}

impl<'a> SearchScope<'a> {
    /// All of a type.
    pub(crate) const fn of_type(kind: &'a ResourceType) -> Self {
        Self { kind, patient: None }
    }

    /// Returns what of this is in it.
    pub(crate) fn narrow(self, app: &App, within: AccessFilter) -> AccessFilter {
        let Some(patient) = self.patient else { return within };
        let compartment = Some(Compartment::of(patient.clone(), &app.settings.fhir_base()));
        within.narrowed(&FilterBranch { compartment, criteria: Vec::new() })
    }

    /// Returns the address it is searched at.
    pub(crate) fn address(self, app: &App, dialect: ResourceFormat) -> String {
        let base = answer::base(app, dialect);
        match self.patient {
            Some(patient) => format!("{base}/Patient/{patient}/{}", self.kind),
            None => format!("{base}/{}", self.kind),
        }
    }
}

/// A search that was understood, within what its caller reaches.
pub(crate) struct PreparedSearch<'a> {
    address: String,
    query: SearchQuery,
    catalog: Arc<SearchParameterCatalog>,
    ignored: Vec<IgnoredParameter>,
    pairs: &'a [(String, String)],
}

/// Reads what a search of a type asks for, for whom may search it.
pub(crate) async fn prepare<'a>(
    app: &App,
    call: &ResourceRequest,
    extent: SearchScope<'_>,
    (pairs, asked): (&'a [(String, String)], &RequestQuery),
) -> Result<PreparedSearch<'a>, ApiError> {
    let kind = extent.kind;
    let within = extent.narrow(app, gate::permit(app, call, &AccessCheck::list(kind, asked)).await?);
    let Read { catalog, mut search, filters, ignored } =
        read(app, kind, prefer::handling(&call.headers), pairs).await?;
    value_sets::expand(app, &mut search).await?;
    let kinds = search.clauses.iter().flat_map(|clause| clause.looks_at()).collect();
    let reaches = reaches(app, call, kinds).await?;
    let (count, counting) = (count(&search), counting(&search));
    let query = SearchQuery { search, filters, within, reaches, count, counting };
    Ok(PreparedSearch { address: extent.address(app, call.dialect), query, catalog, ignored, pairs })
}

impl PreparedSearch<'_> {
    /// Returns the Bundle that answers it, as JSON.
    pub(crate) async fn answer(&self, app: &App, call: &ResourceRequest) -> Result<Vec<u8>, ApiError> {
        let Self { address, query, catalog, ignored, pairs } = self;
        let found = app.search.search(query).await??;
        let included = include::all(app, call, catalog, (&query.search, &found.entries)).await?;
        Ok(answer(app, call.dialect, (&query.search, pairs), Page { address, found, included, ignored }))
    }
}

/// A query as it was understood.
struct Read {
    catalog: Arc<SearchParameterCatalog>,
    search: SearchRequest,
    filters: Vec<Filter>,
    ignored: Vec<IgnoredParameter>,
}

/// Reads the parameters. A path of elements (`.name.family`) is an equality, as in any list here.
async fn read(
    app: &App,
    kind: &ResourceType,
    handling: UnknownParameterHandling,
    pairs: &[(String, String)],
) -> Result<Read, ApiError> {
    let (paths, pairs): (Vec<_>, Vec<_>) = pairs.iter().partition(|(name, _)| name.starts_with('.'));
    let paths = paths.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let filters = query::list(kind.clone(), paths)?.filters;
    guarded::check_filters(kind, &filters)?;
    let own = app.settings.fhir_base();
    // A parameter that is passed over would make an auditor believe in an answer to another question.
    let handling = if kind.as_str() == guarded::AUDIT_EVENT { UnknownParameterHandling::Strict } else { handling };
    let request = SearchContext { kind, handling, now_us: app.now_us(), own: &own };
    let parse = |catalog: &SearchParameterCatalog| {
        let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        search::parse(catalog, &request, pairs)
    };
    let mut catalog = app.search.known_catalog().await?;
    let mut parsed = parse(&catalog);
    if is_about_unknown(&parsed) {
        // Another node may have installed it a moment ago.
        let now = app.search.catalog().await?;
        if !Arc::ptr_eq(&now, &catalog) {
            parsed = parse(&now);
            catalog = now;
        }
    }
    let (search, ignored) = parsed?;
    Ok(Read { catalog, search, filters, ignored })
}

fn is_about_unknown(parsed: &Result<(SearchRequest, Vec<IgnoredParameter>), SearchError>) -> bool {
    let is_unknown = |fault: &SearchError| matches!(fault, SearchError::UnknownParameter { .. });
    match parsed {
        Ok((_, ignored)) => ignored.iter().any(|ignored| is_unknown(&ignored.fault)),
        Err(fault) => is_unknown(fault),
    }
}

/// Returns what the caller reaches of the types that chains look at.
pub(crate) async fn reaches(
    app: &App,
    call: &ResourceRequest,
    kinds: BTreeSet<&ResourceType>,
) -> Result<BTreeMap<ResourceType, AccessFilter>, ApiError> {
    let mut reaches = BTreeMap::new();
    for kind in kinds {
        if let Some(within) = reach(app, call, kind).await? {
            reaches.insert(kind.clone(), within);
        }
    }
    Ok(reaches)
}

/// Returns what the caller may find of another type by a search, `None` when nothing.
pub(crate) async fn reach(
    app: &App,
    call: &ResourceRequest,
    kind: &ResourceType,
) -> Result<Option<AccessFilter>, ApiError> {
    match gate::permit(app, call, &AccessCheck::list(kind, &RequestQuery::NOTHING)).await {
        Ok(within) => Ok(Some(within)),
        Err(cause @ AccessError::Store(_)) => Err(cause.into()),
        Err(_) => Ok(None),
    }
}

fn count(search: &SearchRequest) -> u32 {
    match search.summary {
        SummaryMode::Count => 0,
        _ => search.count.unwrap_or(limits::DEFAULT_COUNT),
    }
}

fn counting(search: &SearchRequest) -> MatchCounting {
    match (search.total, count(search)) {
        (_, 0) | (TotalMode::Accurate | TotalMode::Estimate, _) => MatchCounting::All,
        (TotalMode::Unsaid, _) => MatchCounting::UpTo(COUNTED_UNASKED),
        (TotalMode::None, _) => MatchCounting::No,
    }
}

/// What the answer is made of.
struct Page<'a> {
    address: &'a str,
    found: SearchMatches,
    included: Vec<StoredResource>,
    ignored: &'a [IgnoredParameter],
}

fn answer(
    app: &App,
    dialect: ResourceFormat,
    (search, pairs): (&SearchRequest, &[(String, String)]),
    page: Page<'_>,
) -> Vec<u8> {
    let Page { address, found, included, ignored } = page;
    let base = answer::base(app, dialect);
    let view = SummaryView::of_search(search);
    let links = links(address, (pairs, ignored), search.cursor.as_deref(), found.next.as_deref());
    let bodies: usize = found.entries.iter().map(|text| text.body.len() + answer::HEAD_BYTES).sum();
    let mut answer = SearchBundle::begin(base, &links, found.total, bodies + answer::HEAD_BYTES);
    for text in &found.entries {
        let written =
            answer.add(&text.key, SearchMode::Match, |out| answer::write_shown(app, (dialect, &view), text, out));
        if written.is_err() {
            tracing::error!(key = %text.key, "a stored resource cannot be read and is passed over");
        }
    }
    for stored in included {
        let key = stored.key.clone();
        let shown = view.of_document(answer::shown_whole(app, dialect, stored));
        answer.add_document(&key, SearchMode::Include, &shown);
    }
    if !ignored.is_empty() {
        answer.add_outcome(&passed_over(ignored).to_value());
    }
    answer.end()
}

fn passed_over(ignored: &[IgnoredParameter]) -> OperationOutcome {
    let issues = ignored.iter().map(|ignored| OutcomeIssue {
        severity: IssueSeverity::Warning,
        code: outcome::NOT_SUPPORTED.code,
        diagnostics: Some(ignored.fault.to_string()),
        expression: Vec::new(),
    });
    OperationOutcome::of(issues.collect())
}

fn links(
    address: &str,
    (pairs, ignored): (&[(String, String)], &[IgnoredParameter]),
    cursor: Option<&str>,
    next: Option<&str>,
) -> SearchLinks {
    let to = |cursor: Option<&str>| {
        let understood =
            pairs.iter().filter(|(name, _)| name != "_cursor" && !ignored.iter().any(|ignored| ignored.name == *name));
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(understood).extend_pairs(cursor.map(|cursor| ("_cursor", cursor)));
        format!("{address}?{}", query.finish())
    };
    SearchLinks { this: to(cursor), next: next.map(|next| to(Some(next))) }
}
