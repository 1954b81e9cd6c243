//! Groups that a member match made: how a store recognizes them and whose they are.
//!
//! Access to such a Group is restricted to the organization that it was made for ([`crate::selection`]), so the store
//! knows their marks. Making them is the work of the crate of payers above.

use serde_json::Value;

use fhir_resource::compartment::{ElementPath, any_at};

/// The profile of the Group of members whom a payer was given.
pub const MEMBER_MATCH: &str = "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-match-group";
/// The profile of the Group of members whom a provider treats.
pub const TREATMENT: &str = "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-treatment-relationship";
/// The profile of the Group of members who were not found.
pub const NO_MATCH: &str = "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-no-match-group";
/// The profile of the Group of members who opted out of a provider.
pub const OPT_OUT: &str = "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-opt-out";
/// The profiles of Groups that a match made. One of them in `meta.profile`, or a code of [`RESULTS`], marks such a Group.
pub const PROFILES: [&str; 4] = [MEMBER_MATCH, TREATMENT, NO_MATCH, OPT_OUT];
/// The code system of the outcome of a Group's members.
pub const RESULTS: &str = "http://hl7.org/fhir/us/davinci-pdex/CodeSystem/PdexMultiMemberMatchResultCS";
/// The paths at which a Group that a match made has the identifier of the organization it was made for, in either format.
pub const OWNERS: [ElementPath; 3] = [
    &["identifier"],
    &["characteristic", "valueReference", "identifier"],
    &["characteristic", "value", "Reference", "identifier"],
];
/// The ends of the ids of such Groups, behind the id of the job: of members who were found, not found, and not shared.
pub const ID_SUFFIXES: [&str; 3] = ["-matched", "-nomatch", "-consent"];

/// Returns whether a Group, in either format, is one that a match made.
#[must_use]
pub fn is_made_by_match(group: &Value) -> bool {
    any_at(&["meta"], group, &mut |meta| meta.get("profile").is_some_and(names_profile))
        || any_at(&["code", "coding"], group, &mut |coding| {
            coding.get("system").is_some_and(|system| system == RESULTS)
        })
}

fn names_profile(profile: &Value) -> bool {
    match profile {
        Value::Array(elements) => elements.iter().any(names_profile),
        profile => profile.as_str().is_some_and(|profile| PROFILES.contains(&profile)),
    }
}

/// Returns whether a Group that a match made was made for the organization with this identifier.
#[must_use]
pub fn is_made_for(group: &Value, system: &str, value: &str) -> bool {
    let is_owner = |identifier: &Value| {
        let text = |name: &str| identifier.get(name).and_then(Value::as_str);
        text("system") == Some(system) && text("value") == Some(value)
    };
    OWNERS.iter().any(|path| any_at(path, group, &mut |identifier| is_owner(identifier)))
}

/// Returns whether an id has the form of the ids of such Groups: that of the job and one of [`ID_SUFFIXES`].
#[must_use]
pub fn is_id_of_match(id: &str) -> bool {
    ID_SUFFIXES.iter().any(|suffix| id.ends_with(suffix))
}
