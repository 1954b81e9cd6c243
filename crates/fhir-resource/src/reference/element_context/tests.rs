use serde_json::{Map, Value, json};

use super::*;
use crate::format_conversion::{convert_to_fhir, convert_to_native};
use crate::reference::FullUrlMap;
use crate::resource_key::ResourceKey;

const URN: &str = "urn:uuid:4f6c9d3a-0000-4000-8000-000000000001";

/// Every object that R4 describes as part of a resource or of a datatype, beside the names that lead to it.
fn nodes(resource_type: &str) -> Vec<(Vec<String>, &'static StructureDefinition, &'static ObjectElements)> {
    let structure = type_definitions::structure_definition(resource_type).unwrap();
    let mut nodes = vec![(Vec::new(), structure, structure.root_elements().unwrap())];
    let mut at = 0;
    while let Some((path, structure, node)) = nodes.get(at).cloned() {
        at += 1;
        for element in &node.elements {
            // A part may be like one that it is inside of.
            if let [ElementType { content: ElementJsonContent::Own(own), .. }] = element.types.as_slice()
                && path.iter().filter(|name| **name == *element.name).count() == 0
            {
                let path = path.iter().cloned().chain([element.name.to_string()]).collect();
                nodes.push((path, structure, structure.nested_elements(*own).unwrap()));
            }
        }
    }
    nodes
}

/// Values of a type: each form that is written differently, and each member that an object may have alone.
fn values(element_type: &ElementType) -> Vec<Value> {
    match element_type.content {
        ElementJsonContent::Primitive(_) => vec![URN.into()],
        ElementJsonContent::Own(_) => Vec::new(),
        ElementJsonContent::Resource => vec![
            json!({"resourceType": "Patient", "id": "1"}),
            json!({"resourceType": "Device", "id": "1", "type": {"text": "x"}, "identifier": [{"value": "y"}]}),
            json!({"resourceType": "Consent", "policy": [{"uri": "http://e/x"}]}),
        ],
        ElementJsonContent::Complex if &*element_type.name == "Reference" => {
            ["Patient/1", "Patient/1/_history/2", "https://h/fhir/Patient/1", "#c", "Patient?identifier=x"]
                .map(|text| json!({"reference": text, "display": "x"}))
                .to_vec()
        }
        ElementJsonContent::Complex => {
            let node = type_definitions::structure_definition(&element_type.name)
                .and_then(StructureDefinition::root_elements)
                .unwrap();
            let scalars = node.members.keys().filter(|name| {
                node.resolve_json_member(name).is_some_and(|(_, _, element_type)| {
                    matches!(element_type.content, ElementJsonContent::Primitive(_))
                })
            });
            scalars.map(|name| json!({(&**name): "http://e/x"})).collect()
        }
    }
}

/// A document of `resource_type` in which only the member `name` of the object at `path` is there.
fn document(resource_type: &str, path: &[String], name: &str, value: Value) -> Value {
    let object = Value::Object(Map::from_iter([(name.to_owned(), value)]));
    let mut inner =
        path.iter().rev().fold(object, |inner, name| Value::Object(Map::from_iter([(name.clone(), json!([inner]))])));
    inner.as_object_mut().unwrap().insert("resourceType".to_owned(), resource_type.into());
    inner
}

/// Calls `check` with a document for every element of every resource of R4, in every form it may have.
fn each_element(mut check: impl FnMut(&str, &ElementType, &Value, Value)) {
    let mut count = 0;
    for resource_type in type_definitions::r4_resource_types() {
        for (path, _, node) in nodes(resource_type) {
            for (name, (element, number)) in &node.members {
                let of_type = &node.elements[*element].types[*number];
                for value in values(of_type) {
                    check(resource_type, of_type, &value, document(resource_type, &path, name, value.clone()));
                    count += 1;
                }
            }
        }
    }
    assert!(count > 40_000, "{count}");
}

#[test]
fn every_element_of_r4_is_read_as_it_was_written() {
    each_element(|_, _, _, document| {
        let native = convert_to_native(document.clone());
        assert_eq!(convert_to_fhir(native.clone()), document, "stored as {native}");
        assert_eq!(convert_to_fhir(document.clone()), document);
    });
}

#[test]
fn exactly_the_references_of_r4_are_written_natively() {
    let extension = |element_type: &ElementType| &*element_type.name == "Extension";
    each_element(|_, element_type, value, document| {
        let is_conditional = value.pointer("/reference").is_some_and(|text| text == "Patient?identifier=x");
        let is_reference = &*element_type.name == "Reference" && !is_conditional;
        if !extension(element_type) {
            assert_eq!(convert_to_native(document.clone()) != document, is_reference, "{document}");
        }
    });
}

#[test]
fn a_text_is_copied_in_the_format_of_fhir_wherever_the_definitions_decide() {
    each_element(|resource_type, _, _, document| {
        let mut native = convert_to_native(document);
        native.as_object_mut().unwrap().shift_remove("resourceType");
        let Some(key) =
            native.get("id").is_none().then(|| format!("{resource_type}/1").parse::<ResourceKey>().unwrap())
        else {
            return;
        };
        let stored =
            crate::stored::StoredResource { key: key.clone(), version: 1, updated_us: 0, resource: native.clone() }
                .to_document();
        let head = crate::format_conversion::DocumentHead {
            key: &key,
            version: 1,
            last_updated: "1970-01-01T00:00:00.000000Z",
        };
        let mut out = Vec::new();
        if crate::format_conversion::append_document_line(head, &native.to_string(), true, &mut out).is_ok() {
            let copied: Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(copied, convert_to_fhir(stored), "{native}");
        } else {
            assert!(native.get("meta").is_some(), "{native}");
        }
    });
}

#[test]
fn a_uri_that_names_an_entry_of_the_bundle_is_left_alone_outside_references() {
    let mut urls = FullUrlMap::default();
    urls.insert(URN, &"Organization/o1".parse().unwrap());
    each_element(|resource_type, of_type, _, document| {
        if matches!(of_type.content, ElementJsonContent::Primitive(_)) {
            let mut rewritten = document.clone();
            assert_eq!(
                urls.rewrite_references(&ElementContext::document_root(Some(resource_type)), &mut rewritten),
                Ok(())
            );
            assert_eq!(rewritten, document);
        }
    });
}

#[test]
fn every_element_that_holds_a_resource_has_a_name_that_is_looked_at() {
    for resource_type in type_definitions::r4_resource_types() {
        for (path, _, node) in nodes(resource_type) {
            for element in &node.elements {
                if element.types.iter().any(|element_type| matches!(element_type.content, ElementJsonContent::Resource))
                {
                    assert!(
                        RESOURCE_ELEMENTS.contains(&element.name.as_bytes()),
                        "{resource_type}.{path:?}.{}",
                        element.name
                    );
                }
            }
        }
    }
}

#[test]
fn a_native_choice_is_followed_by_the_type_it_names() {
    let both = |fhir: Value, native: Value| {
        assert_eq!(convert_to_native(fhir.clone()), native);
        assert_eq!(convert_to_fhir(native), fhir);
    };
    both(
        json!({"resourceType": "Basic", "extension": [{"url": "u", "valueReference": {"reference": "http://h/Patient/1"}}]}),
        json!({"resourceType": "Basic", "extension": [{"url": "u", "value": {"Reference": {"uri": "http://h/Patient/1"}}}]}),
    );
    both(
        json!({"resourceType": "Basic", "extension": [{"url": "u", "valueUri": "http://h/Patient/1"}]}),
        json!({"resourceType": "Basic", "extension": [{"url": "u", "value": {"uri": "http://h/Patient/1"}}]}),
    );
    let native =
        json!({"resourceType": "MedicationRequest", "medication": {"Reference": {"uri": "http://h/Medication/1"}}});
    let read = json!({"resourceType": "MedicationRequest", "medication": {"Reference": {"reference": "http://h/Medication/1"}}});
    assert_eq!(convert_to_fhir(native), read);
}

#[test]
fn a_reference_under_a_name_that_elsewhere_holds_a_resource_is_written_natively() {
    let fhir = json!({"resourceType": "Linkage", "item": [{"type": "source", "resource": {"reference": "Patient/1"}}]});
    let native = json!({"resourceType": "Linkage", "item": [{"type": "source", "resource": {"resourceType": "Patient", "id": "1"}}]});
    assert_eq!(convert_to_native(fhir.clone()), native);
    assert_eq!(convert_to_fhir(native), fhir);
}

#[test]
fn names_decide_in_types_and_members_that_r4_does_not_have() {
    for resource in [json!({"resourceType": "Wearable"}), json!({"resourceType": "Patient"}), json!({})] {
        let mut native = resource.clone();
        native["party"] = json!({"uri": "http://h/Patient/1"});
        let mut fhir = resource;
        fhir["party"] = json!({"reference": "http://h/Patient/1"});
        assert_eq!(convert_to_fhir(native.clone()), fhir);
        assert_eq!(convert_to_native(fhir), native);
    }
}
