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

use fhir_resource::patient_compartment::{CompartmentMembership, patient_compartment_membership};
use fhir_resource::{PatientCompartment, ResourceKey, ResourceType};
use serde_json::Value;

use crate::member_match_group;

pub use criterion::{AccessFilterCriterion, CodingCriterion, ExactCodingMatch, UnsupportedCriterionError};
pub use ownership::{GroupOwnershipFilter, OrganizationIdentifier};
pub use scoped::GranularScopeSearch;

/// The resources of one type that a caller may access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccessFilter {
    /// All resources of the type.
    #[default]
    Everything,
    /// The resources in any of the branches; no resource when there are no branches.
    Within(Arc<[AccessFilterBranch]>),
}

/// One alternative of an access filter: resources that meet all its conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessFilterBranch {
    /// The compartment that the resources are in; `None` for no such condition.
    pub compartment: Option<PatientCompartment>,
    /// The criteria, all of which the resources meet.
    pub criteria: Vec<AccessFilterCriterion>,
}

/// The resources that a writer may find, use in conditions and write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteAccess {
    /// The resources that the condition of the write may find.
    pub search: AccessFilter,
    /// The resources of other types that a condition may use; a type that is missing is closed.
    pub chained: BTreeMap<ResourceType, AccessFilter>,
    /// The resources that the write may replace and may make.
    pub target: AccessFilter,
}

impl AccessFilter {
    /// Returns the filter of the resources in any of the branches; [`AccessFilter::Everything`] when a branch has no
    /// condition.
    #[must_use]
    pub fn union_of_branches(regions: Vec<AccessFilterBranch>) -> Self {
        if regions.contains(&AccessFilterBranch::default()) { Self::Everything } else { Self::Within(regions.into()) }
    }

    /// Returns the filter of the Groups that an organization may access where nothing else restricts it.
    #[must_use]
    pub fn of_owned_groups(ownership: GroupOwnershipFilter) -> Self {
        Self::Everything.narrowed_to_branch(&AccessFilterBranch {
            compartment: None,
            criteria: vec![AccessFilterCriterion::Ownership(ownership)],
        })
    }

    /// Returns the filter of the resources that are in both the filter and the branch.
    #[must_use]
    pub fn narrowed_to_branch(self, region: &AccessFilterBranch) -> Self {
        match self {
            Self::Everything => Self::union_of_branches(vec![region.clone()]),
            Self::Within(regions) => Self::Within(regions.iter().filter_map(|part| part.narrowed(region)).collect()),
        }
    }

    /// Returns whether the filter may exclude resources of the type.
    #[must_use]
    pub const fn is_restricted(&self) -> bool {
        matches!(self, Self::Within(_))
    }

    /// Returns whether the filter may hide a resource under this key, so that the caller must not learn whether it
    /// exists.
    ///
    /// True for every key where scopes open a part of the type only. Where just the match Groups of other organizations
    /// are hidden, true for the ids that such Groups have ([`member_match_group::is_match_group_id`]).
    #[must_use]
    pub fn may_hide_resource(&self, key: &ResourceKey) -> bool {
        let Self::Within(regions) = self else { return false };
        let is_open = regions.iter().any(AccessFilterBranch::is_all_but_others_groups);
        !is_open || member_match_group::is_match_group_id(key.id.as_str())
    }

    /// Returns whether listing the resources of the filter needs the search index.
    #[must_use]
    pub fn needs_search_index(&self) -> bool {
        let Self::Within(regions) = self else { return false };
        let mut criteria = regions.iter().flat_map(|region| &region.criteria);
        criteria.any(|criterion| matches!(criterion, AccessFilterCriterion::Search(_)))
    }

    /// Returns whether the filter contains the resource, in either format.
    #[must_use]
    pub fn contains_resource(&self, key: &ResourceKey, resource: &Value) -> bool {
        match self {
            Self::Everything => true,
            Self::Within(regions) => regions.iter().any(|region| region.contains(key, resource)),
        }
    }

    /// Returns whether a write may change `before`, which the caller may access, to `resource`; `None` for a new
    /// resource.
    ///
    /// Not specified; the new version must be inside the filter, and in no other patient's compartment unless `before`
    /// was in it, because a caller who may write one record could otherwise write into another's. No Patient is made,
    /// because a compartment is that of a patient who exists.
    #[must_use]
    pub fn allows_write(&self, key: &ResourceKey, before: Option<&Value>, resource: &Value) -> bool {
        match self {
            Self::Everything => true,
            Self::Within(regions) => regions.iter().any(|region| region.admits(key, before, resource)),
        }
    }
}

impl AccessFilterBranch {
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
        let inside = self.compartment.as_ref().is_none_or(|compartment| compartment.contains_resource(key, resource));
        inside && self.criteria.iter().all(|criterion| criterion.matches_resource(key, resource))
    }

    fn is_all_but_others_groups(&self) -> bool {
        self.compartment.is_none() && self.criteria.iter().all(|one| matches!(one, AccessFilterCriterion::Ownership(_)))
    }

    fn admits(&self, key: &ResourceKey, before: Option<&Value>, resource: &Value) -> bool {
        if !self.criteria.iter().all(|criterion| criterion.admits(before, resource)) {
            return false;
        }
        let Some(compartment) = &self.compartment else {
            return self.contains(key, resource);
        };
        if before.is_none() && patient_compartment_membership(&key.resource_type) == CompartmentMembership::Itself {
            return false;
        }
        let known = before.map(|before| compartment.other_patient_ids(key, before)).unwrap_or_default();
        self.contains(key, resource) && compartment.other_patient_ids(key, resource).is_subset(&known)
    }
}

#[cfg(test)]
mod tests;
