use std::sync::LazyLock;

use fhir_resource::{format_conversion, property_testing};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::SearchParameterCatalog;

static CATALOG: LazyLock<Arc<SearchParameterCatalog>> = LazyLock::new(SearchParameterCatalog::with_r4_only);
const OWN: &str = "https://payer.example/fhir";

fn entries_of(catalog: &SearchParameterCatalog, resource_type: &str, body: &Value) -> Vec<(String, IndexEntry)> {
    let resource_type: ResourceType = resource_type.parse().unwrap();
    let document = IndexedDocument { resource_type: &resource_type, id: "1", updated_us: 7, body, base_url: OWN };
    let name = |number: i64| {
        catalog
            .parameters_of_type(&resource_type)
            .find(|parameter| parameter.number == number)
            .map_or("", |parameter| &parameter.code)
    };
    catalog.index_entries_of(&document).into_iter().map(|(number, entry)| (name(number).to_owned(), entry)).collect()
}

/// Returns the entries of one parameter.
fn entries(resource_type: &str, code: &str, body: &Value) -> Vec<IndexEntry> {
    let all = entries_of(&CATALOG, resource_type, body);
    all.into_iter().filter_map(|(name, entry)| (name == code).then_some(entry)).collect()
}

fn token(system: Option<&str>, code: &str) -> IndexEntry {
    IndexEntry::Token { system: system.map(str::to_owned), code: Some(code.to_owned()) }
}

fn display(folded: &str) -> IndexEntry {
    IndexEntry::Display { folded: folded.to_owned() }
}

fn text(folded: &str, exact: &str) -> IndexEntry {
    IndexEntry::Text { folded: folded.to_owned(), exact: exact.to_owned() }
}

fn reference(name: &str) -> IndexEntry {
    let (resource_type, id) = name.split_once('/').unwrap();
    IndexEntry::Reference { resource_type: resource_type.to_owned(), id: id.to_owned() }
}

fn uri(uri: &str, version: Option<&str>) -> IndexEntry {
    IndexEntry::Uri { uri: uri.to_owned(), version: version.map(str::to_owned) }
}

fn quantity(low: f64, high: f64, units: [Option<&str>; 3]) -> IndexEntry {
    let [system, code, unit] = units.map(|unit| unit.map(str::to_owned));
    IndexEntry::Quantity { low, high, system, code, unit }
}

#[test]
fn a_concept_gives_its_codings_and_its_words() {
    let body = json!({"code": {
        "coding": [{"system": "http://loinc.org", "code": "8867-4", "display": "Heart rate"}, {"code": "HR"}, {"system": "s"}],
        "text": "Pulse",
    }});
    let expected = [
        display("pulse"),
        token(Some("http://loinc.org"), "8867-4"),
        display("heart rate"),
        token(None, "HR"),
        IndexEntry::Token { system: Some("s".to_owned()), code: None },
    ];
    assert_eq!(entries("Observation", "code", &body), expected);
}

#[test]
fn identifiers_contacts_codes_and_booleans_are_tokens() {
    let body = json!({
        "identifier": [{"system": "http://s", "value": "1", "type": {"coding": [{"system": "t", "code": "MR"}], "text": "X"}}],
        "telecom": [{"system": "phone", "value": "555"}, {"system": "email", "value": "a@b"}],
        "gender": "female",
        "active": true,
    });
    let typed =
        IndexEntry::TypedIdentifier { system: Some("t".to_owned()), code: "MR".to_owned(), value: "1".to_owned() };
    assert_eq!(entries("Patient", "identifier", &body), [token(Some("http://s"), "1"), display("x"), typed]);
    assert_eq!(entries("Patient", "phone", &body), [token(Some("phone"), "555")]);
    assert_eq!(entries("Patient", "telecom", &body), [token(Some("phone"), "555"), token(Some("email"), "a@b")]);
    assert_eq!(entries("Patient", "gender", &body), [token(None, "female")]);
    let special = "http://terminology.hl7.org/CodeSystem/special-values";
    assert_eq!(entries("Patient", "active", &body), [token(Some(special), "true")]);
}

#[test]
fn names_and_addresses_give_their_parts() {
    let body = json!({
        "name": [{"use": "official", "family": "Müller", "given": ["Ève", "B"], "text": "Dr. Ève Müller"}],
        "address": [{"use": "home", "line": ["1 Rue"], "city": "Paris", "postalCode": "75001"}],
    });
    let expected =
        [text("dr. eve muller", "Dr. Ève Müller"), text("muller", "Müller"), text("eve", "Ève"), text("b", "B")];
    assert_eq!(entries("Patient", "name", &body), expected);
    assert_eq!(entries("Patient", "family", &body), [text("muller", "Müller")]);
    let expected = [text("1 rue", "1 Rue"), text("paris", "Paris"), text("75001", "75001")];
    assert_eq!(entries("Patient", "address", &body), expected);
}

#[test]
fn what_follows_from_nothing_is_an_entry_too() {
    let special = "http://terminology.hl7.org/CodeSystem/special-values";
    for body in [json!({}), json!({"active": null})] {
        assert_eq!(entries("Patient", "deceased", &body), [token(Some(special), "false")]);
    }
}

#[test]
fn a_reference_is_to_here_or_elsewhere_in_either_spelling() {
    let subject = |reference: Value| entries("Observation", "subject", &json!({"subject": reference}));
    for here in [
        json!({"reference": "Patient/p"}),
        json!({"reference": "Patient/p/_history/3"}),
        json!({"resourceType": "Patient", "id": "p"}),
    ] {
        assert_eq!(subject(here.clone()), [reference("Patient/p")], "{here}");
    }
    // By its address it is known which resources another base URL concerns.
    let address = format!("{OWN}/Patient/p");
    let versioned = format!("{address}/_history/3");
    for here in [json!({"reference": address}), json!({"uri": address}), json!({"reference": versioned})] {
        assert_eq!(subject(here.clone()), [reference("Patient/p"), uri(&address, None)], "{here}");
    }
    let elsewhere = "https://elsewhere.example/fhir/Patient/p";
    for address in [elsewhere, "urn:uuid:4f6c9d3a-0000-4000-8000-000000000001", "https://payer.example/fhirs/Patient/p"]
    {
        assert_eq!(subject(json!({"reference": address})), [uri(address, None)]);
        assert_eq!(subject(json!({"uri": address})), [uri(address, None)]);
    }
    let logical = json!({"identifier": {"system": "s", "value": "1", "type": {"text": "no words of a reference"}}});
    assert_eq!(subject(logical), [token(Some("s"), "1")]);
    for none in [json!({"reference": "#c"}), json!({"reference": "Patient?x=1"}), json!({"display": "X"})] {
        assert_eq!(subject(none.clone()), [], "{none}");
    }
}

#[test]
fn a_canonical_is_known_with_its_version_and_without() {
    let body = |canonical: &str| json!({"questionnaire": canonical});
    let found = |canonical: &str| entries("QuestionnaireResponse", "questionnaire", &body(canonical));
    assert_eq!(found("http://q/1|2"), [uri("http://q/1", Some("2"))]);
    let questionnaire = format!("{OWN}/Questionnaire/q");
    assert_eq!(found(&format!("{questionnaire}|2")), [reference("Questionnaire/q"), uri(&questionnaire, Some("2"))]);
}

#[test]
fn a_time_is_as_long_as_it_is_exact() {
    let period = |date: Value| entries("Observation", "date", &date);
    let day = IndexEntry::Period { from_us: 0, to_us: 86_400_000_000 - 1 };
    assert_eq!(period(json!({"effectiveDateTime": "1970-01-01"})), [day]);
    let second = IndexEntry::Period { from_us: 1_000_000, to_us: 1_999_999 };
    assert_eq!(period(json!({"effectiveInstant": "1970-01-01T01:00:01+01:00"})), [second]);
    let open = IndexEntry::Period { from_us: i64::MIN, to_us: 999 };
    assert_eq!(period(json!({"effectivePeriod": {"end": "1970-01-01T00:00:00.000Z"}})), [open]);
    let bounds = json!({"event": ["1970-01-01T00:00:00Z"], "repeat": {"boundsPeriod": {"end": "1970-01-01"}}});
    let both = IndexEntry::Period { from_us: i64::MIN, to_us: 86_400_000_000 - 1 };
    assert_eq!(period(json!({"effectiveTiming": bounds})), [both]);
    for none in [json!("x"), json!("2000-13"), json!(5)] {
        assert_eq!(period(json!({"effectiveDateTime": none})), [], "{none}");
    }
    for none in [json!({}), json!({"start": "x"}), json!({"end": 5})] {
        assert_eq!(period(json!({"effectivePeriod": none})), [], "{none}");
    }
}

#[test]
fn numbers_have_a_unit_a_currency_or_none() {
    let value = |quantity: Value| entries("Observation", "value-quantity", &json!({"valueQuantity": quantity}));
    let ucum = Some("http://unitsofmeasure.org");
    let full = json!({"value": 5.4, "unit": "milligram", "system": ucum, "code": "mg"});
    assert_eq!(value(full), [quantity(5.4, 5.4, [ucum, Some("mg"), Some("milligram")])]);
    let below = json!({"value": 5, "comparator": "<"});
    assert_eq!(value(below), [quantity(f64::MIN, 5_f64.next_down(), [None; 3])]);
    assert_eq!(value(json!({"unit": "mg"})), []);
    let money = json!({"totalNet": {"value": 10, "currency": "EUR"}});
    let euros = [Some("urn:iso:std:iso:4217"), Some("EUR"), None];
    assert_eq!(entries("Invoice", "totalnet", &money), [quantity(10.0, 10.0, euros)]);
    let range = json!({"onsetRange": {"low": {"value": 3, "unit": "a"}}});
    assert_eq!(entries("Condition", "onset-age", &range), [quantity(3.0, f64::MAX, [None, None, Some("a")])]);
    let probability =
        json!({"prediction": [{"probabilityDecimal": 0.5}, {"probabilityRange": {"high": {"value": 1}}}]});
    let expected = [IndexEntry::Number { low: 0.5, high: 0.5 }, IndexEntry::Number { low: f64::MIN, high: 1.0 }];
    assert_eq!(entries("RiskAssessment", "probability", &probability), expected);
}

#[test]
fn a_composite_keeps_together_what_is_of_one_element() {
    let component =
        |code: &str, value: i64| json!({"code": {"coding": [{"code": code}]}, "valueQuantity": {"value": value}});
    let body =
        json!({"component": [component("sys", 120), component("dia", 80), {"code": {"coding": [{"code": "x"}]}}]});
    let pair =
        |code: &str, value: f64| IndexEntry::Composite(vec![token(None, code), quantity(value, value, [None; 3])]);
    let expected = [pair("sys", 120.0), pair("dia", 80.0)];
    assert_eq!(entries("Observation", "component-code-value-quantity", &body), expected);
    let many = json!({"component": [{
        "code": {"coding": (0..1000).map(|code| json!({"code": code.to_string()})).collect::<Vec<_>>()},
        "valueCodeableConcept": {"coding": (0..1000).map(|code| json!({"code": code.to_string()})).collect::<Vec<_>>()},
    }]});
    assert_eq!(entries("Observation", "component-code-value-concept", &many).len(), limits::MAX_COMPOSITE_COMBINATIONS);
}

#[test]
fn what_all_resources_have_is_indexed_for_every_type() {
    let body = json!({"meta": {
        "profile": ["http://p|1"], "source": "urn:x", "tag": [{"system": "s", "code": "t"}], "security": [{"code": "R"}],
    }});
    for resource_type in ["Patient", "Client", "Nonsense"] {
        let mut found = entries_of(&CATALOG, resource_type, &body);
        found.retain(|(code, _)| code.starts_with('_'));
        let expected = [
            ("_profile", uri("http://p", Some("1"))),
            ("_security", token(None, "R")),
            ("_source", uri("urn:x", None)),
            ("_tag", token(Some("s"), "t")),
        ];
        assert_eq!(found, expected.map(|(code, entry)| (code.to_owned(), entry)), "{resource_type}");
    }
}

#[test]
fn the_compartments_of_a_resource_are_among_its_entries() {
    let compartments = |resource_type: &str, body: Value| {
        let resource_type: ResourceType = resource_type.parse().unwrap();
        let document =
            IndexedDocument { resource_type: &resource_type, id: "1", updated_us: 0, body: &body, base_url: OWN };
        let entries = CATALOG.index_entries_of(&document).into_iter();
        entries
            .filter_map(|(number, entry)| (number == COMPARTMENT_PARAMETER_NUMBER).then_some(entry))
            .collect::<Vec<_>>()
    };
    let observation =
        json!({"subject": {"reference": "Patient/a"}, "performer": [{"resourceType": "Patient", "id": "b"}]});
    assert_eq!(compartments("Observation", observation), [reference("Patient/a"), reference("Patient/b")]);
    assert_eq!(compartments("Patient", json!({})), [reference("Patient/1")]);
    assert_eq!(compartments("Practitioner", json!({"subject": {"reference": "Patient/a"}})), []);
}

#[test]
fn equal_values_stand_once_however_many_there_are() {
    let codes = |count: usize| json!({"category": vec![json!({"coding": [{"code": "a"}, {"code": "b"}]}); count]});
    for count in [1, 10, 1000] {
        assert_eq!(entries("Observation", "category", &codes(count)), [token(None, "a"), token(None, "b")]);
    }
    let distinct =
        |count: usize| json!({"coding": (0..count).map(|code| json!({"code": code.to_string()})).collect::<Vec<_>>()});
    let mut twice = vec![distinct(1000); 2];
    assert_eq!(entries("Observation", "category", &json!({"category": twice.clone()})).len(), 1000);
    twice.push(distinct(limits::MAX_INDEX_ENTRIES_PER_RESOURCE * 2));
    assert_eq!(
        entries("Observation", "category", &json!({"category": twice})).len(),
        limits::MAX_INDEX_ENTRIES_PER_RESOURCE
    );
}

#[test]
fn long_texts_are_cut_at_a_character() {
    let long = "é".repeat(limits::MAX_INDEX_TEXT_BYTES);
    let [IndexEntry::Text { folded, exact }] = &entries("Patient", "family", &json!({"name": {"family": long}}))[..]
    else {
        panic!("one text")
    };
    assert_eq!((folded.len(), exact.len()), (limits::MAX_INDEX_TEXT_BYTES / 2, limits::MAX_INDEX_TEXT_BYTES));
}

fn observation() -> impl Strategy<Value = Value> {
    let reference = prop_oneof![
        Just(json!({"reference": "Patient/a"})),
        Just(json!({"reference": "https://elsewhere.example/Patient/a", "display": "x"})),
        Just(json!({"reference": "#c"})),
    ];
    let value =
        prop_oneof![Just(json!({"value": 1})), Just(json!("text")), Just(json!(true)), property_testing::any_json()];
    (reference, value, "value(Quantity|String|Boolean|CodeableConcept|)", property_testing::any_json()).prop_map(
        |(subject, value, name, extension)| {
            let mut body =
                json!({"subject": subject, "extension": [{"url": "u", "valueReference": {"reference": "A/1"}}]});
            body[name] = value;
            body["component"] = json!([{"code": extension}]);
            body
        },
    )
}

proptest! {
    #![proptest_config(property_testing::seeded_proptest_config(200))]

    #[test]
    fn entries_do_not_depend_on_the_spelling(body in observation()) {
        let native = format_conversion::convert_to_native(body.clone());
        let fhir = format_conversion::convert_to_fhir(native.clone());
        let expected = entries_of(&CATALOG, "Observation", &fhir);
        prop_assert_eq!(entries_of(&CATALOG, "Observation", &native), expected);
    }

    #[test]
    fn any_resource_of_any_type_has_entries(body in property_testing::any_json(), resource_type in "(Bundle|Patient|ValueSet|Client)") {
        for (number, entry) in entries_of(&CATALOG, &resource_type, &body) {
            prop_assert!(!matches!(entry, IndexEntry::Number { low, high } if low.is_nan() || high.is_nan()), "{}", number);
        }
    }
}
