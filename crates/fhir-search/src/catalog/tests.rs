use serde_json::json;

use super::*;
use crate::{COMPARTMENT_PARAMETER_NUMBER, ExpressionCompileError, SearchParameterType};

fn resource_type(name: &str) -> ResourceType {
    name.parse().unwrap()
}

/// A parameter of `CareTeam` with some elements replaced; those that are null are left out.
fn definition(changes: &Value) -> Value {
    let mut document = json!({
        "resourceType": "SearchParameter", "url": "http://p/role", "code": "role", "base": ["CareTeam"],
        "type": "token", "expression": "CareTeam.participant.role",
    });
    json_patch::merge(&mut document, changes);
    document
}

fn with(documents: &[Value]) -> (Arc<SearchParameterCatalog>, Vec<UnusableSearchParameter>) {
    SearchParameterCatalog::with_installed((FIRST_INSTALLED_PARAMETER_NUMBER..).zip(documents))
}

fn fault(changes: &Value) -> SearchParameterDefinitionError {
    let (_, mut refused) = with(&[definition(changes)]);
    assert_eq!(refused.len(), 1, "{changes}");
    refused.remove(0).fault
}

#[test]
fn every_parameter_of_r4_compiles_for_every_type_it_names() {
    let catalog = SearchParameterCatalog::with_r4_only();
    let mut compiled = 0;
    let mut refused = Vec::new();
    for name in catalog.types_with_parameters() {
        for definition in base::of(name) {
            match definition.compile(name) {
                Ok(Some(_)) => compiled += 1,
                other => refused.push(format!("{name}.{}: {other:?}", definition.code)),
            }
        }
    }
    assert_eq!(refused, Vec::<String>::new());
    // 1,699 of single types but for ten of AuditEvent, which are not used, and six that all of them have.
    assert_eq!((catalog.types_with_parameters().count(), compiled), (133, 1_689 + 6 * 133));
}

#[test]
fn a_parameter_of_r4_has_its_definition() {
    let catalog = SearchParameterCatalog::with_r4_only();
    let patient = catalog.find_parameter_by_code(&resource_type("Observation"), "patient").unwrap();
    assert_eq!(patient.url, "http://hl7.org/fhir/SearchParameter/clinical-patient");
    assert_eq!(
        (patient.parameter_type, &patient.targets),
        (SearchParameterType::Reference, &vec![resource_type("Patient")])
    );
    let shared = catalog.find_parameter_by_code(&resource_type("Condition"), "patient").unwrap();
    assert_eq!(shared.number, patient.number, "one definition, one number");
    let composite = catalog.find_parameter_by_code(&resource_type("Observation"), "code-value-date").unwrap();
    let parts: Vec<SearchParameterType> = composite.components.iter().map(|part| part.parameter_type).collect();
    assert_eq!(parts, [SearchParameterType::Token, SearchParameterType::Date]);
    assert_eq!(catalog.find_parameter_by_code(&resource_type("Patient"), "near"), None);
    assert_eq!(catalog.find_parameter_by_code(&resource_type("Location"), "near"), None, "its type is special");
}

#[test]
fn numbers_and_codes_are_unique() {
    let catalog = SearchParameterCatalog::with_r4_only();
    let mut urls = BTreeMap::new();
    for name in catalog.types_with_parameters() {
        let mut codes: Vec<&str> = Vec::new();
        for parameter in catalog.parameters_of_type(&resource_type(name)) {
            assert!(
                COMPARTMENT_PARAMETER_NUMBER < parameter.number && parameter.number < FIRST_INSTALLED_PARAMETER_NUMBER
            );
            let url = urls.entry(parameter.number).or_insert_with(|| parameter.url.clone());
            assert_eq!(*url, parameter.url);
            codes.push(&parameter.code);
        }
        assert!(codes.is_sorted() && codes.windows(2).all(|pair| pair[0] != pair[1]), "{name}");
    }
    assert_eq!(urls.len(), 1_364);
}

#[test]
fn every_type_has_what_all_resources_have() {
    let catalog = SearchParameterCatalog::with_r4_only();
    let codes = |name: &str| {
        catalog.parameters_of_type(&resource_type(name)).map(|parameter| parameter.code.clone()).collect::<Vec<_>>()
    };
    assert_eq!(codes("Client"), ["_id", "_lastUpdated", "_profile", "_security", "_source", "_tag"]);
    assert!(codes("Patient").len() > 6);
    assert!(
        catalog.has_type_specific_parameters(&resource_type("Patient"))
            && !catalog.has_type_specific_parameters(&resource_type("Client"))
            && !catalog.has_type_specific_parameters(&resource_type("Resource"))
    );
}

#[test]
fn installed_parameters_stand_beside_those_of_r4() {
    let race = json!({
        "resourceType": "SearchParameter", "url": "http://p/race", "code": "race", "base": ["Patient", "Client"],
        "type": "token", "expression": "extension.where(url = 'http://x/race').extension.value.code", "target": ["Group"],
    });
    let composite = json!({
        "url": "http://p/role-race", "code": "role-race", "base": ["CareTeam"], "type": "composite",
        "expression": "CareTeam.participant",
        "component": [
            {"definition": "http://p/role", "expression": "role"},
            {"definition": "http://hl7.org/fhir/SearchParameter/Observation-value-quantity", "expression": "x"},
        ],
    });
    let active_of_patient =
        json!({"url": "http://hl7.org/fhir/SearchParameter/Patient-active", "code": "active", "base": ["Patient"]});
    let (catalog, refused) = with(&[definition(&json!({})), race, composite, active_of_patient]);
    assert_eq!(refused, []);
    let role = catalog.find_parameter_by_code(&resource_type("CareTeam"), "role").unwrap();
    assert_eq!((role.number, role.parameter_type), (FIRST_INSTALLED_PARAMETER_NUMBER, SearchParameterType::Token));
    for name in ["Patient", "Client"] {
        let race = catalog.find_parameter_by_code(&resource_type(name), "race").unwrap();
        assert_eq!((race.number, &race.targets), (FIRST_INSTALLED_PARAMETER_NUMBER + 1, &vec![resource_type("Group")]));
    }
    assert!(catalog.has_type_specific_parameters(&resource_type("Client")), "a definition names it now");
    let parts = &catalog.find_parameter_by_code(&resource_type("CareTeam"), "role-race").unwrap().components;
    assert_eq!(
        parts.iter().map(|part| part.parameter_type).collect::<Vec<_>>(),
        [SearchParameterType::Token, SearchParameterType::Quantity]
    );
    assert_eq!(
        catalog.find_parameter_by_code(&resource_type("Patient"), "active").unwrap().number,
        active(),
        "R4's own stays"
    );
}

fn active() -> i64 {
    SearchParameterCatalog::with_r4_only().find_parameter_by_code(&resource_type("Patient"), "active").unwrap().number
}

#[test]
fn what_cannot_be_used_is_named_with_its_reason() {
    for name in ["url", "code", "base", "type", "expression"] {
        let element = if name == "url" {
            SearchParameterDefinitionError::Element("url")
        } else {
            SearchParameterDefinitionError::Element(name)
        };
        assert_eq!(fault(&json!({name: null})), element);
        assert_eq!(fault(&json!({name: 5})), SearchParameterDefinitionError::Element(name));
    }
    for (changes, expected) in [
        (json!({"code": "a:b"}), SearchParameterDefinitionError::Element("code")),
        (json!({"code": "a.b"}), SearchParameterDefinitionError::Element("code")),
        (json!({"base": []}), SearchParameterDefinitionError::Element("base")),
        (json!({"base": ["patient"]}), SearchParameterDefinitionError::Element("base")),
        (json!({"target": ["x"]}), SearchParameterDefinitionError::Element("target")),
        (json!({"type": "special"}), SearchParameterDefinitionError::Kind("special".to_owned())),
        (json!({"type": "composite"}), SearchParameterDefinitionError::Element("component")),
        (json!({"expression": "Patient.name"}), SearchParameterDefinitionError::Empty("CareTeam".to_owned())),
        (json!({"expression": "iif(a, b, c)"}), ExpressionCompileError::Function("iif".to_owned()).into()),
    ] {
        assert_eq!(fault(&changes), expected, "{changes}");
    }
    let part = json!({"definition": "http://p/role", "expression": "role"});
    let many = json!({"type": "composite", "component": vec![part; crate::limits::MAX_COMPOSITE_COMPONENTS + 1]});
    assert_eq!(fault(&many), SearchParameterDefinitionError::Element("component"));
    let component = json!({"type": "composite", "component": [{"definition": "http://p/none", "expression": "role"}]});
    assert_eq!(fault(&component), SearchParameterDefinitionError::Component("http://p/none".to_owned()));
}

#[test]
fn the_first_to_have_a_code_or_a_number_keeps_it() {
    let taken = |url: &str| SearchParameterDefinitionError::Taken {
        resource_type: "CareTeam".into(),
        code: "role".into(),
        url: url.into(),
    };
    let (catalog, refused) = with(&[definition(&json!({})), definition(&json!({"url": "http://p/other"}))]);
    assert_eq!(refused, [UnusableSearchParameter { url: "http://p/other".to_owned(), fault: taken("http://p/role") }]);
    assert_eq!(catalog.find_parameter_by_code(&resource_type("CareTeam"), "role").unwrap().url, "http://p/role");
    let status = fault(&json!({"code": "status"}));
    let url = "http://hl7.org/fhir/SearchParameter/CareTeam-status".to_owned();
    assert_eq!(
        status,
        SearchParameterDefinitionError::Taken { resource_type: "CareTeam".into(), code: "status".into(), url }
    );
    for everywhere in ["Resource", "DomainResource"] {
        let both =
            [definition(&json!({"base": [everywhere], "expression": "status"})), definition(&json!({"url": "x"}))];
        assert_eq!(
            with(&both).1,
            [UnusableSearchParameter { url: "x".to_owned(), fault: taken("http://p/role") }],
            "{everywhere}"
        );
    }

    let document = definition(&json!({}));
    for number in [COMPARTMENT_PARAMETER_NUMBER, active(), FIRST_INSTALLED_PARAMETER_NUMBER - 1] {
        let (_, refused) = SearchParameterCatalog::with_installed([(number, &document)]);
        assert_eq!(refused[0].fault, SearchParameterDefinitionError::Number(number));
    }
    let other = definition(&json!({"url": "http://p/other", "code": "other"}));
    let (_, refused) = SearchParameterCatalog::with_installed([
        (FIRST_INSTALLED_PARAMETER_NUMBER, &document),
        (FIRST_INSTALLED_PARAMETER_NUMBER, &other),
    ]);
    assert_eq!(refused[0].fault, SearchParameterDefinitionError::Number(FIRST_INSTALLED_PARAMETER_NUMBER));
}

/// The shapes of expressions that US Core's parameters have.
#[test]
fn expressions_of_us_core_compile() {
    for (base, expression) in [
        ("CareTeam", "CareTeam.participant.role"),
        ("Condition", "Condition.extension.where(url = 'http://x/condition-assertedDate').valueDateTime"),
        ("Encounter", "Encounter.hospitalization.dischargeDisposition"),
        ("Patient", "Patient.extension.where(url = 'http://x/us-core-ethnicity').extension.value.code"),
        ("Patient", "Patient.extension.where(url='http://x/us-core-genderIdentity').value.coding.code"),
    ] {
        let document = definition(&json!({"base": [base], "code": "x", "expression": expression}));
        assert_eq!(with(&[document]).1, [], "{expression}");
    }
}

/// Returns the codes of the parameters that have the rows of one.
fn sources(of: &str, code: &str) -> Vec<String> {
    let (catalog, of) = (SearchParameterCatalog::with_r4_only(), resource_type(of));
    let parameter = catalog.find_parameter_by_code(&of, code).unwrap();
    catalog.parameters_sharing_rows(&of, parameter).map(|source| source.code.clone()).collect()
}

#[test]
fn what_others_find_together_has_no_rows_of_its_own() {
    assert_eq!(sources("Observation", "combo-code"), ["code", "component-code"]);
    assert_eq!(sources("Observation", "combo-value-quantity"), ["component-value-quantity", "value-quantity"]);
    assert_eq!(
        sources("Observation", "combo-code-value-quantity"),
        ["code-value-quantity", "component-code-value-quantity"]
    );
    for (of, code) in [("Observation", "code"), ("Observation", "patient"), ("Patient", "name"), ("Patient", "_id")] {
        assert!(sources(of, code).is_empty(), "{of}.{code}");
    }
}

#[test]
fn sources_have_rows_and_find_what_is_found_by_them() {
    let catalog = SearchParameterCatalog::with_r4_only();
    for name in catalog.types_with_parameters() {
        let resource_type = resource_type(name);
        for parameter in catalog.parameters_of_type(&resource_type).filter(|parameter| !parameter.sources.is_empty()) {
            let sources: Vec<&Arc<CompiledSearchParameter>> =
                catalog.parameters_sharing_rows(&resource_type, parameter).collect();
            assert_eq!(sources.len(), parameter.sources.len(), "{name}.{}", parameter.code);
            assert!(
                sources
                    .iter()
                    .all(|source| source.sources.is_empty() && source.parameter_type == parameter.parameter_type)
            );
            let mut parts: Vec<_> = sources.iter().flat_map(|source| source.expression.alternatives()).collect();
            let own = parameter.expression.alternatives();
            parts.retain(|part| !own.contains(part));
            assert!(parts.is_empty(), "{name}.{} would find more than it should", parameter.code);
            for part in own {
                let finds = sources.iter().any(|source| source.expression.alternatives().contains(&part));
                assert!(finds, "{name}.{} would find less than it should", parameter.code);
            }
        }
    }
}

/// Returns the codes of the parameters that have the rows of the parts of one.
fn parts(of: &str, code: &str) -> Vec<String> {
    let (catalog, of) = (SearchParameterCatalog::with_r4_only(), resource_type(of));
    let parts = catalog.parameters_standing_in_for_composite(&of, catalog.find_parameter_by_code(&of, code).unwrap());
    parts.iter().map(|part| part.code.clone()).collect()
}

#[test]
fn a_composite_about_the_resource_itself_has_the_rows_of_others() {
    assert_eq!(parts("Observation", "code-value-quantity"), ["code", "value-quantity"]);
    assert_eq!(parts("Observation", "code-value-concept"), ["code", "value-concept"]);
    assert_eq!(parts("Observation", "code-value-date"), ["code", "value-date"]);
    // value-string finds the text of a concept as well, the others are about an element.
    for (of, code) in [
        ("Observation", "code-value-string"),
        ("Observation", "component-code-value-quantity"),
        ("Observation", "combo-code-value-quantity"),
        ("Group", "characteristic-value"),
        ("Observation", "code"),
    ] {
        assert!(parts(of, code).is_empty(), "{of}.{code}");
    }
}

#[test]
fn parts_have_rows_and_find_what_the_parts_of_the_composite_find() {
    let catalog = SearchParameterCatalog::with_r4_only();
    for name in catalog.types_with_parameters() {
        let resource_type = resource_type(name);
        for parameter in catalog.parameters_of_type(&resource_type).filter(|parameter| !parameter.parts.is_empty()) {
            assert!(parameter.sources.is_empty() && !parameter.has_index_rows(), "{name}.{}", parameter.code);
            let parts = catalog.parameters_standing_in_for_composite(&resource_type, parameter);
            assert_eq!(parts.len(), parameter.components.len(), "{name}.{}", parameter.code);
            for (part, component) in parts.iter().zip(&parameter.components) {
                assert!(
                    part.has_index_rows() && part.parameter_type == component.parameter_type,
                    "{name}.{}",
                    parameter.code
                );
                assert!(part.expression.is_like(&component.expression), "{name}.{}", parameter.code);
            }
        }
    }
}

#[test]
fn an_installed_composite_has_rows_of_its_own() {
    let again = json!({
        "url": "http://p/pair", "code": "pair", "base": ["Observation"], "type": "composite",
        "expression": "Observation",
        "component": [
            {"definition": "http://hl7.org/fhir/SearchParameter/clinical-code", "expression": "code"},
            {"definition": "http://hl7.org/fhir/SearchParameter/Observation-value-quantity", "expression": "value.as(Quantity)"},
        ],
    });
    let (catalog, refused) = with(&[again]);
    assert!(refused.is_empty(), "{refused:?}");
    assert!(catalog.find_parameter_by_code(&resource_type("Observation"), "pair").unwrap().has_index_rows());
}

#[test]
fn an_installed_parameter_has_rows_of_its_own() {
    let again = json!({
        "resourceType": "SearchParameter", "url": "http://p/again", "code": "again", "base": ["Observation"],
        "type": "token", "expression": "Observation.code",
    });
    let (catalog, refused) = with(&[again]);
    assert!(refused.is_empty());
    assert!(catalog.find_parameter_by_code(&resource_type("Observation"), "again").unwrap().sources.is_empty());
}
