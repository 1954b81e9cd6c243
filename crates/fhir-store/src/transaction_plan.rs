//! The rules of a transaction as pure functions, so that an engine is statements and nothing else.
//!
//! An engine runs two passes over the writes, inside one transaction:
//!
//! 1. For every write: when [`conditional_write_lookup`] gives criteria, look up the keys that match (two are enough),
//!    then [`resolve_write_target`] says which resource the write is about. [`check_distinct_targets`] compares what
//!    was resolved, and [`collect_full_urls`] collects the names entries have for each other.
//! 2. For every write, in order: read the current state of its target, let [`decide_write`] say what to
//!    do, do it, and turn the decision into the answer with [`WriteDecision::into_write_outcome`].
//!
//! Conditions therefore see the rows as they were before the transaction, and [`check_distinct_targets`] refuses two
//! writes of one resource. A fault at any point ends the transaction.

use std::collections::BTreeSet;

use fhir_resource::format_conversion::references_are_patterns;
use fhir_resource::reference::{ElementContext, FullUrlMap};
use fhir_resource::{ResourceId, ResourceKey, StoredResource};
use fhir_search::ReferenceResolver;
use serde_json::Value;

use crate::access_filter::{AccessFilter, WriteAccess};
use crate::body_validation::{self, RequestBodyError, RequestBodyErrorKind};
use crate::conditional_reference;
use crate::member_match_group;
use crate::operation_outcome::OutcomeIssue;
use crate::patch;
use crate::ports::{
    DocumentValidator, IfMatch, PatchDocument, ResourceLookup, ResourceWrite, WriteError, WriteOperation, WriteOutcome,
};
use crate::write_conversion;
use crate::write_criteria::ConditionalWriteCriteria;

/// The resolved target of a write: a resource to write, a match that makes it superfluous, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteTarget {
    /// This resource is to be written.
    At(ResourceKey),
    /// `ifNoneExist` matched this resource, so nothing is written.
    Existing(ResourceKey),
    /// The condition of a delete matches nothing, so nothing is written.
    NoMatch,
}

impl WriteTarget {
    /// Returns the key of the resource whose current state [`decide_write`] needs.
    #[must_use]
    pub fn current_state_key(&self) -> Option<&ResourceKey> {
        match self {
            Self::At(key) | Self::Existing(key) => Some(key),
            Self::NoMatch => None,
        }
    }
}

/// The action that one write of a transaction takes.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteDecision {
    /// Store the first version, or the first one after a deletion.
    Insert {
        /// The key of the resource.
        key: ResourceKey,
        /// The body of the version.
        resource: Value,
    },
    /// Store a further version.
    Replace {
        /// The version that is replaced.
        previous: StoredResource,
        /// The body of the version.
        resource: Value,
    },
    /// Delete this resource.
    Delete(StoredResource),
    /// Write nothing; the outcome is this.
    Nothing(WriteOutcome),
}

impl WriteDecision {
    /// Returns the outcome of the write, after the engine has carried out the decision.
    ///
    /// `version` is the number the engine gave the new version, `now_us` the time of the
    /// transaction in unix microseconds; a decision that makes no version ignores both.
    #[must_use]
    pub fn into_write_outcome(self, version: i64, now_us: i64) -> WriteOutcome {
        let store = |key, resource| StoredResource { key, version, updated_us: now_us, resource };
        match self {
            Self::Insert { key, resource } => WriteOutcome::Created(store(key, resource)),
            Self::Replace { previous, resource } => WriteOutcome::Updated(store(previous.key, resource)),
            Self::Delete(stored) => WriteOutcome::Deleted(stored),
            Self::Nothing(written) => written,
        }
    }
}

/// The lookup that a conditional write needs before it can be planned.
#[derive(Clone, Copy, Debug)]
pub struct ConditionalWriteLookup<'a> {
    /// The criteria that a match meets.
    pub criteria: &'a ConditionalWriteCriteria,
    /// The access of the writer, which a match is inside of.
    pub reach: &'a WriteAccess,
}

impl ConditionalWriteLookup<'_> {
    /// Returns whether a resource matches the criteria and the writer may find it. Criteria on other resources need a
    /// `resolver`.
    #[must_use]
    pub fn matches_resource(&self, stored: &StoredResource, resolver: Option<&dyn ReferenceResolver>) -> bool {
        self.criteria.matches_resource(stored, resolver)
            && self.reach.search.contains_resource(&stored.key, &stored.resource)
    }
}

/// Returns the lookup that a conditional write needs before its target can be resolved; `None` for a write without a
/// condition.
#[must_use]
pub fn conditional_write_lookup(write: &ResourceWrite) -> Option<ConditionalWriteLookup<'_>> {
    let criteria = write.precondition.if_none_exist.as_ref()?;
    Some(ConditionalWriteLookup { criteria, reach: &write.reach })
}

/// Resolves the resource that a write targets.
///
/// `matches` are the keys of the resources that [`conditional_write_lookup`] finds, at least two when there are
/// several; they are ignored for a write without a condition. `new_id` is a fresh id for a resource without one.
///
/// # Errors
/// [`WriteError::MultipleMatches`], [`WriteError::NothingMatches`], and [`WriteError::Invalid`] for a body whose id is
/// not an id or is missing where it is needed.
pub fn resolve_write_target(
    write: &ResourceWrite,
    matches: &[ResourceKey],
    new_id: &ResourceId,
) -> Result<WriteTarget, WriteError> {
    let at = |id: ResourceId| WriteTarget::At(ResourceKey { resource_type: write.resource_type.clone(), id });
    if conditional_write_lookup(write).is_some() {
        match matches {
            [] => {}
            [one] if finds_target(write) => return Ok(WriteTarget::At(one.clone())),
            [one] => return Ok(WriteTarget::Existing(one.clone())),
            _ => return Err(WriteError::MultipleMatches { resource_type: write.resource_type.clone() }),
        }
    }
    let creates = matches!(write.operation, WriteOperation::Create(_));
    if let Some(id) = write.id.as_ref().filter(|id| !creates || !hides(write, id)) {
        return Ok(at(id.clone()));
    }
    match &write.operation {
        WriteOperation::Create(body) => {
            let own = body_id(write, body)?.filter(|id| !hides(write, id));
            Ok(at(own.unwrap_or_else(|| new_id.clone())))
        }
        WriteOperation::Put(body) if finds_target(write) => {
            Ok(at(body_id(write, body)?.unwrap_or_else(|| new_id.clone())))
        }
        WriteOperation::Put(body) => body_id(write, body)?.map(at).ok_or_else(|| id_required(write)),
        WriteOperation::Patch(_) if finds_target(write) => Err(WriteError::NothingMatches(write.resource_type.clone())),
        WriteOperation::Delete if finds_target(write) => Ok(WriteTarget::NoMatch),
        WriteOperation::Patch(_) | WriteOperation::Delete => Err(id_required(write)),
    }
}

/// Returns whether a resource may stand under this id that the writer must not learn of.
///
/// An id that such a writer sends with a create is passed over, and under one it names in an update nothing is
/// created: the answer would tell whether the id is taken.
///
/// # Source
/// FHIR R4, `RESTful` API, create: the server ignores the id of the body; update: a server may refuse to create.
fn hides(write: &ResourceWrite, id: &ResourceId) -> bool {
    write.reach.target.may_hide_resource(&ResourceKey { resource_type: write.resource_type.clone(), id: id.clone() })
}

/// Returns whether the condition of a write is how it finds its target, rather than a guard.
fn finds_target(write: &ResourceWrite) -> bool {
    let creates = matches!(write.operation, WriteOperation::Create(_));
    conditional_write_lookup(write).is_some() && write.id.is_none() && !creates
}

fn body_id(write: &ResourceWrite, body: &Value) -> Result<Option<ResourceId>, WriteError> {
    body_validation::read_body_id(&write.resource_type, body).map_err(|fault| WriteError::Invalid(vec![fault]))
}

fn id_required(write: &ResourceWrite) -> WriteError {
    let expression = format!("{}.id", write.resource_type);
    WriteError::Invalid(vec![RequestBodyError::new(expression, RequestBodyErrorKind::Required)])
}

/// Returns an error when two writes of a transaction target the same resource.
///
/// A create whose condition found a resource writes nothing, so it overlaps with no other.
///
/// # Errors
/// The index of the later write, and [`WriteError::WrittenTwice`].
///
/// # Source
/// FHIR R4, `RESTful` API, transaction processing rules: overlapping identities fail the transaction, those that
/// conditions found included.
pub fn check_distinct_targets(targets: &[WriteTarget]) -> Result<(), (usize, WriteError)> {
    let mut written = BTreeSet::new();
    for (index, target) in targets.iter().enumerate() {
        if let WriteTarget::At(key) = target
            && !written.insert(key)
        {
            return Err((index, WriteError::WrittenTwice(key.clone())));
        }
    }
    Ok(())
}

/// Returns the `fullUrl` of each entry of a transaction with the key of its resource.
#[must_use]
pub fn collect_full_urls(writes: &[ResourceWrite], targets: &[WriteTarget]) -> FullUrlMap {
    let mut urls = FullUrlMap::default();
    for (write, target) in writes.iter().zip(targets) {
        if let (Some(full_url), Some(key)) = (&write.full_url, target.current_state_key()) {
            urls.insert(full_url, key);
        }
    }
    urls
}

/// Decides which action a write takes, given the current state of its target.
///
/// `current` is [`ResourceLookup::Missing`] when the target has no key.
///
/// # Errors
/// The errors of the precondition, of the patch, of the body and of the writer's access; not those of
/// [`resolve_write_target`] and of conditional references, which are resolved before.
pub fn decide_write(
    write: ResourceWrite,
    target: &WriteTarget,
    current: ResourceLookup,
    urls: &FullUrlMap,
) -> Result<WriteDecision, WriteError> {
    match (target, current) {
        (WriteTarget::NoMatch, _) => Ok(WriteDecision::Nothing(WriteOutcome::Absent)),
        (WriteTarget::Existing(_), ResourceLookup::Found(stored)) => {
            Ok(WriteDecision::Nothing(WriteOutcome::Existing(stored)))
        }
        // An earlier write of this transaction removed what the condition found.
        (WriteTarget::Existing(key), _) => Err(WriteError::Gone(key.clone())),
        (WriteTarget::At(key), current) => decide_at(write, key.clone(), current, urls),
    }
}

fn decide_at(
    write: ResourceWrite,
    key: ResourceKey,
    current: ResourceLookup,
    urls: &FullUrlMap,
) -> Result<WriteDecision, WriteError> {
    let guarded = conditional_write_lookup(&write).filter(|_| !finds_target(&write));
    let (patch_check, preserved) = (write.patch_check, write.preserved);
    let Seen { current, hidden } = seen(&write.reach.target, (&key, current));
    let closed = hidden || hides(&write, &key.id);
    check_version(write.precondition.if_match, &key, &current)?;
    check_excluded(write.precondition.if_none_match, &key, &current)?;
    let previous = match current {
        ResourceLookup::Found(stored) if guarded.is_some_and(|condition| condition.matches_resource(&stored, None)) => {
            return Ok(WriteDecision::Nothing(WriteOutcome::Existing(stored)));
        }
        ResourceLookup::Found(stored) => Some(stored),
        ResourceLookup::Deleted { .. } if matches!(write.operation, WriteOperation::Patch(_)) => {
            return Err(WriteError::Gone(key));
        }
        ResourceLookup::Deleted { .. } | ResourceLookup::Missing => None,
    };
    match (write.operation, previous) {
        (WriteOperation::Create(_), Some(_)) => Err(WriteError::AlreadyExists(key)),
        (WriteOperation::Create(_), None) if hidden => Err(WriteError::AlreadyExists(key)),
        (WriteOperation::Put(body), None) if closed && (write.id.is_some() || body.get("id").is_some()) => {
            Err(WriteError::NotFound(key))
        }
        (WriteOperation::Create(body), None) if closed => insert(key, without_id(body), urls, &write.reach.target),
        (WriteOperation::Create(body) | WriteOperation::Put(body), None) => {
            insert(key, body, urls, &write.reach.target)
        }
        (WriteOperation::Put(mut body), Some(previous)) => {
            for path in preserved {
                keep(path, &previous.resource, &mut body);
            }
            replace(previous, body, urls, &write.reach.target)
        }
        (WriteOperation::Patch(_), None) => Err(WriteError::NotFound(key)),
        (WriteOperation::Patch(change), Some(previous)) => {
            let body = patched(&previous, &change)?;
            if let Some(DocumentValidator(check)) = patch_check {
                conforming(check(&key.resource_type, &body))?;
            }
            replace(previous, body, urls, &write.reach.target)
        }
        (WriteOperation::Delete, None) => Ok(WriteDecision::Nothing(WriteOutcome::Absent)),
        (WriteOperation::Delete, Some(previous)) => Ok(WriteDecision::Delete(previous)),
    }
}

/// The current state of a target as its writer sees it.
struct Seen {
    current: ResourceLookup,
    /// True when a resource exists that the writer may not access.
    hidden: bool,
}

/// Returns the target as its writer sees it: a resource that the writer may not access looks as if it had never
/// existed. Of a deleted resource the owner is no longer known, so a writer who may not access everything does not see
/// that it existed.
fn seen(target: &AccessFilter, (key, current): (&ResourceKey, ResourceLookup)) -> Seen {
    match current {
        ResourceLookup::Found(stored) if !target.contains_resource(&stored.key, &stored.resource) => {
            Seen { current: ResourceLookup::Missing, hidden: true }
        }
        ResourceLookup::Deleted { .. } if target.may_hide_resource(key) => {
            Seen { current: ResourceLookup::Missing, hidden: false }
        }
        current => Seen { current, hidden: false },
    }
}

fn admit(target: &AccessFilter, key: &ResourceKey, before: Option<&Value>, resource: &Value) -> Result<(), WriteError> {
    let is_of_match =
        |group: &Value| key.resource_type.as_str() == "Group" && member_match_group::is_match_group(group);
    match target.allows_write(key, before, resource) {
        true => Ok(()),
        false if is_of_match(resource) || before.is_some_and(is_of_match) => Err(WriteError::MatchGroup),
        false => Err(WriteError::Outside),
    }
}

fn check_version(if_match: Option<IfMatch>, key: &ResourceKey, current: &ResourceLookup) -> Result<(), WriteError> {
    let version = match current {
        ResourceLookup::Found(stored) => Some(stored.version),
        ResourceLookup::Deleted { .. } | ResourceLookup::Missing => None,
    };
    let holds = match if_match {
        None => true,
        Some(IfMatch::Any) => version.is_some(),
        Some(IfMatch::Version(expected)) => version == Some(expected),
    };
    if holds { Ok(()) } else { Err(WriteError::VersionMismatch { key: key.clone(), current: version }) }
}

/// # Source
/// RFC 9110, section 13.1.2.
fn check_excluded(
    if_none_match: Option<IfMatch>,
    key: &ResourceKey,
    current: &ResourceLookup,
) -> Result<(), WriteError> {
    let ResourceLookup::Found(stored) = current else { return Ok(()) };
    let is_excluded = match if_none_match {
        None => false,
        Some(IfMatch::Any) => true,
        Some(IfMatch::Version(excluded)) => stored.version == excluded,
    };
    if is_excluded { Err(WriteError::VersionExcluded(key.clone())) } else { Ok(()) }
}

fn patched(previous: &StoredResource, change: &PatchDocument) -> Result<Value, WriteError> {
    let before = previous.to_document();
    let after = match change {
        PatchDocument::FhirJson(_) => write_conversion::apply_fhir_patch_to_native(previous, change),
        PatchDocument::Json(_) | PatchDocument::Merge(_) => patch::apply_patch(&before, change),
    };
    let after = after.map_err(|fault| WriteError::Patch(fault.to_string()))?;
    check_no_added_conditional_reference(&previous.key, &before, &after)?;
    Ok(after)
}

/// Returns an error when a patch adds a conditional reference.
///
/// # Errors
/// [`WriteError::PatchedReferent`].
pub fn check_no_added_conditional_reference(
    key: &ResourceKey,
    before: &Value,
    after: &Value,
) -> Result<(), WriteError> {
    conditional_reference::first_added_conditional_reference(&key.resource_type, before, after)
        .map_or(Ok(()), |reference| Err(WriteError::PatchedReferent(reference)))
}

fn conforming(issues: Vec<OutcomeIssue>) -> Result<(), WriteError> {
    if issues.is_empty() { Ok(()) } else { Err(WriteError::Nonconforming(issues)) }
}

fn insert(
    key: ResourceKey,
    body: Value,
    urls: &FullUrlMap,
    target: &AccessFilter,
) -> Result<WriteDecision, WriteError> {
    let resource = storable(&key, body, urls)?;
    admit(target, &key, None, &resource)?;
    Ok(WriteDecision::Insert { key, resource })
}

/// Puts back what a body does not mention of what was there; of an object it does not mention nothing is put back.
fn keep(path: &[&str], before: &Value, body: &mut Value) {
    let (Some((name, rest)), Some(members)) = (path.split_first(), body.as_object_mut()) else { return };
    let Some(before) = before.get(*name) else { return };
    match members.get_mut(*name) {
        Some(inner) => keep(rest, before, inner),
        None if rest.is_empty() => drop(members.insert((*name).to_owned(), before.clone())),
        None => {}
    }
}

fn without_id(mut body: Value) -> Value {
    if let Some(members) = body.as_object_mut() {
        members.shift_remove("id");
    }
    body
}

fn replace(
    previous: StoredResource,
    body: Value,
    urls: &FullUrlMap,
    target: &AccessFilter,
) -> Result<WriteDecision, WriteError> {
    let resource = storable(&previous.key, body, urls)?;
    admit(target, &previous.key, Some(&previous.resource), &resource)?;
    if resource == previous.resource {
        Ok(WriteDecision::Nothing(WriteOutcome::Unchanged(previous)))
    } else {
        Ok(WriteDecision::Replace { previous, resource })
    }
}

fn storable(key: &ResourceKey, body: Value, urls: &FullUrlMap) -> Result<Value, WriteError> {
    let mut resource = body_validation::prepare_stored_body(key, body).map_err(WriteError::Invalid)?;
    // The references in a stored Bundle are to its own entries.
    if key.resource_type.as_str() == "Bundle" {
        return Ok(resource);
    }
    // The patterns of an access policy are compared as they stand, so what they name is no reference.
    let path = ElementContext::document_root(Some(key.resource_type.as_str()));
    let rewritten = if references_are_patterns(key.resource_type.as_str()) {
        resource.get_mut("link").map_or(Ok(()), |link| urls.rewrite_references(&path.child_member(b"link"), link))
    } else {
        urls.rewrite_references(&path, &mut resource)
    };
    rewritten.map_err(WriteError::UnresolvedReference)?;
    Ok(resource)
}
