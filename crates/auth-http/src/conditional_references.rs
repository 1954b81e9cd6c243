//! The conditional references of a transaction, and of a write outside of one, looked up for their caller.
//!
//! R4 resolves those of a transaction after the writes, so one may stand for an entry of the same Bundle as well as for
//! what is stored: what the Bundle replaces or removes does not count as it was before. R4 does not speak of other
//! writes; they are treated as a transaction of one entry.
//!
//! # Source
//! FHIR R4, `RESTful` API, transaction, conditional references.

use std::collections::BTreeMap;

use fhir_store::conditional_reference::{self, ConditionalReferenceTarget};
use fhir_store::limits::MAX_CONDITIONAL_REFERENCES;
use fhir_store::{
    ResourceId, ResourceKey, ResourceType, StoredResource, Write, WriteCriteria, WriteError, WriteOperation, format,
    shape,
};
use serde_json::Value;

use crate::asked::RequestQuery;
use crate::budget::RequestBudget;
use crate::call::ResourceRequest;
use crate::criteria::{self, CriteriaReader};
use crate::error::ApiError;
use crate::gate;
use crate::save;
use crate::state::App;

/// Puts what they stand for in the place of all conditional references of a transaction; each write comes with the
/// number of its entry.
///
/// # Errors
/// [`WriteError`] for the first that stands for none or several, and what a search with its criteria
/// would fail for.
pub(crate) async fn resolve(
    app: &App,
    call: &ResourceRequest,
    writes: &mut [(usize, Write)],
    budget: &mut RequestBudget,
) -> Result<(), ApiError> {
    resolve_all(app, call, writes, budget).await.map_err(|(entry, fault)| fault.at_entry(entry))
}

/// Returns a write outside of a transaction with what they stand for in the place of its conditional references.
///
/// # Errors
/// As for [`resolve`].
pub(crate) async fn resolved(
    app: &App,
    call: &ResourceRequest,
    write: Write,
    budget: &mut RequestBudget,
) -> Result<Write, ApiError> {
    let mut alone = [(0, write)];
    resolve_all(app, call, &mut alone, budget).await.map_err(|(_, fault)| fault)?;
    let [(_, write)] = alone;
    Ok(write)
}

/// An error comes with the entry that it is about, if it is about one.
async fn resolve_all(
    app: &App,
    call: &ResourceRequest,
    writes: &mut [(usize, Write)],
    budget: &mut RequestBudget,
) -> Result<(), (Option<usize>, ApiError)> {
    let references = references(writes);
    if references.is_empty() {
        return Ok(());
    }
    if references.len() > MAX_CONDITIONAL_REFERENCES {
        return Err((None, ApiError::Refused { cause: WriteError::TooManyReferents, entry: None }));
    }
    let reader = CriteriaReader::of(app, call.dialect).await.map_err(|fault| (None, fault))?;
    let mut referents = BTreeMap::new();
    for (reference, entry) in references {
        let referent = budget.search(referent(app, call, (&reader, &reference), writes)).await;
        referents.insert(reference, referent.map_err(|fault| (Some(entry), fault))?);
    }
    for (_, write) in writes {
        if let WriteOperation::Create(body) | WriteOperation::Put(body) = &mut write.operation {
            conditional_reference::replace(&write.kind, body, &referents);
        }
    }
    Ok(())
}

/// Each reference with the first entry that has it.
fn references(writes: &[(usize, Write)]) -> BTreeMap<String, usize> {
    let mut references = BTreeMap::new();
    for (entry, write) in writes {
        if let Some(body) = body(write) {
            for reference in conditional_reference::find(&write.kind, body) {
                references.entry(reference).or_insert(*entry);
            }
        }
    }
    references
}

const fn body(write: &Write) -> Option<&Value> {
    match &write.operation {
        WriteOperation::Create(body) | WriteOperation::Put(body) => Some(body),
        WriteOperation::Patch(_) | WriteOperation::Delete => None,
    }
}

async fn referent(
    app: &App,
    call: &ResourceRequest,
    (reader, reference): (&CriteriaReader<'_>, &str),
    writes: &mut [(usize, Write)],
) -> Result<ConditionalReferenceTarget, ApiError> {
    let refused =
        |fault: fn(String) -> WriteError| ApiError::Refused { cause: fault(reference.to_owned()), entry: None };
    let Some((kind, query)) = conditional_reference::split(reference) else {
        return Err(refused(WriteError::NoReferent));
    };
    let mut criteria = reader.read(&kind, query)?;
    criteria::expand(app, &mut criteria).await?;
    let asked = RequestQuery::new(Some(query.to_owned()), None);
    let within = gate::permit_search(app, call, &kind, (&asked, &criteria)).await?;
    let mut stored = save::matches(app, call, (&kind, &criteria), within).await?;
    stored.retain(|key| !writes.iter().any(|(_, write)| overwrites(write, key)));
    let entries = entries(app, call, (&kind, &criteria, &stored), writes);
    match (stored.as_slice(), entries.as_slice()) {
        ([], []) => Err(refused(WriteError::NoReferent)),
        ([key], []) => Ok(ConditionalReferenceTarget::Stored(key.clone())),
        ([], [at]) => writes.get_mut(*at).map(|(_, write)| name(write, reference)).ok_or(ApiError::Unanswered),
        _ => Err(refused(WriteError::SeveralReferents)),
    }
}

fn overwrites(write: &Write, key: &ResourceKey) -> bool {
    let replaces = matches!(write.operation, WriteOperation::Put(_) | WriteOperation::Delete);
    replaces && write.kind == key.kind && id(write).as_ref() == Some(&key.id)
}

fn id(write: &Write) -> Option<ResourceId> {
    let named = || shape::id_of(&write.kind, body(write)?).ok().flatten();
    write.id.clone().or_else(named)
}

/// Returns the places of the entries that meet the criteria once they are written. A conditional create is taken to
/// find what is stored where the reference finds something there: it is how both name the same resource.
fn entries(
    app: &App,
    call: &ResourceRequest,
    (kind, criteria, stored): (&ResourceType, &WriteCriteria, &[ResourceKey]),
    writes: &[(usize, Write)],
) -> Vec<usize> {
    let meets = |write: &Write| {
        let is_conditional = write.precondition.if_none_exist.is_some();
        if write.kind != *kind || body(write).is_none() || (is_conditional && !stored.is_empty()) {
            return false;
        }
        let native =
            if save::converts(app, call.dialect) { format::write_to_native(write.clone()) } else { write.clone() };
        let Some(id) = id(write).or_else(|| UNNAMED.parse().ok()) else { return false };
        let key = ResourceKey { kind: kind.clone(), id };
        let resource = body(&native).and_then(|body| shape::stored_body(&key, body.clone()).ok());
        resource.is_some_and(|resource| {
            criteria.are_met_by(&StoredResource { key, version: 0, updated_us: app.now_us(), resource }, None)
        })
    };
    writes.iter().enumerate().filter(|(_, (_, write))| meets(write)).map(|(at, _)| at).collect()
}

/// Stands for the id of an entry that is given one when it is written.
const UNNAMED: &str = "unnamed";

/// Returns the entry by the name that others of the transaction refer to it by. One without a name is given the
/// reference as its name.
fn name(write: &mut Write, reference: &str) -> ConditionalReferenceTarget {
    ConditionalReferenceTarget::Entry(write.full_url.get_or_insert_with(|| reference.to_owned()).clone())
}
