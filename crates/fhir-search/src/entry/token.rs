//! Codes, identifiers and what else is compared as a token.

use serde_json::{Map, Value};

use super::{IndexEntry, Out, cut, cut_folded};

/// The system R4 gives to true and false.
///
/// # Source
/// FHIR R4, Search, token.
const SPECIAL_VALUES: &str = "http://terminology.hl7.org/CodeSystem/special-values";

/// The entries of a code, a Coding, a `CodeableConcept`, an Identifier, a `ContactPoint`, a boolean or a string.
///
/// Not specified for a `ContactPoint`; its system is that of the token (`phone|555`), as an identifier's is.
/// A code that stands alone has no system here; a query that names the one its binding implies asks for that.
pub(super) fn each(value: &Value, out: Out<'_>) {
    match value {
        Value::String(code) => out(IndexEntry::Token { system: None, code: Some(cut(code)) }),
        Value::Bool(flag) => {
            out(IndexEntry::Token { system: Some(SPECIAL_VALUES.to_owned()), code: Some(flag.to_string()) });
        }
        Value::Number(number) => out(IndexEntry::Token { system: None, code: Some(number.to_string()) }),
        Value::Object(object) => match object.get("coding") {
            Some(codings) => concept(object, codings, out),
            None if object.contains_key("value") => identifier(value, out),
            None => {
                coding(object, out);
                display(object.get("text"), out);
            }
        },
        Value::Array(_) | Value::Null => {}
    }
}

fn concept(object: &Map<String, Value>, codings: &Value, out: Out<'_>) {
    display(object.get("text"), out);
    for object in list(codings).filter_map(Value::as_object) {
        coding(object, out);
    }
}

fn coding(object: &Map<String, Value>, out: Out<'_>) {
    let (system, code) = (text(object, "system"), text(object, "code"));
    if system.is_some() || code.is_some() {
        out(IndexEntry::Token { system: system.map(cut), code: code.map(cut) });
    }
    display(object.get("display"), out);
}

/// The entries of an Identifier or a `ContactPoint`: the value, and the value with the codings of its type.
pub(super) fn identifier(value: &Value, out: Out<'_>) {
    let Some(object) = value.as_object() else { return };
    let (system, value) = (text(object, "system"), text(object, "value"));
    if system.is_some() || value.is_some() {
        out(IndexEntry::Token { system: system.map(cut), code: value.map(cut) });
    }
    let Some(identifier_type) = object.get("type") else { return };
    display(identifier_type.get("text"), out);
    let codings = identifier_type.get("coding").into_iter().flat_map(list).filter_map(Value::as_object);
    for (coding, value) in codings.filter_map(|coding| Some((coding, value?))) {
        if let Some(code) = text(coding, "code") {
            let system = text(coding, "system").map(cut);
            out(IndexEntry::TypedIdentifier { system, code: cut(code), value: cut(value) });
        }
    }
}

fn display(words: Option<&Value>, out: Out<'_>) {
    if let Some(words) = words.and_then(Value::as_str) {
        out(IndexEntry::Display { folded: cut_folded(words) });
    }
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    std::slice::from_ref(value).iter().flat_map(|value| match value {
        Value::Array(elements) => elements.as_slice(),
        other => std::slice::from_ref(other),
    })
}
