//! Whatever is stored, and whatever the parts of an identifier.

use b2b_claim::{B2bClaim, ClientB2bExtension, OrganizationId, SubExtension, extension_url, validate_b2b_extension};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::{Map, Value};

use crate::{EXT_BASE, client_with, complete_parts, organization};

/// The same cases on every run and machine; nothing is written beside the tests.
fn seeded() -> Config {
    Config { cases: 500, rng_seed: RngSeed::Fixed(0xb2b), failure_persistence: None, ..Config::default() }
}

/// JSON made of the words that matter here, so that it comes close to real resources.
fn json_near_the_resources() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "url",
        "extension",
        "auth",
        "client_credentials",
        "token_format",
        "jwt",
        "organization",
        "value",
        "valueUri",
        "organizationIdentifierSystem",
        "valueReference",
        "reference",
        "Organization/a",
        "identifier",
        "system",
        "id",
        "purposeOfUse",
        "valueCoding",
        "code",
        "resourceType",
        "Organization",
        "name",
        "#",
        "",
        "a#b",
    ]);
    let text = prop_oneof![word.prop_map(str::to_owned), Just(extension_url(EXT_BASE)), any::<String>()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        let fields = prop::collection::vec((text.clone(), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::from),
            fields.prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn joining_and_splitting_an_identifier_is_the_identity(system in ".{1,40}", value in "[^#]{1,40}") {
        let id = OrganizationId::new(&system, &value).unwrap();
        let read = OrganizationId::parse(&id.to_string()).unwrap();
        prop_assert_eq!((read.system(), read.value()), (system.as_str(), value.as_str()));
    }

    #[test]
    fn splitting_and_joining_an_organization_id_is_the_identity(text in "[a#:/]{0,12}") {
        if let Ok(id) = OrganizationId::parse(&text) {
            prop_assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn no_stored_client_makes_the_reading_panic(client in json_near_the_resources()) {
        let _ = ClientB2bExtension::from_client(&client, EXT_BASE, "client_credentials");
        let _ = validate_b2b_extension(&client, EXT_BASE);
        let _ = serde_json::from_value::<B2bClaim>(client);
    }

    #[test]
    fn no_content_of_the_extension_makes_the_reading_panic(parts in prop::collection::vec(json_near_the_resources(), 0..4)) {
        let client = client_with(&Value::from(parts));
        if let Err(omission) = ClientB2bExtension::from_client(&client, EXT_BASE, "client_credentials") {
            prop_assert_eq!(omission.failed_condition(), 2);
            prop_assert_eq!(omission.to_diagnosis().advice, omission.to_string());
        }
        let _ = validate_b2b_extension(&client, EXT_BASE);
    }

    #[test]
    fn no_stored_value_of_a_part_makes_the_reading_panic(value in json_near_the_resources(), at in 0_usize..2) {
        let mut parts = complete_parts();
        let kind = [SubExtension::Organization, SubExtension::OrganizationIdentifierSystem][at];
        parts[at][kind.value_element()] = value;
        let client = client_with(&parts);
        let is_read = ClientB2bExtension::from_client(&client, EXT_BASE, "client_credentials").is_ok();
        prop_assert_eq!(validate_b2b_extension(&client, EXT_BASE).is_empty(), is_read, "the check on write foretells the claim");
    }

    #[test]
    fn an_organization_of_any_shape_gives_a_claim_of_its_own_identifier_or_a_reason(identifier in json_near_the_resources()) {
        let client = client_with(&complete_parts());
        let registration = ClientB2bExtension::from_client(&client, EXT_BASE, "client_credentials").unwrap();
        let mut organization = organization();
        organization["identifier"] = identifier;
        match registration.build_claim(Some(&organization)) {
            Ok(claim) => prop_assert_eq!(claim.organization_id.system(), registration.identifier_system),
            Err(omission) => prop_assert_eq!(omission.failed_condition(), 3),
        }
    }
}
