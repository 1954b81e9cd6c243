//! Elements of JSON documents in either format, as several modules read them.

use serde_json::Value;

/// Returns the members of an array field, or none when there is no such array.
pub(crate) fn each<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the text of a field; `None` where it is blank.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// Returns whether a `CodeableConcept` has this coding; any code system where `system` is `None`.
pub(crate) fn has_code(concept: Option<&Value>, system: Option<&str>, code: &str) -> bool {
    let codings = concept.map_or(&[][..], |concept| each(concept, "coding"));
    codings.iter().any(|coding| {
        text(coding, "code") == Some(code) && system.is_none_or(|system| text(coding, "system") == Some(system))
    })
}

/// Returns the id of a resource of this type that a reference in either format names; `base_url` is the address
/// of our FHIR endpoint with a slash at the end.
pub(crate) fn referred<'a>(reference: &'a Value, resource_type: &str, base_url: &str) -> Option<&'a str> {
    if text(reference, "resourceType") == Some(resource_type) {
        return text(reference, "id");
    }
    let reference = text(reference, "reference").or_else(|| text(reference, "uri"))?;
    let relative = reference.strip_prefix(base_url).unwrap_or(reference);
    let id = relative.strip_prefix(resource_type)?.strip_prefix('/')?;
    Some(id.split_once("/_history/").map_or(id, |(id, _)| id))
}
