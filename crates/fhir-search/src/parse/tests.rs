use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::*;
use crate::clause::{
    CodeSystemMatch, IncludeClause, IncludeReferences, IndexEntryPredicate, QuantityUnitMatch, SearchClause,
    StringMatchMode, UriMatchMode,
};
use crate::range::{ComparisonPrefix, RangeComparison};
use crate::{FIRST_INSTALLED_PARAMETER_NUMBER, SearchParameterCatalog};

static CATALOG: LazyLock<Arc<SearchParameterCatalog>> = LazyLock::new(SearchParameterCatalog::with_r4_only);
const OWN: &str = "https://payer.example/fhir";
const NOW_US: i64 = 1_767_225_600_000_000;

fn read_as(
    resource_type: &str,
    handling: UnknownParameterHandling,
    pairs: &[(&str, &str)],
) -> Result<(SearchRequest, Vec<IgnoredSearchParameter>), SearchError> {
    let resource_type = resource_type.parse().unwrap();
    let request = SearchParseContext { resource_type: &resource_type, handling, now_us: NOW_US, base_url: OWN };
    parse_search(&CATALOG, &request, pairs.iter().copied())
}

fn read(resource_type: &str, name: &str, value: &str) -> Result<SearchRequest, SearchError> {
    read_as(resource_type, UnknownParameterHandling::Strict, &[(name, value)]).map(|(search, _)| search)
}

fn clause(resource_type: &str, name: &str, value: &str) -> SearchClause {
    read(resource_type, name, value).unwrap_or_else(|fault| panic!("{name}={value}: {fault}")).clauses.remove(0)
}

fn tests(resource_type: &str, name: &str, value: &str) -> Vec<IndexEntryPredicate> {
    match clause(resource_type, name, value) {
        SearchClause::Any { tests, .. } => tests,
        other => panic!("{other:?}"),
    }
}

fn fault(resource_type: &str, name: &str, value: &str) -> SearchError {
    read(resource_type, name, value).expect_err(&format!("{name}={value} is refused"))
}

fn token(system: CodeSystemMatch, code: Option<&str>) -> IndexEntryPredicate {
    IndexEntryPredicate::Token { system, code: code.map(str::to_owned) }
}

#[test]
fn a_token_is_a_code_with_a_system_or_without() {
    let loinc = || CodeSystemMatch::Is("http://loinc.org".to_owned());
    assert_eq!(tests("Observation", "code", "1234-5"), [token(CodeSystemMatch::Any, Some("1234-5"))]);
    assert_eq!(tests("Observation", "code", "http://loinc.org|1234-5"), [token(loinc(), Some("1234-5"))]);
    assert_eq!(tests("Observation", "code", "|1234-5"), [token(CodeSystemMatch::None, Some("1234-5"))]);
    assert_eq!(tests("Observation", "code", "http://loinc.org|"), [token(loinc(), None)]);
    for value in ["|", "a|b|c"] {
        assert!(matches!(fault("Observation", "code", value), SearchError::Value { .. }), "{value}");
    }
}

#[test]
fn the_system_that_a_binding_implies_is_asked_for_as_none() {
    let status = |value: &str| tests("Observation", "status", value);
    assert_eq!(status("http://hl7.org/fhir/observation-status|final"), [token(CodeSystemMatch::None, Some("final"))]);
    let other = token(CodeSystemMatch::Is("http://hl7.org/fhir/observation-status".to_owned()), Some("nonsense"));
    assert_eq!(status("http://hl7.org/fhir/observation-status|nonsense"), [other]);
    let request = tests("MessageHeader", "event", "http://x|y");
    assert_eq!(request, [token(CodeSystemMatch::Is("http://x".to_owned()), Some("y"))], "a Coding has its own system");
    let inside = tests("Bundle", "type", "http://hl7.org/fhir/bundle-type|batch");
    assert_eq!(inside, [token(CodeSystemMatch::None, Some("batch"))]);
    let chained = clause("Observation", "subject:Patient.gender", "http://hl7.org/fhir/administrative-gender|male");
    let SearchClause::Chain(chain) = chained else { panic!("{chained:?}") };
    assert!(
        matches!(&chain.any_of[0].1, SearchClause::Any { tests, .. } if *tests == [token(CodeSystemMatch::None, Some("male"))])
    );
}

#[test]
fn commas_separate_values_and_a_backslash_keeps_them() {
    let any = |code| token(CodeSystemMatch::Any, Some(code));
    assert_eq!(tests("Observation", "code", "a,b"), [any("a"), any("b")]);
    assert_eq!(tests("Observation", "code", r"a\,b\|c\$d\\e"), [any(r"a,b|c$d\e")]);
    for value in ["a,", ",a", "a,,b", ","] {
        assert!(matches!(fault("Observation", "code", value), SearchError::Value { .. }), "{value}");
    }
}

#[test]
fn modifiers_of_tokens_become_tests_or_a_negated_clause() {
    assert!(matches!(clause("Observation", "code:not", "a"), SearchClause::None { tests, .. } if tests.len() == 1));
    assert_eq!(tests("Observation", "code:in", "http://v/s"), [IndexEntryPredicate::In("http://v/s".to_owned())]);
    assert!(matches!(clause("Observation", "code:not-in", "http://v/s"), SearchClause::None { .. }));
    assert_eq!(tests("Observation", "code:text", "Héart"), [IndexEntryPredicate::Display("heart".to_owned())]);
    let of_type = IndexEntryPredicate::OfType { system: Some("http://t".into()), code: "MR".into(), value: "1".into() };
    assert_eq!(tests("Patient", "identifier:of-type", "http://t|MR|1"), [of_type]);
    assert!(matches!(fault("Patient", "identifier:of-type", "MR|1"), SearchError::Value { .. }));
}

#[test]
fn missing_is_true_or_false_for_every_kind() {
    for (resource_type, code) in [("Patient", "name"), ("Patient", "birthdate"), ("Observation", "code-value-quantity")]
    {
        let name = format!("{code}:missing");
        assert!(matches!(clause(resource_type, &name, "true"), SearchClause::Missing { missing: true, .. }), "{name}");
        assert!(
            matches!(clause(resource_type, &name, "false"), SearchClause::Missing { missing: false, .. }),
            "{name}"
        );
        assert!(matches!(fault(resource_type, &name, "yes"), SearchError::Value { .. }), "{name}");
    }
}

#[test]
fn a_modifier_that_the_kind_does_not_take_is_refused_with_those_it_takes() {
    for (resource_type, name, supported) in [
        ("Patient", "name:not", ":exact, :contains, :missing"),
        ("Patient", "birthdate:exact", ":missing"),
        ("Observation", "code:above", ":not, :text, :in, :not-in, :of-type, :missing"),
        ("Observation", "subject:exact", ":identifier, :[type], :missing"),
        ("ValueSet", "url:contains", ":above, :below, :missing"),
    ] {
        let fault = fault(resource_type, name, "2000");
        assert!(matches!(fault, SearchError::Modifier { .. }) && !fault.is_ignorable_when_lenient(), "{name}");
        assert!(fault.to_string().ends_with(supported), "{fault}");
        assert_eq!(
            read_as(resource_type, UnknownParameterHandling::Lenient, &[(name, "2000")]),
            Err(fault),
            "also where it is lenient"
        );
    }
}

#[test]
fn strings_are_folded_but_for_exact() {
    let text = |how, text: &str| IndexEntryPredicate::Text { how, text: text.to_owned() };
    assert_eq!(tests("Patient", "family", "Ève"), [text(StringMatchMode::Starts, "eve")]);
    assert_eq!(tests("Patient", "family:contains", "Ève"), [text(StringMatchMode::Contains, "eve")]);
    assert_eq!(tests("Patient", "family:exact", "Ève"), [text(StringMatchMode::Exact, "Ève")]);
    assert!(matches!(fault("Patient", "family", "\u{301}"), SearchError::Value { .. }), "it would match everything");
}

#[test]
fn numbers_have_the_range_of_their_digits_and_prefixes_of_order_have_none() {
    let number = |value: &str| match tests("RiskAssessment", "probability", value).remove(0) {
        IndexEntryPredicate::Number(RangeComparison { prefix, low, high }) => (prefix, low, high),
        other => panic!("{other:?}"),
    };
    assert_eq!(number("100"), (ComparisonPrefix::Equal, 99.5, 100.5_f64.next_down()));
    assert_eq!(number("ne100"), (ComparisonPrefix::NotEqual, 99.5, 100.5_f64.next_down()));
    for (letters, prefix) in [
        ("gt", ComparisonPrefix::Greater),
        ("le", ComparisonPrefix::LessOrEqual),
        ("sa", ComparisonPrefix::StartsAfter),
    ] {
        assert_eq!(number(&format!("{letters}100")), (prefix, 100.0, 100.0));
    }
    assert_eq!(number("ap100"), (ComparisonPrefix::Approximate, 90.0, 110.0));
    assert!(matches!(fault("RiskAssessment", "probability", "xx1"), SearchError::Value { .. }));
}

#[test]
fn quantities_have_a_unit_of_a_system_or_by_name() {
    let unit = |value: &str| match tests("Observation", "value-quantity", value).remove(0) {
        IndexEntryPredicate::Quantity { unit, .. } => unit,
        other => panic!("{other:?}"),
    };
    let coded = QuantityUnitMatch::Coded { system: "http://unitsofmeasure.org".to_owned(), code: "mg".to_owned() };
    assert_eq!(unit("5.4|http://unitsofmeasure.org|mg"), coded);
    assert_eq!(unit("le5.4||mg"), QuantityUnitMatch::Named("mg".to_owned()));
    assert_eq!(unit("5.4"), QuantityUnitMatch::Any);
    for value in ["5.4|mg", "|http://u|mg", "5|s|", "5||", "5|a|b|c"] {
        assert!(matches!(fault("Observation", "value-quantity", value), SearchError::Value { .. }), "{value}");
    }
}

#[test]
fn references_are_ids_names_or_addresses() {
    let to = |resource_type: Option<&str>, id: &str| IndexEntryPredicate::Reference {
        resource_type: resource_type.map(|resource_type| resource_type.parse().unwrap()),
        id: id.to_owned(),
    };
    assert_eq!(tests("Observation", "subject", "23"), [to(None, "23")]);
    assert_eq!(tests("Observation", "subject", "Patient/23"), [to(Some("Patient"), "23")]);
    assert_eq!(tests("Observation", "subject:Patient", "23"), [to(Some("Patient"), "23")]);
    assert_eq!(tests("Observation", "subject", &format!("{OWN}/Patient/23")), [to(Some("Patient"), "23")]);
    let elsewhere = "https://elsewhere.example/fhir/Patient/23";
    let uri = |uri: &str, version: Option<&str>| IndexEntryPredicate::Uri {
        how: UriMatchMode::Equals,
        uri: uri.to_owned(),
        version: version.map(str::to_owned),
    };
    assert_eq!(tests("Observation", "subject", elsewhere), [uri(elsewhere, None)]);
    assert_eq!(tests("QuestionnaireResponse", "questionnaire", "http://q/1|2"), [uri("http://q/1", Some("2"))]);
    assert_eq!(
        tests("Observation", "subject:identifier", "http://s|1"),
        [token(CodeSystemMatch::Is("http://s".into()), Some("1"))]
    );
    for value in ["Patient/", "a/b/c", "Patient/1/_history/2", "é", "https://x.example/Patient/1/_history/2"] {
        assert!(matches!(fault("Observation", "subject", value), SearchError::Value { .. }), "{value}");
    }
    assert!(matches!(fault("Observation", "subject:Patient", "Group/1"), SearchError::Value { .. }));
}

#[test]
fn the_parts_of_a_composite_are_read_as_what_they_are() {
    let parts = tests("Observation", "code-value-quantity", "http://loinc.org|2823-3$gt5.4|http://u|mmol");
    let [IndexEntryPredicate::Composite(parts)] = parts.as_slice() else { panic!("{parts:?}") };
    assert!(
        matches!(parts.as_slice(), [IndexEntryPredicate::Token { .. }, IndexEntryPredicate::Quantity { .. }]),
        "{parts:?}"
    );
    for value in ["a", "a$1$2", "$1", "a$x"] {
        assert!(matches!(fault("Observation", "code-value-quantity", value), SearchError::Value { .. }), "{value}");
    }
}

#[test]
fn a_chain_goes_to_every_type_that_has_the_parameter() {
    let kinds = |name: &str, value: &str| match clause("Observation", name, value) {
        SearchClause::Chain(chain) => {
            chain.any_of.iter().map(|(resource_type, _)| resource_type.to_string()).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(kinds("subject:Patient.name", "peter"), ["Patient"]);
    assert_eq!(kinds("subject.name", "peter"), ["Patient", "Location"]);
    assert_eq!(kinds("patient.general-practitioner:Practitioner.family", "x"), ["Patient"]);
    let has = clause("Patient", "_has:Observation:patient:code:not", "1234-5");
    assert!(matches!(&has, SearchClause::Has(has) if matches!(*has.clause, SearchClause::None { .. })), "{has:?}");
    let nested = clause("Patient", "_has:Observation:patient:_has:AuditEvent:entity:agent", "Practitioner/1");
    assert!(matches!(&nested, SearchClause::Has(has) if matches!(*has.clause, SearchClause::Has(_))), "{nested:?}");
}

#[test]
fn a_chain_behind_no_reference_or_too_long_or_unknown_is_refused() {
    assert_eq!(fault("Observation", "code.name", "x"), SearchError::NotAReference("code".to_owned()));
    assert_eq!(fault("Patient", "_has:Observation:code:status", "x"), SearchError::NotAReference("code".to_owned()));
    for name in ["_has:Observation", "_has:Observation:patient", "_has:observation:patient:code", "subject:x.name"] {
        let resource_type = if name.starts_with('_') { "Patient" } else { "Observation" };
        assert!(matches!(fault(resource_type, name, "x"), SearchError::Name { .. }), "{name}");
    }
    for name in ["subject:Patient.nonsense", "subject.nonsense", "nonsense.name", "part-of.nonsense"] {
        assert!(matches!(fault("Observation", name, "x"), SearchError::UnknownParameter { .. }), "{name}");
    }
    let long = format!("{}code", "_has:Observation:has-member:".repeat(limits::MAX_CHAIN_REFERENCES + 1));
    assert!(matches!(fault("Observation", &long, "x"), SearchError::LongChain(_)));
    let fits = format!("{}code", "_has:Observation:has-member:".repeat(limits::MAX_CHAIN_REFERENCES));
    assert!(read("Observation", &fits, "x").is_ok());
}

#[test]
fn the_answer_is_described_by_its_own_parameters() {
    let (search, _) = read_as(
        "Observation",
        UnknownParameterHandling::Strict,
        &[
            ("_sort", "-date,_id"),
            ("_count", "5000"),
            ("_cursor", "opaque"),
            ("_total", "accurate"),
            ("_summary", "data"),
            ("_elements", "code,status"),
            ("_include", "Observation:subject:Patient"),
            ("_include:iterate", "Patient:*"),
            ("_revinclude", "Provenance:target"),
            ("_format", "json"),
            ("_pretty", "true"),
        ],
    )
    .unwrap();
    let sort = search.sort.iter().map(|sort| (sort.parameter.code.as_str(), sort.descending));
    assert_eq!(sort.collect::<Vec<_>>(), [("date", true), ("_id", false)]);
    assert_eq!((search.count, search.cursor.as_deref()), (Some(limits::MAX_PAGE_SIZE), Some("opaque")));
    assert_eq!((search.total, search.summary), (TotalMode::Accurate, SummaryMode::Data));
    assert_eq!(search.elements, ["code", "status"]);
    let [subject, all] = search.includes.as_slice() else { panic!("{:?}", search.includes) };
    assert_eq!((subject.iterate, &subject.target), (false, &Some("Patient".parse().unwrap())));
    assert!(matches!(&subject.by, IncludeReferences::Parameter(parameter) if parameter.code == "subject"));
    assert!(matches!(all, IncludeClause { by: IncludeReferences::All, iterate: true, .. }));
    assert_eq!(search.revincludes.len(), 1);
    assert!(search.clauses.is_empty());
}

#[test]
fn a_parameter_of_the_answer_with_another_value_is_refused_in_both_handlings() {
    for (name, value) in [
        ("_count", "x"),
        ("_count", "-1"),
        ("_count", "+1"),
        ("_total", "yes"),
        ("_summary", "1"),
        ("_elements", "a,,b"),
        ("_elements", "a.b"),
        ("_sort", "code-value-quantity"),
        ("_include", "Observation"),
        ("_include", "observation:subject"),
        ("_include:recurse", "Observation:subject"),
        ("_include", "Observation:code"),
    ] {
        for handling in [UnknownParameterHandling::Strict, UnknownParameterHandling::Lenient] {
            let read = read_as("Observation", handling, &[(name, value)]);
            assert!(read.is_err_and(|fault| !fault.is_ignorable_when_lenient()), "{name}={value}");
        }
    }
}

#[test]
fn what_is_not_known_is_refused_or_told_as_the_caller_wishes() {
    let pairs = [
        ("nonsense", "1"),
        ("_text", "x"),
        ("_filter", "x"),
        ("code", ""),
        ("_sort", "nonsense"),
        ("_include", "Observation:nonsense"),
        ("status", "final"),
    ];
    let (search, ignored) = read_as("Observation", UnknownParameterHandling::Lenient, &pairs).unwrap();
    assert_eq!(search.clauses.len(), 1);
    let names: Vec<&str> = ignored.iter().map(|ignored| ignored.name.as_str()).collect();
    assert_eq!(names, ["nonsense", "_text", "_filter", "code", "_sort", "_include"]);
    assert_eq!(ignored[1].fault.to_string(), "the search parameter _text is not supported");
    for (name, value) in pairs.into_iter().take(6) {
        assert!(fault("Observation", name, value).is_ignorable_when_lenient(), "{name}");
    }
}

#[test]
fn sizes_are_limited() {
    let many = vec![("status", "final"); limits::MAX_SEARCH_PARAMETERS + 1];
    assert_eq!(read_as("Observation", UnknownParameterHandling::Lenient, &many), Err(SearchError::TooManyParameters));
    assert!(read_as("Observation", UnknownParameterHandling::Lenient, &many[1..]).is_ok());
    let long = "x".repeat(limits::MAX_SEARCH_VALUE_BYTES + 1);
    assert_eq!(fault("Observation", "status", &long), SearchError::LongValue("status".to_owned()));
    assert!(read("Observation", "status", &long[1..]).is_ok());
    let values = |count| vec!["x"; count].join(",");
    let fault = fault("Observation", "status", &values(limits::MAX_VALUES_PER_PARAMETER + 1));
    assert_eq!(fault, SearchError::TooManyValues("status".to_owned()));
    assert!(read("Observation", "status", &values(limits::MAX_VALUES_PER_PARAMETER)).is_ok());
}

#[test]
fn a_chain_to_any_type_asks_only_so_much() {
    let values = |count| vec!["x"; count].join(",");
    let too_many = |name: &str| SearchError::TooManyTests(name.to_owned());
    let too_wide = SearchError::TooManyTypes("focus._tag".to_owned());
    assert_eq!(fault("Observation", "focus._tag", "x"), too_wide, "every type has tags");
    assert!(read("Observation", "focus:Patient._tag", &values(100)).is_ok());
    assert!(read("Observation", "focus.vaccine-code", "x").is_ok(), "one type has this");
    assert_eq!(fault("Observation", "subject._tag", &values(400)), too_many("subject._tag"));
    assert!(read("Observation", "subject._tag", &values(200)).is_ok());
}

#[test]
fn the_values_of_all_parameters_together_are_bounded() {
    let values = vec!["x"; limits::MAX_VALUES_PER_PARAMETER].join(",");
    let two = [("status", values.as_str()), ("code", values.as_str())];
    assert!(read_as("Observation", UnknownParameterHandling::Strict, &two).is_ok());
    for third in ["category", "subject:Patient.name:contains", "_has:Provenance:target:agent", "value-string:missing"] {
        let value = if third.ends_with("missing") { "true" } else { "x" };
        let three = [two[0], two[1], (third, value)];
        for handling in [UnknownParameterHandling::Strict, UnknownParameterHandling::Lenient] {
            let refused = read_as("Observation", handling, &three).unwrap_err();
            assert_eq!(refused, SearchError::TooManyTests(third.to_owned()));
            assert!(refused.to_string().starts_with(&format!("with {third} the search has more than 1000 values")));
        }
    }
}

#[test]
fn a_value_set_counts_with_all_its_codes() {
    let (mut search, _) = read_as("Observation", UnknownParameterHandling::Strict, &[("code:in", "http://v")]).unwrap();
    let codes = |count: usize| [("http://v".to_owned(), vec![(None, "x".to_owned()); count])].into();
    assert_eq!(search.clone().expand_value_sets(&codes(limits::MAX_SEARCH_CONDITIONS)), Ok(()));
    let refused = SearchError::TooManyTests("http://v".to_owned());
    assert_eq!(search.expand_value_sets(&codes(limits::MAX_SEARCH_CONDITIONS + 1)), Err(refused));
}

#[test]
fn an_audit_event_is_found_by_what_its_index_keeps() {
    let agent = ("agent", "Client/c1");
    for pair in
        [agent, ("patient", "p1"), ("date", "ge2026"), ("type", "110114"), ("entity", "Patient/p1"), ("outcome", "4")]
    {
        assert!(read_as("AuditEvent", UnknownParameterHandling::Strict, &[pair]).is_ok(), "{pair:?}");
    }
    let (search, _) = read_as(
        "AuditEvent",
        UnknownParameterHandling::Strict,
        &[("_sort", "-_lastUpdated"), ("_lastUpdated", "ge2026")],
    )
    .unwrap();
    assert_eq!(search.clauses.len(), 1);
    for unknown in ["site", "policy", "address", "unheard"] {
        let fault = read_as("AuditEvent", UnknownParameterHandling::Strict, &[(unknown, "x")]).unwrap_err();
        assert!(matches!(fault, SearchError::UnknownParameter { .. }), "{unknown}");
    }
}

#[test]
fn an_installed_parameter_is_read_like_any_other() {
    let document = json!({
        "resourceType": "SearchParameter", "url": "http://p/role", "code": "role", "base": ["CareTeam"],
        "type": "token", "expression": "CareTeam.participant.role",
    });
    let installed: [(i64, &Value); 1] = [(FIRST_INSTALLED_PARAMETER_NUMBER, &document)];
    let (catalog, refused) = SearchParameterCatalog::with_installed(installed);
    assert_eq!(refused, []);
    let resource_type = "CareTeam".parse().unwrap();
    let (search, _) =
        parse_search(&catalog, &SearchParseContext::strict(&resource_type, OWN, NOW_US), [("role", "x")]).unwrap();
    assert_eq!(search.clauses[0].search_parameter().number, FIRST_INSTALLED_PARAMETER_NUMBER);
}
