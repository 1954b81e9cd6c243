//! `/Patient/{id}/$everything`: a patient and all that is in the patient's compartment.
//!
//! Types come one after the other, Patient first, each in the order of ids and as far as the caller may list it: by its
//! scopes, by policies, by the searches its scopes are limited to. A page begins at a type and a place among its
//! resources, so what is written in the meantime moves no page. Not specified; types the caller may not list are left
//! out, as a page of a search leaves out what is not reached, and so is what only belongs to the world (practitioners,
//! organizations), which is read by itself. `AuditEvent`s, which are about the record and not of it, come when `_type`
//! names them.
//!
//! # Source
//! FHIR R4, Patient, operation `$everything`, with `_count`, `_since` and `_type`; `start` and `end` are refused
//! by name.

use std::collections::BTreeMap;
use std::str::FromStr;

use fhir_resource::{
    PatientCompartment, ResourceKey, ResourceType, StoredResource, StoredResourceText, patient_compartment,
};
use fhir_search::SearchParseContext;
use fhir_store::bundle::{self, ListRequestUrl};
use fhir_store::query_parsing::{self, QueryError};
use fhir_store::{AccessFilter, AccessFilterBranch, HistoryPageRange, ListQuery, MatchCountMode, SearchQuery};
use oauth_core::access::AccessError;
use serde_json::Value;

use crate::access::{self, AccessCheck};
use crate::error::ServiceError;
use crate::request_budget::RequestBudget;
use crate::request_context::RequestContext;
use crate::security_resources::AUDIT_EVENT;
use crate::service_state::FhirService;
use crate::summary_view::SummaryView;
use crate::{representation, resource_lookup};

/// Returns one page of `$everything` of a patient, as a Bundle.
///
/// # Errors
/// [`ServiceError::NotFound`]; [`ServiceError::Denied`]; [`ServiceError::Query`] or [`ServiceError::Search`] for a
/// wrong parameter.
pub async fn everything_page(
    service: &FhirService,
    context: &RequestContext,
    key: &ResourceKey,
) -> Result<Value, ServiceError> {
    let within = access::authorize(service, context, &AccessCheck::everything(key, &context.query)).await?;
    let patient = resource_lookup::current(service, key, &within).await?;
    let request = EverythingRequest::read(&context.parameters)?;
    let view = SummaryView::of(&context.parameters)?;
    let mut budget = RequestBudget::new(service.settings.searches_time());
    let page = budget.search(read(service, context, &patient, &request)).await?;
    let base = service.settings.format_base_url(context.format);
    let shown = |stored| view.of_document(representation::render(service, context.format, stored));
    let entries = page.entries.iter().map(|stored| bundle::searchset_entry(&base, stored, shown(stored)));
    let address = format!("{base}/{key}/$everything");
    let [here, next] = [&request.from, &page.next].map(|place| place.as_ref().map(ToString::to_string));
    let links = ListRequestUrl { address: &address, parameters: &context.parameters };
    Ok(bundle::everything_bundle((here.as_deref(), next.as_deref()), links, entries.collect()))
}

/// Converts a `Parameters` resource to the query parameters of the same operation.
///
/// # Errors
/// [`ServiceError::NotParameters`].
///
/// # Source
/// FHIR R4, operations, executing an operation: by POST with `Parameters` or by GET with a query.
pub fn parameters_as_query(body: &Value) -> Result<Vec<(String, String)>, ServiceError> {
    if body.get("resourceType").and_then(Value::as_str) != Some("Parameters") {
        return Err(ServiceError::NotParameters);
    }
    let sent = body.get("parameter").map_or(Some([].as_slice()), |sent| sent.as_array().map(Vec::as_slice));
    sent.ok_or(ServiceError::NotParameters)?.iter().map(pair).collect()
}

fn pair(parameter: &Value) -> Result<(String, String), ServiceError> {
    let name = parameter.get("name").and_then(Value::as_str).ok_or(ServiceError::NotParameters)?;
    let mut values = parameter.as_object().into_iter().flatten().filter(|(key, _)| key.starts_with("value"));
    let value = match (values.next(), values.next()) {
        (Some((_, Value::String(text))), None) => text.clone(),
        (Some((_, Value::Number(number))), None) => number.to_string(),
        _ => return Err(ServiceError::NotParameters),
    };
    Ok((name.to_owned(), value))
}

/// The parameters of the operation.
struct EverythingRequest {
    /// The types, where not all are.
    kinds: Option<Vec<String>>,
    since_us: Option<i64>,
    count: u32,
    from: Option<PageStart>,
}

/// Where a page begins: a type, and a place among its resources, or the first of them.
#[derive(Clone, PartialEq, Eq)]
struct PageStart {
    kind: &'static str,
    behind: Option<String>,
}

impl FromStr for PageStart {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let (kind, behind) = text.split_once('-').ok_or(QueryError::Cursor)?;
        let kind =
            patient_compartment::patient_compartment_types().find(|known| *known == kind).ok_or(QueryError::Cursor)?;
        Ok(Self { kind, behind: Some(behind.to_owned()).filter(|behind| !behind.is_empty()) })
    }
}

impl std::fmt::Display for PageStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.kind, self.behind.as_deref().unwrap_or_default())
    }
}

impl EverythingRequest {
    fn read(sent: &[(String, String)]) -> Result<Self, ServiceError> {
        let own = |name: &str| matches!(name, "_type" | "_cursor") || SummaryView::reads(name);
        let others = sent.iter().filter(|(name, _)| !own(name));
        let HistoryPageRange { since_us, count, .. } =
            query_parsing::parse_history_range(others.map(|(name, value)| (name.as_str(), value.as_str())))?;
        let mut request =
            Self { kinds: None, since_us, count: count.min(fhir_search::limits::MAX_PAGE_SIZE), from: None };
        for (name, value) in sent {
            match name.as_str() {
                "_type" => {
                    let kinds = request.kinds.get_or_insert_default();
                    kinds.extend(value.split(',').map(str::to_owned));
                }
                "_cursor" => request.from = Some(value.parse()?),
                _ => {}
            }
        }
        Ok(request)
    }

    fn wants(&self, kind: &str) -> bool {
        match &self.kinds {
            Some(kinds) => kinds.iter().any(|wanted| wanted == kind),
            // Audit records come only when the request names their type.
            None => kind != AUDIT_EVENT,
        }
    }

    fn is_new(&self, stored: &StoredResource) -> bool {
        self.since_us.is_none_or(|since_us| stored.updated_us >= since_us)
    }
}

/// The resources of a page, and where the next one begins.
#[derive(Default)]
struct EverythingPage {
    entries: Vec<StoredResource>,
    next: Option<PageStart>,
}

async fn read(
    service: &FhirService,
    context: &RequestContext,
    patient: &StoredResource,
    request: &EverythingRequest,
) -> Result<EverythingPage, ServiceError> {
    let mut page = EverythingPage::default();
    if request.from.is_none() && request.wants("Patient") && request.is_new(patient) {
        page.entries.push(patient.clone());
    }
    let present = service.search.types_in_patient_compartment(&patient.key.id).await??;
    let base = service.settings.fhir_base_url();
    let compartment = Some(PatientCompartment::of_patient(patient.key.id.clone(), &base));
    let branch = AccessFilterBranch { compartment, criteria: Vec::new() };
    let mut kinds = patient_compartment::patient_compartment_types()
        .skip_while(|kind| request.from.as_ref().is_some_and(|from| from.kind != *kind));
    while let (Some(kind), None) = (kinds.next(), &page.next) {
        let known = present.iter().find(|present| present.as_str() == kind);
        let Some(known) = known.filter(|_| request.wants(kind)) else { continue };
        let reached = match access::authorize(service, context, &AccessCheck::list(known, &context.query)).await {
            Ok(reached) => reached.narrowed_to_branch(&branch),
            Err(AccessError::Store(failed)) => return Err(failed.into()),
            Err(_) => continue,
        };
        let from = request.from.as_ref().filter(|from| from.kind == kind);
        let behind = from.and_then(|from| from.behind.clone());
        add(service, (kind, known, reached), (request, behind), &mut page).await?;
    }
    Ok(page)
}

/// Adds what there is of a type as far as there is room, and notes where the next page begins.
async fn add(
    service: &FhirService,
    (name, kind, reached): (&'static str, &ResourceType, AccessFilter),
    (request, behind): (&EverythingRequest, Option<String>),
    page: &mut EverythingPage,
) -> Result<(), ServiceError> {
    let room = request.count.saturating_sub(u32::try_from(page.entries.len()).unwrap_or(u32::MAX));
    // On a full page it is looked whether there is something for the next one.
    let part = TypePage { since_us: request.since_us, behind, count: room.max(1) };
    let (found, next) = part.of(service, kind, reached).await?;
    if room == 0 {
        page.next = (!found.is_empty()).then_some(PageStart { kind: name, behind: None });
        return Ok(());
    }
    page.entries.extend(found);
    page.next = next.map(|behind| PageStart { kind: name, behind: Some(behind) });
    Ok(())
}

/// A page of the resources of one type.
struct TypePage {
    since_us: Option<i64>,
    behind: Option<String>,
    count: u32,
}

impl TypePage {
    /// Returns the resources, and the place of the next ones.
    async fn of(
        self,
        service: &FhirService,
        kind: &ResourceType,
        within: AccessFilter,
    ) -> Result<(Vec<StoredResource>, Option<String>), ServiceError> {
        let catalog = service.search.cached_search_parameter_catalog().await?;
        if !service.search.is_type_indexed(&catalog, kind) {
            return self.listed(service, kind, within).await;
        }
        let own = service.settings.fhir_base_url();
        let since = self.since_us.map(|since_us| format!("ge{}", representation::format_instant(since_us)));
        let pairs = since.iter().map(|since| ("_lastUpdated", since.as_str()));
        let (search, _) =
            fhir_search::parse_search(&catalog, &SearchParseContext::strict(kind, &own, service.now_us()), pairs)?;
        let query = SearchQuery {
            search: fhir_search::SearchRequest { cursor: self.behind, ..search },
            filters: Vec::new(),
            within,
            reaches: BTreeMap::new(),
            count: self.count,
            counting: MatchCountMode::No,
        };
        let found = service.search.search(&query).await??;
        Ok((found.entries.iter().filter_map(StoredResourceText::parse_body).collect(), found.next))
    }

    /// As [`TypePage::of`], of a type without an index, by pages.
    async fn listed(
        self,
        service: &FhirService,
        kind: &ResourceType,
        within: AccessFilter,
    ) -> Result<(Vec<StoredResource>, Option<String>), ServiceError> {
        let page = self.behind.as_deref().map_or(Ok(1), str::parse).map_err(|_| QueryError::Cursor)?;
        let query = ListQuery { count: self.count, page, ..ListQuery::all_of_type(kind.clone()) };
        let (query, listed) = resource_lookup::page(service, query, within).await?;
        let is_last = query.offset().saturating_add(u64::from(query.count)) >= listed.total;
        let is_new = |stored: &StoredResource| self.since_us.is_none_or(|since_us| stored.updated_us >= since_us);
        let found = listed.entries.into_iter().filter(is_new).collect();
        Ok((found, (!is_last).then(|| page.saturating_add(1).to_string())))
    }
}
