use fhir_resource::ResourceType;
use serde_json::json;

use super::*;

fn resource_type(name: &str) -> ResourceType {
    name.parse().unwrap()
}

fn compartment() -> Compartment {
    Compartment::of("me".parse().unwrap(), "https://payer.example/fhir")
}

fn category(value: &str) -> FilterCriterion {
    FilterCriterion::read(&resource_type("Observation"), "category", value).unwrap()
}

fn holds(value: &str, resource: &Value) -> bool {
    category(value).holds(&"Observation/o".parse().unwrap(), resource)
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
        let refused = FilterCriterion::read(&resource_type(name), parameter, value).unwrap_err();
        assert_eq!((refused.resource_type.as_str(), refused.name.as_str()), (name, parameter));
    }
    let many = vec!["a"; limits() + 1].join(",");
    assert!(FilterCriterion::read(&resource_type("Observation"), "category", &many).is_err());
}

const fn limits() -> usize {
    crate::limits::MAX_TOKENS
}

#[test]
fn a_selection_is_the_union_of_its_regions() {
    let key = "Observation/1".parse().unwrap();
    let mine = || Some(compartment());
    let lab_of_mine = FilterBranch { compartment: mine(), criteria: vec![category("lab")] };
    let vital_of_anyone = FilterBranch { compartment: None, criteria: vec![category("vital")] };
    let selection = AccessFilter::union(vec![lab_of_mine.clone(), vital_of_anyone]);
    let observation = |patient: &str, code: &str| json!({"subject": {"reference": format!("Patient/{patient}")}, "category": [{"coding": [{"code": code}]}]});
    for (patient, code, expected) in [
        ("me", "lab", true),
        ("me", "vital", true),
        ("me", "survey", false),
        ("you", "lab", false),
        ("you", "vital", true),
    ] {
        assert_eq!(selection.contains(&key, &observation(patient, code)), expected, "{patient} {code}");
    }
    let both = FilterBranch { compartment: None, criteria: vec![category("lab"), category("s|")] };
    assert!(
        !AccessFilter::union(vec![both]).contains(&key, &observation("me", "lab")),
        "all criteria of a region hold"
    );
    assert_eq!(AccessFilter::union(vec![lab_of_mine, FilterBranch::default()]), AccessFilter::Everything);
    assert!(!AccessFilter::union(Vec::new()).contains(&key, &observation("me", "lab")));
}

#[test]
fn a_write_stays_inside_and_takes_nobody_in() {
    let selection = AccessFilter::union(vec![FilterBranch { compartment: Some(compartment()), criteria: Vec::new() }]);
    let key = "Observation/1".parse().unwrap();
    let patient = |id: &str| json!({"reference": format!("Patient/{id}")});
    let mine = json!({"subject": patient("me")});
    let shared = json!({"subject": patient("me"), "performer": [patient("you")]});
    let theirs = json!({"subject": patient("you")});
    assert!(selection.admits(&key, None, &mine));
    assert!(!selection.admits(&key, None, &theirs));
    assert!(!selection.admits(&key, None, &json!({})));
    assert!(!selection.admits(&key, None, &shared), "it would enter another record");
    assert!(!selection.admits(&key, Some(&mine), &shared));
    assert!(selection.admits(&key, Some(&shared), &shared), "it was there");
    assert!(selection.admits(&key, Some(&shared), &mine));
    let me = "Patient/me".parse().unwrap();
    assert!(selection.admits(&me, Some(&json!({})), &json!({"active": true})));
    assert!(!selection.admits(&me, None, &json!({})), "no Patient is made");
    assert!(AccessFilter::Everything.admits(&key, None, &theirs));
}

#[test]
fn a_narrowed_selection_is_what_lies_in_both() {
    let key = "Observation/1".parse().unwrap();
    let lab = |patient: &str| json!({"subject": {"reference": format!("Patient/{patient}")}, "category": [{"coding": [{"code": "lab"}]}]});
    let of = |patient: &str| FilterBranch {
        compartment: Some(Compartment::of(patient.parse().unwrap(), "https://h/fhir")),
        criteria: Vec::new(),
    };
    let labs = FilterBranch { compartment: None, criteria: vec![category("lab")] };
    let vitals = FilterBranch { compartment: None, criteria: vec![category("vital")] };
    let mine = || AccessFilter::union(vec![of("me")]);
    for (selection, region, expected) in [
        (AccessFilter::Everything, of("me"), true),
        (AccessFilter::Everything, of("you"), false),
        (mine(), of("me"), true),
        (mine(), labs.clone(), true),
        (mine(), vitals.clone(), false),
        (AccessFilter::union(vec![labs.clone()]), of("me"), true),
        (AccessFilter::union(vec![labs.clone()]), vitals, false),
        (AccessFilter::union(Vec::new()), labs, false),
    ] {
        assert_eq!(
            selection.clone().narrowed(&region).contains(&key, &lab("me")),
            expected,
            "{selection:?} {region:?}"
        );
    }
    let nobody = mine().narrowed(&of("you"));
    assert!(nobody.is_confined() && !nobody.contains(&key, &lab("you")), "asking for another's record opens nothing");
}
