//! Resources on their way in: checked and sealed, then stored all or none.

use fhir_store::{
    AccessFilter, IfMatch, ListQuery, MatchCounting, PatchDocument, ResourceKey, ResourceType, SearchQuery,
    StoredResource, Write, WriteCriteria, WriteError, WriteOperation, WriteOutcome, format, patch, plan,
};
use serde_json::Value;

use crate::asked::RequestQuery;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::guarded::AUDIT_EVENT;
use crate::state::App;
use crate::surface::ResourceFormat;
use crate::{confine, conform, criteria, guarded, known_types, migrate};

/// How often a patch is made again on what somebody else wrote in between.
const PATCH_ATTEMPTS: usize = 4;

/// A write, and the Bundle entry it stands in, if it stands in one.
pub(crate) struct PlannedWrite {
    /// What to do.
    pub(crate) write: Write,
    /// Counted from 0.
    pub(crate) entry: Option<usize>,
}

/// Does all the writes, in their order, or none.
pub(crate) async fn all(
    app: &App,
    dialect: ResourceFormat,
    planned: Vec<PlannedWrite>,
) -> Result<Vec<WriteOutcome>, ApiError> {
    let mut admitted = Vec::with_capacity(planned.len());
    for PlannedWrite { write, entry } in planned {
        let write = admit(app, dialect, write).await.map_err(|fault| fault.at_entry(entry))?;
        admitted.push(PlannedWrite { write, entry });
    }
    store(app, admitted).await
}

/// Does one write of its own request, or of an entry of a batch.
pub(crate) async fn one(app: &App, dialect: ResourceFormat, write: Write) -> Result<WriteOutcome, ApiError> {
    store_one(app, admit(app, dialect, write).await?).await
}

/// Checks a write and returns it in the native format, with its secrets hashed. What only the server writes is refused
/// before its content is looked at.
async fn admit(app: &App, dialect: ResourceFormat, write: Write) -> Result<Write, ApiError> {
    demand_writable(&write)?;
    known_types::demand(app, dialect, &write.kind).await?;
    let write = conform::admit(dialect, write)?;
    let write = if converts(app, dialect) { format::write_to_native(write) } else { write };
    guarded::admit(app, write).await
}

async fn store_one(app: &App, write: Write) -> Result<WriteOutcome, ApiError> {
    match migrate::alone(app, &write) {
        Some(sql) => migrate::run_alone(app, write, &sql).await,
        None => only(store(app, vec![PlannedWrite { write, entry: None }]).await?),
    }
}

/// Refuses a write of what the server alone writes.
fn demand_writable(write: &Write) -> Result<(), ApiError> {
    if write.kind.as_str() == AUDIT_EVENT {
        return Err(ApiError::Refused { cause: WriteError::ReadOnly(write.kind.clone()), entry: None });
    }
    Ok(())
}

/// Stores writes that were admitted or made of a patch. **Invariant**: every write from outside passes here.
async fn store(app: &App, admitted: Vec<PlannedWrite>) -> Result<Vec<WriteOutcome>, ApiError> {
    for PlannedWrite { write, entry } in &admitted {
        demand_writable(write).map_err(|fault| fault.at_entry(*entry))?;
    }
    if admitted.iter().any(|planned| migrate::runs(app, &planned.write)) {
        return migrate::transact(app, admitted).await;
    }
    let entries: Vec<_> = admitted.iter().map(|planned| planned.entry).collect();
    let writes = admitted.into_iter().map(|planned| planned.write).collect();
    let done = app.resources.transact(writes, app.now_us()).await?;
    done.map_err(|refusal| {
        let entry = entries.get(refusal.index).copied().flatten();
        ApiError::Refused { cause: refusal.cause, entry }
    })
}

fn only(written: Vec<WriteOutcome>) -> Result<WriteOutcome, ApiError> {
    written.into_iter().next().ok_or(ApiError::Unanswered)
}

/// Returns whether the spelling of the caller is another one than the stored.
pub(crate) fn converts(app: &App, dialect: ResourceFormat) -> bool {
    dialect == ResourceFormat::Fhir && app.settings.correct_format
}

/// Patches a resource in the caller's spelling, if the caller may make of it what the patch makes.
///
/// What was patched is checked like any document, and stored only if nobody wrote the resource in
/// between; else it is judged and patched once more.
pub(crate) async fn patched(
    app: &App,
    call: &ResourceRequest,
    write: &Write,
    key: &ResourceKey,
) -> Result<WriteOutcome, ApiError> {
    demand_writable(write)?;
    let WriteOperation::Patch(change) = &write.operation else { return Err(ApiError::Unanswered) };
    let mut sealed = None;
    for _ in 0..PATCH_ATTEMPTS {
        let PatchableResource { stored, within } =
            permit_patch(app, call, &AccessCheck::write(write, &call.asked), PatchRequest { key, change }).await?;
        let change = match sealed.take() {
            Some(change) => change,
            // Hashing is dear, so it is done for whom it is of use.
            None => guarded::admit_patch(app, &key.kind, (change.clone(), stored.resource.clone())).await?,
        };
        let expected = match write.precondition.if_match {
            Some(IfMatch::Version(version)) => version,
            Some(IfMatch::Any) | None => stored.version,
        };
        let mut put = Write::to(key.clone(), WriteOperation::Put(apply(app, call.dialect, &stored, &change)?));
        put.precondition.if_match = Some(IfMatch::Version(expected));
        put.precondition.if_none_match = write.precondition.if_none_match;
        put.reach.target = within;
        match store_one(app, put).await {
            Err(ApiError::Refused { cause: WriteError::VersionMismatch { .. }, .. }) if expected == stored.version => {}
            done => return done,
        }
        sealed = Some(change);
    }
    Err(ApiError::Unsettled)
}

/// A patch and the resource it is for.
pub(crate) struct PatchRequest<'a> {
    pub(crate) key: &'a ResourceKey,
    pub(crate) change: &'a PatchDocument,
}

/// A resource that may be patched.
pub(crate) struct PatchableResource {
    /// The version the patch was judged on.
    pub(crate) stored: StoredResource,
    /// What it may become a part of.
    pub(crate) within: AccessFilter,
}

/// Returns the version of a resource that the caller may patch, judged by the document the patch makes of it.
///
/// Who may not is not told whether the resource is there, nor whether the patch fits; a patch that
/// does not fit is judged without a document, and refused where it is applied.
pub(crate) async fn permit_patch(
    app: &App,
    call: &ResourceRequest,
    act: &AccessCheck<'_>,
    patch: PatchRequest<'_>,
) -> Result<PatchableResource, ApiError> {
    let PatchRequest { key, change } = patch;
    let found = confine::current(app, key, &gate::reached(app, call, act).await?).await;
    let made = found.as_ref().ok().and_then(|stored| {
        let before = spelled(app, call.dialect, stored);
        let patched = patch::apply(&before, change).ok()?;
        Some(guarded::judged(&key.kind, &before, patched))
    });
    let within = gate::permit(app, call, &act.making(made.as_ref())).await?;
    Ok(PatchableResource { stored: found?, within })
}

/// Returns the document a patch is written against.
fn spelled(app: &App, dialect: ResourceFormat, stored: &StoredResource) -> Value {
    if converts(app, dialect) { format::to_fhir(stored.document()) } else { stored.document() }
}

/// Returns the patched document as it would be stored; its secrets are hashes already.
fn apply(
    app: &App,
    dialect: ResourceFormat,
    stored: &StoredResource,
    change: &PatchDocument,
) -> Result<Value, ApiError> {
    let patched =
        if converts(app, dialect) { format::patched(stored, change) } else { patch::apply(&stored.document(), change) };
    let body =
        patched.map_err(|fault| ApiError::Refused { cause: WriteError::Patch(fault.to_string()), entry: None })?;
    plan::check_added(&stored.key, &stored.document(), &body)
        .map_err(|cause| ApiError::Refused { cause, entry: None })?;
    conform::check(dialect, &stored.key.kind, &body)?;
    guarded::check(app, &stored.key.kind, &body)?;
    Ok(body)
}

/// Returns the one resource that the condition of a write finds, for whom may list what meets it.
pub(crate) async fn found_target(
    app: &App,
    call: &ResourceRequest,
    write: &Write,
    asked: &RequestQuery,
) -> Result<ResourceKey, ApiError> {
    // Who may not do it anyway is told so first, whatever the condition finds.
    gate::reached(app, call, &AccessCheck::write(write, asked)).await?;
    let Some(criteria) = &write.precondition.if_none_exist else { return Err(ApiError::Unanswered) };
    let within = gate::permit_search(app, call, &write.kind, (asked, criteria)).await?;
    let kind = write.kind.clone();
    let refused = |cause| ApiError::Refused { cause, entry: None };
    let mut found = matches(app, call, (&kind, criteria), within).await?.into_iter();
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(refused(WriteError::NothingMatches(kind))),
        (Some(_), Some(_)) => Err(refused(WriteError::MultipleMatches { kind })),
    }
}

/// Returns the keys of what meets a condition, two at most.
pub(crate) async fn matches(
    app: &App,
    call: &ResourceRequest,
    (kind, criteria): (&ResourceType, &WriteCriteria),
    within: AccessFilter,
) -> Result<Vec<ResourceKey>, ApiError> {
    let filters = criteria.filters.clone();
    let Some(sought) = &criteria.sought else {
        let query = ListQuery { filters, count: 2, ..ListQuery::all(kind.clone()) };
        let (_, page) = confine::page(app, query, within).await?;
        return Ok(page.entries.into_iter().map(|stored| stored.key).collect());
    };
    guarded::check_filters(kind, &filters)?;
    let query = SearchQuery {
        search: sought.search.clone(),
        filters,
        within,
        reaches: criteria::chained(app, call, criteria).await?,
        count: 2,
        counting: MatchCounting::No,
    };
    let found = app.search.search(&query).await??;
    Ok(found.entries.into_iter().map(|text| text.key).collect())
}
