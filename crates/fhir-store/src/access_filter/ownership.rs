//! The Groups that a caller reaches: a Group that a member match made belongs to the organization it was made for.
//!
//! Such a Group holds names, identifiers and contained Patients of members. Other partners must not learn of it, and
//! its owner may not make it say more than the match did: the members of a Group are what an export is made of.
//!
//! # Source
//! `PDex`: a requester sees only the Groups that were made for it (`docs/decisions.md`, "Groups").

use std::collections::BTreeSet;

use fhir_resource::patient_compartment::any_object_at_path;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::member_match_group;

/// A filter of Groups: those that no member match created, and those created for one organization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupOwnershipFilter {
    /// The organization; `None` for a caller that proves none, to which no match Group belongs.
    pub owner: Option<OrganizationIdentifier>,
}

/// The identifier of an organization, as the B2B claim has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrganizationIdentifier {
    /// The system.
    pub system: String,
    /// The value.
    pub value: String,
}

impl GroupOwnershipFilter {
    /// Returns whether the filter includes a Group, in either format.
    #[must_use]
    pub fn includes_group(&self, group: &Value) -> bool {
        !member_match_group::is_match_group(group) || self.owns(group)
    }

    fn owns(&self, group: &Value) -> bool {
        self.owner
            .as_ref()
            .is_some_and(|owner| member_match_group::is_made_for_organization(group, &owner.system, &owner.value))
    }

    /// Returns whether a write may make `after` of what was there before, which is reached already. A Group of a match
    /// stays one, stays its owner's and gains no member; no other Group becomes one.
    pub(super) fn admits(&self, before: Option<&Value>, after: &Value) -> bool {
        let before = before.filter(|before| member_match_group::is_match_group(before));
        match (before, member_match_group::is_match_group(after)) {
            (None, is_match) => !is_match,
            (Some(_), false) => false,
            (Some(before), true) => self.owns(after) && members(after).is_subset(&members(before)),
        }
    }
}

/// Returns what the members of a Group name, in either format.
fn members(group: &Value) -> BTreeSet<String> {
    let mut members = BTreeSet::new();
    any_object_at_path(&["member", "entity"], group, &mut |entity| {
        let named = ["reference", "uri", "localRef", "resourceType", "id", "identifier"];
        members.extend(named.iter().filter_map(|name| Some(format!("{name} {}", entity.get(*name)?))));
        false
    });
    members
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SYSTEM: &str = "http://hl7.org/fhir/sid/us-npi";

    fn ownership(value: &str) -> GroupOwnershipFilter {
        GroupOwnershipFilter {
            owner: Some(OrganizationIdentifier { system: SYSTEM.to_owned(), value: value.to_owned() }),
        }
    }

    fn made(value: &str, members: &[&str]) -> Value {
        let members: Vec<Value> =
            members.iter().map(|id| json!({"entity": {"resourceType": "Patient", "id": id}})).collect();
        json!({
            "meta": {"profile": [member_match_group::MEMBER_MATCH_GROUP_PROFILE]}, "identifier": [{"system": SYSTEM, "value": value}],
            "code": {"coding": [{"system": member_match_group::MATCH_RESULT_CODE_SYSTEM, "code": "match"}]}, "member": members,
        })
    }

    #[test]
    fn a_group_of_a_match_is_reached_by_its_owner_alone() {
        let group = made("1", &["a"]);
        assert!(ownership("1").includes_group(&group));
        assert!(!ownership("2").includes_group(&group) && !GroupOwnershipFilter::default().includes_group(&group));
        let stamped = |identifier: &str| {
            let identifier = json!({"system": SYSTEM, "value": identifier});
            let native = json!([{"value": {"Reference": {"identifier": identifier}}}]);
            json!({"meta": {"profile": member_match_group::TREATMENT_RELATIONSHIP_PROFILE}, "characteristic": native})
        };
        assert!(ownership("1").includes_group(&stamped("1")) && !ownership("1").includes_group(&stamped("2")));
        let unstamped =
            json!({"code": {"coding": [{"system": member_match_group::MATCH_RESULT_CODE_SYSTEM, "code": "nomatch"}]}});
        assert!(!ownership("1").includes_group(&unstamped), "whose it is cannot be told");
        let other = json!({"code": {"coding": [{"system": "urn:other", "code": "match"}]}, "type": "person"});
        assert!(
            GroupOwnershipFilter::default().includes_group(&other)
                && GroupOwnershipFilter::default().includes_group(&json!({}))
        );
    }

    #[test]
    fn the_owner_of_a_group_adds_no_member_and_gives_it_to_no_one() {
        let (before, other) = (made("1", &["a", "b"]), json!({"type": "person"}));
        let admits = |before: Option<&Value>, after: &Value| ownership("1").admits(before, after);
        assert!(admits(Some(&before), &made("1", &["b"])) && admits(Some(&before), &before));
        assert!(!admits(Some(&before), &made("1", &["a", "c"])), "a member is added");
        assert!(!admits(Some(&before), &made("2", &["a"])), "it is given away");
        assert!(!admits(Some(&before), &other), "it is no longer confined");
        assert!(!admits(Some(&other), &before) && !admits(None, &before), "it is forged");
        assert!(admits(None, &other) && admits(Some(&other), &other));
    }
}
