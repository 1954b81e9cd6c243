//! Searches by search parameters.

use std::sync::Arc;

use fhir_resource::{ResourceType, StoredResource};
use fhir_search::{
    IgnoredSearchParameter, SearchError, SearchParameterCatalog, SearchParseContext, SearchRequest, SummaryMode,
    TotalMode, UnknownParameterHandling,
};
use fhir_store::bundle::{SearchBundleWriter, SearchEntryMode, SearchPageLinks};
use fhir_store::operation_outcome::{self, IssueSeverity, OperationOutcome, OutcomeIssue};
use fhir_store::{ElementEqualityFilter, MatchCountMode, SearchMatches, SearchQuery, query_parsing};

use super::include;
use super::scope::SearchScope;
use super::value_sets;
use crate::access::{self, AccessCheck};
use crate::error::ServiceError;
use crate::request_context::RequestContext;
use crate::request_query::RequestQuery;
use crate::resource_format::ResourceFormat;
use crate::service_state::FhirService;
use crate::summary_view::SummaryView;
use crate::{representation, security_resources};

/// Up to how many matches are counted without a request for the total: so far it costs less than the page.
const COUNTED_UNASKED: u32 = 200;

/// Returns whether a type is searched here, and not listed by its elements.
pub(crate) async fn applies(
    service: &FhirService,
    context: &RequestContext,
    kind: &ResourceType,
) -> Result<bool, ServiceError> {
    if context.format != ResourceFormat::Fhir {
        return Ok(false);
    }
    let catalog = service.search.cached_search_parameter_catalog().await?;
    Ok(service.search.is_type_indexed(&catalog, kind))
}

/// A search that was understood, within what its caller reaches.
pub(crate) struct PreparedSearch<'a> {
    address: String,
    query: SearchQuery,
    catalog: Arc<SearchParameterCatalog>,
    ignored: Vec<IgnoredSearchParameter>,
    pairs: &'a [(String, String)],
}

/// Reads the parameters of a search of a type, for a caller who may search it.
pub(crate) async fn prepare<'a>(
    service: &FhirService,
    context: &RequestContext,
    scope: SearchScope<'_>,
    (pairs, query): (&'a [(String, String)], &RequestQuery),
) -> Result<PreparedSearch<'a>, ServiceError> {
    let kind = scope.kind;
    let within = scope.narrow(service, access::authorize(service, context, &AccessCheck::list(kind, query)).await?);
    let ParsedSearch { catalog, mut search, filters, ignored } =
        parse(service, kind, context.preferences.handling, pairs).await?;
    value_sets::expand(service, &mut search).await?;
    let kinds = search.clauses.iter().flat_map(|clause| clause.chained_resource_types()).collect();
    let reaches = access::searchable_types(service, context, kinds).await?;
    let (count, counting) = (count(&search), counting(&search));
    let query = SearchQuery { search, filters, within, reaches, count, counting };
    Ok(PreparedSearch { address: scope.address(service, context.format), query, catalog, ignored, pairs })
}

impl PreparedSearch<'_> {
    /// Returns the Bundle that answers it, as JSON.
    pub(crate) async fn answer(
        &self,
        service: &FhirService,
        context: &RequestContext,
    ) -> Result<Vec<u8>, ServiceError> {
        let Self { address, query, catalog, ignored, pairs } = self;
        let found = service.search.search(query).await??;
        let included = include::all(service, context, catalog, (&query.search, &found.entries)).await?;
        Ok(answer(service, context.format, (&query.search, pairs), AnswerParts { address, found, included, ignored }))
    }
}

/// A query as it was understood.
struct ParsedSearch {
    catalog: Arc<SearchParameterCatalog>,
    search: SearchRequest,
    filters: Vec<ElementEqualityFilter>,
    ignored: Vec<IgnoredSearchParameter>,
}

/// Reads the parameters. A path of elements (`.name.family`) is an equality, as in any list here.
async fn parse(
    service: &FhirService,
    kind: &ResourceType,
    handling: UnknownParameterHandling,
    pairs: &[(String, String)],
) -> Result<ParsedSearch, ServiceError> {
    let (paths, pairs): (Vec<_>, Vec<_>) = pairs.iter().partition(|(name, _)| name.starts_with('.'));
    let paths = paths.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let filters = query_parsing::parse_list_query(kind.clone(), paths)?.filters;
    security_resources::check_filters(kind, &filters)?;
    let own = service.settings.fhir_base_url();
    // If a parameter were passed over, an auditor would read the answer to a wider question.
    let handling =
        if kind.as_str() == security_resources::AUDIT_EVENT { UnknownParameterHandling::Strict } else { handling };
    let request = SearchParseContext { resource_type: kind, handling, now_us: service.now_us(), base_url: &own };
    let parsed_by = |catalog: &SearchParameterCatalog| {
        let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        fhir_search::parse_search(catalog, &request, pairs)
    };
    let mut catalog = service.search.cached_search_parameter_catalog().await?;
    let mut parsed = parsed_by(&catalog);
    if is_about_unknown(&parsed) {
        // Another node may have installed it a moment ago.
        let now = service.search.current_search_parameter_catalog().await?;
        if !Arc::ptr_eq(&now, &catalog) {
            parsed = parsed_by(&now);
            catalog = now;
        }
    }
    let (search, ignored) = parsed?;
    Ok(ParsedSearch { catalog, search, filters, ignored })
}

fn is_about_unknown(parsed: &Result<(SearchRequest, Vec<IgnoredSearchParameter>), SearchError>) -> bool {
    let is_unknown = |fault: &SearchError| matches!(fault, SearchError::UnknownParameter { .. });
    match parsed {
        Ok((_, ignored)) => ignored.iter().any(|ignored| is_unknown(&ignored.fault)),
        Err(fault) => is_unknown(fault),
    }
}

fn count(search: &SearchRequest) -> u32 {
    match search.summary {
        SummaryMode::Count => 0,
        _ => search.count.unwrap_or(fhir_search::limits::DEFAULT_PAGE_SIZE),
    }
}

fn counting(search: &SearchRequest) -> MatchCountMode {
    match (search.total, count(search)) {
        (_, 0) | (TotalMode::Accurate | TotalMode::Estimate, _) => MatchCountMode::All,
        (TotalMode::Unspecified, _) => MatchCountMode::UpTo(COUNTED_UNASKED),
        (TotalMode::None, _) => MatchCountMode::No,
    }
}

/// The parts of the answer.
struct AnswerParts<'a> {
    address: &'a str,
    found: SearchMatches,
    included: Vec<StoredResource>,
    ignored: &'a [IgnoredSearchParameter],
}

fn answer(
    service: &FhirService,
    format: ResourceFormat,
    (search, pairs): (&SearchRequest, &[(String, String)]),
    parts: AnswerParts<'_>,
) -> Vec<u8> {
    let AnswerParts { address, found, included, ignored } = parts;
    let base = service.settings.format_base_url(format);
    let view = SummaryView::of_search(search);
    let links = links(address, (pairs, ignored), search.cursor.as_deref(), found.next.as_deref());
    let bodies: usize =
        found.entries.iter().map(|text| text.body.len() + representation::DOCUMENT_OVERHEAD_BYTES).sum();
    let mut answer =
        SearchBundleWriter::begin(base, &links, found.total, bodies + representation::DOCUMENT_OVERHEAD_BYTES);
    for text in &found.entries {
        let written = answer.add_resource_with(&text.key, SearchEntryMode::Match, |out| {
            representation::render_resource_into(service, (format, &view), text, out)
        });
        if written.is_err() {
            tracing::error!(key = %text.key, "a stored resource cannot be read and is passed over");
        }
    }
    for stored in included {
        let key = stored.key.clone();
        let shown = view.of_document(representation::render_owned(service, format, stored));
        answer.add_document(&key, SearchEntryMode::Include, &shown);
    }
    if !ignored.is_empty() {
        answer.add_outcome(&passed_over(ignored).to_value());
    }
    answer.finish()
}

fn passed_over(ignored: &[IgnoredSearchParameter]) -> OperationOutcome {
    let issues = ignored.iter().map(|ignored| OutcomeIssue {
        severity: IssueSeverity::Warning,
        code: operation_outcome::METHOD_NOT_SUPPORTED.code,
        diagnostics: Some(ignored.fault.to_string()),
        expression: Vec::new(),
    });
    OperationOutcome::from_issues(issues.collect())
}

fn links(
    address: &str,
    (pairs, ignored): (&[(String, String)], &[IgnoredSearchParameter]),
    cursor: Option<&str>,
    next: Option<&str>,
) -> SearchPageLinks {
    let to = |cursor: Option<&str>| {
        let understood =
            pairs.iter().filter(|(name, _)| name != "_cursor" && !ignored.iter().any(|ignored| ignored.name == *name));
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(understood).extend_pairs(cursor.map(|cursor| ("_cursor", cursor)));
        format!("{address}?{}", query.finish())
    };
    SearchPageLinks { this: to(cursor), next: next.map(|next| to(Some(next))) }
}
