use super::*;

/// Every type and every value set of the data.
fn names() -> (Vec<&'static str>, Vec<&'static str>) {
    (index().structures.keys().copied().collect(), index().value_sets.keys().copied().collect())
}

#[test]
fn every_line_of_the_data_is_read() {
    let (structures, value_sets) = names();
    assert_eq!((structures.len(), value_sets.len()), (189, 220));
    for name in structures {
        let structure = structure_definition(name).unwrap_or_else(|| panic!("{name} is not read"));
        for node in &structure.nodes {
            assert!(node.elements.len() <= 128, "{name}: the elements of an object are counted in 128 bits");
            for element_type in node.elements.iter().flat_map(|element| &element.types) {
                let known = match element_type.content {
                    ElementJsonContent::Complex => structure_definition(&element_type.name).is_some(),
                    ElementJsonContent::Own(at) => structure.nested_elements(at).is_some(),
                    ElementJsonContent::Primitive(_) | ElementJsonContent::Resource => true,
                };
                assert!(known, "{name} has an element of the unknown type {}", element_type.name);
                for target in &element_type.targets {
                    assert!(is_r4_resource_type(target), "{name} refers to the unknown type {target}");
                }
            }
        }
    }
    for id in value_sets {
        assert!(value_set(id).is_some_and(|codes| !codes.is_empty()), "{id}");
    }
}

#[test]
fn resources_are_the_146_of_r4() {
    let (structures, _) = names();
    assert_eq!(structures.into_iter().filter(|name| is_r4_resource_type(name)).count(), 146);
    assert_eq!(r4_resource_types().count(), 146);
    assert!(r4_resource_types().all(is_r4_resource_type));
    for name in ["Client", "User", "AccessPolicy", "Resource", "DomainResource", "HumanName", "SubscriptionStatus", ""]
    {
        assert!(!is_r4_resource_type(name), "{name}");
    }
}

#[test]
fn a_type_has_what_it_inherits_and_a_choice_its_names() {
    let patient = structure_definition("Patient").and_then(StructureDefinition::root_elements).unwrap();
    for name in ["id", "meta", "text", "contained", "extension", "birthDate", "deceasedBoolean", "deceasedDateTime"] {
        assert!(patient.resolve_json_member(name).is_some(), "{name}");
    }
    for name in ["deceased", "deceasedString", "resourceType", "birthdate"] {
        assert!(patient.resolve_json_member(name).is_none(), "{name}");
    }
    let required: Vec<&str> = structure_definition("Observation")
        .and_then(StructureDefinition::root_elements)
        .map(|node| {
            node.required.iter().filter_map(|at| node.elements.get(*at)).map(|element| &*element.name).collect()
        })
        .unwrap();
    assert_eq!(required, ["status", "code"]);
}

#[test]
fn a_value_set_is_found_by_its_url_with_or_without_a_version() {
    let url = "http://hl7.org/fhir/ValueSet/administrative-gender";
    let gender = value_set_codes(url).unwrap();
    assert_eq!(value_set_codes(&format!("{url}|4.0.1")), Some(Arc::clone(&gender)));
    let codes: Vec<_> = gender.iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["female", "male", "other", "unknown"]);
    for open in ["http://hl7.org/fhir/ValueSet/mimetypes", "http://example.org/ValueSet/x", ""] {
        assert_eq!(value_set_codes(open), None, "{open}");
    }
}
