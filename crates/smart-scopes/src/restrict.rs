//! The intersection of what is asked for with what is registered.

use crate::{ClinicalScope, Scope, ScopeSet, limits};

/// The requested scopes divided into granted and refused ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restriction {
    /// The scopes that may be granted, in the order of the request.
    pub granted: ScopeSet,
    /// The requested scopes of which nothing is left, as requested and in that order.
    pub refused: Vec<Scope>,
}

/// Restricts requested scopes to those that a Client is registered for.
///
/// A clinical scope that is broader than the registration is narrowed to the parts it has in common, in
/// the requested syntax where that has a word for them: `system/*.read` against `system/Patient.cruds`
/// gives `system/Patient.read`, against `system/Patient.r` it gives `system/Patient.r`. Parts on one
/// target are joined, so a request that the registration grants piece by piece comes back as it was
/// sent. All other scopes are granted when the registration has the same format.
///
/// The result grants exactly the intersection, with one exception: a requested scope whose parts would
/// pass a limit of [`limits`] loses those parts (two queries too long together) or goes to `refused`
/// whole (the granted list would have more than [`limits::MAX_SCOPES`] scopes or print longer than
/// [`limits::MAX_LIST_BYTES`]), because the answer to a stranger's request must not grow without bound
/// and must be readable by [`ScopeSet::parse`].
///
/// # Source
/// Specification "OAuth errors", row `invalid_scope`; a scope broader than the registration is narrowed,
/// one that is disjoint from it refused.
#[must_use]
pub fn restrict(requested: &ScopeSet, registered: &ScopeSet) -> Restriction {
    let mut granted = ScopeSet::default();
    let mut granted_bytes = 0;
    let mut refused = Vec::new();
    for scope in requested {
        let parts = match scope {
            Scope::Clinical(clinical) => narrow(clinical, registered),
            _ if registered.contains(scope) => vec![scope.clone()],
            _ => Vec::new(),
        };
        let new: ScopeSet = parts.iter().filter(|part| !granted.contains(part)).cloned().collect();
        let bytes = granted_bytes + new.iter().map(|part| part.to_string().len() + 1).sum::<usize>();
        let fits = granted.len() + new.len() <= limits::MAX_SCOPES && bytes <= limits::MAX_LIST_BYTES;
        if parts.is_empty() || !fits {
            refused.push(scope.clone());
        } else {
            granted.extend(new);
            granted_bytes = bytes;
        }
    }
    Restriction { granted, refused }
}

/// Returns the parts of `requested` that are registered, none of them covered by another.
fn narrow(requested: &ClinicalScope, registered: &ScopeSet) -> Vec<Scope> {
    let syntax = requested.permissions().syntax();
    let mut parts: Vec<ClinicalScope> = Vec::new();
    for part in registered.clinical().filter_map(|own| requested.intersection(own)) {
        let same_target = |other: &&mut ClinicalScope| other.covers_target(&part) && part.covers_target(other);
        if let Some(other) = parts.iter_mut().find(same_target)
            && let Some(joined) = other.joined(part.permissions(), syntax)
        {
            *other = joined;
        } else {
            parts.push(part);
        }
    }
    // Of two parts that cover each other the first stays.
    let is_redundant = |index: usize, part: &ClinicalScope| {
        parts
            .iter()
            .enumerate()
            .any(|(at, other)| at != index && other.covers(part) && (at < index || !part.covers(other)))
    };
    let kept = parts.iter().enumerate().filter(|(index, part)| !is_redundant(*index, part));
    kept.map(|(_, part)| Scope::Clinical(part.clone())).collect()
}
