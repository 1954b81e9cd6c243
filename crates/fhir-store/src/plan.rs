//! The rules of a transaction as pure functions, so that an engine is statements and nothing else.
//!
//! An engine runs two passes over the writes, inside one transaction of its own:
//!
//! 1. For every write: when [`condition`] gives criteria, look up the keys that match (two are
//!    enough), then [`resolve`] says which resource the write is about. [`check_overlap`] compares
//!    what was resolved, and [`full_urls`] collects the names entries have for each other.
//! 2. For every write, in order: read the current state of its target, let [`decide`] say what to
//!    do, do it, and turn the decision into the answer with [`Decision::written`].
//!
//! Conditions therefore see the rows as they were before the transaction, and [`check_overlap`] refuses two writes of
//! one resource. A fault at any point ends the transaction.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::criteria::Criteria;
use crate::format;
use crate::key::{ResourceId, ResourceKey};
use crate::patch;
use crate::payer::group;
use crate::ports::{IfMatch, Lookup, Operation, PatchDocument, Stored, Write, WriteFault, Written};
use crate::reference::{ElementPath, FullUrls};
use crate::search::Resolver;
use crate::selection::{Reach, Selection};
use crate::shape::{self, ShapeFault, ShapeProblem};
use crate::validate;

/// The resource that a write targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The resource to write.
    At(ResourceKey),
    /// `ifNoneExist` matched this one: there is nothing to write.
    Existing(ResourceKey),
    /// A conditional delete that matches nothing.
    Nobody,
}

impl Target {
    /// Returns the resource whose current state [`decide`] has to be told.
    #[must_use]
    pub fn key(&self) -> Option<&ResourceKey> {
        match self {
            Self::At(key) | Self::Existing(key) => Some(key),
            Self::Nobody => None,
        }
    }
}

/// The action that one write of a transaction takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Store the first version, or the first one after a deletion.
    Insert {
        /// Under this key.
        key: ResourceKey,
        /// This body.
        resource: Value,
    },
    /// Store a further version.
    Replace {
        /// Of this resource.
        previous: Stored,
        /// This body.
        resource: Value,
    },
    /// Remove this resource.
    Delete(Stored),
    /// Leave everything as it is; this is the answer.
    Nothing(Written),
}

impl Decision {
    /// Returns the answer to the write, once the engine did what was decided.
    ///
    /// `version` is the number the engine gave the new version, `now_us` the time of the
    /// transaction in unix microseconds; a decision that makes no version ignores both.
    #[must_use]
    pub fn written(self, version: i64, now_us: i64) -> Written {
        let store = |key, resource| Stored { key, version, updated_us: now_us, resource };
        match self {
            Self::Insert { key, resource } => Written::Created(store(key, resource)),
            Self::Replace { previous, resource } => Written::Updated(store(previous.key, resource)),
            Self::Delete(stored) => Written::Deleted(stored),
            Self::Nothing(written) => written,
        }
    }
}

/// The lookup that a conditional write needs before it can be planned.
#[derive(Clone, Copy, Debug)]
pub struct Condition<'a> {
    /// What is found meets these.
    pub criteria: &'a Criteria,
    /// And its writer reaches it.
    pub reach: &'a Reach,
}

impl Condition<'_> {
    /// Returns whether a resource meets it; with a `resolver`, which knows what of other types the writer reaches, also
    /// when it looks at those.
    #[must_use]
    pub fn is_met_by(&self, stored: &Stored, resolver: Option<&dyn Resolver>) -> bool {
        self.criteria.are_met_by(stored, resolver) && self.reach.search.contains(&stored.key, &stored.resource)
    }
}

/// Returns the condition to evaluate before a write can be resolved.
#[must_use]
pub fn condition(write: &Write) -> Option<Condition<'_>> {
    let criteria = write.precondition.if_none_exist.as_ref()?;
    Some(Condition { criteria, reach: &write.reach })
}

/// Returns which resource a write is about.
///
/// `matches` are the keys that meet [`condition`], two at least when there are several; it is
/// ignored for a write without a condition. `new_id` is a fresh id for a resource that has none.
///
/// # Errors
/// `MultipleMatches`, `NothingMatches`, and `Invalid` for a body whose id is none or that is
/// missing where it is needed.
pub fn resolve(write: &Write, matches: &[ResourceKey], new_id: &ResourceId) -> Result<Target, WriteFault> {
    let at = |id: ResourceId| Target::At(ResourceKey { kind: write.kind.clone(), id });
    if condition(write).is_some() {
        match matches {
            [] => {}
            [one] if finds_target(write) => return Ok(Target::At(one.clone())),
            [one] => return Ok(Target::Existing(one.clone())),
            _ => return Err(WriteFault::MultipleMatches { kind: write.kind.clone() }),
        }
    }
    let creates = matches!(write.operation, Operation::Create(_));
    if let Some(id) = write.id.as_ref().filter(|id| !creates || !hides(write, id)) {
        return Ok(at(id.clone()));
    }
    match &write.operation {
        Operation::Create(body) => {
            let own = body_id(write, body)?.filter(|id| !hides(write, id));
            Ok(at(own.unwrap_or_else(|| new_id.clone())))
        }
        Operation::Put(body) if finds_target(write) => Ok(at(body_id(write, body)?.unwrap_or_else(|| new_id.clone()))),
        Operation::Put(body) => body_id(write, body)?.map(at).ok_or_else(|| id_required(write)),
        Operation::Patch(_) if finds_target(write) => Err(WriteFault::NothingMatches(write.kind.clone())),
        Operation::Delete if finds_target(write) => Ok(Target::Nobody),
        Operation::Patch(_) | Operation::Delete => Err(id_required(write)),
    }
}

/// Returns whether a resource may stand under this id that the writer must not learn of.
///
/// An id that such a writer sends with a create is passed over, and under one it names in an update nothing is
/// created: the answer would tell whether the id is taken.
///
/// # Source
/// FHIR R4, `RESTful` API, create: the server ignores the id of the body; update: a server may refuse to create.
fn hides(write: &Write, id: &ResourceId) -> bool {
    write.reach.target.hides(&ResourceKey { kind: write.kind.clone(), id: id.clone() })
}

/// Returns whether the condition of a write is how it finds its target, rather than a guard.
fn finds_target(write: &Write) -> bool {
    let creates = matches!(write.operation, Operation::Create(_));
    condition(write).is_some() && write.id.is_none() && !creates
}

fn body_id(write: &Write, body: &Value) -> Result<Option<ResourceId>, WriteFault> {
    shape::id_of(&write.kind, body).map_err(|fault| WriteFault::Invalid(vec![fault]))
}

fn id_required(write: &Write) -> WriteFault {
    let expression = format!("{}.id", write.kind);
    WriteFault::Invalid(vec![ShapeFault::new(expression, ShapeProblem::Required)])
}

/// Refuses a transaction of which two writes are to one resource: which of them counts would depend on their order.
///
/// A create whose condition found a resource writes nothing, so it overlaps with no other.
///
/// # Errors
/// The index of the later write, and [`WriteFault::WrittenTwice`].
///
/// # Source
/// FHIR R4, `RESTful` API, transaction processing rules: overlapping identities fail the transaction, those that
/// conditions found included.
pub fn check_overlap(targets: &[Target]) -> Result<(), (usize, WriteFault)> {
    let mut written = BTreeSet::new();
    for (index, target) in targets.iter().enumerate() {
        if let Target::At(key) = target
            && !written.insert(key)
        {
            return Err((index, WriteFault::WrittenTwice(key.clone())));
        }
    }
    Ok(())
}

/// Returns the names the entries of a transaction have for each other, once all are resolved.
#[must_use]
pub fn full_urls(writes: &[Write], targets: &[Target]) -> FullUrls {
    let mut urls = FullUrls::default();
    for (write, target) in writes.iter().zip(targets) {
        if let (Some(full_url), Some(key)) = (&write.full_url, target.key()) {
            urls.insert(full_url, key);
        }
    }
    urls
}

/// Returns what to do for a write, given the current state of its target.
///
/// `current` is [`Lookup::Missing`] when the target has no key.
///
/// # Errors
/// Every [`WriteFault`] but those of [`resolve`].
pub fn decide(write: Write, target: &Target, current: Lookup, urls: &FullUrls) -> Result<Decision, WriteFault> {
    match (target, current) {
        (Target::Nobody, _) => Ok(Decision::Nothing(Written::Absent)),
        (Target::Existing(_), Lookup::Found(stored)) => Ok(Decision::Nothing(Written::Existing(stored))),
        // An earlier write of this transaction removed what the condition found.
        (Target::Existing(key), _) => Err(WriteFault::Gone(key.clone())),
        (Target::At(key), current) => decide_at(write, key.clone(), current, urls),
    }
}

fn decide_at(write: Write, key: ResourceKey, current: Lookup, urls: &FullUrls) -> Result<Decision, WriteFault> {
    let guarded = condition(&write).filter(|_| !finds_target(&write));
    let (is_judged, kept) = (write.is_judged, write.kept);
    let Seen { current, hidden } = seen(&write.reach.target, (&key, current));
    let closed = hidden || hides(&write, &key.id);
    check_version(write.precondition.if_match, &key, &current)?;
    check_excluded(write.precondition.if_none_match, &key, &current)?;
    let previous = match current {
        Lookup::Found(stored) if guarded.is_some_and(|condition| condition.is_met_by(&stored, None)) => {
            return Ok(Decision::Nothing(Written::Existing(stored)));
        }
        Lookup::Found(stored) => Some(stored),
        Lookup::Deleted { .. } if matches!(write.operation, Operation::Patch(_)) => {
            return Err(WriteFault::Gone(key));
        }
        Lookup::Deleted { .. } | Lookup::Missing => None,
    };
    match (write.operation, previous) {
        (Operation::Create(_), Some(_)) => Err(WriteFault::AlreadyExists(key)),
        (Operation::Create(_), None) if hidden => Err(WriteFault::AlreadyExists(key)),
        (Operation::Put(body), None) if closed && (write.id.is_some() || body.get("id").is_some()) => {
            Err(WriteFault::NotFound(key))
        }
        (Operation::Create(body), None) if closed => insert(key, without_id(body), urls, &write.reach.target),
        (Operation::Create(body) | Operation::Put(body), None) => insert(key, body, urls, &write.reach.target),
        (Operation::Put(mut body), Some(previous)) => {
            for path in kept {
                keep(path, &previous.resource, &mut body);
            }
            replace(previous, body, urls, &write.reach.target)
        }
        (Operation::Patch(_), None) => Err(WriteFault::NotFound(key)),
        (Operation::Patch(change), Some(previous)) => {
            let body = patched(&previous, &change)?;
            if is_judged {
                conforming(&key, &body)?;
            }
            replace(previous, body, urls, &write.reach.target)
        }
        (Operation::Delete, None) => Ok(Decision::Nothing(Written::Absent)),
        (Operation::Delete, Some(previous)) => Ok(Decision::Delete(previous)),
    }
}

/// The target as its writer sees it.
struct Seen {
    current: Lookup,
    /// Whether something is there that the writer does not reach.
    hidden: bool,
}

/// Returns what a writer does not reach is to it as if it never existed. Of what was deleted nobody can say any more
/// whose it was, so who does not reach everything does not see that it was there.
fn seen(target: &Selection, (key, current): (&ResourceKey, Lookup)) -> Seen {
    match current {
        Lookup::Found(stored) if !target.contains(&stored.key, &stored.resource) => {
            Seen { current: Lookup::Missing, hidden: true }
        }
        Lookup::Deleted { .. } if target.hides(key) => Seen { current: Lookup::Missing, hidden: false },
        current => Seen { current, hidden: false },
    }
}

fn admit(target: &Selection, key: &ResourceKey, before: Option<&Value>, resource: &Value) -> Result<(), WriteFault> {
    let is_of_match = |group: &Value| key.kind.as_str() == "Group" && group::is_made_by_match(group);
    match target.admits(key, before, resource) {
        true => Ok(()),
        false if is_of_match(resource) || before.is_some_and(is_of_match) => Err(WriteFault::MatchGroup),
        false => Err(WriteFault::Outside),
    }
}

fn check_version(if_match: Option<IfMatch>, key: &ResourceKey, current: &Lookup) -> Result<(), WriteFault> {
    let version = match current {
        Lookup::Found(stored) => Some(stored.version),
        Lookup::Deleted { .. } | Lookup::Missing => None,
    };
    let holds = match if_match {
        None => true,
        Some(IfMatch::Any) => version.is_some(),
        Some(IfMatch::Version(expected)) => version == Some(expected),
    };
    if holds { Ok(()) } else { Err(WriteFault::VersionMismatch { key: key.clone(), current: version }) }
}

/// # Source
/// RFC 9110, section 13.1.2.
fn check_excluded(if_none_match: Option<IfMatch>, key: &ResourceKey, current: &Lookup) -> Result<(), WriteFault> {
    let Lookup::Found(stored) = current else { return Ok(()) };
    let is_excluded = match if_none_match {
        None => false,
        Some(IfMatch::Any) => true,
        Some(IfMatch::Version(excluded)) => stored.version == excluded,
    };
    if is_excluded { Err(WriteFault::VersionExcluded(key.clone())) } else { Ok(()) }
}

fn patched(previous: &Stored, change: &PatchDocument) -> Result<Value, WriteFault> {
    patch::apply(&previous.document(), change).map_err(|fault| WriteFault::Patch(fault.to_string()))
}

fn conforming(key: &ResourceKey, body: &Value) -> Result<(), WriteFault> {
    match validate::either_spelling(key.kind.as_str(), body) {
        Some(issues) if !issues.is_empty() => Err(WriteFault::Nonconforming(issues)),
        Some(_) | None => Ok(()),
    }
}

fn insert(key: ResourceKey, body: Value, urls: &FullUrls, target: &Selection) -> Result<Decision, WriteFault> {
    let resource = storable(&key, body, urls)?;
    admit(target, &key, None, &resource)?;
    Ok(Decision::Insert { key, resource })
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

fn replace(previous: Stored, body: Value, urls: &FullUrls, target: &Selection) -> Result<Decision, WriteFault> {
    let resource = storable(&previous.key, body, urls)?;
    admit(target, &previous.key, Some(&previous.resource), &resource)?;
    if resource == previous.resource {
        Ok(Decision::Nothing(Written::Unchanged(previous)))
    } else {
        Ok(Decision::Replace { previous, resource })
    }
}

fn storable(key: &ResourceKey, body: Value, urls: &FullUrls) -> Result<Value, WriteFault> {
    let mut resource = shape::stored_body(key, body).map_err(WriteFault::Invalid)?;
    // The references in a stored Bundle are to its own entries.
    if key.kind.as_str() == "Bundle" {
        return Ok(resource);
    }
    // The patterns of an access policy are compared as they stand, so what they name is no reference.
    let path = ElementPath::root(Some(key.kind.as_str()));
    let rewritten = if format::is_pattern(Some(key.kind.as_str())) {
        resource.get_mut("link").map_or(Ok(()), |link| urls.rewrite(&path.member(b"link"), link))
    } else {
        urls.rewrite(&path, &mut resource)
    };
    rewritten.map_err(WriteFault::UnresolvedReference)?;
    Ok(resource)
}
