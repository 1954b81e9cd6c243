//! Why there is no claim: each cause by its own name.

use b2b_claim::{ClientB2bExtension, Omission, SubExtension};
use serde_json::{Value, json};

use crate::{EXT_BASE, NPI, client_with, complete_parts, organization};

fn omission_of_client(client: &Value) -> Omission {
    ClientB2bExtension::from_client(client, EXT_BASE, "client_credentials").unwrap_err()
}

fn omission_of_parts(parts: &Value) -> Omission {
    omission_of_client(&client_with(parts))
}

fn omission_of_organization(organization: Option<&Value>) -> Omission {
    let client = client_with(&complete_parts());
    ClientB2bExtension::from_client(&client, EXT_BASE, "client_credentials")
        .unwrap()
        .build_claim(organization)
        .unwrap_err()
}

#[track_caller]
fn assert_says(omission: &Omission, condition: u8, code: &str, words: &[&str]) {
    assert_eq!((omission.failed_condition(), omission.metric_label()), (condition, code));
    let sentence = omission.to_string();
    for word in words {
        assert!(sentence.contains(word), "{sentence}");
    }
}

#[test]
fn any_other_token_format_yields_no_claim() {
    for (stored, shown) in [(json!("opaque"), "opaque"), (json!("JWT"), "JWT"), (json!(true), "true")] {
        let mut client = client_with(&complete_parts());
        client["auth"]["client_credentials"]["token_format"] = stored;
        let omission = omission_of_client(&client);
        assert_eq!(
            omission,
            Omission::NotJwt { grant: "client_credentials".to_owned(), stored: Some(shown.to_owned()) }
        );
        assert_says(&omission, 1, "not_jwt", &["Client.auth.client_credentials.token_format", shown]);
    }
}

#[test]
fn a_client_without_the_extension_yields_no_claim() {
    let mut client = client_with(&complete_parts());
    client["extension"][1]["url"] = json!("http://other.example/StructureDefinition/client-hl7B2b");
    let omission = omission_of_client(&client);
    assert_says(
        &omission,
        2,
        "no_extension",
        &["http://platform.example/fhir/StructureDefinition/client-hl7B2b", "http://other.example"],
    );
    client.as_object_mut().unwrap().remove("extension");
    assert!(matches!(omission_of_client(&client), Omission::NoExtension { stored_urls, .. } if stored_urls.is_empty()));
}

#[test]
fn a_client_with_two_extensions_yields_no_claim() {
    let mut client = client_with(&complete_parts());
    let second = client["extension"][1].clone();
    client["extension"].as_array_mut().unwrap().push(second);
    assert_eq!(omission_of_client(&client), Omission::RepeatedExtension { count: 2 });
}

#[test]
fn the_token_builder_does_not_read_the_union_form() {
    let table = [
        (
            0,
            json!({"url": "organization", "value": {"Reference": {"reference": "Organization/payer-a"}}}),
            SubExtension::Organization,
        ),
        (
            0,
            json!({"url": "organization", "value": {"Reference": {"resourceType": "Organization", "id": "payer-a"}}}),
            SubExtension::Organization,
        ),
        (
            1,
            json!({"url": "organizationIdentifierSystem", "value": {"uri": NPI}}),
            SubExtension::OrganizationIdentifierSystem,
        ),
    ];
    for (at, part, sub_extension) in table {
        let mut parts = complete_parts();
        parts[at] = part;
        let omission = omission_of_parts(&parts);
        assert_eq!(omission, Omission::UnionForm { sub_extension });
        assert_says(&omission, 2, "union_form", &["native base endpoint", "/fhir", sub_extension.value_element()]);
    }
}

#[test]
fn other_sub_extension_urls_yield_no_claim_and_are_named() {
    let mut parts = complete_parts();
    parts[0]["url"] = json!("Organization");
    let omission = omission_of_parts(&parts);
    let stored_urls = vec!["Organization".to_owned(), "organizationIdentifierSystem".to_owned()];
    assert_eq!(omission, Omission::MissingOrganization { stored_urls });
    assert_says(&omission, 2, "missing_organization", &["'Organization'"]);

    let mut parts = complete_parts();
    parts[1]["url"] = json!("identifierSystem");
    assert_says(&omission_of_parts(&parts), 2, "missing_identifier_system", &["'identifierSystem'"]);
}

#[test]
fn both_organization_and_organization_identifier_system_are_needed() {
    let parts = complete_parts();
    assert_eq!(omission_of_parts(&json!([parts[1]])).metric_label(), "missing_organization");
    assert_eq!(omission_of_parts(&json!([parts[0]])).metric_label(), "missing_identifier_system");
    assert_eq!(omission_of_parts(&json!([])).metric_label(), "missing_organization");
}

#[test]
fn a_second_organization_or_system_yields_no_claim() {
    for (at, sub_extension) in [(0, SubExtension::Organization), (1, SubExtension::OrganizationIdentifierSystem)] {
        let mut parts = complete_parts();
        let second = parts[at].clone();
        parts.as_array_mut().unwrap().push(second);
        assert_eq!(omission_of_parts(&parts), Omission::Repeated { sub_extension, count: 2 });
    }
}

#[test]
fn a_value_in_a_foreign_element_yields_no_claim() {
    let mut parts = complete_parts();
    parts[1] = json!({"url": "organizationIdentifierSystem", "valueString": NPI});
    let omission = omission_of_parts(&parts);
    let (sub_extension, stored) = (SubExtension::OrganizationIdentifierSystem, vec!["valueString".to_owned()]);
    assert_eq!(omission, Omission::WrongValueElement { sub_extension, stored });
    assert_says(&omission, 2, "wrong_value_element", &["valueUri", "valueString"]);
}

#[test]
fn references_that_are_not_to_an_organization_of_this_deployment_are_not_resolved() {
    let references = [
        json!({"reference": "https://other.example/fhir/Organization/payer-a"}),
        json!({"reference": "/Organization/payer-a"}),
        json!({"reference": "Organization/payer-a/_history/2"}),
        json!({"reference": "Organization/"}),
        json!({"reference": "Organization/a b"}),
        json!({"reference": "Organization/a#b"}),
        json!({"reference": "Organization?identifier=x"}),
        json!({"reference": "organization/payer-a"}),
        json!({"reference": "Practitioner/payer-a"}),
        json!({"reference": "#payer-a"}),
        json!({"reference": null, "resourceType": "Organization", "id": "payer-a"}),
        json!({"resourceType": "Practitioner", "id": "payer-a"}),
        json!({"resourceType": "Organization"}),
        json!({"id": "payer-a"}),
        json!({"identifier": {"system": NPI, "value": "1234567893"}}),
        json!({"reference": format!("Organization/{}", "x".repeat(b2b_claim::limits::MAX_REFERENCE_ID_BYTES + 1))}),
        json!("Organization/payer-a"),
        json!(null),
    ];
    for reference in references {
        let mut parts = complete_parts();
        parts[0]["valueReference"] = reference.clone();
        assert_eq!(omission_of_parts(&parts).metric_label(), "bad_organization_reference", "{reference}");
    }
}

#[test]
fn an_empty_identifier_system_yields_no_claim() {
    for system in [json!(""), json!(" "), json!(null), json!({"uri": NPI})] {
        let mut parts = complete_parts();
        parts[1]["valueUri"] = system;
        assert_eq!(omission_of_parts(&parts).metric_label(), "bad_identifier_system");
    }
}

#[test]
fn an_absent_organization_yields_no_claim() {
    let omission = omission_of_organization(None);
    assert_eq!(omission, Omission::OrganizationAbsent { id: "payer-a".to_owned() });
    assert_says(&omission, 3, "organization_absent", &["Organization/payer-a"]);
}

#[test]
fn another_resource_than_the_registered_one_counts_as_absent() {
    for (field, value) in [("id", "payer-b"), ("resourceType", "Patient")] {
        let mut other = organization();
        other[field] = json!(value);
        assert_eq!(omission_of_organization(Some(&other)).metric_label(), "organization_absent");
    }
    assert_eq!(omission_of_organization(Some(&json!("x"))).metric_label(), "organization_absent");
}

#[test]
fn a_trailing_slash_or_an_http_https_difference_counts_as_a_mismatch() {
    let table = [
        ("http://hl7.org/fhir/sid/us-npi/", "slash"),
        ("https://hl7.org/fhir/sid/us-npi", "http or https"),
        ("HTTP://hl7.org/fhir/sid/us-npi", ""),
        ("http://hl7.org/fhir/sid/us-NPI", ""),
        (" http://hl7.org/fhir/sid/us-npi", ""),
    ];
    for (system, hint) in table {
        let mut organization = organization();
        organization["identifier"] = json!([{"system": system, "value": "1234567893"}]);
        let omission = omission_of_organization(Some(&organization));
        let (expected_system, stored_systems) = (NPI.to_owned(), vec![system.to_owned()]);
        assert_eq!(omission, Omission::NoMatchingIdentifier { expected_system, stored_systems });
        assert_says(&omission, 3, "no_matching_identifier", &[NPI, system, hint]);
    }
}

#[test]
fn an_organization_without_identifiers_yields_no_claim() {
    for identifier in [json!(null), json!([]), json!({"system": NPI, "value": "1"}), json!([{"value": "1"}, 7])] {
        let mut organization = organization();
        organization["identifier"] = identifier;
        assert_eq!(omission_of_organization(Some(&organization)).metric_label(), "no_matching_identifier");
    }
}

#[test]
fn an_empty_identifier_value_counts_as_no_match() {
    for value in [json!(""), json!("  "), json!(null), json!(1_234_567_893)] {
        let mut organization = organization();
        organization["identifier"] = json!([{"system": NPI, "value": value}]);
        assert_eq!(
            omission_of_organization(Some(&organization)),
            Omission::EmptyIdentifierValue { system: NPI.to_owned() }
        );
    }
}

#[test]
fn a_value_that_would_be_read_back_as_another_organization_yields_no_claim() {
    let mut organization = organization();
    organization["identifier"] = json!([{"system": NPI, "value": "payerid#60054"}]);
    let omission = omission_of_organization(Some(&organization));
    assert_eq!(omission, Omission::SeparatorInValue { stored: "payerid#60054".to_owned() });
    assert_says(&omission, 3, "separator_in_value", &["payerid#60054"]);
}

#[test]
fn a_diagnosis_carries_condition_check_stored_expected_and_advice() {
    let mut organization = organization();
    organization["identifier"] = json!([{"system": "http://hl7.org/fhir/sid/us-npi/", "value": "1"}]);
    let omission = omission_of_organization(Some(&organization));
    let expected = json!({
        "condition": 3,
        "check": "no_matching_identifier",
        "stored": ["http://hl7.org/fhir/sid/us-npi/"],
        "expected": NPI,
        "advice": omission.to_string()
    });
    assert_eq!(serde_json::to_value(omission.to_diagnosis()).unwrap(), expected);
}

#[test]
fn what_an_explanation_quotes_is_bounded() {
    let mut parts = complete_parts();
    parts[0]["valueReference"] = json!({"reference": "ä".repeat(10_000)});
    assert!(omission_of_parts(&parts).to_string().chars().count() < 400);
    let many: Vec<_> = (0..1000).map(|n| json!({"system": format!("urn:{n}"), "value": "1"})).collect();
    let omission = omission_of_organization(Some(&json!({"identifier": many})));
    assert_eq!(omission.to_diagnosis().stored.len(), b2b_claim::limits::MAX_QUOTED_VALUES);
}

#[test]
fn what_an_explanation_quotes_stays_on_one_line() {
    let mut parts = complete_parts();
    parts[0]["valueReference"] = json!({"reference": "x\r\nlevel=error"});
    parts[1]["valueUri"] = json!("urn:x\nlevel=error");
    let omission = omission_of_parts(&parts);
    assert!(!omission.to_string().contains(['\r', '\n']), "{omission}");
    parts[0] = complete_parts()[0].clone();
    let client = client_with(&parts);
    let registration = ClientB2bExtension::from_client(&client, EXT_BASE, "client_credentials").unwrap();
    let omission = registration.build_claim(Some(&organization())).unwrap_err();
    assert!(!omission.to_string().contains('\n'), "{omission}");
}
