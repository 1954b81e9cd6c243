//! What is granted of a request, by example.

use smart_scopes::{ScopeSet, limits, restrict};

fn set(list: &str) -> ScopeSet {
    ScopeSet::parse(list).unwrap()
}

/// The granted and the refused scopes, each as a list.
fn restricted(requested: &str, registered: &str) -> (String, String) {
    let restriction = restrict(&set(requested), &set(registered));
    let refused: ScopeSet = restriction.refused.into_iter().collect();
    (restriction.granted.to_string(), refused.to_string())
}

#[track_caller]
fn assert_granted(requested: &str, registered: &str, granted: &str) {
    assert_eq!(restricted(requested, registered), (granted.to_owned(), String::new()));
}

#[track_caller]
fn assert_refused(requested: &str, registered: &str) {
    assert_eq!(restricted(requested, registered), (String::new(), requested.to_owned()));
}

#[test]
fn a_wildcard_request_is_narrowed_to_the_registered_types_in_its_own_syntax() {
    assert_granted("system/*.read", "system/Patient.rs", "system/Patient.read");
    assert_granted("system/*.rs", "system/Patient.read", "system/Patient.rs");
    assert_granted("system/*.*", "system/Patient.cruds system/Claim.cud", "system/Patient.* system/Claim.write");
}

#[test]
fn what_v1_cannot_spell_is_granted_in_v2() {
    assert_granted("system/*.read", "system/Patient.r", "system/Patient.r");
    assert_granted("system/Patient.read", "system/Patient.rs?active=true", "system/Patient.rs?active=true");
}

#[test]
fn a_request_within_the_registration_comes_back_as_sent() {
    assert_granted("patient/Observation.rs?category=a", "patient/*.cruds", "patient/Observation.rs?category=a");
    assert_granted("patient/*.read patient/*.rs", "patient/*.*", "patient/*.read patient/*.rs");
    assert_granted("patient/Patient.read", "patient/Patient.r patient/*.s", "patient/Patient.read");
    assert_granted("patient/A.rs?x=1&y=%32", "patient/A.r?y=2&x=1 patient/A.s?x=1", "patient/A.rs?x=1&y=%32");
}

#[test]
fn a_scope_disjoint_from_the_registration_is_refused() {
    assert_refused("system/Patient.read", "system/Claim.read");
    assert_refused("system/Patient.c", "system/Patient.rs");
    assert_refused("patient/Patient.read", "user/Patient.read system/*.*");
    assert_refused("openid", "");
    assert_refused("launch/patient", "launch launch/encounter launch/patient?role=x");
}

#[test]
fn scopes_that_are_not_clinical_are_granted_in_the_same_spelling_only() {
    assert_granted("openid launch/patient __own", "__own openid launch/patient", "openid launch/patient __own");
    assert_refused("http://smarthealthit.org/fhir/scopes/openid", "openid");
}

#[test]
fn a_plain_request_against_a_granular_registration_is_the_granular_scope() {
    let registered = "patient/Condition.rs?category=a patient/Condition.rs?category=b";
    assert_granted("patient/Condition.cruds", registered, registered);
    assert_granted("patient/*.rs", registered, registered);
}

#[test]
fn two_queries_on_one_type_are_granted_as_their_conjunction() {
    assert_granted("patient/A.rs?x=1", "patient/A.rs?y=2", "patient/A.rs?x=1&y=2");
    assert_granted("patient/A.rs?x=1", "patient/A.r?y=2&x=1", "patient/A.r?x=1&y=2");
}

#[test]
fn two_queries_too_long_together_are_refused_and_not_widened() {
    let long = "v".repeat(limits::MAX_SCOPE_BYTES / 2);
    assert_refused(&format!("patient/A.rs?x={long}"), &format!("patient/A.rs?y={long}"));
}

#[test]
fn joined_letters_never_make_a_scope_that_is_too_long_to_read() {
    let head = "patient/A.r?x=1&y=";
    let long = "v".repeat(limits::MAX_SCOPE_BYTES - head.len());
    let registered = format!("patient/A.r?y={long} patient/A.s?y={long} patient/A.s?%79={}", &long[2..]);
    let granted = restrict(&set("patient/A.rs?x=1"), &set(&registered)).granted;
    assert_eq!(ScopeSet::parse(&granted.to_string()).as_ref(), Ok(&granted));
    assert!(granted.covers(&format!("patient/A.r?x=1&y={long}").parse().unwrap()));
    assert!(granted.covers(&format!("patient/A.s?x=1&y={long}").parse().unwrap()));
}

#[test]
fn the_granted_list_stays_readable_when_wildcards_multiply() {
    let types: Vec<_> = (0..limits::MAX_SCOPES).map(|n| format!("system/T{n}.cruds")).collect();
    let registered = ScopeSet::from_registered(types).unwrap();
    let restriction = restrict(&set("system/*.rs system/*.r system/T7.c"), &registered);
    assert_eq!(restriction.granted.len(), limits::MAX_SCOPES);
    assert_eq!(restriction.refused.len(), 2, "the second wildcard and what follows do not fit");

    let long = "v".repeat(900);
    let types: Vec<_> = (0..100).map(|n| format!("system/T{n}.r?x={long}")).collect();
    let restriction = restrict(&set("system/*.rs system/T7.r"), &ScopeSet::from_registered(types).unwrap());
    assert_eq!(restriction.refused, [set("system/*.rs").iter().next().unwrap().clone()]);
    assert_eq!(ScopeSet::parse(&restriction.granted.to_string()), Ok(restriction.granted));
}

#[test]
fn a_union_keeps_the_order_and_each_spelling_once() {
    assert_eq!(set("openid a").union(&set("b a")).to_string(), "openid a b");
}

#[test]
fn a_set_covers_what_its_scopes_grant_together() {
    let granted = set("patient/Patient.r patient/*.s openid");
    for scope in ["patient/Patient.read", "patient/Patient.s?name=x", "openid"] {
        assert!(granted.covers(&scope.parse().unwrap()), "{scope}");
    }
    for scope in ["patient/Patient.cr", "patient/*.r", "user/Patient.r", "profile"] {
        assert!(!granted.covers(&scope.parse().unwrap()), "{scope}");
    }
}
