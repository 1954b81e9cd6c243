use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{format_conversion, property_testing};

const BASE: &str = "https://payer.example/fhir";

fn compartment() -> PatientCompartment {
    PatientCompartment::of_patient("me".parse().unwrap(), BASE)
}

fn contains(at: &str, resource: &Value) -> bool {
    compartment().contains_resource(&at.parse().unwrap(), resource)
}

fn resource_type(name: &str) -> ResourceType {
    name.parse().unwrap()
}

/// `reference` at `path`, inside a list at every second step, as elements that repeat are.
fn at(path: &[&str], reference: Value) -> Value {
    path.iter().rev().enumerate().fold(reference, |inner, (step, name)| {
        let inner = if step % 2 == 0 { inner } else { json!([{"other": 1}, inner]) };
        Value::from_iter([((*name).to_owned(), inner)])
    })
}

/// Every way to spell a reference to this Patient.
fn spellings(id: &str) -> Vec<Value> {
    vec![
        json!({"reference": format!("Patient/{id}")}),
        json!({"reference": format!("Patient/{id}/_history/7"), "display": "X"}),
        json!({"reference": format!("{BASE}/Patient/{id}")}),
        json!({"resourceType": "Patient", "id": id, "display": "X"}),
        json!({"uri": format!("{BASE}/Patient/{id}/_history/7")}),
    ]
}

/// Returns what looks like such a reference and is none.
fn near_misses(id: &str) -> Vec<Value> {
    vec![
        json!({"reference": format!("Patient/{id}x")}),
        json!({"reference": format!("Patient/{id}/x")}),
        json!({"reference": format!("patient/{id}")}),
        json!({"reference": format!("Practitioner/{id}")}),
        json!({"reference": format!("Patient?_id={id}")}),
        json!({"reference": format!("https://elsewhere.example/fhir/Patient/{id}")}),
        json!({"reference": format!("https://payer.example/Patient/{id}")}),
        json!({"reference": format!("#{id}")}),
        json!({"resourceType": "Practitioner", "id": id}),
        json!({"id": id}),
        json!({"resourceType": "Patient", "id": 1}),
        json!({"identifier": {"value": id}, "type": "Patient"}),
        json!(format!("Patient/{id}")),
        json!(null),
    ]
}

#[test]
fn the_tables_are_sorted_and_no_type_is_in_both() {
    let kinds: Vec<&str> = patient::PATHS.iter().map(|(resource_type, _)| *resource_type).collect();
    assert!(kinds.is_sorted() && patient::SHARED.is_sorted());
    assert!(kinds.iter().all(|resource_type| !patient::SHARED.contains(resource_type)));
    assert!(patient::PATHS.iter().all(|(_, paths)| !paths.is_empty() && paths.iter().all(|path| !path.is_empty())));
}

#[test]
fn a_type_is_in_the_compartment_or_shared_or_closed() {
    assert_eq!(patient_compartment_membership(&resource_type("Patient")), CompartmentMembership::Itself);
    let observation: &[ElementPath] = &[&["subject"], &["performer"]];
    assert_eq!(
        patient_compartment_membership(&resource_type("Observation")),
        CompartmentMembership::Reference(observation)
    );
    for shared in ["Practitioner", "PractitionerRole", "Organization", "Location", "Medication", "ValueSet"] {
        assert_eq!(patient_compartment_membership(&resource_type(shared)), CompartmentMembership::Shared, "{shared}");
    }
    for closed in ["Group", "Bundle", "Linkage", "Client", "User", "AccessPolicy", "PlatformMigration", "Nonsense"] {
        assert_eq!(patient_compartment_membership(&resource_type(closed)), CompartmentMembership::Closed, "{closed}");
    }
}

#[test]
fn a_reference_at_any_path_of_any_type_counts_in_every_spelling() {
    for (name, paths) in patient::PATHS {
        for path in *paths {
            for reference in spellings("me") {
                assert!(contains(&format!("{name}/1"), &at(path, reference.clone())), "{name} {path:?} {reference}");
            }
            for other in near_misses("me").into_iter().chain(spellings("you")) {
                assert!(!contains(&format!("{name}/1"), &at(path, other.clone())), "{name} {path:?} {other}");
            }
        }
    }
}

#[test]
fn a_reference_at_another_path_does_not_count() {
    let me = json!({"reference": "Patient/me"});
    assert!(!contains("Observation/1", &json!({"focus": [me], "encounter": me, "note": {"subject": me}})));
    assert!(!contains("Claim/1", &json!({"payee": me, "party": me})));
    assert!(!contains("Practitioner/1", &json!({"subject": me, "patient": me})));
    assert!(!contains("Client/1", &json!({"subject": me, "patient": me})));
    assert!(!contains("Group/1", &json!({"member": [{"entity": me}]})), "a Group names other members too");
}

#[test]
fn a_patient_is_in_its_own_compartment_and_in_no_other() {
    assert!(contains("Patient/me", &json!({})));
    assert!(!contains("Patient/you", &json!({"link": [{"other": {"reference": "Patient/me"}}]})));
}

#[test]
fn others_are_the_patients_that_are_named_beside_this_one() {
    let claim = json!({
        "patient": {"resourceType": "Patient", "id": "me"},
        "payee": {"party": {"reference": "Patient/you", "uri": format!("{BASE}/Patient/they")}},
    });
    let others = compartment().other_patient_ids(&"Claim/1".parse().unwrap(), &claim);
    assert_eq!(others.into_iter().collect::<Vec<_>>(), ["they", "you"]);
}

proptest! {
    #![proptest_config(property_testing::seeded_proptest_config(300))]

    #[test]
    fn membership_does_not_depend_on_the_spelling(
        row in 0..patient::PATHS.len(),
        first in 0..5_usize,
        second in 0..5_usize,
        mine in any::<bool>(),
    ) {
        let (name, paths) = patient::PATHS[row];
        let key: ResourceKey = format!("{name}/1").parse().unwrap();
        let mut resource = json!({"resourceType": name});
        for (path, spelling) in paths.iter().zip([first, second].into_iter().cycle()) {
            let id = if mine { "me" } else { "you" };
            let Value::Object(members) = at(path, spellings(id)[spelling].clone()) else { unreachable!() };
            resource.as_object_mut().unwrap().extend(members);
        }
        let native = format_conversion::convert_to_native(resource.clone());
        let fhir = format_conversion::convert_to_fhir(native.clone());
        for spelled in [&resource, &native, &fhir] {
            prop_assert_eq!(compartment().contains_resource(&key, spelled), mine, "{}", spelled);
            prop_assert_eq!(compartment().other_patient_ids(&key, spelled).is_empty(), mine, "{}", spelled);
        }
    }

    #[test]
    fn any_document_has_an_answer(row in 0..patient::PATHS.len(), resource in property_testing::any_json()) {
        let key: ResourceKey = format!("{}/1", patient::PATHS[row].0).parse().unwrap();
        prop_assert!(!compartment().contains_resource(&key, &resource), "it names no Patient");
        prop_assert!(compartment().other_patient_ids(&key, &resource).is_empty());
    }
}
