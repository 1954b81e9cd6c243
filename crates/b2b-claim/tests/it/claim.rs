//! What the claim says.

use b2b_claim::{B2bClaim, ClientB2bExtension, Omission, OrganizationId, OrganizationIdError};
use serde_json::{Value, json};

use crate::{EXT_BASE, NPI, client_with, complete_parts, organization};

fn claim_of(parts: &Value, organization: &Value) -> Result<B2bClaim, Omission> {
    ClientB2bExtension::from_client(&client_with(parts), EXT_BASE, "client_credentials")?
        .build_claim(Some(organization))
}

fn as_json(claim: &B2bClaim) -> Value {
    serde_json::to_value(claim).unwrap()
}

#[test]
fn the_claim_has_version_organization_id_and_organization_name() {
    let claim = claim_of(&complete_parts(), &organization()).unwrap();
    let expected = json!({
        "version": "1",
        "organization_id": "http://hl7.org/fhir/sid/us-npi#1234567893",
        "organization_name": "Payer A"
    });
    assert_eq!(as_json(&claim), expected);
    assert_eq!(b2b_claim::CLAIM_KEY, "hl7-b2b");
}

#[test]
fn there_is_one_purpose_of_use_string_per_registered_purpose() {
    let reason = "http://terminology.hl7.org/CodeSystem/v3-ActReason";
    let mut parts = complete_parts();
    for code in ["HPAYMT", "TREAT"] {
        let part = json!({"url": "purposeOfUse", "valueCoding": {"system": reason, "code": code}});
        parts.as_array_mut().unwrap().push(part);
    }
    let claim = claim_of(&parts, &organization()).unwrap();
    assert_eq!(as_json(&claim)["purpose_of_use"], json!([format!("{reason}#HPAYMT"), format!("{reason}#TREAT")]));
}

#[test]
fn a_purpose_without_system_or_code_is_left_out() {
    let mut parts = complete_parts();
    for coding in [json!({"code": "TREAT"}), json!({"system": "s"}), json!({"system": "s", "code": ""}), json!("TREAT")]
    {
        parts.as_array_mut().unwrap().push(json!({"url": "purposeOfUse", "valueCoding": coding}));
    }
    parts
        .as_array_mut()
        .unwrap()
        .push(json!({"url": "purposeOfUse", "value": {"Coding": {"system": "s", "code": "c"}}}));
    let claim = claim_of(&parts, &organization()).unwrap();
    assert_eq!(as_json(&claim).get("purpose_of_use"), None, "emitted only when at least one can be read");
}

#[test]
fn an_organization_without_a_name_gives_a_claim_without_one() {
    for name in [Value::Null, json!(""), json!(7)] {
        let mut organization = organization();
        organization["name"] = name;
        let claim = claim_of(&complete_parts(), &organization).unwrap();
        assert_eq!(as_json(&claim).get("organization_name"), None);
    }
}

#[test]
fn later_edits_of_the_organization_apply_to_the_next_token() {
    let client = client_with(&complete_parts());
    let registration = ClientB2bExtension::from_client(&client, EXT_BASE, "client_credentials").unwrap();
    let mut edited = organization();
    edited["name"] = json!("Payer B");
    edited["identifier"][1]["value"] = json!("999");
    let claim = registration.build_claim(Some(&edited)).unwrap();
    assert_eq!((claim.organization_name.as_deref(), claim.organization_id.value()), (Some("Payer B"), "999"));
}

#[test]
fn both_forms_of_a_reference_are_read() {
    for reference in
        [json!({"reference": "Organization/payer-a"}), json!({"resourceType": "Organization", "id": "payer-a"})]
    {
        let mut parts = complete_parts();
        parts[0]["valueReference"] = reference;
        assert!(claim_of(&parts, &organization()).is_ok());
    }
}

#[test]
fn the_registration_of_each_grant_is_its_own() {
    let mut client = client_with(&complete_parts());
    client["auth"] = json!({"authorization_code": {"token_format": "jwt"}});
    assert!(ClientB2bExtension::from_client(&client, EXT_BASE, "authorization_code").is_ok());
    let omission = ClientB2bExtension::from_client(&client, EXT_BASE, "client_credentials").unwrap_err();
    assert_eq!(omission, Omission::NotJwt { grant: "client_credentials".to_owned(), stored: None });
}

#[test]
fn a_slash_at_the_end_of_the_base_address_does_not_matter() {
    let client = client_with(&complete_parts());
    assert!(ClientB2bExtension::from_client(&client, &format!("{EXT_BASE}/"), "client_credentials").is_ok());
}

#[test]
fn the_first_identifier_of_the_system_that_has_a_value_is_taken() {
    let mut organization = organization();
    organization["identifier"] = json!([
        {"system": NPI, "value": ""},
        {"system": NPI},
        {"system": NPI, "value": "first"},
        {"system": NPI, "value": "second"}
    ]);
    let claim = claim_of(&complete_parts(), &organization).unwrap();
    assert_eq!(claim.organization_id.value(), "first");
}

#[test]
fn a_system_that_itself_contains_a_hash_stays_on_the_system_side() {
    let system = "http://hl7.org/fhir/us/carin-bb/CodeSystem/C4BBIdentifierType#payerid";
    let mut parts = complete_parts();
    parts[1]["valueUri"] = json!(system);
    let organization = json!({"identifier": [{"system": system, "value": "60054"}]});
    let claim = claim_of(&parts, &organization).unwrap();
    let text = claim.organization_id.to_string();
    assert_eq!(text, format!("{system}#60054"));
    let read = OrganizationId::parse(&text).unwrap();
    assert_eq!((read.system(), read.value()), (system, "60054"));
}

#[test]
fn an_organization_id_without_both_parts_is_refused() {
    let table = [
        ("", OrganizationIdError::NoSeparator),
        ("1234567893", OrganizationIdError::NoSeparator),
        ("#1234567893", OrganizationIdError::EmptySystem),
        ("#", OrganizationIdError::EmptySystem),
        ("http://hl7.org/fhir/sid/us-npi#", OrganizationIdError::EmptyValue),
        ("a##", OrganizationIdError::EmptyValue),
    ];
    for (text, expected) in table {
        assert_eq!(OrganizationId::parse(text), Err(expected), "{text}");
    }
    assert_eq!(OrganizationId::new("s", "a#b"), Err(OrganizationIdError::SeparatorInValue));
}

#[test]
fn a_claim_is_read_back_from_a_token() {
    let claim = claim_of(&complete_parts(), &organization()).unwrap();
    assert_eq!(serde_json::from_value::<B2bClaim>(as_json(&claim)).unwrap(), claim);
}

#[test]
fn a_claim_of_another_version_or_without_a_proper_id_is_not_read() {
    let claim = as_json(&claim_of(&complete_parts(), &organization()).unwrap());
    for (field, value) in [("version", json!("2")), ("version", json!(1)), ("organization_id", json!("no-separator"))] {
        let mut changed = claim.clone();
        changed[field] = value;
        assert!(serde_json::from_value::<B2bClaim>(changed).is_err(), "{field}");
    }
}
