use fhir_resource::{format_conversion, property_testing};
use fhir_store::operation_outcome::IssueSeverity;
use fhir_validation::{limits, validate_document_in_either_format, validate_fhir_document};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns what an issue says: its code, its place and what is wrong.
fn issues_of(resource_type: &str, document: &Value) -> Vec<String> {
    let issues = validate_fhir_document(resource_type, document).unwrap();
    let found =
        issues.iter().map(|issue| format!("{} {}", issue.code, issue.diagnostics.as_deref().unwrap_or_default()));
    found.collect()
}

/// Of every document exactly one issue is returned, and it begins like this.
fn refuse(resource_type: &str, cases: &[(Value, &str)]) {
    for (document, expected) in cases {
        let found = issues_of(resource_type, document);
        let [only] = found.as_slice() else { panic!("{document}: one issue was expected, {found:?} were found") };
        assert!(only.starts_with(expected), "{document}: {only}");
    }
}

fn accept(resource_type: &str, documents: &[Value]) {
    for document in documents {
        assert_eq!(issues_of(resource_type, document), Vec::<String>::new(), "{document}");
    }
}

/// An Observation that is valid, with these elements besides.
fn observation(more: Value) -> Value {
    let mut observation = json!({"resourceType": "Observation", "status": "final", "code": {"text": "c"}});
    if let (Value::Object(members), Value::Object(more)) = (&mut observation, more) {
        members.extend(more);
    }
    observation
}

#[test]
fn a_type_that_r4_does_not_have_is_not_judged() {
    for resource_type in ["Client", "User", "HumanName", "Resource", "", "patient"] {
        assert_eq!(validate_fhir_document(resource_type, &json!({})), None, "{resource_type}");
    }
}

#[test]
fn unknown_names_are_told_and_a_choice_is_explained() {
    refuse(
        "Patient",
        &[
            (json!({"nmae": []}), "structure Patient.nmae: there is no such element"),
            (json!({"name": [{"first": "a", "text": "b"}]}), "structure Patient.name[0].first: there is no such"),
            (
                json!({"deceased": true}),
                "structure Patient.deceased: expected deceased[x]: deceasedBoolean, deceasedDateTime",
            ),
            (json!({"_name": [{"id": "a"}]}), "structure Patient.name: there is no element _name: only primitives"),
            (json!({"contact": [{"name": {"text": "a"}, "x": 1}]}), "structure Patient.contact[0].x: there is no such"),
            (json!({"resourceType": "Person"}), "structure Patient.resourceType: expected \"Patient\""),
        ],
    );
    refuse(
        "Observation",
        &[(observation(json!({"valueFoo": 1})), "structure Observation.valueFoo: expected value[x]: valueQuantity")],
    );
}

#[test]
fn lists_and_single_values_are_not_taken_for_each_other() {
    refuse(
        "Patient",
        &[
            (json!({"name": {"text": "a"}}), "structure Patient.name: expected a list, found an object"),
            (json!({"name": []}), "structure Patient.name: expected at least one value, found an empty list"),
            (json!({"birthDate": ["2020"]}), "structure Patient.birthDate: expected one value, found a list"),
            (json!({"name": ["a"]}), "structure Patient.name[0]: expected an object, found \"a\""),
            (json!({"name": [{}]}), "structure Patient.name[0]: expected at least one element besides id"),
            (json!({"name": [{"id": "a"}]}), "structure Patient.name[0]: expected at least one element besides id"),
            (json!({"name": [null]}), "structure Patient.name[0]: expected an object, found null"),
            (json!({"birthDate": null}), "structure Patient.birthDate: expected a date"),
            (json!({"maritalStatus": "M"}), "structure Patient.maritalStatus: expected an object, found \"M\""),
            (json!([]), "structure Patient: expected an object, found a list"),
        ],
    );
}

#[test]
fn values_have_the_form_of_their_type() {
    refuse(
        "Patient",
        &[
            (
                json!({"birthDate": "12/01/2020"}),
                "value Patient.birthDate: expected a date: YYYY, YYYY-MM or YYYY-MM-DD, found \"12/01",
            ),
            (json!({"active": "true"}), "value Patient.active: expected true or false, found \"true\""),
            (json!({"deceasedDateTime": "x"}), "value Patient.deceased.ofType(dateTime): expected a dateTime"),
            (
                json!({"multipleBirthInteger": 1.5}),
                "value Patient.multipleBirth.ofType(integer): expected a whole number",
            ),
            (json!({"name": [{"given": [""]}]}), "value Patient.name[0].given[0]: expected a text that is not empty"),
            (json!({"implicitRules": "a b"}), "value Patient.implicitRules: expected a uri"),
            (json!({"id": 1}), "value Patient.id: expected an id"),
            (json!({"text": {"status": "generated", "div": "<div> </div>"}}), "value Patient.text.div: expected a div"),
        ],
    );
    accept("Patient", &[json!({"id": "the_address_judges_it"}), json!({}), json!({"resourceType": "Patient"})]);
}

#[test]
fn what_is_required_has_to_be_there_once() {
    refuse(
        "Observation",
        &[
            (json!({"code": {"text": "c"}}), "required Observation: expected the element status, found none"),
            (
                observation(json!({"component": [{"valueString": "a"}]})),
                "required Observation.component[0]: expected the element code",
            ),
            (
                observation(json!({"extension": [{"valueString": "a"}]})),
                "required Observation.extension[0]: expected the element url",
            ),
        ],
    );
    refuse(
        "Patient",
        &[(json!({"text": {"div": "<div>a</div>"}}), "required Patient.text: expected the element status")],
    );
    assert_eq!(
        issues_of("MedicationRequest", &json!({"status": "active"})),
        [
            "required MedicationRequest: expected the element intent, found none",
            "required MedicationRequest: expected the element medication[x], found none",
            "required MedicationRequest: expected the element subject, found none",
        ]
    );
    // A reason why there is no value is there instead of one.
    let absent = json!({"extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}]});
    accept("Observation", &[json!({"_status": absent, "code": {"text": "c"}})]);
}

#[test]
fn a_choice_is_made_once() {
    let two = observation(json!({"valueString": "a", "valueInteger": 1}));
    refuse(
        "Observation",
        &[(two, "structure Observation.value: expected one of value[x], found valueString and valueInteger")],
    );
    accept("Observation", &[observation(json!({"valueString": "a", "_valueString": {"id": "x"}}))]);
}

#[test]
fn codes_are_of_the_value_set_a_binding_requires() {
    let coded = |system: &str, code: &str| json!({"coding": [{"system": system, "code": code}]});
    let clinical = "http://terminology.hl7.org/CodeSystem/condition-clinical";
    let condition = |status: Value| json!({"subject": {"reference": "Patient/1"}, "clinicalStatus": status});
    refuse(
        "Patient",
        &[(
            json!({"gender": "m"}),
            "code-invalid Patient.gender: expected a code of the value set administrative-gender (female, male, other, unknown), found \"m\"",
        )],
    );
    refuse(
        "Condition",
        &[
            (
                condition(coded(clinical, "gone")),
                "code-invalid Condition.clinicalStatus: expected a code of the value set condition-clinical",
            ),
            (condition(coded("x", "active")), "code-invalid Condition.clinicalStatus"),
            (condition(json!({"text": "active"})), "code-invalid Condition.clinicalStatus"),
            (condition(json!({"coding": [{"code": "active"}]})), "code-invalid Condition.clinicalStatus"),
        ],
    );
    let second = json!({"coding": [{"system": "x", "code": "y"}, {"system": clinical, "code": "active"}]});
    accept("Condition", &[condition(coded(clinical, "active")), condition(second)]);
    // Media types cannot be listed, and a preferred binding requires nothing.
    accept("Binary", &[json!({"contentType": "application/x-anything", "data": "YQ=="})]);
    accept("Patient", &[json!({"maritalStatus": coded("x", "y"), "language": "tlh"})]);
}

#[test]
fn references_lead_to_what_their_element_allows() {
    let about = |reference: &str| observation(json!({"subject": {"reference": reference}}));
    let fit = [
        "Patient/1",
        "Group/1/_history/2",
        "http://h/fhir/Patient/1",
        "urn:uuid:c757873d-ec9a-4326-a141-556f43239520",
        "https://h/anything",
        "urn:oid:1.2",
        "Patient?identifier=s|1",
        "#",
        "https://h/Patient/1/_history/2",
        "ftp://h/x",
    ];
    accept("Observation", &fit.map(about));
    refuse("Observation", &[
        (about("Practitioner/1"), "value Observation.subject.reference: expected a reference to Patient, Group, Device, Location, found one to Practitioner"),
        (about("https://h/fhir/Practitioner/1"), "value Observation.subject.reference: expected a reference to"),
        (about("Client/1"), "value Observation.subject.reference: expected a reference to"),
        (about("Patient"), "value Observation.subject.reference: expected Type/id, a url or #id, found \"Patient\""),
        (about("patient/1"), "value Observation.subject.reference: expected Type/id"),
        (about("Nothing?a=b"), "value Observation.subject.reference: expected Type/id"),
        (about("#p"), "invariant Observation.subject.reference: expected a resource in contained with this id"),
        (about(""), "value Observation.subject.reference: expected a text that is not empty"),
    ].map(|(document, expected)| (document, expected)));
    accept(
        "Observation",
        &[observation(json!({"subject": {"display": "somebody"}, "focus": [{"reference": "Client/1"}]}))],
    );
}

#[test]
fn contained_resources_are_named_typed_and_flat() {
    let with = |contained: Value, reference: &str| {
        observation(json!({"contained": [contained], "subject": {"reference": reference}}))
    };
    accept("Observation", &[with(json!({"resourceType": "Patient", "id": "p"}), "#p")]);
    let device = json!({"resourceType": "Organization", "id": "p"});
    refuse(
        "Observation",
        &[
            (
                with(json!({"resourceType": "Patient"}), "Patient/1"),
                "required Observation.contained[0]: expected the element id",
            ),
            (with(device, "#p"), "value Observation.subject.reference: expected a reference to"),
            (
                with(json!({"id": "p"}), "Patient/1"),
                "structure Observation.contained[0].resourceType: expected the resourceType of a resource of R4, found none",
            ),
            (
                with(json!({"resourceType": "Client", "id": "p"}), "Patient/1"),
                "structure Observation.contained[0].resourceType",
            ),
            (
                with(
                    json!({"resourceType": "Patient", "id": "p", "contained": [{"resourceType": "Patient", "id": "q"}]}),
                    "#p",
                ),
                "invariant Observation.contained[0].contained: expected no contained",
            ),
            (
                with(json!({"resourceType": "Patient", "id": "p", "meta": {"versionId": "1"}}), "#p"),
                "invariant Observation.contained[0].meta.versionId",
            ),
            (
                with(json!({"resourceType": "Patient", "id": "p_q"}), "Patient/1"),
                "value Observation.contained[0].id: expected an id",
            ),
        ],
    );
}

#[test]
fn primitives_have_extensions_beside_them() {
    let extension = json!({"extension": [{"url": "http://e/x", "valueString": "a"}]});
    accept(
        "Patient",
        &[
            json!({"birthDate": "2020", "_birthDate": extension}),
            json!({"_birthDate": extension}),
            json!({"name": [{"given": ["a", null], "_given": [null, extension]}]}),
            json!({"name": [{"_given": [extension]}]}),
        ],
    );
    refuse(
        "Patient",
        &[
            (
                json!({"name": [{"given": ["a", null]}]}),
                "structure Patient.name[0].given[1]: expected a value, or an extension",
            ),
            (
                json!({"name": [{"given": ["a", null], "_given": [extension, null]}]}),
                "structure Patient.name[0].given[1]: expected a value",
            ),
            (
                json!({"name": [{"given": ["a"], "_given": [null]}]}),
                "structure Patient.name[0].given: expected at least one extension",
            ),
            (
                json!({"name": [{"given": ["a"], "_given": [extension, extension]}]}),
                "structure Patient.name[0].given: expected 1 extensions beside the values, found 2",
            ),
            (json!({"_birthDate": "a"}), "structure Patient.birthDate: expected an object"),
            (json!({"_birthDate": {"value": "a"}}), "structure Patient.birthDate.value: there is no such element"),
        ],
    );
}

#[test]
fn some_invariants_are_judged() {
    refuse(
        "Patient",
        &[
            (
                json!({"extension": [{"url": "u"}]}),
                "invariant Patient.extension[0]: expected either a value[x] or extensions, found neither",
            ),
            (
                json!({"extension": [{"url": "u", "valueCode": "a", "extension": [{"url": "v", "valueCode": "b"}]}]}),
                "invariant Patient.extension[0]: expected either",
            ),
            (json!({"photo": [{"data": "YQ=="}]}), "invariant Patient.photo[0]: expected a contentType"),
            (json!({"contact": [{"gender": "male"}]}), "invariant Patient.contact[0]: expected a name"),
        ],
    );
    refuse(
        "Observation",
        &[
            (
                observation(json!({"valueQuantity": {"value": 1, "code": "mg"}})),
                "invariant Observation.value.ofType(Quantity): expected a system",
            ),
            (
                observation(json!({"valueString": "a", "dataAbsentReason": {"text": "b"}})),
                "invariant Observation: expected a dataAbsentReason",
            ),
        ],
    );
}

#[test]
fn every_resource_of_a_bundle_is_judged_with_its_own_contained_ones() {
    let entry =
        |resource: Value| json!({"fullUrl": "urn:uuid:c757873d-ec9a-4326-a141-556f43239520", "resource": resource});
    let inner =
        observation(json!({"contained": [{"resourceType": "Patient", "id": "p"}], "subject": {"reference": "#p"}}));
    let lost = observation(json!({"subject": {"reference": "#p"}}));
    accept("Bundle", &[json!({"type": "collection", "entry": [entry(inner.clone())]})]);
    refuse(
        "Bundle",
        &[
            (
                json!({"type": "collection", "entry": [entry(inner), entry(lost)]}),
                "invariant Bundle.entry[1].resource.subject.reference",
            ),
            (
                json!({"type": "collection", "entry": [entry(json!({"resourceType": "Patient", "gender": "x"}))]}),
                "code-invalid Bundle.entry[0].resource.gender",
            ),
        ],
    );
}

#[test]
fn elements_made_like_others_are_judged_like_them() {
    let item = |inner: Value| json!({"status": "draft", "item": [{"linkId": "1", "type": "group", "item": [inner]}]});
    accept(
        "Questionnaire",
        &[item(json!({"linkId": "1.1", "type": "string", "item": [{"linkId": "1.1.1", "type": "display"}]}))],
    );
    refuse(
        "Questionnaire",
        &[(item(json!({"linkId": "1.1"})), "required Questionnaire.item[0].item[0]: expected the element type")],
    );
}

#[test]
fn issues_are_bounded_and_say_so() {
    let names: Vec<Value> = (0..1000).map(|_| json!({"x": 1, "y": 2})).collect();
    let issues = validate_fhir_document("Patient", &json!({"name": names})).unwrap();
    assert_eq!(issues.len(), limits::MAX_ISSUES + 1);
    let last = issues.last().unwrap();
    assert_eq!((last.severity, last.code), (IssueSeverity::Information, "incomplete"));
}

#[test]
fn a_document_of_any_depth_is_judged_without_falling() {
    let mut extension = json!({"url": "u", "valueString": "a"});
    for _ in 0..fhir_store::limits::MAX_RESOURCE_DEPTH {
        extension = json!({"url": "u", "extension": [extension]});
    }
    let issues = issues_of("Patient", &json!({"extension": [extension]}));
    assert!(issues.iter().any(|issue| issue.contains("is nested too deeply")), "{issues:?}");
}

#[test]
fn a_name_with_a_nul_or_a_long_value_does_not_spoil_the_answer() {
    let issues = issues_of("Patient", &json!({"a\0b": 1, "gender": format!("\u{7}{}", "é".repeat(10_000))}));
    assert!(issues.iter().all(|issue| issue.len() < 400 && !issue.contains(['\0', '\u{7}'])), "{issues:?}");
}

/// Observations that are valid, with the parts that the two spellings write differently.
fn any_valid() -> impl Strategy<Value = Value> {
    let reference = prop_oneof!["Patient/[a-z]{1,8}", "https://h/fhir/Patient/[a-z]{1,8}", Just("#p".to_owned())];
    let value = prop_oneof![
        any::<i32>().prop_map(|number| json!({"valueInteger": number})),
        "[a-z]{1,8}".prop_map(|text| json!({"valueString": text})),
        any::<u32>().prop_map(|number| json!({"valueQuantity": {"value": number, "unit": "mg"}})),
        Just(json!({"valueDateTime": "2024-02-29"})),
    ];
    let status = proptest::sample::select(vec!["registered", "preliminary", "final", "amended"]);
    (reference, value.clone(), value, status).prop_map(|(reference, value, inner, status)| {
        let extended = |mut object: Value, inner: &Value| {
            let own: Vec<_> = inner.as_object().into_iter().flatten().collect();
            object.as_object_mut().into_iter().for_each(|object| object.extend(own.iter().map(|(k, v)| ((*k).clone(), (*v).clone()))));
            object
        };
        let extension = extended(json!({"url": "http://e/x"}), &inner);
        let contained = json!([{"resourceType": "Patient", "id": "p"}]);
        let more = json!({"status": status, "contained": contained, "extension": [extension], "subject": {"reference": reference}});
        observation(extended(more, &value))
    })
}

proptest! {
    #![proptest_config(property_testing::seeded_proptest_config(256))]

    #[test]
    fn what_is_valid_stays_valid_in_the_other_spelling_and_back(document in any_valid()) {
        prop_assert_eq!(validate_fhir_document("Observation", &document), Some(Vec::new()));
        let native = format_conversion::convert_to_native(document.clone());
        prop_assert_eq!(validate_document_in_either_format("Observation", &native), Some(Vec::new()));
        prop_assert_eq!(format_conversion::convert_to_fhir(native), document);
    }

    #[test]
    fn whatever_is_sent_is_judged_within_bounds(document in property_testing::any_json(), resource_type in 0..4_usize) {
        let resource_type = ["Patient", "Bundle", "Parameters", "Questionnaire"][resource_type];
        let issues = validate_fhir_document(resource_type, &document).unwrap();
        prop_assert!(issues.len() <= limits::MAX_ISSUES + 1);
        prop_assert!(issues.iter().all(|issue| issue.expression.len() <= 1 && issue.diagnostics.is_some()));
    }
}
