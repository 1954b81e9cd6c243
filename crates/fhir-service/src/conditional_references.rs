//! The conditional references of a transaction, and of a write outside of one, looked up for their caller.
//!
//! R4 resolves those of a transaction after the writes, so one may stand for an entry of the same Bundle as well as for
//! what is stored: what the Bundle replaces or removes does not count as it was before. R4 does not speak of other
//! writes; they are treated as a transaction of one entry.
//!
//! # Source
//! FHIR R4, `RESTful` API, transaction, conditional references.

use std::collections::BTreeMap;

use fhir_resource::{ResourceId, ResourceKey, ResourceType, StoredResource};
use fhir_store::conditional_reference::{self, ConditionalReferenceTarget};
use fhir_store::limits::MAX_CONDITIONAL_REFERENCES;
use fhir_store::{
    ConditionalWriteCriteria, ResourceWrite, WriteError, WriteOperation, body_validation, write_conversion,
};
use serde_json::Value;

use crate::access;
use crate::error::ServiceError;
use crate::request_budget::RequestBudget;
use crate::request_context::RequestContext;
use crate::request_query::RequestQuery;
use crate::service_state::FhirService;
use crate::write_criteria::{self, CriteriaReader};
use crate::write_target;

/// Replaces all conditional references of a transaction by what they stand for; each write comes with the number of its
/// entry.
///
/// # Errors
/// [`WriteError`] for the first that stands for none or several, and what a search with its criteria
/// would fail for.
pub(crate) async fn resolve(
    service: &FhirService,
    context: &RequestContext,
    writes: &mut [(usize, ResourceWrite)],
    budget: &mut RequestBudget,
) -> Result<(), ServiceError> {
    resolve_all(service, context, writes, budget).await.map_err(|(entry, fault)| fault.at_bundle_entry(entry))
}

/// Returns a write outside of a transaction with its conditional references replaced by what they stand for.
///
/// # Errors
/// As for [`resolve`].
pub(crate) async fn resolved(
    service: &FhirService,
    context: &RequestContext,
    write: ResourceWrite,
    budget: &mut RequestBudget,
) -> Result<ResourceWrite, ServiceError> {
    let mut alone = [(0, write)];
    resolve_all(service, context, &mut alone, budget).await.map_err(|(_, fault)| fault)?;
    let [(_, write)] = alone;
    Ok(write)
}

/// An error comes with the entry that it is about, if it is about one.
async fn resolve_all(
    service: &FhirService,
    context: &RequestContext,
    writes: &mut [(usize, ResourceWrite)],
    budget: &mut RequestBudget,
) -> Result<(), (Option<usize>, ServiceError)> {
    let references = references(writes);
    if references.is_empty() {
        return Ok(());
    }
    if references.len() > MAX_CONDITIONAL_REFERENCES {
        return Err((None, ServiceError::Refused { cause: WriteError::TooManyReferents, entry: None }));
    }
    let reader = CriteriaReader::of(service, context.format).await.map_err(|fault| (None, fault))?;
    let mut referents = BTreeMap::new();
    for (reference, entry) in references {
        let referent = budget.search(referent(service, context, (&reader, &reference), writes)).await;
        referents.insert(reference, referent.map_err(|fault| (Some(entry), fault))?);
    }
    for (_, write) in writes {
        if let WriteOperation::Create(body) | WriteOperation::Put(body) = &mut write.operation {
            conditional_reference::replace_conditional_references(&write.resource_type, body, &referents);
        }
    }
    Ok(())
}

/// Each reference with the first entry that has it.
fn references(writes: &[(usize, ResourceWrite)]) -> BTreeMap<String, usize> {
    let mut references = BTreeMap::new();
    for (entry, write) in writes {
        if let Some(body) = body(write) {
            for reference in conditional_reference::find_conditional_references(&write.resource_type, body) {
                references.entry(reference).or_insert(*entry);
            }
        }
    }
    references
}

const fn body(write: &ResourceWrite) -> Option<&Value> {
    match &write.operation {
        WriteOperation::Create(body) | WriteOperation::Put(body) => Some(body),
        WriteOperation::Patch(_) | WriteOperation::Delete => None,
    }
}

async fn referent(
    service: &FhirService,
    context: &RequestContext,
    (reader, reference): (&CriteriaReader<'_>, &str),
    writes: &mut [(usize, ResourceWrite)],
) -> Result<ConditionalReferenceTarget, ServiceError> {
    let refused =
        |fault: fn(String) -> WriteError| ServiceError::Refused { cause: fault(reference.to_owned()), entry: None };
    let Some((kind, query)) = conditional_reference::split_conditional_reference(reference) else {
        return Err(refused(WriteError::NoReferent));
    };
    let mut criteria = reader.read(&kind, query)?;
    write_criteria::expand(service, &mut criteria).await?;
    let sent = RequestQuery::new(Some(query.to_owned()), None);
    let within = access::authorize_search(service, context, &kind, (&sent, &criteria)).await?;
    let mut stored = write_target::find_matches(service, context, (&kind, &criteria), within).await?;
    stored.retain(|key| !writes.iter().any(|(_, write)| overwrites(write, key)));
    let entries = entries(service, context, (&kind, &criteria, &stored), writes);
    match (stored.as_slice(), entries.as_slice()) {
        ([], []) => Err(refused(WriteError::NoReferent)),
        ([key], []) => Ok(ConditionalReferenceTarget::Stored(key.clone())),
        ([], [at]) => writes.get_mut(*at).map(|(_, write)| name(write, reference)).ok_or(ServiceError::Unanswered),
        _ => Err(refused(WriteError::SeveralReferents)),
    }
}

fn overwrites(write: &ResourceWrite, key: &ResourceKey) -> bool {
    let replaces = matches!(write.operation, WriteOperation::Put(_) | WriteOperation::Delete);
    replaces && write.resource_type == key.resource_type && id(write).as_ref() == Some(&key.id)
}

fn id(write: &ResourceWrite) -> Option<ResourceId> {
    let named = || body_validation::read_body_id(&write.resource_type, body(write)?).ok().flatten();
    write.id.clone().or_else(named)
}

/// Returns the places of the entries that meet the criteria once they are written. A conditional create is taken to
/// find what is stored where the reference finds something there: it is how both name the same resource.
fn entries(
    service: &FhirService,
    context: &RequestContext,
    (kind, criteria, stored): (&ResourceType, &ConditionalWriteCriteria, &[ResourceKey]),
    writes: &[(usize, ResourceWrite)],
) -> Vec<usize> {
    let meets = |write: &ResourceWrite| {
        let is_conditional = write.precondition.if_none_exist.is_some();
        if write.resource_type != *kind || body(write).is_none() || (is_conditional && !stored.is_empty()) {
            return false;
        }
        let native = if service.settings.converts(context.format) {
            write_conversion::convert_write_to_native(write.clone())
        } else {
            write.clone()
        };
        let Some(id) = id(write).or_else(|| UNNAMED.parse().ok()) else { return false };
        let key = ResourceKey { resource_type: kind.clone(), id };
        let resource = body(&native).and_then(|body| body_validation::prepare_stored_body(&key, body.clone()).ok());
        resource.is_some_and(|resource| {
            criteria.matches_resource(&StoredResource { key, version: 0, updated_us: service.now_us(), resource }, None)
        })
    };
    writes.iter().enumerate().filter(|(_, (_, write))| meets(write)).map(|(at, _)| at).collect()
}

/// Stands for the id of an entry that is given one when it is written.
const UNNAMED: &str = "unnamed";

/// Returns the entry by the name that others of the transaction refer to it by. One without a name is given the
/// reference as its name.
fn name(write: &mut ResourceWrite, reference: &str) -> ConditionalReferenceTarget {
    ConditionalReferenceTarget::Entry(write.full_url.get_or_insert_with(|| reference.to_owned()).clone())
}
