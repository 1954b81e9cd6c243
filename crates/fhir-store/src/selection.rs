//! What of a type a caller reaches: everything, or what lies in one of several regions.
//!
//! One value of this kind is made for an interaction of a caller and applied wherever that interaction
//! touches data: a read asks it about what was found, a list carries it into the statement, and a
//! write into the transaction that decides on the row it holds. So nothing is filtered after it was
//! counted, and nothing is judged on a version that is not the one written.

mod criterion;
mod ownership;
mod scoped;

use std::collections::BTreeMap;
use std::sync::Arc;

use fhir_resource::compartment::{CompartmentMembership, membership};
use fhir_resource::{Compartment, ResourceKey, ResourceType};
use serde_json::Value;

use crate::match_group;

pub use criterion::{CodingCriterion, ExactCoding, FilterCriterion, UnsupportedCriterionError};
pub use ownership::{GroupOwnership, OrganizationIdentifier};
pub use scoped::ScopeSearch;

/// The resources of one type that a caller may access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccessFilter {
    /// All of them.
    #[default]
    Everything,
    /// Those in any of the regions; none of them when there are none.
    Within(Arc<[FilterBranch]>),
}

/// One alternative of an access filter: resources that meet all its conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterBranch {
    /// Only what is in this compartment.
    pub compartment: Option<Compartment>,
    /// Only what meets all of these.
    pub criteria: Vec<FilterCriterion>,
}

/// The resources that a writer may access, as a write checks them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteAccess {
    /// What a condition may find.
    pub search: AccessFilter,
    /// What of other types a condition may look at; a type that is missing is closed.
    pub chained: BTreeMap<ResourceType, AccessFilter>,
    /// What the write may be about: the version it replaces, and the one it makes.
    pub target: AccessFilter,
}

impl AccessFilter {
    /// Returns the union of `regions`; a region that leaves nothing out makes it everything.
    #[must_use]
    pub fn union(regions: Vec<FilterBranch>) -> Self {
        if regions.contains(&FilterBranch::default()) { Self::Everything } else { Self::Within(regions.into()) }
    }

    /// Returns the Groups that a caller reaches where nothing else confines it.
    #[must_use]
    pub fn of_groups(ownership: GroupOwnership) -> Self {
        Self::Everything
            .narrowed(&FilterBranch { compartment: None, criteria: vec![FilterCriterion::Ownership(ownership)] })
    }

    /// Returns what of it also lies in `region`, as a list asks for it.
    #[must_use]
    pub fn narrowed(self, region: &FilterBranch) -> Self {
        match self {
            Self::Everything => Self::union(vec![region.clone()]),
            Self::Within(regions) => Self::Within(regions.iter().filter_map(|part| part.narrowed(region)).collect()),
        }
    }

    /// Returns whether something may lie outside.
    #[must_use]
    pub const fn is_confined(&self) -> bool {
        matches!(self, Self::Within(_))
    }

    /// Returns whether a resource may stand under this key that the caller must not learn of.
    ///
    /// Where scopes leave a part of a type open, that is every key. Where only the Groups of matches are other
    /// organizations' it is the keys that matches give.
    #[must_use]
    pub fn hides(&self, key: &ResourceKey) -> bool {
        let Self::Within(regions) = self else { return false };
        let is_open = regions.iter().any(FilterBranch::is_all_but_others_groups);
        !is_open || match_group::is_id_of_match(key.id.as_str())
    }

    /// Returns whether only an index of searches can list what it holds; without one it can be asked about a resource.
    #[must_use]
    pub fn needs_index(&self) -> bool {
        let Self::Within(regions) = self else { return false };
        let mut criteria = regions.iter().flat_map(|region| &region.criteria);
        criteria.any(|criterion| matches!(criterion, FilterCriterion::Search(_)))
    }

    /// Returns whether the resource is one of them; `resource` is the body as stored or in FHIR's format.
    #[must_use]
    pub fn contains(&self, key: &ResourceKey, resource: &Value) -> bool {
        match self {
            Self::Everything => true,
            Self::Within(regions) => regions.iter().any(|region| region.contains(key, resource)),
        }
    }

    /// Returns whether a write may make `resource` of what was there before, which is inside already.
    ///
    /// Not specified; what is made has to be inside, and in no other patient's compartment unless it
    /// was before: else a caller who may write one record could write into another's. No Patient is made,
    /// because a compartment is that of a patient who exists.
    #[must_use]
    pub fn admits(&self, key: &ResourceKey, before: Option<&Value>, resource: &Value) -> bool {
        match self {
            Self::Everything => true,
            Self::Within(regions) => regions.iter().any(|region| region.admits(key, before, resource)),
        }
    }
}

impl FilterBranch {
    /// Returns what lies in both; `None` where they are compartments of different patients.
    ///
    /// Not specified; what is in two patients' compartments is not found by the one for the other.
    fn narrowed(&self, by: &Self) -> Option<Self> {
        let compartment = match (&self.compartment, &by.compartment) {
            (Some(own), Some(asked)) if own != asked => return None,
            (own, asked) => own.as_ref().or(asked.as_ref()).cloned(),
        };
        Some(Self { compartment, criteria: self.criteria.iter().chain(&by.criteria).cloned().collect() })
    }

    fn contains(&self, key: &ResourceKey, resource: &Value) -> bool {
        let inside = self.compartment.as_ref().is_none_or(|compartment| compartment.contains(key, resource));
        inside && self.criteria.iter().all(|criterion| criterion.holds(key, resource))
    }

    fn is_all_but_others_groups(&self) -> bool {
        self.compartment.is_none() && self.criteria.iter().all(|one| matches!(one, FilterCriterion::Ownership(_)))
    }

    fn admits(&self, key: &ResourceKey, before: Option<&Value>, resource: &Value) -> bool {
        if !self.criteria.iter().all(|criterion| criterion.admits(before, resource)) {
            return false;
        }
        let Some(compartment) = &self.compartment else {
            return self.contains(key, resource);
        };
        if before.is_none() && membership(&key.resource_type) == CompartmentMembership::Itself {
            return false;
        }
        let known = before.map(|before| compartment.others(key, before)).unwrap_or_default();
        self.contains(key, resource) && compartment.others(key, resource).is_subset(&known)
    }
}

#[cfg(test)]
mod tests;
