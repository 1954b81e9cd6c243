//! Invariants written by hand: those that cost little and that writers break most.
//!
//! # Source
//! FHIR R4: ext-1, qty-3, att-1 of the data types; dom-2, dom-4, dom-5 of `DomainResource`; obs-6, pat-1.

use serde_json::{Map, Value};

use crate::document_path::DocumentPath;
use crate::report::{IssueType, Report};

/// Checks the invariants of a data type.
pub(crate) fn datatype(type_name: &str, object: &Map<String, Value>, place: &DocumentPath<'_>, report: &mut Report) {
    let has = |name: &str| object.contains_key(name);
    let broken = match type_name {
        "Extension" => {
            let has_value = object.keys().any(|name| name.trim_start_matches('_').starts_with("value"));
            match (has_value, has("extension")) {
                (true, true) => Some("expected either a value[x] or extensions, found both (ext-1)"),
                (false, false) => Some("expected either a value[x] or extensions, found neither (ext-1)"),
                _ => None,
            }
        }
        "Quantity" | "Age" | "Count" | "Distance" | "Duration" if has("code") && !has("system") => {
            Some("expected a system beside the code of the unit, found none (qty-3)")
        }
        "Attachment" if has("data") && !has("contentType") => {
            Some("expected a contentType beside the data, found none (att-1)")
        }
        _ => None,
    };
    if let Some(text) = broken {
        report.add(IssueType::Invariant, place, || text.to_owned());
    }
}

/// Checks the invariants of a resource type.
pub(crate) fn resource(
    resource_type: &str,
    object: &Map<String, Value>,
    place: &DocumentPath<'_>,
    report: &mut Report,
) {
    match resource_type {
        "Observation" if object.contains_key("dataAbsentReason") => {
            let has_value = object.keys().any(|name| name.starts_with("value"));
            if has_value {
                let text = || "expected a dataAbsentReason only where there is no value[x] (obs-6)".to_owned();
                report.add(IssueType::Invariant, place, text);
            }
        }
        "Patient" => {
            let contacts = object.get("contact").and_then(Value::as_array).into_iter().flatten();
            for (index, _) in contacts.enumerate().filter(|(_, contact)| is_empty_contact(contact)) {
                let text = || "expected a name, telecom, address or organization, found none (pat-1)".to_owned();
                report.add(IssueType::Invariant, &place.named("contact").item(index), text);
            }
        }
        _ => {}
    }
}

fn is_empty_contact(contact: &Value) -> bool {
    contact.is_object() && ["name", "telecom", "address", "organization"].iter().all(|name| contact.get(name).is_none())
}

/// Checks the invariants of a contained resource.
pub(crate) fn contained(object: &Map<String, Value>, place: &DocumentPath<'_>, report: &mut Report) {
    if !object.contains_key("id") {
        report.add(IssueType::Required, place, || "expected the element id, found none".to_owned());
    }
    if object.contains_key("contained") {
        let text = || "expected no contained resources inside of a contained one (dom-2)".to_owned();
        report.add(IssueType::Invariant, &place.named("contained"), text);
    }
    let Some(Value::Object(meta)) = object.get("meta") else { return };
    for (name, rule) in [("versionId", "dom-4"), ("lastUpdated", "dom-4"), ("security", "dom-5")] {
        if meta.contains_key(name) {
            let text = || format!("expected no {name} inside of a contained resource ({rule})");
            report.add(IssueType::Invariant, &place.named("meta").named(name), text);
        }
    }
}
