//! Conditional references: `Patient?identifier=…` in the place of an id.
//!
//! This module finds them in a document and puts in what they stand for. Who looks that up is the caller's business.
//!
//! # Source
//! FHIR R4, `RESTful` API, transaction, conditional references.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use fhir_resource::format_conversion::references_are_patterns;
use fhir_resource::reference::{
    ElementContext, declared_resource_type, has_only_reference_members, is_absolute_reference,
};
use fhir_resource::{ResourceKey, ResourceType};

/// The resource that a conditional reference resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionalReferenceTarget {
    /// A stored resource.
    Stored(ResourceKey),
    /// The entry of the same transaction with this `fullUrl`.
    Entry(String),
}

/// Returns the type and the criteria of a conditional reference; `None` for any other text.
#[must_use]
pub fn split_conditional_reference(text: &str) -> Option<(ResourceType, &str)> {
    let (resource_type, criteria) = text.split_once('?').filter(|_| !is_absolute_reference(text))?;
    Some((resource_type.parse().ok()?, criteria))
}

/// Returns the conditional references of a document of type `resource_type`.
///
/// Not among them are those inside a `Bundle`, which the receiver of that Bundle resolves, and the patterns of an
/// access policy, which are compared as they stand.
#[must_use]
pub fn find_conditional_references(resource_type: &ResourceType, document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if is_walked(resource_type) {
        collect(&ElementContext::document_root(Some(resource_type.as_str())), document, &mut found);
    }
    found
}

/// Returns the first conditional reference that `after` has and `before` does not.
#[must_use]
pub fn first_added_conditional_reference(
    resource_type: &ResourceType,
    before: &Value,
    after: &Value,
) -> Option<String> {
    let found = find_conditional_references(resource_type, after);
    if found.is_empty() {
        return None;
    }
    let before = find_conditional_references(resource_type, before);
    found.into_iter().find(|reference| !before.contains(reference))
}

/// Replaces each conditional reference of a document, in either format, by a reference to the resource that `referents`
/// names for it.
pub fn replace_conditional_references(
    resource_type: &ResourceType,
    document: &mut Value,
    referents: &BTreeMap<String, ConditionalReferenceTarget>,
) {
    if is_walked(resource_type) {
        put_in(&ElementContext::document_root(Some(resource_type.as_str())), document, referents);
    }
}

fn is_walked(resource_type: &ResourceType) -> bool {
    resource_type.as_str() != BUNDLE && !references_are_patterns(resource_type.as_str())
}

const BUNDLE: &str = "Bundle";

fn is_bundle(object: &Map<String, Value>) -> bool {
    object.get("resourceType").is_some_and(|resource_type| resource_type == BUNDLE)
}

/// Returns where the text of a reference stands in an object at a path.
fn place(path: &ElementContext<'_>, object: &Map<String, Value>) -> Option<&'static str> {
    if object.get("reference").is_some_and(Value::is_string) && path.may_be_reference() {
        return Some("reference");
    }
    (has_only_reference_members(object, &["uri"]) && path.may_be_uri_reference()).then_some("uri")
}

fn collect(path: &ElementContext<'_>, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|inner| collect(path, inner, found)),
        Value::Object(object) if !is_bundle(object) => {
            let path = path.with_object_type(|| declared_resource_type(object));
            let text = place(&path, object).and_then(|place| object.get(place)?.as_str());
            found.extend(text.filter(|text| split_conditional_reference(text).is_some()).map(str::to_owned));
            object.iter().for_each(|(name, inner)| collect(&path.child_member(name.as_bytes()), inner, found));
        }
        _ => {}
    }
}

fn put_in(path: &ElementContext<'_>, value: &mut Value, referents: &BTreeMap<String, ConditionalReferenceTarget>) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|inner| put_in(path, inner, referents)),
        Value::Object(object) if !is_bundle(object) => {
            let path = path.with_object_type(|| declared_resource_type(object));
            if let Some(place) = place(&path, object) {
                refer(place, object, referents);
            }
            object.iter_mut().for_each(|(name, inner)| put_in(&path.child_member(name.as_bytes()), inner, referents));
        }
        _ => {}
    }
}

fn refer(place: &str, object: &mut Map<String, Value>, referents: &BTreeMap<String, ConditionalReferenceTarget>) {
    let text = object.get(place).and_then(Value::as_str);
    match (text.and_then(|text| referents.get(text)), place) {
        (Some(ConditionalReferenceTarget::Entry(full_url)), _) => {
            object.insert(place.to_owned(), full_url.as_str().into());
        }
        (Some(ConditionalReferenceTarget::Stored(key)), "uri") => {
            let mut native = Map::new();
            native.insert("resourceType".to_owned(), key.resource_type.as_str().into());
            native.insert("id".to_owned(), key.id.as_str().into());
            object.shift_remove("uri");
            native.append(object);
            *object = native;
        }
        (Some(ConditionalReferenceTarget::Stored(key)), _) => {
            object.insert(place.to_owned(), key.to_string().into());
        }
        (None, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource_type(name: &str) -> ResourceType {
        name.parse().unwrap()
    }

    #[test]
    fn a_conditional_reference_is_a_type_and_criteria() {
        assert_eq!(
            split_conditional_reference("Patient?identifier=s|1"),
            Some((resource_type("Patient"), "identifier=s|1"))
        );
        for text in ["Patient/1", "http://h/Patient?identifier=1", "urn:uuid:x?y", "?a=b", "patient?a=b", "#a?b"] {
            assert_eq!(split_conditional_reference(text), None, "{text}");
        }
    }

    #[test]
    fn both_spellings_are_found_and_replaced_where_they_stand() {
        let mut document = json!({
            "subject": {"reference": "Patient?identifier=1", "display": "x"},
            "performer": [{"uri": "Practitioner?name=y"}, {"reference": "Practitioner/1"}],
            "extension": [{"url": "u", "valueReference": {"reference": "Patient?identifier=2"}}],
            "text": "Patient?identifier=3",
        });
        let observation = resource_type("Observation");
        let found: Vec<String> = find_conditional_references(&observation, &document).into_iter().collect();
        assert_eq!(found, ["Patient?identifier=1", "Patient?identifier=2", "Practitioner?name=y"]);
        let referents = [
            ("Patient?identifier=1".to_owned(), ConditionalReferenceTarget::Stored("Patient/p1".parse().unwrap())),
            ("Patient?identifier=2".to_owned(), ConditionalReferenceTarget::Entry("urn:uuid:e".to_owned())),
            ("Practitioner?name=y".to_owned(), ConditionalReferenceTarget::Stored("Practitioner/d".parse().unwrap())),
        ];
        replace_conditional_references(&observation, &mut document, &referents.into());
        let expected = json!({
            "subject": {"reference": "Patient/p1", "display": "x"},
            "performer": [{"resourceType": "Practitioner", "id": "d"}, {"reference": "Practitioner/1"}],
            "extension": [{"url": "u", "valueReference": {"reference": "urn:uuid:e"}}],
            "text": "Patient?identifier=3",
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn what_is_for_others_stays_as_it_is() {
        let reference = json!({"reference": "Patient?identifier=1"});
        assert!(
            find_conditional_references(
                &resource_type("Bundle"),
                &json!({"entry": [{"resource": {"subject": reference}}]})
            )
            .is_empty()
        );
        let inner = json!({"contained": [{"resourceType": "Bundle", "entry": [{"resource": {"subject": reference}}]}]});
        assert!(find_conditional_references(&resource_type("Observation"), &inner).is_empty());
        assert!(find_conditional_references(&resource_type("AccessPolicy"), &json!({"matcho": reference})).is_empty());
    }
}
