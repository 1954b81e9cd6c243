//! `/Patient/{id}/$everything`: a patient and all that is in the patient's compartment.
//!
//! Types come one after the other, Patient first, and each as far as the caller may list it: by its scopes, by
//! policies, by the searches its scopes are limited to. Not specified; types the caller may not list are left out,
//! as a page of a search leaves out what is not reached, and so is what only belongs to the world (practitioners,
//! organizations), which is read by itself.
//!
//! # Source
//! FHIR R4, Patient, operation `$everything`, with `_count`, `_since` and `_type`; `start` and `end` are refused
//! by name.

use std::str::FromStr;

use axum::extract::State;
use axum::response::Response;
use fhir_store::bundle::{self, Links};
use fhir_store::query::{self, QueryFault};
use fhir_store::{Compartment, ListQuery, Region, ResourceType, Selection, Stored, Window, compartment, limits};
use http::StatusCode;
use oauth_core::access::Denied;

use crate::address::PatientTarget;
use crate::call::Call;
use crate::error::Fault;
use crate::gate::{self, Act};
use crate::state::App;
use crate::{answer, confine};

/// Answers a page of everything.
pub(crate) async fn get(
    State(app): State<App>,
    PatientTarget(key): PatientTarget,
    call: Call,
) -> Result<Response, Fault> {
    let within = gate::permit(&app, &call, &Act::everything(&key, &call.asked)).await?;
    let patient = confine::current(&app, &key, &within).await?;
    let asked = Asked::read(&call.query)?;
    let page = page(&app, &call, &patient, &asked).await?;
    let base = answer::base(&app, call.dialect);
    let entries = page.entries.iter();
    let entries = entries.map(|stored| bundle::search_entry(&base, stored, answer::shown(&app, call.dialect, stored)));
    let address = format!("{base}/{key}/$everything");
    let here = asked.from.map(|place| place.to_string());
    let next = page.next.map(|place| place.to_string());
    let links = Links { address: &address, parameters: &call.query };
    let set = bundle::everything((here.as_deref(), next.as_deref()), links, entries.collect());
    Ok(answer::json(StatusCode::OK, call.dialect, &set))
}

/// What of everything is asked for.
struct Asked {
    /// The types, where not all are.
    kinds: Option<Vec<String>>,
    since_us: Option<i64>,
    count: u32,
    from: Option<Place>,
}

/// Where a page begins: a type by its number, Patient being 0, and a page of its list.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    kind: usize,
    page: u32,
}

impl FromStr for Place {
    type Err = QueryFault;

    fn from_str(text: &str) -> Result<Self, QueryFault> {
        let (kind, page) = text.split_once('-').ok_or(QueryFault::Cursor)?;
        let page = page.parse().ok().filter(|page| *page > 0).ok_or(QueryFault::Cursor)?;
        Ok(Self { kind: kind.parse().map_err(|_| QueryFault::Cursor)?, page })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.kind, self.page)
    }
}

impl Asked {
    fn read(sent: &[(String, String)]) -> Result<Self, Fault> {
        let own = |name: &str| matches!(name, "_type" | "_cursor");
        let others = sent.iter().filter(|(name, _)| !own(name));
        let Window { since_us, count, .. } =
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
        self.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|wanted| wanted == kind))
    }

    fn is_new(&self, stored: &Stored) -> bool {
        self.since_us.is_none_or(|since_us| stored.updated_us >= since_us)
    }
}

/// What a page holds, and where the next one begins.
#[derive(Default)]
struct Page {
    entries: Vec<Stored>,
    next: Option<Place>,
}

async fn page(app: &App, call: &Call, patient: &Stored, asked: &Asked) -> Result<Page, Fault> {
    let from = asked.from.unwrap_or(Place { kind: 0, page: 1 });
    let mut page = Page::default();
    if from.kind == 0 && asked.wants("Patient") && asked.is_new(patient) {
        page.entries.push(patient.clone());
    }
    let compartment = Compartment::of(patient.key.id.clone(), &app.settings.fhir_base());
    for (at, name) in compartment::types().enumerate().map(|(at, name)| (at + 1, name)) {
        if at < from.kind || !asked.wants(name) {
            continue;
        }
        let Ok(kind) = name.parse::<ResourceType>() else { continue };
        let reached = match gate::permit(app, call, &Act::list(&kind, &call.asked)).await {
            Ok(reached) => reached,
            Err(Denied::Store(failed)) => return Err(failed.into()),
            Err(_) => continue,
        };
        let first = if at == from.kind { from.page } else { 1 };
        if add(app, (kind, &compartment), (Place { kind: at, page: first }, asked, &reached), &mut page).await? {
            break;
        }
    }
    Ok(page)
}

/// Adds what there is of a type, page by page; whether the page is full.
async fn add(
    app: &App,
    (kind, compartment): (ResourceType, &Compartment),
    (mut place, asked, reached): (Place, &Asked, &Selection),
    page: &mut Page,
) -> Result<bool, Fault> {
    let room = usize::try_from(asked.count).unwrap_or(usize::MAX);
    let region = Region { compartment: Some(compartment.clone()), criteria: Vec::new() };
    let within = Selection::union(vec![region]);
    loop {
        let query =
            ListQuery { within: within.clone(), count: asked.count, page: place.page, ..ListQuery::all(kind.clone()) };
        let listed = app.resources.list(&query).await?;
        let is_last = query.offset().saturating_add(u64::from(query.count)) >= listed.total;
        let wanted = |stored: &Stored| reached.contains(&stored.key, &stored.resource) && asked.is_new(stored);
        let found: Vec<Stored> = listed.entries.into_iter().filter(wanted).collect();
        if !found.is_empty() && page.entries.len() + found.len() > room {
            page.next = Some(place);
            return Ok(true);
        }
        page.entries.extend(found);
        if is_last {
            return Ok(false);
        }
        place.page = place.page.saturating_add(1);
    }
}
