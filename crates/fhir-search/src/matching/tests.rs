use std::sync::{Arc, LazyLock};

use fhir_resource::property_testing;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;
use crate::{SearchParameterCatalog, SearchParseContext, UnknownParameterHandling, parse_search};

static CATALOG: LazyLock<Arc<SearchParameterCatalog>> = LazyLock::new(SearchParameterCatalog::with_r4_only);
const OWN: &str = "https://payer.example/fhir";
/// 2026-01-01.
const NOW_US: i64 = 1_767_225_600_000_000;

fn search(resource_type: &str, query: &[(&str, &str)]) -> SearchRequest {
    let resource_type = resource_type.parse().unwrap();
    let request = SearchParseContext {
        resource_type: &resource_type,
        handling: UnknownParameterHandling::Strict,
        now_us: NOW_US,
        base_url: OWN,
    };
    parse_search(&CATALOG, &request, query.iter().copied()).unwrap_or_else(|fault| panic!("{query:?}: {fault}")).0
}

fn stored(name: &str, resource: Value) -> StoredResource {
    StoredResource { key: name.parse().unwrap(), version: 1, updated_us: NOW_US, resource }
}

fn decide(
    search: &SearchRequest,
    stored: &StoredResource,
    resolver: Option<&dyn ReferenceResolver>,
) -> Result<bool, UndecidableConditionError> {
    let document = IndexedDocument {
        resource_type: &stored.key.resource_type,
        id: stored.key.id.as_str(),
        updated_us: stored.updated_us,
        body: &stored.resource,
        base_url: OWN,
    };
    search.matches(&document, resolver)
}

fn matches(resource_type: &str, name: &str, value: &str, body: &Value) -> bool {
    let stored = stored(&format!("{resource_type}/1"), body.clone());
    decide(&search(resource_type, &[(name, value)]), &stored, None).unwrap()
}

/// A row for each query: whether it finds the resource.
fn table(resource_type: &str, body: &Value, rows: &[(&str, &str, bool)]) {
    for (name, value, expected) in rows {
        assert_eq!(matches(resource_type, name, value, body), *expected, "{name}={value} on {body}");
    }
}

/// R4, Search, string, has these.
#[test]
fn strings_match_by_beginning_anywhere_or_exactly() {
    for (given, starts, contains, exact) in [
        ("Eve", true, true, true),
        ("Evelyn", true, true, false),
        ("Severine", false, true, false),
        ("eve", true, true, false),
        ("Ève", true, true, false),
    ] {
        let body = json!({"name": [{"given": [given]}]});
        let rows = [("given", "eve", starts), ("given:contains", "eve", contains), ("given:exact", "Eve", exact)];
        table("Patient", &body, &rows);
    }
    let body = json!({"name": [{"given": ["A", "B"], "family": "C"}]});
    table("Patient", &body, &[("name", "b", true), ("name", "x,c", true), ("name", "x,y", false)]);
}

/// R4, Search, date and Prefixes, has most of these.
#[test]
fn dates_are_compared_as_ranges() {
    let at = |date: &str| json!({"birthDate": date});
    table(
        "Patient",
        &at("2013-01-14"),
        &[
            ("birthdate", "eq2013-01-14", true),
            ("birthdate", "2013-01", true),
            ("birthdate", "2013", true),
            ("birthdate", "2013-01-14T00:00Z", false),
            ("birthdate", "ne2013-01-14", false),
            ("birthdate", "ne2013-01-15", true),
            ("birthdate", "lt2013-01-15", true),
            ("birthdate", "lt2013-01-14", false),
            ("birthdate", "lt2013-01-14T10:00Z", true),
            ("birthdate", "gt2013-01-14T10:00Z", true),
            ("birthdate", "gt2013-01-14", false),
            ("birthdate", "ge2013-01-14", true),
            ("birthdate", "le2013-01-14", true),
            ("birthdate", "ge2013-01-15", false),
            ("birthdate", "sa2013-01-13", true),
            ("birthdate", "sa2013-01-14", false),
            ("birthdate", "eb2013-01-15", true),
            ("birthdate", "eb2013-01-14T23:00Z", false),
            ("birthdate", "ap2012-01-14", true),
            ("birthdate", "ap1990-01-14", false),
        ],
    );
    table(
        "Patient",
        &at("2013"),
        &[
            ("birthdate", "2013-03-14", false),
            ("birthdate", "gt2013-03-14", true),
            ("birthdate", "lt2013-03-14", true),
            ("birthdate", "ge2013-03-14", true),
            ("birthdate", "sa2013-03-14", false),
            ("birthdate", "ap2013-03-14", true),
        ],
    );
}

/// R4, Prefixes: a period from 21 January on includes all times after it.
#[test]
fn a_period_without_an_end_goes_on() {
    let from = json!({"effectivePeriod": {"start": "2013-01-21"}});
    table(
        "Observation",
        &from,
        &[
            ("date", "gt2013-03-14", true),
            ("date", "lt2013-01-22", true),
            ("date", "lt2013-01-21", false),
            ("date", "2013", false),
            ("date", "sa2013-01-20", true),
            ("date", "eb2099", false),
        ],
    );
    let until_noon = json!({"effectivePeriod": {"start": "2013-01-01", "end": "2013-03-14T12:00:00Z"}});
    table("Observation", &until_noon, &[("date", "ge2013-03-14", false), ("date", "ge2013-03-13", true)]);
}

#[test]
fn two_parameters_bound_a_date_from_both_sides() {
    let body = json!({"birthDate": "2013-01-14"});
    let within = search("Patient", &[("birthdate", "ge2013-01-01"), ("birthdate", "lt2013-02-01")]);
    assert_eq!(decide(&within, &stored("Patient/1", body.clone()), None), Ok(true));
    let outside = search("Patient", &[("birthdate", "ge2013-01-01"), ("birthdate", "lt2013-01-10")]);
    assert_eq!(decide(&outside, &stored("Patient/1", body), None), Ok(false));
}

/// R4, Search, number and quantity, has these.
#[test]
fn numbers_are_compared_by_the_digits_asked_for() {
    for (probability, rows) in [
        (
            json!(100),
            [("100", true), ("lt100", false), ("le100", true), ("gt100", false), ("ge100", true), ("ne100", false)],
        ),
        (
            json!(99.7),
            [("100", true), ("lt100", true), ("le100", true), ("gt100", false), ("ge100", false), ("ne100", false)],
        ),
        (
            json!(100.5),
            [("100", false), ("lt100", false), ("le100", false), ("gt100", true), ("ge100", true), ("ne100", true)],
        ),
        (
            json!(104),
            [("100", false), ("1e2", true), ("100.00", false), ("ap100", true), ("sa100", true), ("eb100", false)],
        ),
    ] {
        let body = json!({"prediction": [{"probabilityDecimal": probability}]});
        for (value, expected) in rows {
            table("RiskAssessment", &body, &[("probability", value, expected)]);
        }
    }
}

#[test]
fn quantities_are_compared_with_their_unit() {
    let body = json!({"valueQuantity": {"value": 5.4, "unit": "milligram", "system": "http://unitsofmeasure.org", "code": "mg"}});
    table(
        "Observation",
        &body,
        &[
            ("value-quantity", "5.4|http://unitsofmeasure.org|mg", true),
            ("value-quantity", "5.40|http://unitsofmeasure.org|mg", true),
            ("value-quantity", "5.4|http://unitsofmeasure.org|g", false),
            ("value-quantity", "5.4||mg", true),
            ("value-quantity", "5.4||milligram", true),
            ("value-quantity", "5.4||g", false),
            ("value-quantity", "5.4", true),
            ("value-quantity", "le5.4||mg", true),
            ("value-quantity", "gt5.4||mg", false),
            ("value-quantity", "ap5||mg", true),
            ("value-quantity", "5", true),
        ],
    );
}

/// R4, Search, token, has these.
#[test]
fn tokens_match_by_system_and_code() {
    let body = json!({
        "gender": "male",
        "active": true,
        "identifier": [{"system": "http://acme.org/patient", "value": "2345", "type": {"coding": [{"system": "t", "code": "MR"}]}}],
    });
    table(
        "Patient",
        &body,
        &[
            ("identifier", "http://acme.org/patient|2345", true),
            ("identifier", "2345", true),
            ("identifier", "|2345", false),
            ("identifier", "http://acme.org/patient|", true),
            ("identifier", "http://other|2345", false),
            ("identifier:of-type", "t|MR|2345", true),
            ("identifier:of-type", "t|SS|2345", false),
            ("gender", "male", true),
            ("gender", "Male", false),
            ("gender", "|male", true),
            ("gender", "http://hl7.org/fhir/administrative-gender|male", true),
            ("gender", "http://hl7.org/fhir/administrative-gender|female", false),
            ("gender", "http://hl7.org/fhir/administrative-gender|", true),
            ("gender:not", "http://hl7.org/fhir/administrative-gender|male", false),
            ("gender", "http://other|male", false),
            ("gender", "http://other|", false),
            ("gender:not", "male", false),
            ("gender:not", "female,other", true),
            ("gender:not", "female,male", false),
            ("active", "true", true),
            ("active", "http://terminology.hl7.org/CodeSystem/special-values|true", true),
            ("deceased", "false", true),
            ("gender:missing", "false", true),
            ("birthdate:missing", "true", true),
            ("birthdate:missing", "false", false),
            ("language:not", "fr", true),
        ],
    );
    let body =
        json!({"code": {"coding": [{"system": "http://loinc.org", "code": "1", "display": "Headache, chronic"}]}});
    table("Condition", &body, &[("code:text", "headache", true), ("code:text", "chronic", false)]);
}

#[test]
fn references_match_by_id_name_address_and_identifier() {
    let body = json!({
        "subject": {"reference": "Patient/23", "identifier": {"system": "s", "value": "x"}},
        "performer": [{"reference": "https://elsewhere.example/fhir/Practitioner/7"}],
    });
    table(
        "Observation",
        &body,
        &[
            ("subject", "Patient/23", true),
            ("subject", "23", true),
            ("subject:Patient", "23", true),
            ("subject:Group", "23", false),
            ("subject", "https://payer.example/fhir/Patient/23", true),
            ("subject", "https://elsewhere.example/fhir/Patient/23", false),
            ("patient", "23", true),
            ("subject:identifier", "s|x", true),
            ("subject:identifier", "s|y", false),
            ("performer", "https://elsewhere.example/fhir/Practitioner/7", true),
            ("performer", "Practitioner/7", false),
        ],
    );
    let group = json!({"subject": {"reference": "Group/23"}});
    table("Observation", &group, &[("patient", "23", false), ("subject", "23", true)]);
}

/// R4, Search, uri, has these.
#[test]
fn uris_match_as_a_whole_above_or_below() {
    let body = json!({"url": "http://acme.org/fhir/ValueSet/123", "meta": {"profile": ["http://p/x|2.0"]}});
    table(
        "ValueSet",
        &body,
        &[
            ("url", "http://acme.org/fhir/ValueSet/123", true),
            ("url", "http://acme.org/fhir/ValueSet/12", false),
            ("url", "http://acme.org/fhir/valueset/123", false),
            ("url:below", "http://acme.org/fhir/", true),
            ("url:below", "http://acme.org/fhir", true),
            ("url:below", "http://acme.org/fhi", false),
            ("url:above", "http://acme.org/fhir/ValueSet/123/_history/5", true),
            ("url:above", "http://acme.org/fhir/ValueSet/1234", false),
            ("_profile", "http://p/x", true),
            ("_profile", "http://p/x|2.0", true),
            ("_profile", "http://p/x|1.0", false),
        ],
    );
}

#[test]
fn a_composite_needs_its_parts_in_one_element() {
    let component =
        |code: &str, value: i64| json!({"code": {"coding": [{"code": code}]}, "valueQuantity": {"value": value}});
    let body = json!({"component": [component("sys", 120), component("dia", 80)]});
    table(
        "Observation",
        &body,
        &[
            ("component-code-value-quantity", "sys$gt100", true),
            ("component-code-value-quantity", "dia$gt100", false),
            ("component-code-value-quantity", "dia$gt100,dia$lt90", true),
            ("component-code-value-quantity", "x$gt100", false),
        ],
    );
}

#[test]
fn the_columns_of_a_resource_are_compared_too() {
    table(
        "Patient",
        &json!({}),
        &[
            ("_id", "1", true),
            ("_id", "2", false),
            ("_id", "2,1", true),
            ("_lastUpdated", "2026-01-01", true),
            ("_lastUpdated", "gt2026-01-01", false),
            ("_lastUpdated", "ge2026", true),
            ("_lastUpdated", "lt2026", false),
        ],
    );
}

struct Resources(Vec<StoredResource>);

impl ReferenceResolver for Resources {
    fn find_resource(&self, key: &ResourceKey) -> Option<StoredResource> {
        self.0.iter().find(|stored| stored.key == *key).cloned()
    }

    fn resources_of_type(&self, resource_type: &ResourceType) -> Vec<StoredResource> {
        self.0.iter().filter(|stored| stored.key.resource_type == *resource_type).cloned().collect()
    }
}

fn resources() -> Resources {
    Resources(vec![
        stored(
            "Patient/p",
            json!({"name": [{"family": "Chalmers"}], "generalPractitioner": [{"reference": "Practitioner/d"}]}),
        ),
        stored("Patient/q", json!({"name": [{"family": "Smith"}]})),
        stored("Practitioner/d", json!({"name": [{"family": "Who"}]})),
        stored("Observation/o", json!({"status": "final", "subject": {"reference": "Patient/p"}})),
        stored("Observation/n", json!({"status": "final", "subject": {"reference": "Patient/gone"}})),
        stored(
            "Provenance/v",
            json!({"target": [{"reference": "Observation/o"}], "agent": [{"who": {"reference": "Practitioner/d"}}]}),
        ),
    ])
}

fn found(resource_type: &str, name: &str, value: &str) -> Vec<String> {
    let resources = resources();
    let search = search(resource_type, &[(name, value)]);
    let all = resources.0.iter().filter(|stored| stored.key.resource_type == search.resource_type);
    let matching = all.filter(|stored| decide(&search, stored, Some(&resources)).unwrap());
    matching.map(|stored| stored.key.to_string()).collect()
}

#[test]
fn chains_go_to_what_is_referred_to_and_back() {
    let none: [&str; 0] = [];
    assert_eq!(found("Observation", "subject:Patient.family", "chal"), ["Observation/o"]);
    assert_eq!(found("Observation", "subject.family", "chal"), ["Observation/o"]);
    assert_eq!(found("Observation", "patient.family", "smith"), none);
    assert_eq!(found("Observation", "subject:Patient._id", "p"), ["Observation/o"]);
    assert_eq!(found("Observation", "patient.general-practitioner:Practitioner.name", "who"), ["Observation/o"]);
    assert_eq!(found("Patient", "_has:Observation:patient:status", "final"), ["Patient/p"]);
    assert_eq!(found("Patient", "_has:Observation:subject:status", "amended"), none);
    assert_eq!(
        found("Patient", "_has:Observation:patient:_has:Provenance:target:agent", "Practitioner/d"),
        ["Patient/p"]
    );
    assert_eq!(found("Patient", "general-practitioner:missing", "true"), ["Patient/q"]);
}

#[test]
fn what_needs_more_than_the_resource_is_refused_without_it() {
    let observation = stored("Observation/o", json!({"subject": {"reference": "Patient/p"}}));
    for (name, code) in [("patient.family", "patient"), ("_has:Provenance:target:agent", "target")] {
        let refused = decide(&search("Observation", &[(name, "x")]), &observation, None);
        assert_eq!(refused, Err(UndecidableConditionError::Chain(code.to_owned())));
    }
    for name in ["code:in", "code:not-in"] {
        let refused = decide(&search("Observation", &[(name, "http://v")]), &observation, None);
        assert_eq!(refused, Err(UndecidableConditionError::ValueSet("http://v".to_owned())));
    }
}

#[test]
fn a_value_set_is_searched_by_its_codes() {
    let codes = BTreeMap::from([("http://v".to_owned(), vec![(Some("s".to_owned()), "a".to_owned())])]);
    let observation =
        |system: &str| stored("Observation/o", json!({"code": {"coding": [{"system": system, "code": "a"}]}}));
    for (name, of_set) in [("code:in", true), ("code:not-in", false)] {
        let mut search = search("Observation", &[(name, "http://v")]);
        assert_eq!(search.value_set_urls().into_iter().collect::<Vec<_>>(), ["http://v"]);
        assert_eq!(
            search.expand_value_sets(&BTreeMap::new()),
            Err(SearchError::UnknownValueSet("http://v".to_owned()))
        );
        search.expand_value_sets(&codes).unwrap();
        assert!(search.value_set_urls().is_empty());
        assert_eq!(decide(&search, &observation("s"), None), Ok(of_set));
        assert_eq!(decide(&search, &observation("t"), None), Ok(!of_set));
    }
    let mut chained = search("Observation", &[("subject:Patient.language:in", "http://none")]);
    assert_eq!(chained.expand_value_sets(&codes), Err(SearchError::UnknownValueSet("http://none".to_owned())));
}

/// Returns the answer by the rows of the index alone, as an engine gives it; `None` for what has no rows.
fn by_rows(search: &SearchRequest, stored: &StoredResource) -> Option<bool> {
    let document = IndexedDocument {
        resource_type: &stored.key.resource_type,
        id: stored.key.id.as_str(),
        updated_us: stored.updated_us,
        body: &stored.resource,
        base_url: OWN,
    };
    let rows = CATALOG.index_entries_of(&document);
    let clauses = search.clauses.iter().map(|clause| {
        let parameter = clause.search_parameter();
        let mut entries = rows.iter().filter(|(number, _)| *number == parameter.number).map(|(_, entry)| entry);
        let mut any =
            |tests: &[IndexEntryPredicate]| entries.any(|entry| tests.iter().any(|test| test.matches_entry(entry)));
        match clause {
            _ if parameter.resource_column().is_some() => None,
            SearchClause::Any { tests, .. } => Some(any(tests)),
            SearchClause::None { tests, .. } => Some(!any(tests)),
            SearchClause::Missing { missing, .. } => Some(entries.next().is_none() == *missing),
            SearchClause::Chain(_) | SearchClause::Has(_) => None,
        }
    });
    clauses.collect::<Option<Vec<bool>>>().map(|clauses| clauses.into_iter().all(|holds| holds))
}

fn patient() -> impl Strategy<Value = Value> {
    let name = select(vec!["Müller", "Muller", "Eve", "Severine", "eve", ""]);
    let date = select(vec!["2013", "2013-01", "2013-01-14", "2012-12-31", "x"]);
    let identifier = (select(vec!["s", "t"]), select(vec!["1", "2"]), any::<bool>());
    let identifier = identifier.prop_map(|(system, value, typed)| {
        let resource_type = json!({"coding": [{"system": "k", "code": "MR"}], "text": "Eve"});
        if typed { json!({"system": system, "value": value, "type": resource_type}) } else { json!({"value": value}) }
    });
    let reference = select(vec!["Practitioner/1", "Organization/1", "https://payer.example/fhir/Practitioner/1", "#c"]);
    let gender = select(vec![json!("male"), json!("female"), json!(null)]);
    (name, date, proptest::collection::vec(identifier, 0..3), reference, gender).prop_map(
        |(name, date, identifiers, reference, gender)| {
            json!({
                "name": [{"family": name, "given": [name, "Eve"]}], "birthDate": date, "identifier": identifiers,
                "generalPractitioner": [{"reference": reference}], "gender": gender,
            })
        },
    )
}

fn condition() -> impl Strategy<Value = (&'static str, &'static str)> {
    select(vec![
        ("name", "mull"),
        ("family:exact", "Muller"),
        ("given:contains", "ver"),
        ("name:missing", "true"),
        ("birthdate", "2013-01"),
        ("birthdate", "gt2013-01-10"),
        ("birthdate", "ne2013-01-14"),
        ("birthdate", "sa2012"),
        ("birthdate:missing", "true"),
        ("identifier", "1,t|2"),
        ("identifier", "|1"),
        ("identifier", "s|"),
        ("identifier:not", "1"),
        ("identifier:text", "eve"),
        ("identifier:of-type", "k|MR|1"),
        ("general-practitioner", "1"),
        ("general-practitioner:Organization", "1"),
        ("gender", "http://hl7.org/fhir/administrative-gender|male"),
        ("gender:not", "male"),
        ("deceased", "false"),
    ])
}

proptest! {
    #![proptest_config(property_testing::seeded_proptest_config(1000))]

    #[test]
    fn the_rows_of_a_resource_answer_as_the_resource_does(
        body in patient(),
        query in proptest::collection::vec(condition(), 1..4),
    ) {
        let search = search("Patient", &query);
        let stored = stored("Patient/1", body);
        let by_resource = decide(&search, &stored, None).unwrap();
        prop_assert_eq!(by_rows(&search, &stored), Some(by_resource));
    }
}
