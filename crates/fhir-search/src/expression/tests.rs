use fhir_resource::{format_conversion, property_testing};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Returns the values of an expression on a resource, as JSON.
fn values(type_name: &str, expression: &str, resource: &Value) -> Vec<Value> {
    let expression = Expression::compile(type_name, expression).unwrap_or_else(|fault| panic!("{expression}: {fault}"));
    let mut values = Vec::new();
    expression.each(resource, resource, &mut |value| values.push(value.clone()));
    values
}

fn fault(expression: &str) -> ExpressionCompileError {
    Expression::compile("Patient", expression).expect_err(expression)
}

#[test]
fn a_path_enters_lists_at_every_step() {
    let patient = json!({"name": [{"given": ["A", "B"]}, {"given": ["C"]}, {"family": "D"}], "active": null});
    assert_eq!(values("Patient", "Patient.name.given", &patient), [json!("A"), json!("B"), json!("C")]);
    assert_eq!(values("Patient", "name.given", &patient), values("Patient", "Patient.name.given", &patient));
    assert_eq!(values("Patient", "Patient.name.given[1]", &patient), [json!("B")]);
    assert_eq!(values("Patient", "Patient.name[1].given", &patient), [json!("C")]);
    assert_eq!(values("Patient", "Patient.name.given.first()", &patient), [json!("A")]);
    assert_eq!(values("Patient", "Patient.active", &patient), [] as [Value; 0]);
    assert_eq!(values("Patient", "Patient.name.given.x", &patient), [] as [Value; 0]);
}

#[test]
fn of_a_union_only_what_is_about_the_type_is_left() {
    let resource = json!({"birthDate": "2000", "status": "x", "meta": {"source": "s"}});
    let both = "Patient.birthDate | Observation.status | Resource.meta.source | (Observation.value as Quantity)";
    assert_eq!(values("Patient", both, &resource), [json!("2000"), json!("s")]);
    assert_eq!(values("Observation", both, &resource), [json!("x"), json!("s")]);
    for other in [
        "Observation.status",
        "Observation.status.where(x = 'y')",
        "(Observation.value as Quantity).code",
        "Observation.value.ofType(Quantity)",
        "Observation.subject.where(resolve() is Patient)",
        "Observation.extension('x').value",
        "Observation.entry[0].resource",
    ] {
        assert!(Expression::compile("Patient", other).unwrap().is_empty(), "{other}");
    }
}

#[test]
fn a_choice_is_found_by_its_name_and_by_its_type() {
    let quantity = json!({"valueQuantity": {"value": 1}, "values": 2, "valueless": 3, "effectiveDateTime": "2000"});
    let found = [json!({"value": 1})];
    for expression in [
        "Observation.value",
        "(Observation.value as Quantity)",
        "Observation.value as Quantity",
        "Observation.value.as(Quantity)",
        "Observation.value.ofType(Quantity)",
        "Observation.value.ofType(FHIR.Quantity)",
        "Observation.valueQuantity",
    ] {
        assert_eq!(values("Observation", expression, &quantity), found, "{expression}");
    }
    assert_eq!(values("Observation", "Observation.value as Range", &quantity), [] as [Value; 0]);
    assert_eq!(values("Observation", "value.as(DateTime) | effective.as(DateTime)", &quantity), [json!("2000")]);
    assert_eq!(values("Observation", "Observation.effective", &quantity), [json!("2000")]);
}

#[test]
fn what_is_no_choice_passes_where_json_allows_the_type() {
    let resource = json!({"code": {"text": "x"}, "start": "2000", "flag": true, "inner": {"resourceType": "Patient"}});
    assert_eq!(values("Basic", "(Basic.code as CodeableConcept).text", &resource), [json!("x")]);
    assert_eq!(values("Basic", "Basic.start as date", &resource), [json!("2000")]);
    assert_eq!(values("Basic", "(Basic.code | Basic.start).ofType(date)", &resource), [json!("2000")]);
    assert_eq!(values("Basic", "Basic.flag as boolean", &resource), [json!(true)]);
    assert_eq!(values("Basic", "Basic.inner as Patient", &resource).len(), 1);
    for none in ["Basic.start as boolean", "Basic.flag as date", "Basic.code as string", "Basic.inner as Group"] {
        assert_eq!(values("Basic", none, &resource), [] as [Value; 0], "{none}");
    }
}

#[test]
fn conditions_choose_among_the_values() {
    let patient = json!({
        "telecom": [{"system": "phone", "value": "1"}, {"system": "email", "value": "2"}, {"value": "3"}],
        "deceasedBoolean": true,
    });
    let found = |expression: &str| values("Patient", expression, &patient);
    assert_eq!(found("Patient.telecom.where(system='email').value"), [json!("2")]);
    assert_eq!(found("Patient.telecom.where(system != 'email').value"), [json!("1")]);
    assert_eq!(found("Patient.telecom.where(system = 'email' or value = '3').value"), [json!("2"), json!("3")]);
    assert_eq!(found("Patient.telecom.where(system.exists() and value = '1').value"), [json!("1")]);
    assert_eq!(found("Patient.telecom.where(system.empty()).value"), [json!("3")]);
    assert_eq!(found("Patient.telecom.where(system.exists().not()).value"), [json!("3")]);
    assert_eq!(found("Patient.telecom.exists(system = 'phone')"), [json!(true)]);
    assert_eq!(found("Patient.telecom.value.where($this = '1')"), [json!("1")]);
}

#[test]
fn whether_a_patient_is_deceased_is_told_by_either_element() {
    let deceased = "Patient.deceased.exists() and Patient.deceased != false";
    for (patient, is) in [
        (json!({"deceasedBoolean": true}), true),
        (json!({"deceasedDateTime": "2000"}), true),
        (json!({"deceasedBoolean": false}), false),
        (json!({}), false),
    ] {
        assert_eq!(values("Patient", deceased, &patient), [json!(is)], "{patient}");
    }
}

#[test]
fn extensions_are_found_by_their_url_in_both_spellings() {
    let fhir = json!({"extension": [
        {"url": "http://x/race", "extension": [{"url": "omb", "valueCoding": {"code": "2106-3"}}]},
        {"url": "http://x/date", "valueDateTime": "2000-01-01"},
        {"url": "http://x/code", "valueCode": "c"},
    ]});
    for resource in [fhir.clone(), format_conversion::convert_to_native(fhir)] {
        let found = |expression: &str| values("Patient", expression, &resource);
        for race in [
            "Patient.extension.where(url = 'http://x/race').extension.value.code",
            "Patient.extension('http://x/race').extension('omb').value.code",
            "Patient.extension.where(url='http://x/race').extension.where(url='omb').value.as(Coding).code",
            "(Patient.extension('http://x/race').extension.value as Coding).code",
        ] {
            assert_eq!(found(race), [json!("2106-3")], "{race} {resource}");
        }
        assert_eq!(found("Patient.extension.where(url='http://x/date').valueDateTime"), [json!("2000-01-01")]);
        assert_eq!(found("Patient.extension('http://x/code').value"), [json!("c")]);
        assert_eq!(found("Patient.extension('http://x/none').value"), [] as [Value; 0]);
    }
}

#[test]
fn what_a_reference_is_to_is_read_from_the_reference() {
    let expression = "Observation.subject.where(resolve() is Patient)";
    let is_patient = |subject: Value| {
        let resource = json!({"subject": subject, "contained": [{"resourceType": "Patient", "id": "p"}]});
        !values("Observation", expression, &resource).is_empty()
    };
    for yes in [
        json!({"reference": "Patient/1"}),
        json!({"reference": "Patient/1/_history/2"}),
        json!({"reference": "https://elsewhere.example/fhir/Patient/1"}),
        json!({"reference": "#p"}),
        json!({"localRef": "p"}),
        json!({"resourceType": "Patient", "id": "1"}),
        json!({"uri": "https://elsewhere.example/fhir/Patient/1"}),
        json!({"type": "Patient", "identifier": {"value": "1"}}),
    ] {
        assert!(is_patient(yes.clone()), "{yes}");
    }
    for no in [
        json!({"reference": "Group/1"}),
        json!({"reference": "Patient"}),
        json!({"reference": "#q"}),
        json!({"reference": "urn:uuid:4f6c9d3a-0000-4000-8000-000000000001"}),
        json!({"resourceType": "Group", "id": "1"}),
        json!({"identifier": {"value": "Patient/1"}}),
    ] {
        assert!(!is_patient(no.clone()), "{no}");
    }
}

#[test]
fn a_part_of_a_composite_sees_the_resource() {
    let resource = json!({"referenceSeq": {"chromosome": "1"}, "variant": [{"start": 5}]});
    let of_element = Expression::compile("MolecularSequence", "%resource.referenceSeq.chromosome").unwrap();
    let mut found = Vec::new();
    of_element.each(&resource["variant"][0], &resource, &mut |value| found.push(value));
    assert_eq!(found, [&json!("1")]);
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    for (expression, name) in [
        ("Patient.name.select(given)", "select"),
        ("iif(Patient.active, 1, 2)", "iif"),
        ("Patient.link.other.resolve().name", "resolve"),
        ("Patient.name.descendants()", "descendants"),
        ("Patient.extension(url)", "extension"),
    ] {
        assert_eq!(fault(expression), ExpressionCompileError::Function(name.to_owned()), "{expression}");
    }
    for (expression, part) in [
        ("Patient.name > 1", "> 1"),
        ("%ucum", "%ucum"),
        ("$index", "$index"),
        ("Patient.`div`", "`div`"),
        ("Patient.name[x]", "["),
        ("Patient.name)", ")"),
        ("Patient.name Patient", "Patient"),
        (r"Patient.where(a = '\u0041')", r"\u"),
    ] {
        assert_eq!(fault(expression), ExpressionCompileError::Unsupported(part.to_owned()), "{expression}");
    }
    for expression in ["", "Patient.", "(Patient", "Patient.where(", "Patient.name as", "'x"] {
        assert_eq!(fault(expression), ExpressionCompileError::End, "{expression}");
    }
}

#[test]
fn an_expression_is_neither_too_long_nor_too_deep() {
    let deep = |levels| format!("{}name{}", "(".repeat(levels), ")".repeat(levels));
    assert!(Expression::compile("Patient", &deep(10)).is_ok());
    assert_eq!(fault(&deep(100)), ExpressionCompileError::TooLarge);
    assert_eq!(fault(&format!("Patient{}", ".name".repeat(100))), ExpressionCompileError::TooLarge);
    assert_eq!(fault(&format!("name{}", " as string".repeat(100))), ExpressionCompileError::TooLarge);
    assert_eq!(fault(&format!("active{}", " and active".repeat(100))), ExpressionCompileError::TooLarge);
    assert_eq!(fault(&"a|".repeat(5000)), ExpressionCompileError::TooLarge);
}

proptest! {
    #![proptest_config(property_testing::seeded_proptest_config(500))]

    #[test]
    fn any_text_is_compiled_or_refused(text in r"([a-zA-Z.()\[\]'|=%$ 0-9\\]{0,40}|.{0,20})") {
        let _ = Expression::compile("Patient", &text);
    }

    #[test]
    fn any_resource_has_an_answer(resource in property_testing::any_json()) {
        let text = "id | url.where(type = 'x') | entry[1].resource as Patient | request.exists() | method.url.not()";
        let expression = Expression::compile("Bundle", text).unwrap();
        expression.each(&resource, &resource, &mut |value| assert!(!value.is_array() && !value.is_null()));
    }
}
