//! `/Patient/{id}/$everything`: a patient and all that is in the patient's compartment.
//!
//! Types come one after the other, Patient first, each in the order of ids and as far as the caller may list it: by
//! its scopes, by policies, by the searches its scopes are limited to. A page begins at a type and a place among its
//! resources, so what is written meanwhile moves no page. Not specified; types the caller may not list are left out,
//! as a page of a search leaves out what is not reached, and so is what only belongs to the world (practitioners,
//! organizations), which is read by itself. `AuditEvent`s, which tell of the record and are not of it, come when
//! `_type` names them.
//!
//! # Source
//! FHIR R4, Patient, operation `$everything`, with `_count`, `_since` and `_type`; `start` and `end` are refused
//! by name.

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::extract::State;
use axum::response::Response;
use fhir_store::bundle::{self, ListLinks};
use fhir_store::query::{self, QueryError};
use fhir_store::search::{self, SearchContext};
use fhir_store::{
    AccessFilter, Compartment, FilterBranch, HistoryRange, ListQuery, MatchCounting, ResourceType, SearchQuery,
    StoredResource, StoredText, compartment, limits,
};
use http::StatusCode;
use oauth_core::access::AccessError;
use serde_json::Value;

use crate::address::PatientPath;
use crate::budget::RequestBudget;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::guarded::AUDIT_EVENT;
use crate::state::App;
use crate::view::SummaryView;
use crate::{answer, confine};

/// Answers a page of everything.
pub(crate) async fn get(
    State(app): State<App>,
    PatientPath(key): PatientPath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let within = gate::permit(&app, &call, &AccessCheck::everything(&key, &call.asked)).await?;
    let patient = confine::current(&app, &key, &within).await?;
    let asked = Asked::read(&call.query)?;
    let view = SummaryView::of(&call.query)?;
    let mut budget = RequestBudget::new(app.settings.searches_time());
    let page = budget.search(page(&app, &call, &patient, &asked)).await?;
    let base = answer::base(&app, call.dialect);
    let entries = page.entries.iter();
    let shown = |stored| view.of_document(answer::shown(&app, call.dialect, stored));
    let entries = entries.map(|stored| bundle::search_entry(&base, stored, shown(stored)));
    let address = format!("{base}/{key}/$everything");
    let [here, next] = [&asked.from, &page.next].map(|place| place.as_ref().map(ToString::to_string));
    let links = ListLinks { address: &address, parameters: &call.query };
    let set = bundle::everything((here.as_deref(), next.as_deref()), links, entries.collect());
    Ok(answer::json(StatusCode::OK, call.dialect, &set))
}

/// The same with its parameters in a `Parameters` resource, or with none.
///
/// # Source
/// FHIR R4, operations, executing an operation: by POST where it is not by GET.
pub(crate) async fn post(
    app: State<App>,
    target: PatientPath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    if let Ok(body) = call.take_resource() {
        call.query.extend(pairs(&body)?);
    }
    get(app, target, call).await
}

/// Returns the parameters of a body as they would be in an address.
fn pairs(body: &Value) -> Result<Vec<(String, String)>, ApiError> {
    if body.get("resourceType").and_then(Value::as_str) != Some("Parameters") {
        return Err(ApiError::NotParameters);
    }
    let sent = body.get("parameter").map_or(Some([].as_slice()), |sent| sent.as_array().map(Vec::as_slice));
    sent.ok_or(ApiError::NotParameters)?.iter().map(pair).collect()
}

fn pair(parameter: &Value) -> Result<(String, String), ApiError> {
    let name = parameter.get("name").and_then(Value::as_str).ok_or(ApiError::NotParameters)?;
    let mut values = parameter.as_object().into_iter().flatten().filter(|(key, _)| key.starts_with("value"));
    let value = match (values.next(), values.next()) {
        (Some((_, Value::String(text))), None) => text.clone(),
        (Some((_, Value::Number(number))), None) => number.to_string(),
        _ => return Err(ApiError::NotParameters),
    };
    Ok((name.to_owned(), value))
}

/// What of everything is asked for.
struct Asked {
    /// The types, where not all are.
    kinds: Option<Vec<String>>,
    since_us: Option<i64>,
    count: u32,
    from: Option<Place>,
}

/// Where a page begins: a type, and a place among its resources, or the first of them.
#[derive(Clone, PartialEq, Eq)]
struct Place {
    kind: &'static str,
    behind: Option<String>,
}

impl FromStr for Place {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let (kind, behind) = text.split_once('-').ok_or(QueryError::Cursor)?;
        let kind = compartment::types().find(|known| *known == kind).ok_or(QueryError::Cursor)?;
        Ok(Self { kind, behind: Some(behind.to_owned()).filter(|behind| !behind.is_empty()) })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.kind, self.behind.as_deref().unwrap_or_default())
    }
}

impl Asked {
    fn read(sent: &[(String, String)]) -> Result<Self, ApiError> {
        let own = |name: &str| matches!(name, "_type" | "_cursor") || SummaryView::reads(name);
        let others = sent.iter().filter(|(name, _)| !own(name));
        let HistoryRange { since_us, count, .. } =
            query::history(others.map(|(name, value)| (name.as_str(), value.as_str())))?;
        let mut asked = Self { kinds: None, since_us, count: count.min(limits::MAX_COUNT), from: None };
        for (name, value) in sent {
            match name.as_str() {
                "_type" => {
                    let kinds = asked.kinds.get_or_insert_default();
                    kinds.extend(value.split(',').map(str::to_owned));
                }
                "_cursor" => asked.from = Some(value.parse()?),
                _ => {}
            }
        }
        Ok(asked)
    }

    fn wants(&self, kind: &str) -> bool {
        match &self.kinds {
            Some(kinds) => kinds.iter().any(|wanted| wanted == kind),
            // What is told of a record comes only when it is asked for.
            None => kind != AUDIT_EVENT,
        }
    }

    fn is_new(&self, stored: &StoredResource) -> bool {
        self.since_us.is_none_or(|since_us| stored.updated_us >= since_us)
    }
}

/// What a page holds, and where the next one begins.
#[derive(Default)]
struct Page {
    entries: Vec<StoredResource>,
    next: Option<Place>,
}

async fn page(app: &App, call: &ResourceRequest, patient: &StoredResource, asked: &Asked) -> Result<Page, ApiError> {
    let mut page = Page::default();
    if asked.from.is_none() && asked.wants("Patient") && asked.is_new(patient) {
        page.entries.push(patient.clone());
    }
    let present = app.search.kinds_about(&patient.key.id).await??;
    let base = app.settings.fhir_base();
    let compartment = Some(Compartment::of(patient.key.id.clone(), &base));
    let region = FilterBranch { compartment, criteria: Vec::new() };
    let mut kinds = compartment::types().skip_while(|kind| asked.from.as_ref().is_some_and(|from| from.kind != *kind));
    while let (Some(kind), None) = (kinds.next(), &page.next) {
        let known = present.iter().find(|present| present.as_str() == kind);
        let Some(known) = known.filter(|_| asked.wants(kind)) else { continue };
        let reached = match gate::permit(app, call, &AccessCheck::list(known, &call.asked)).await {
            Ok(reached) => reached.narrowed(&region),
            Err(AccessError::Store(failed)) => return Err(failed.into()),
            Err(_) => continue,
        };
        let from = asked.from.as_ref().filter(|from| from.kind == kind);
        let behind = from.and_then(|from| from.behind.clone());
        add(app, (kind, known, reached), (asked, behind), &mut page).await?;
    }
    Ok(page)
}

/// Adds what there is of a type as far as there is room, and notes where the next page begins.
async fn add(
    app: &App,
    (name, kind, reached): (&'static str, &ResourceType, AccessFilter),
    (asked, behind): (&Asked, Option<String>),
    page: &mut Page,
) -> Result<(), ApiError> {
    let room = asked.count.saturating_sub(u32::try_from(page.entries.len()).unwrap_or(u32::MAX));
    // On a full page it is looked whether there is something for the next one.
    let part = Part { since_us: asked.since_us, behind, count: room.max(1) };
    let (found, next) = part.of(app, kind, reached).await?;
    if room == 0 {
        page.next = (!found.is_empty()).then_some(Place { kind: name, behind: None });
        return Ok(());
    }
    page.entries.extend(found);
    page.next = next.map(|behind| Place { kind: name, behind: Some(behind) });
    Ok(())
}

/// A part of the resources of one type.
struct Part {
    since_us: Option<i64>,
    behind: Option<String>,
    count: u32,
}

impl Part {
    /// Returns the resources, and the place of the next ones.
    async fn of(
        self,
        app: &App,
        kind: &ResourceType,
        within: AccessFilter,
    ) -> Result<(Vec<StoredResource>, Option<String>), ApiError> {
        let catalog = app.search.known_catalog().await?;
        if !app.search.indexes(&catalog, kind) {
            return self.listed(app, kind, within).await;
        }
        let own = app.settings.fhir_base();
        let since = self.since_us.map(|since_us| format!("ge{}", answer::instant(since_us)));
        let pairs = since.iter().map(|since| ("_lastUpdated", since.as_str()));
        let (search, _) = search::parse(&catalog, &SearchContext::strict(kind, &own, app.now_us()), pairs)?;
        let query = SearchQuery {
            search: search::SearchRequest { cursor: self.behind, ..search },
            filters: Vec::new(),
            within,
            reaches: BTreeMap::new(),
            count: self.count,
            counting: MatchCounting::No,
        };
        let found = app.search.search(&query).await??;
        Ok((found.entries.iter().filter_map(StoredText::read).collect(), found.next))
    }

    /// The same of a type without an index, by pages.
    async fn listed(
        self,
        app: &App,
        kind: &ResourceType,
        within: AccessFilter,
    ) -> Result<(Vec<StoredResource>, Option<String>), ApiError> {
        let page = self.behind.as_deref().map_or(Ok(1), str::parse).map_err(|_| QueryError::Cursor)?;
        let query = ListQuery { count: self.count, page, ..ListQuery::all(kind.clone()) };
        let (query, listed) = confine::page(app, query, within).await?;
        let is_last = query.offset().saturating_add(u64::from(query.count)) >= listed.total;
        let is_new = |stored: &StoredResource| self.since_us.is_none_or(|since_us| stored.updated_us >= since_us);
        let found = listed.entries.into_iter().filter(is_new).collect();
        Ok((found, (!is_last).then(|| page.saturating_add(1).to_string())))
    }
}
