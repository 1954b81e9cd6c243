//! The one place where what a caller's scopes leave open meets data.
//!
//! Scopes leave open a union of parts: a patient's compartment, a search, both. Here they become a
//! [`AccessFilter`] of the store. What is read is asked against it here; lists and writes carry it into
//! the statement that lists and the transaction that writes. What lies outside is answered as what is
//! not there, in the same words.
//!
//! # Source
//! SMART App Launch, scopes; `docs/decisions.md`, "Scopes".

use std::sync::Arc;

use fhir_store::compartment::{CompartmentMembership, membership};
use fhir_store::history::{ChangeKind, Version};
use fhir_store::limits;
use fhir_store::query::QueryError;
use fhir_store::search::{SearchContext, SearchParameterCatalog};
use fhir_store::selection::{
    FilterCriterion, GroupOwnership, OrganizationIdentifier, ScopeSearch, UnsupportedCriterion,
};
use fhir_store::{
    AccessFilter, Compartment, FilterBranch, ListPage, ListQuery, ResourceKey, ResourceLookup, ResourceType,
    StoredResource, StoredText,
};
use oauth_core::access::AccessError;
use oauth_core::caller::{Caller, CallerIdentity};
use oauth_core::reach::{ScopeAccess, ScopeFilter};
use smart_scopes::{Context, Interaction, QueryParameter, ScopeQuery};

use crate::answer::UnreadableResource;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::guarded;
use crate::state::App;
use crate::surface::ResourceFormat;

/// Returns what of a type an interaction may touch.
///
/// # Errors
/// When nothing is left that could be: [`AccessError::InsufficientScope`] where a type is in no patient's
/// compartment, [`AccessError::UnappliedQuery`] where every scope has a search that is not applied here.
pub(crate) async fn selection(
    app: &App,
    call: &ResourceRequest,
    asked: (&ResourceType, Interaction),
    reach: ScopeAccess,
) -> Result<AccessFilter, AccessError> {
    let opened = opened(app, call, asked, reach).await?;
    Ok(match ownership(&call.caller, asked.0) {
        Some(ownership) => {
            opened.narrowed(&FilterBranch { compartment: None, criteria: vec![FilterCriterion::Ownership(ownership)] })
        }
        None => opened,
    })
}

/// Returns which Groups a caller reaches, whatever scopes and policies open; `None` for the administrator, and of other
/// types.
///
/// A Group that a match made is reached by the organization that the caller's token proves.
pub(crate) fn ownership(caller: &Caller, kind: &ResourceType) -> Option<GroupOwnership> {
    if kind.as_str() != "Group" || matches!(caller.identity, CallerIdentity::Root) {
        return None;
    }
    let owner = caller
        .organization()
        .map(|(system, value)| OrganizationIdentifier { system: system.to_owned(), value: value.to_owned() });
    Some(GroupOwnership { owner })
}

/// What scopes open.
async fn opened(
    app: &App,
    call: &ResourceRequest,
    asked: (&ResourceType, Interaction),
    reach: ScopeAccess,
) -> Result<AccessFilter, AccessError> {
    let ScopeAccess::Parts(parts) = reach else { return Ok(AccessFilter::Everything) };
    let store = |failed| AccessError::Store(oauth_core::ports::StoreError(Box::new(failed)));
    let known = app.search.known_catalog().await.map_err(store)?;
    let mut opened = Opened::by((app, &known), call, asked, &parts);
    if opened.unapplied.is_some() {
        // Another node may have installed the parameter a moment ago.
        let now = app.search.catalog().await.map_err(store)?;
        if !Arc::ptr_eq(&now, &known) {
            opened = Opened::by((app, &now), call, asked, &parts);
        }
    }
    let Opened { regions, needed, unapplied } = opened;
    match unapplied {
        _ if !regions.is_empty() => Ok(AccessFilter::union(regions)),
        Some((needed, cause)) => Err(AccessError::UnappliedQuery { needed, cause: cause.to_string() }),
        None => Err(AccessError::InsufficientScope { needed }),
    }
}

/// What scopes open of a type.
struct Opened {
    regions: Vec<FilterBranch>,
    /// The scope that would open it.
    needed: String,
    /// A scope whose search is not applied, and so opens nothing.
    unapplied: Option<(String, UnsupportedCriterion)>,
}

impl Opened {
    fn by(
        (app, catalog): (&App, &SearchParameterCatalog),
        call: &ResourceRequest,
        (kind, interaction): (&ResourceType, Interaction),
        parts: &[ScopeFilter],
    ) -> Self {
        let needed = |context: Context| format!("{context}/{kind}.{}", interaction.letter());
        let own = if call.caller.user_id().is_some() { Context::User } else { Context::System };
        let mut opened = Self { regions: Vec::with_capacity(parts.len()), needed: needed(own), unapplied: None };
        for part in parts {
            let context = if part.patient.is_some() { Context::Patient } else { own };
            match region((app, catalog), (kind, interaction), part) {
                Ok(region) => opened.regions.push(region),
                Err(Unreached::Closed) => {}
                Err(Unreached::Unapplied(cause)) => opened.unapplied = Some((needed(context), cause)),
            }
        }
        opened
    }
}

/// The reason why a part of what scopes leave open holds nothing of a type.
enum Unreached {
    /// A patient opens nothing of it.
    Closed,
    /// It is limited by a search that is not applied.
    Unapplied(UnsupportedCriterion),
}

impl From<UnsupportedCriterion> for Unreached {
    fn from(cause: UnsupportedCriterion) -> Self {
        Self::Unapplied(cause)
    }
}

/// Returns what one part of what scopes leave open holds of a type.
fn region(
    (app, catalog): (&App, &SearchParameterCatalog),
    (kind, interaction): (&ResourceType, Interaction),
    part: &ScopeFilter,
) -> Result<FilterBranch, Unreached> {
    let parameters = part.query.iter().flat_map(ScopeQuery::parameters);
    let criteria = parameters.map(|parameter| criterion((app, catalog), kind, parameter)).collect::<Result<_, _>>()?;
    let Some(patient) = &part.patient else {
        return Ok(FilterBranch { compartment: None, criteria });
    };
    let reads = matches!(interaction, Interaction::Read | Interaction::Search);
    let compartment = match membership(kind) {
        CompartmentMembership::Itself if interaction == Interaction::Create => return Err(Unreached::Closed),
        CompartmentMembership::Itself | CompartmentMembership::Reference(_) => {
            let patient = patient.parse().map_err(|_| Unreached::Closed)?;
            Some(Compartment::of(patient, &app.settings.fhir_base()))
        }
        // Not specified; what is nobody's may be read and not written: it is of use to every record and
        // of none.
        CompartmentMembership::Shared if reads => None,
        CompartmentMembership::Shared | CompartmentMembership::Closed => return Err(Unreached::Closed),
    };
    Ok(FilterBranch { compartment, criteria })
}

/// A parameter of a granular scope as a condition: on the codings of an element, which needs no index, or by any
/// search parameter, of R4 or installed, that can be decided of a resource alone.
fn criterion(
    (app, catalog): (&App, &SearchParameterCatalog),
    kind: &ResourceType,
    asked: &QueryParameter,
) -> Result<FilterCriterion, UnsupportedCriterion> {
    let QueryParameter { name, value } = asked;
    let own = app.settings.fhir_base();
    let request = SearchContext::strict(kind, &own, app.now_us());
    FilterCriterion::read(kind, name, value)
        .or_else(|_| ScopeSearch::read(catalog, &request, (name, value)).map(FilterCriterion::Search))
}

/// A list, narrowed by some of its parameters.
pub(crate) struct AccessDecision<'a> {
    /// What is left of what the caller reaches.
    pub(crate) within: AccessFilter,
    /// The other parameters.
    pub(crate) others: Vec<(&'a str, &'a str)>,
}

/// Returns what a list at the FHIR endpoint asks for by `patient` and `category`, taken out of its parameters; the
/// others are equalities on elements.
///
/// Apps ask for a member's record by these two. `patient` finds what is in the patient's compartment, which
/// is what the parameter of that name finds and, of a few types, what the patient wrote down.
///
/// # Errors
/// [`QueryError::TooMany`].
pub(crate) fn narrow<'a>(
    app: &App,
    kind: &ResourceType,
    mut within: AccessFilter,
    (dialect, query): (ResourceFormat, &'a [(String, String)]),
) -> Result<AccessDecision<'a>, ApiError> {
    if query.len() > limits::MAX_FILTERS {
        return Err(QueryError::TooMany.into());
    }
    let mut others = Vec::with_capacity(query.len());
    for (name, value) in query {
        match asked(app, kind, (name, value)).filter(|_| dialect == ResourceFormat::Fhir) {
            Some(region) => within = within.narrowed(&region),
            None => others.push((name.as_str(), value.as_str())),
        }
    }
    Ok(AccessDecision { within, others })
}

fn asked(app: &App, kind: &ResourceType, (name, value): (&str, &str)) -> Option<FilterBranch> {
    match name {
        "patient" if is_about_patients(kind) => {
            Some(FilterBranch { compartment: Some(compartment(app, value)?), criteria: Vec::new() })
        }
        _ => Some(FilterBranch { compartment: None, criteria: vec![FilterCriterion::read(kind, name, value).ok()?] }),
    }
}

fn is_about_patients(kind: &ResourceType) -> bool {
    matches!(membership(kind), CompartmentMembership::Reference(_))
}

/// Returns the compartment of a patient that is named by its id or by a reference.
fn compartment(app: &App, value: &str) -> Option<Compartment> {
    let base = app.settings.fhir_base();
    let own = value.strip_prefix(&base).and_then(|path| path.strip_prefix('/')).unwrap_or(value);
    let id = own.strip_prefix("Patient/").unwrap_or(own);
    Some(Compartment::of(id.parse().ok()?, &base))
}

/// Returns the current version of a resource within what the caller reaches, or the fault of there being none.
///
/// Of what was deleted nobody can say any more whose it was, so only who reaches everything is told.
pub(crate) async fn current(app: &App, key: &ResourceKey, within: &AccessFilter) -> Result<StoredResource, ApiError> {
    match app.resources.read(key).await? {
        ResourceLookup::Found(stored) if within.contains(&stored.key, &stored.resource) => Ok(stored),
        ResourceLookup::Deleted { .. } if !within.hides(key) => Err(ApiError::Gone(key.clone())),
        ResourceLookup::Found(_) | ResourceLookup::Deleted { .. } | ResourceLookup::Missing => {
            Err(ApiError::NotFound(key.clone()))
        }
    }
}

/// The same with the body as text, which is looked into where the caller does not reach everything.
pub(crate) async fn current_text(app: &App, key: &ResourceKey, within: &AccessFilter) -> Result<StoredText, ApiError> {
    match app.resources.read_text(key).await? {
        ResourceLookup::Found(found) if !within.is_confined() => Ok(found),
        ResourceLookup::Found(found) => {
            let stored = found.read().ok_or(UnreadableResource)?;
            within.contains(key, &stored.resource).then_some(found).ok_or_else(|| ApiError::NotFound(key.clone()))
        }
        ResourceLookup::Deleted { .. } if !within.hides(key) => Err(ApiError::Gone(key.clone())),
        ResourceLookup::Deleted { .. } | ResourceLookup::Missing => Err(ApiError::NotFound(key.clone())),
    }
}

/// A version of a resource within what the caller reaches, or the fault of there being none.
pub(crate) async fn version(
    app: &App,
    (key, number): (&ResourceKey, i64),
    within: &AccessFilter,
) -> Result<StoredResource, ApiError> {
    let found = app.resources.version(key, number).await?;
    let reached = found.filter(|version| within.contains(&version.stored.key, &version.stored.resource));
    match reached {
        Some(Version { change: ChangeKind::Deleted, .. }) => Err(ApiError::Gone(key.clone())),
        Some(Version { stored, .. }) => Ok(stored),
        None => Err(ApiError::NoVersion { key: key.clone(), version: number.to_string() }),
    }
}

/// Refuses to list by conditions what scopes limit by a search that only the index answers: it would find
/// nothing where there is something, and a conditional create would make another.
pub(crate) fn check_listable(kind: &ResourceType, within: &AccessFilter) -> Result<(), AccessError> {
    if !within.needs_index() {
        return Ok(());
    }
    let cause = format!("{kind} is searched by it at the FHIR endpoint alone, and not in conditions");
    Err(AccessError::UnappliedQuery { needed: format!("{kind}.s"), cause })
}

/// A page of what the caller reaches.
pub(crate) async fn page(app: &App, query: ListQuery, within: AccessFilter) -> Result<(ListQuery, ListPage), ApiError> {
    guarded::check_filters(&query.kind, &query.filters)?;
    check_listable(&query.kind, &within)?;
    let query = ListQuery { within, ..query };
    let page = app.resources.list(&query).await?;
    Ok((query, page))
}
