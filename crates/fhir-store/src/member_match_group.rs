//! Groups that a member match made: how a store recognizes them and whose they are.
//!
//! Access to such a Group is restricted to the organization that it was made for ([`crate::access_filter`]), so the
//! store knows their marks. Making them is the work of the crate of payers above.

use serde_json::Value;

use fhir_resource::patient_compartment::{ElementPath, any_object_at_path};

/// The profile of the Group of members who were matched for a payer.
pub const MEMBER_MATCH_GROUP_PROFILE: &str =
    "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-match-group";
/// The profile of the Group of members whom a provider treats.
pub const TREATMENT_RELATIONSHIP_PROFILE: &str =
    "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-treatment-relationship";
/// The profile of the Group of members for whom no match was found.
pub const NO_MATCH_GROUP_PROFILE: &str =
    "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-no-match-group";
/// The profile of the Group of members who opted out of a provider.
pub const OPT_OUT_GROUP_PROFILE: &str = "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-opt-out";
/// The profiles of the Groups that a member match creates. A Group with one of them in `meta.profile`, or with a code
/// of [`MATCH_RESULT_CODE_SYSTEM`], counts as such a Group.
pub const MATCH_GROUP_PROFILES: [&str; 4] =
    [MEMBER_MATCH_GROUP_PROFILE, TREATMENT_RELATIONSHIP_PROFILE, NO_MATCH_GROUP_PROFILE, OPT_OUT_GROUP_PROFILE];
/// The code system of the match results in such Groups.
pub const MATCH_RESULT_CODE_SYSTEM: &str =
    "http://hl7.org/fhir/us/davinci-pdex/CodeSystem/PdexMultiMemberMatchResultCS";
/// The paths to the identifier of the organization that a match Group belongs to, in either format.
pub const OWNER_IDENTIFIER_PATHS: [ElementPath; 3] = [
    &["identifier"],
    &["characteristic", "valueReference", "identifier"],
    &["characteristic", "value", "Reference", "identifier"],
];
/// The suffixes of the ids of match Groups, after the job id: matched, not found, and consent refused.
pub const MATCH_GROUP_ID_SUFFIXES: [&str; 3] = ["-matched", "-nomatch", "-consent"];

/// Returns whether a Group, in either format, was created by a member match.
#[must_use]
pub fn is_match_group(group: &Value) -> bool {
    any_object_at_path(&["meta"], group, &mut |meta| meta.get("profile").is_some_and(names_profile))
        || any_object_at_path(&["code", "coding"], group, &mut |coding| {
            coding.get("system").is_some_and(|system| system == MATCH_RESULT_CODE_SYSTEM)
        })
}

fn names_profile(profile: &Value) -> bool {
    match profile {
        Value::Array(elements) => elements.iter().any(names_profile),
        profile => profile.as_str().is_some_and(|profile| MATCH_GROUP_PROFILES.contains(&profile)),
    }
}

/// Returns whether a Group that a match made belongs to the organization with this identifier.
#[must_use]
pub fn is_made_for_organization(group: &Value, system: &str, value: &str) -> bool {
    let is_owner = |identifier: &Value| {
        let text = |name: &str| identifier.get(name).and_then(Value::as_str);
        text("system") == Some(system) && text("value") == Some(value)
    };
    OWNER_IDENTIFIER_PATHS.iter().any(|path| any_object_at_path(path, group, &mut |identifier| is_owner(identifier)))
}

/// Returns whether an id ends with one of [`MATCH_GROUP_ID_SUFFIXES`], as the id of every match Group does.
#[must_use]
pub fn is_match_group_id(id: &str) -> bool {
    MATCH_GROUP_ID_SUFFIXES.iter().any(|suffix| id.ends_with(suffix))
}
