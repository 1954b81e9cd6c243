use fhir_resource::ResourceType;
use serde_json::json;

use super::*;

fn resource_type(name: &str) -> ResourceType {
    name.parse().unwrap()
}

fn compartment() -> PatientCompartment {
    PatientCompartment::of_patient("me".parse().unwrap(), "https://payer.example/fhir")
}

fn category(value: &str) -> AccessFilterCriterion {
    AccessFilterCriterion::parse(&resource_type("Observation"), "category", value).unwrap()
}

fn holds(value: &str, resource: &Value) -> bool {
    category(value).matches_resource(&"Observation/o".parse().unwrap(), resource)
}

fn coded(codings: &Value) -> Value {
    json!({"subject": {"reference": "Patient/me"}, "category": [{"text": "x"}, {"coding": codings}]})
}

#[test]
fn a_token_asks_for_a_code_a_system_or_both() {
    let lab = coded(&json!([{"system": "s", "code": "lab"}]));
    let bare = coded(&json!([{"code": "lab"}]));
    for (value, of_system, without) in [
        ("lab", true, true),
        ("s|lab", true, false),
        ("|lab", false, true),
        ("s|", true, false),
        ("LAB", false, false),
        ("la", false, false),
        ("t|lab", false, false),
        ("x,s|lab", true, false),
        ("x,y", false, false),
    ] {
        assert_eq!((holds(value, &lab), holds(value, &bare)), (of_system, without), "{value}");
    }
}

#[test]
fn system_and_code_are_of_one_coding() {
    let apart = coded(&json!([{"system": "s", "code": "a"}, {"system": "t", "code": "b"}]));
    assert!(holds("s|a", &apart) && holds("t|b", &apart));
    assert!(!holds("s|b", &apart) && !holds("t|a", &apart));
    assert!(!holds("lab", &json!({"category": [{"text": "lab"}]})), "a text is no code");
    assert!(!holds("lab", &json!({"category": "lab"})));
}

#[test]
fn a_backslash_takes_the_meaning_from_what_follows() {
    let odd = coded(&json!([{"system": "a|b", "code": "c,d\\"}]));
    assert!(holds(r"a\|b|c\,d\\", &odd));
    assert!(holds(r"c\,d\\", &odd));
    assert!(!holds(r"c,d\\", &odd));
}

#[test]
fn what_is_not_applied_is_refused_by_name() {
    for (name, parameter, value) in [
        ("Observation", "status", "final"),
        ("Observation", "category:in", "x"),
        ("Observation", "category:not", "x"),
        ("Observation", "_id", "x"),
        ("Patient", "category", "x"),
        ("AllergyIntolerance", "category", "food"),
        ("Observation", "category", "|"),
        ("Observation", "category", "a|b|c"),
    ] {
        let refused = AccessFilterCriterion::parse(&resource_type(name), parameter, value).unwrap_err();
        assert_eq!((refused.resource_type.as_str(), refused.name.as_str()), (name, parameter));
    }
    let many = vec!["a"; limits() + 1].join(",");
    assert!(AccessFilterCriterion::parse(&resource_type("Observation"), "category", &many).is_err());
}

const fn limits() -> usize {
    crate::limits::MAX_TOKEN_ALTERNATIVES
}

#[test]
fn a_selection_is_the_union_of_its_regions() {
    let key = "Observation/1".parse().unwrap();
    let mine = || Some(compartment());
    let lab_of_mine = AccessFilterBranch { compartment: mine(), criteria: vec![category("lab")] };
    let vital_of_anyone = AccessFilterBranch { compartment: None, criteria: vec![category("vital")] };
    let selection = AccessFilter::union_of_branches(vec![lab_of_mine.clone(), vital_of_anyone]);
    let observation = |patient: &str, code: &str| json!({"subject": {"reference": format!("Patient/{patient}")}, "category": [{"coding": [{"code": code}]}]});
    for (patient, code, expected) in [
        ("me", "lab", true),
        ("me", "vital", true),
        ("me", "survey", false),
        ("you", "lab", false),
        ("you", "vital", true),
    ] {
        assert_eq!(selection.contains_resource(&key, &observation(patient, code)), expected, "{patient} {code}");
    }
    let both = AccessFilterBranch { compartment: None, criteria: vec![category("lab"), category("s|")] };
    assert!(
        !AccessFilter::union_of_branches(vec![both]).contains_resource(&key, &observation("me", "lab")),
        "all criteria of a region hold"
    );
    assert_eq!(
        AccessFilter::union_of_branches(vec![lab_of_mine, AccessFilterBranch::default()]),
        AccessFilter::Everything
    );
    assert!(!AccessFilter::union_of_branches(Vec::new()).contains_resource(&key, &observation("me", "lab")));
}

#[test]
fn a_write_stays_inside_and_takes_nobody_in() {
    let selection = AccessFilter::union_of_branches(vec![AccessFilterBranch {
        compartment: Some(compartment()),
        criteria: Vec::new(),
    }]);
    let key = "Observation/1".parse().unwrap();
    let patient = |id: &str| json!({"reference": format!("Patient/{id}")});
    let mine = json!({"subject": patient("me")});
    let shared = json!({"subject": patient("me"), "performer": [patient("you")]});
    let theirs = json!({"subject": patient("you")});
    assert!(selection.allows_write(&key, None, &mine));
    assert!(!selection.allows_write(&key, None, &theirs));
    assert!(!selection.allows_write(&key, None, &json!({})));
    assert!(!selection.allows_write(&key, None, &shared), "it would enter another record");
    assert!(!selection.allows_write(&key, Some(&mine), &shared));
    assert!(selection.allows_write(&key, Some(&shared), &shared), "it was there");
    assert!(selection.allows_write(&key, Some(&shared), &mine));
    let me = "Patient/me".parse().unwrap();
    assert!(selection.allows_write(&me, Some(&json!({})), &json!({"active": true})));
    assert!(!selection.allows_write(&me, None, &json!({})), "no Patient is made");
    assert!(AccessFilter::Everything.allows_write(&key, None, &theirs));
}

#[test]
fn a_narrowed_selection_is_what_lies_in_both() {
    let key = "Observation/1".parse().unwrap();
    let lab = |patient: &str| json!({"subject": {"reference": format!("Patient/{patient}")}, "category": [{"coding": [{"code": "lab"}]}]});
    let of = |patient: &str| AccessFilterBranch {
        compartment: Some(PatientCompartment::of_patient(patient.parse().unwrap(), "https://h/fhir")),
        criteria: Vec::new(),
    };
    let labs = AccessFilterBranch { compartment: None, criteria: vec![category("lab")] };
    let vitals = AccessFilterBranch { compartment: None, criteria: vec![category("vital")] };
    let mine = || AccessFilter::union_of_branches(vec![of("me")]);
    for (selection, region, expected) in [
        (AccessFilter::Everything, of("me"), true),
        (AccessFilter::Everything, of("you"), false),
        (mine(), of("me"), true),
        (mine(), labs.clone(), true),
        (mine(), vitals.clone(), false),
        (AccessFilter::union_of_branches(vec![labs.clone()]), of("me"), true),
        (AccessFilter::union_of_branches(vec![labs.clone()]), vitals, false),
        (AccessFilter::union_of_branches(Vec::new()), labs, false),
    ] {
        assert_eq!(
            selection.clone().narrowed_to_branch(&region).contains_resource(&key, &lab("me")),
            expected,
            "{selection:?} {region:?}"
        );
    }
    let nobody = mine().narrowed_to_branch(&of("you"));
    assert!(
        nobody.is_restricted() && !nobody.contains_resource(&key, &lab("you")),
        "asking for another's record opens nothing"
    );
}
