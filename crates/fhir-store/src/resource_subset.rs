//! As much of a resource as a reader asked for (`_summary`, `_elements`).
//!
//! What a summary has is said by the base definitions, element by element, down to the data types: an attachment
//! comes without its data. What a resource must have stays, and so do modifier extensions, because without them
//! it would say something else. Not specified of types that no definition of R4 knows; they are shown whole where
//! the definitions decide.
//!
//! # Source
//! FHIR R4, Search, Managing Returned Resources; `ElementDefinition.isSummary`.

use serde_json::{Map, Value, json};

use fhir_resource::type_definitions::{self, ElementJsonContent, ObjectElements, StructureDefinition};
use fhir_search::SummaryMode;

/// Marks a resource of which elements were left out.
const SUBSETTED_SYSTEM: &str = "http://terminology.hl7.org/CodeSystem/v3-ObservationValue";
/// The mark itself.
const SUBSETTED: &str = "SUBSETTED";
/// Elements that every answer keeps.
const KEPT: [&str; 4] = ["resourceType", "id", "meta", "modifierExtension"];

/// Returns the part of a document that `_summary` and `_elements` select, with the tag `SUBSETTED` when something is
/// left out.
#[must_use]
pub fn apply_summary_and_elements(document: Value, summary: SummaryMode, elements: &[String]) -> Value {
    let Value::Object(mut members) = document else { return document };
    let structure =
        members.get("resourceType").and_then(Value::as_str).and_then(type_definitions::structure_definition);
    let mut missing = false;
    if !elements.is_empty() {
        missing |= keep(&mut members, |name| is_mandatory(structure, name) || is_asked_for(elements, name));
    }
    missing |= match (summary, structure) {
        (SummaryMode::Data, _) => members.shift_remove("text").is_some(),
        (SummaryMode::Text, Some(_)) => keep(&mut members, |name| name == "text" || is_mandatory(structure, name)),
        (SummaryMode::True, Some(structure)) => {
            structure.root_elements().is_some_and(|root| summarize(&mut members, (structure, root)))
        }
        (SummaryMode::True | SummaryMode::Text, None) | (SummaryMode::False | SummaryMode::Count, _) => false,
    };
    if missing {
        mark(&mut members);
    }
    Value::Object(members)
}

/// Keeps what every answer has and what `wanted` says; whether something went.
fn keep(members: &mut Map<String, Value>, wanted: impl Fn(&str) -> bool) -> bool {
    let before = members.len();
    members.retain(|name, _| {
        // The extensions of a primitive element stay or go with it.
        let name = name.strip_prefix('_').unwrap_or(name);
        KEPT.contains(&name) || wanted(name)
    });
    members.len() < before
}

fn is_mandatory(structure: Option<&StructureDefinition>, name: &str) -> bool {
    let element =
        structure.and_then(StructureDefinition::root_elements).and_then(|root| root.element_by_name_or_choice(name));
    element.is_some_and(|element| element.min > 0)
}

/// Returns whether a member is one of these elements: of one with a choice of types the member has a longer name.
fn is_asked_for(elements: &[String], name: &str) -> bool {
    elements.iter().any(|element| {
        let rest = name.strip_prefix(element.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|first: char| first.is_ascii_uppercase()))
    })
}

/// Leaves of an object what is part of a summary; whether something went.
fn summarize(members: &mut Map<String, Value>, (structure, node): (&StructureDefinition, &ObjectElements)) -> bool {
    let mut missing = keep(members, |name| {
        node.element_by_name_or_choice(name).is_some_and(|element| element.is_summary || element.min > 0)
    });
    for (name, value) in members.iter_mut() {
        let Some((_, _, element_type)) = node.resolve_json_member(name) else { continue };
        let inner = match element_type.content {
            ElementJsonContent::Own(at) => structure.nested_elements(at).map(|node| (structure, node)),
            ElementJsonContent::Complex => type_definitions::structure_definition(&element_type.name)
                .and_then(|structure| Some((structure, structure.root_elements()?))),
            ElementJsonContent::Primitive(_) | ElementJsonContent::Resource => None,
        };
        if let Some(inner) = inner {
            missing |= summarize_each(value, inner);
        }
    }
    missing
}

fn summarize_each(value: &mut Value, of: (&StructureDefinition, &ObjectElements)) -> bool {
    match value {
        Value::Array(values) => {
            let mut missing = false;
            for value in values {
                missing |= summarize_each(value, of);
            }
            missing
        }
        Value::Object(members) => {
            let mut summary = members.clone();
            let missing = summarize(&mut summary, of);
            // An element has something in it; of one with extensions alone they are what it says.
            if summary.is_empty() || !missing {
                return false;
            }
            *members = summary;
            true
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn mark(members: &mut Map<String, Value>) {
    let meta = members.entry("meta").or_insert_with(|| json!({}));
    let Some(meta) = meta.as_object_mut() else { return };
    let Some(tags) = meta.entry("tag").or_insert_with(|| json!([])).as_array_mut() else { return };
    if !tags.iter().any(|tag| tag.get("code").is_some_and(|code| code == SUBSETTED)) {
        tags.push(json!({"system": SUBSETTED_SYSTEM, "code": SUBSETTED}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(document: &Value) -> Vec<&str> {
        document.as_object().unwrap().keys().map(String::as_str).collect()
    }

    fn tagged() -> Value {
        json!({"tag": [{"system": SUBSETTED_SYSTEM, "code": "SUBSETTED"}]})
    }

    fn observation() -> Value {
        json!({
            "resourceType": "Observation", "id": "a", "text": {"status": "generated", "div": "<div/>"},
            "extension": [{"url": "http://x", "valueString": "y"}], "modifierExtension": [{"url": "http://m"}],
            "contained": [{"resourceType": "Device", "id": "d"}], "status": "final", "_status": {"id": "s"},
            "code": {"text": "c", "extension": [{"url": "http://z"}]}, "valueQuantity": {"value": 1, "id": "q"},
            "note": [{"text": "n"}],
            "component": [{"code": {"text": "c"}, "interpretation": [{"text": "i"}], "valueString": "v"}],
        })
    }

    #[test]
    fn elements_come_with_what_the_type_must_have_and_are_marked() {
        let shown = apply_summary_and_elements(observation(), SummaryMode::False, &["value".to_owned()]);
        assert_eq!(
            names(&shown),
            ["resourceType", "id", "modifierExtension", "status", "_status", "code", "valueQuantity", "meta"]
        );
        assert_eq!(shown["meta"], tagged());
        assert_eq!(shown["code"], observation()["code"], "an element is shown as a whole");
        let unknown = json!({"resourceType": "Client", "id": "a", "name": "n", "named": 1, "secret": "s"});
        assert_eq!(
            names(&apply_summary_and_elements(unknown, SummaryMode::False, &["name".to_owned()])),
            ["resourceType", "id", "name", "meta"]
        );
    }

    #[test]
    fn a_summary_has_what_the_definitions_mark_down_to_the_types_of_elements() {
        let shown = apply_summary_and_elements(observation(), SummaryMode::True, &[]);
        let expected = json!({
            "resourceType": "Observation", "id": "a", "modifierExtension": [{"url": "http://m"}],
            "status": "final", "_status": {"id": "s"}, "code": {"text": "c"}, "valueQuantity": {"value": 1, "id": "q"},
            "component": [{"code": {"text": "c"}, "valueString": "v"}], "meta": tagged(),
        });
        assert_eq!(shown, expected);
        let document = json!({
            "resourceType": "DocumentReference", "id": "d", "status": "current",
            "content": [{"attachment": {"contentType": "text/plain", "data": "AAAA", "url": "http://x"}}],
        });
        let shown = apply_summary_and_elements(document, SummaryMode::True, &[]);
        assert_eq!(shown["content"], json!([{"attachment": {"contentType": "text/plain", "url": "http://x"}}]));
    }

    #[test]
    fn an_element_of_extensions_alone_stays_as_it_is() {
        let only = json!({"resourceType": "Patient", "id": "p", "name": [{"extension": [{"url": "http://absent"}]}]});
        assert_eq!(apply_summary_and_elements(only.clone(), SummaryMode::True, &[]), only);
    }

    #[test]
    fn a_text_comes_with_what_the_type_must_have() {
        let shown = apply_summary_and_elements(observation(), SummaryMode::Text, &[]);
        assert_eq!(
            names(&shown),
            ["resourceType", "id", "text", "modifierExtension", "status", "_status", "code", "meta"]
        );
    }

    #[test]
    fn data_come_without_the_text_alone() {
        let mut expected = observation();
        expected.as_object_mut().unwrap().shift_remove("text");
        expected["meta"] = tagged();
        assert_eq!(apply_summary_and_elements(observation(), SummaryMode::Data, &[]), expected);
        assert_eq!(
            apply_summary_and_elements(expected.clone(), SummaryMode::Data, &[]),
            expected,
            "marked once, and only where something went"
        );
    }

    #[test]
    fn what_is_asked_for_whole_and_what_nobody_defined_is_shown_whole() {
        for summary in [SummaryMode::False, SummaryMode::Count] {
            assert_eq!(apply_summary_and_elements(observation(), summary, &[]), observation());
        }
        let unknown = json!({"resourceType": "Client", "id": "a", "name": "n"});
        for summary in [SummaryMode::True, SummaryMode::Text] {
            assert_eq!(apply_summary_and_elements(unknown.clone(), summary, &[]), unknown);
        }
    }
}
