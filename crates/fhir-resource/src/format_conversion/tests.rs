use proptest::prelude::*;
use serde_json::json;

use super::*;

fn both_ways(fhir: &Value, native: &Value) {
    assert_eq!(convert_to_native(fhir.clone()), *native);
    assert_eq!(convert_to_fhir(native.clone()), *fhir);
    assert_eq!(convert_to_fhir(fhir.clone()), *fhir, "FHIR stays FHIR");
    assert_eq!(convert_to_native(native.clone()), *native, "native stays native");
}

#[test]
fn of_an_access_policy_only_the_link_is_rewritten() {
    let pattern = json!({"resource": {"subject": {"reference": "Patient/1"}, "organization": {"localRef": "a"},
        "custodian": {"resourceType": "Organization", "id": "o"},
        "extension": [{"url": "u", "valueUri": "x"}, {"url": "u", "value": {"uri": "x"}}]}});
    let policy = |link: &Value| {
        json!({"resourceType": "AccessPolicy", "engine": "matcho", "matcho": pattern,
        "link": [link]})
    };
    let (fhir, native) = (json!({"reference": "Client/c"}), json!({"resourceType": "Client", "id": "c"}));
    assert_eq!(convert_to_native(policy(&fhir)), policy(&native));
    assert_eq!(convert_to_fhir(policy(&native)), policy(&fhir));
}

#[test]
fn references_are_written_in_their_parts() {
    both_ways(
        &json!({
            "subject": {"reference": "Patient/1", "display": "A"},
            "author": [{"display": "B", "reference": "https://h/fhir/Patient/2"}],
            "focus": {"reference": "Patient/3/_history/4"},
            "part": {"reference": "#c1"},
            "urn": {"reference": "urn:uuid:1"},
        }),
        &json!({
            "subject": {"resourceType": "Patient", "id": "1", "display": "A"},
            "author": [{"display": "B", "uri": "https://h/fhir/Patient/2"}],
            "focus": {"resourceType": "Patient", "id": "3", "versionId": "4"},
            "part": {"localRef": "c1"},
            "urn": {"uri": "urn:uuid:1"},
        }),
    );
}

#[test]
fn the_b2b_extension_takes_the_union_form_at_every_level() {
    let url = "http://platform.example/fhir/StructureDefinition/client-hl7B2b";
    both_ways(
        &json!({"resourceType": "Client", "id": "c1", "extension": [{"url": url, "extension": [
            {"url": "organization", "valueReference": {"reference": "Organization/o1"}},
            {"url": "organizationIdentifierSystem", "valueUri": "http://hl7.org/fhir/sid/us-npi"},
            {"url": "purposeOfUse", "valueCoding": {"system": "s", "code": "HPAYMT"}},
        ]}]}),
        &json!({"resourceType": "Client", "id": "c1", "extension": [{"url": url, "extension": [
            {"url": "organization",
             "value": {"Reference": {"resourceType": "Organization", "id": "o1"}}},
            {"url": "organizationIdentifierSystem",
             "value": {"uri": "http://hl7.org/fhir/sid/us-npi"}},
            {"url": "purposeOfUse", "value": {"Coding": {"system": "s", "code": "HPAYMT"}}},
        ]}]}),
    );
}

#[test]
fn every_primitive_begins_with_a_small_letter_natively() {
    for primitive in PRIMITIVES {
        let choice = choice_of_type(primitive).unwrap();
        assert_eq!(type_of_choice(&choice).as_deref(), Some(primitive));
        both_ways(
            &json!({"modifierExtension": [{"url": "u", choice: 1}]}),
            &json!({"modifierExtension": [{"url": "u", "value": {primitive: 1}}]}),
        );
    }
}

#[test]
fn what_only_looks_like_a_reference_or_a_choice_stays_as_sent() {
    for value in [
        json!({"deceasedBoolean": true, "valueString": "x"}),
        json!({"a": {"reference": "Patient?identifier=1"}}),
        json!({"a": {"reference": "Patient/1", "more": 1}}),
        json!({"a": {"reference": {"reference": 1}}}),
        json!({"a": {"id": "element", "reference": "Patient/1"}}),
        json!({"extension": [{"url": "u", "valueString": "a", "valueCode": "b"}]}),
        json!({"extension": [{"url": "u", "value": {"string": "a", "code": "b"}}]}),
        json!({"extension": [{"url": "u", "values": "a"}]}),
        json!({"contained": [{"resourceType": "Patient", "id": "1"}]}),
        json!({"entry": [{"resource": {"resourceType": "Patient", "id": "1"}}]}),
        json!({"dependsOn": [{"uri": "http://x"}]}),
        json!({"dependsOn": [{"reference": "http://x"}]}),
        json!({"matcho": {"uri": "/fhir/Patient", "request-method": "get"}}),
        json!({"value": {"uri": "http://x"}}),
    ] {
        assert_eq!(convert_to_native(value.clone()), value);
        assert_eq!(convert_to_fhir(value.clone()), value);
    }
}

#[test]
fn a_mixture_reads_as_fhir() {
    let mixed = json!({
        "a": {"reference": "Patient/1"}, "b": {"resourceType": "Patient", "id": "2"},
        "extension": [{"url": "u", "valueReference": {"resourceType": "Patient", "id": "3"}}],
    });
    let fhir = json!({
        "a": {"reference": "Patient/1"}, "b": {"reference": "Patient/2"},
        "extension": [{"url": "u", "valueReference": {"reference": "Patient/3"}}],
    });
    assert_eq!(convert_to_fhir(mixed), fhir);
}

#[test]
fn the_order_of_keys_stays() {
    let fhir =
        r#"{"z":1,"ref":{"display":"d","reference":"A/b","type":"A"},"extension":[{"valueUri":"x","url":"u"}],"a":2}"#;
    let value: Value = serde_json::from_str(fhir).unwrap();
    assert_eq!(convert_to_fhir(convert_to_native(value)).to_string(), fhir);
}

/// JSON made of the words the conversion looks at.
pub(super) fn json_of(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let texts = [
        "Patient/1",
        "Patient/1/_history/2",
        "#c1",
        "#",
        "http://h/x",
        "urn:uuid:1",
        "Patient",
        "1",
        "Patient?x=1",
        "",
        "A/b/c",
    ];
    let leaf = prop_oneof![
        4 => proptest::sample::select(texts.to_vec()).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(5, 48, 4, move |inner| {
        let member = (proptest::sample::select(keys.to_vec()), inner.clone());
        prop_oneof![
            1 => proptest::collection::vec(inner, 0..3).prop_map(Value::Array),
            3 => proptest::collection::vec(member, 0..4).prop_map(|members| {
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}

const FHIR_KEYS: &[&str] = &[
    "reference",
    "display",
    "type",
    "identifier",
    "extension",
    "modifierExtension",
    "url",
    "subject",
    "contained",
    "resource",
    "valueReference",
    "valueUri",
    "valueString",
    "valueCoding",
    "valuePeriod",
    "_valueString",
    "deceasedBoolean",
    "value2",
    "dependsOn",
];

pub(super) const ALL_KEYS: &[&str] = &[
    "reference",
    "display",
    "type",
    "identifier",
    "extension",
    "extension",
    "url",
    "subject",
    "contained",
    "valueReference",
    "valueUri",
    "valueString",
    "value",
    "value",
    "Reference",
    "uri",
    "string",
    "Coding",
    "resourceType",
    "id",
    "versionId",
    "localRef",
    "dependsOn",
    "mapping",
];

proptest! {
    #![proptest_config(crate::property_testing::seeded_proptest_config(2000))]

    #[test]
    fn what_is_written_as_fhir_is_read_as_it_was(fhir in json_of(FHIR_KEYS)) {
        prop_assert_eq!(convert_to_fhir(fhir.clone()), fhir.clone());
        prop_assert_eq!(convert_to_fhir(convert_to_native(fhir.clone())), fhir);
    }

    #[test]
    fn any_spelling_reads_the_same_before_and_after_it_was_made_native(any in json_of(ALL_KEYS)) {
        let fhir = convert_to_fhir(any.clone());
        let native = convert_to_native(any);
        prop_assert_eq!(convert_to_fhir(native.clone()), fhir.clone());
        prop_assert_eq!(convert_to_fhir(fhir.clone()), fhir);
        prop_assert_eq!(convert_to_native(native.clone()), native);
    }
}
