//! The two formats of a resource: FHIR's, and the native one.
//!
//! | FHIR | native |
//! |---|---|
//! | `{"reference": "Patient/1"}` | `{"resourceType": "Patient", "id": "1"}` |
//! | `{"reference": "Patient/1/_history/2"}` | the same with `"versionId": "2"` |
//! | `{"reference": "https://h/fhir/Patient/1"}` | `{"uri": "https://h/fhir/Patient/1"}` |
//! | `{"reference": "#c1"}` | `{"localRef": "c1"}` |
//! | extension with `"valueReference": …` | `"value": {"Reference": …}` |
//! | extension with `"valueUri": …` | `"value": {"uri": …}` |
//!
//! What is written in FHIR is stored natively and read in FHIR again as it was; what is written
//! natively is stored as sent, so a stored resource may hold either format, and reading it in
//! FHIR gives FHIR from both.
//!
//! Not specified; the choice of types is rewritten in extensions alone and elements such as
//! `deceasedBoolean` or `valueQuantity` stay as sent, because without the definition of every
//! element nothing distinguishes a choice (`valueString`) from a name that only looks like one, and what
//! is not rewritten is the same both ways. An object that has more keys than a reference can have is not a
//! reference. Which of the others are references, R4's definitions say where they know the element
//! ([`ElementContext`]), and names say elsewhere. Of an access policy only `link` is rewritten: the rest of it is
//! patterns, which mean what they say.

mod text;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::reference::{self, ElementContext, ReferenceTarget};
use crate::resource_key::ResourceKey;

pub use text::{DocumentHead, NeedsParsingError, append_document_line};

/// The primitive types: the native form begins with a small letter.
///
/// # Source
/// FHIR R4, Data Types, Primitive Types; `integer64` of R5.
const PRIMITIVES: [&str; 20] = [
    "base64Binary",
    "boolean",
    "canonical",
    "code",
    "date",
    "dateTime",
    "decimal",
    "id",
    "instant",
    "integer",
    "integer64",
    "markdown",
    "oid",
    "positiveInt",
    "string",
    "time",
    "unsignedInt",
    "uri",
    "url",
    "uuid",
];

/// Converts a resource from FHIR's format to the native one, by the type that it names.
#[must_use]
pub fn convert_to_native(resource: Value) -> Value {
    let resource_type = resource.as_object().and_then(reference::declared_resource_type).map(str::to_owned);
    convert_resource(Format::Native, resource_type.as_deref(), resource)
}

/// Converts a resource from either format, or a mixture of them, to FHIR's, by the type that it names.
#[must_use]
pub fn convert_to_fhir(resource: Value) -> Value {
    let resource_type = resource.as_object().and_then(reference::declared_resource_type).map(str::to_owned);
    convert_resource(Format::Fhir, resource_type.as_deref(), resource)
}

/// Converts a resource from either format, or a mixture of them, to FHIR's, as a resource of the given type.
#[must_use]
pub fn convert_typed_to_fhir(resource_type: &str, resource: Value) -> Value {
    convert_resource(Format::Fhir, Some(resource_type), resource)
}

/// Converts a resource from FHIR's format to the native one, as a resource of the given type.
#[must_use]
pub fn convert_typed_to_native(resource_type: &str, resource: Value) -> Value {
    convert_resource(Format::Native, Some(resource_type), resource)
}

/// Converts a resource that was changed in FHIR's format to the native one; parts that are unchanged stay as they are
/// stored in `before`. Of an `AccessPolicy` only `link` is converted ([`references_are_patterns`]).
#[must_use]
pub fn convert_changed_to_native(resource_type: &str, mut changed: Value, before: &Value) -> Value {
    let root = ElementContext::document_root(Some(resource_type));
    if !references_are_patterns(resource_type) {
        return natively(&root, changed, Some(before));
    }
    if let Some(link) = changed.get_mut(LINK) {
        *link = natively(&root.child_member(LINK.as_bytes()), link.take(), before.get(LINK));
    }
    changed
}

/// A part of a resource natively; `before` is what was stored in its place.
fn natively(path: &ElementContext<'_>, value: Value, before: Option<&Value>) -> Value {
    if let Some(before) = before
        && as_fhir(path, before) == value
    {
        return before.clone();
    }
    match value {
        Value::Array(elements) => {
            let before = before.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let places: HashMap<String, usize> =
                before.iter().enumerate().map(|(at, one)| (as_fhir(path, one).to_string(), at)).collect();
            let place = |at: usize, one: &Value| before.get(places.get(&one.to_string()).copied().unwrap_or(at));
            elements
                .into_iter()
                .enumerate()
                .map(|(at, one)| {
                    let before = place(at, &one);
                    natively(path, one, before)
                })
                .collect()
        }
        Value::Object(members) => {
            let path = path.with_object_type(|| reference::declared_resource_type(&members));
            let native = |(name, inner): (String, Value)| {
                let before = before.and_then(|before| before.get(&name));
                let inner = natively(&path.child_member(name.as_bytes()), inner, before);
                (name, inner)
            };
            let mut object: Map<String, Value> = members.into_iter().map(native).collect();
            convert_object(Format::Native, &path, &mut object);
            Value::Object(object)
        }
        scalar => scalar,
    }
}

fn as_fhir(path: &ElementContext<'_>, value: &Value) -> Value {
    let mut value = value.clone();
    convert(Format::Fhir, path, &mut value);
    value
}

/// The member of an access policy that holds references; what stands in the others is a pattern.
const LINK: &str = "link";

/// Returns whether the references in resources of this type are patterns to compare with, not references to follow.
///
/// A pattern `{"reference": "Patient/1"}` is met by the same text, so converting it would change the policy.
#[must_use]
pub fn references_are_patterns(resource_type: &str) -> bool {
    resource_type == "AccessPolicy"
}

fn convert_resource(to: Format, resource_type: Option<&str>, mut resource: Value) -> Value {
    let root = ElementContext::document_root(resource_type);
    match &mut resource {
        Value::Object(members) if resource_type.is_some_and(references_are_patterns) => {
            if let Some(link) = members.get_mut(LINK) {
                convert(to, &root.child_member(LINK.as_bytes()), link);
            }
        }
        other => convert(to, &root, other),
    }
    resource
}

#[derive(Clone, Copy)]
enum Format {
    Native,
    Fhir,
}

/// Converts what is inside first, so that every object is looked at once. Most objects are the same in both
/// formats, and stay where they are.
fn convert(to: Format, path: &ElementContext<'_>, value: &mut Value) {
    match value {
        Value::Array(elements) => {
            for inner in elements {
                convert(to, path, inner);
            }
        }
        Value::Object(object) => {
            let path = path.with_object_type(|| reference::declared_resource_type(object));
            for (name, inner) in object.iter_mut() {
                convert(to, &path.child_member(name.as_bytes()), inner);
            }
            convert_object(to, &path, object);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn convert_object(to: Format, path: &ElementContext<'_>, object: &mut Map<String, Value>) {
    match to {
        Format::Native => native_reference(path, object),
        Format::Fhir => fhir_reference(path, object),
    }
    match (path.element_name(), to) {
        (b"extension" | b"modifierExtension", Format::Native) => native_union(object),
        (b"extension" | b"modifierExtension", Format::Fhir) => fhir_choice(object),
        _ => {}
    }
}

fn native_reference(path: &ElementContext<'_>, object: &mut Map<String, Value>) {
    if !reference::has_only_reference_members(object, &["reference"]) || !path.may_be_reference() {
        return;
    }
    let Some(Value::String(text)) = object.get("reference") else { return };
    let target = match ReferenceTarget::parse(text) {
        Some(ReferenceTarget::Resource { key, version }) => {
            let version = version.map(|version| ("versionId", version.to_string()));
            let key = [("resourceType", key.resource_type.to_string()), ("id", key.id.to_string())];
            key.into_iter().chain(version).collect()
        }
        Some(ReferenceTarget::Absolute(uri)) if path.may_be_uri_reference() => {
            vec![("uri", uri.to_owned())]
        }
        Some(ReferenceTarget::Contained(name)) => vec![("localRef", name.to_owned())],
        Some(ReferenceTarget::Absolute(_)) | None => return,
    };
    replace_target(object, &["reference"], target);
}

fn fhir_reference(path: &ElementContext<'_>, object: &mut Map<String, Value>) {
    const RESOURCE: [&str; 3] = ["resourceType", "id", "versionId"];
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let target = if reference::has_only_reference_members(object, &RESOURCE) {
        relative(text("resourceType"), text("id"), object.get("versionId")).filter(|_| !path.may_be_resource())
    } else if reference::has_only_reference_members(object, &["localRef"]) {
        text("localRef").filter(|_| !path.may_be_resource()).map(|name| format!("#{name}"))
    } else if reference::has_only_reference_members(object, &["uri"]) {
        text("uri")
            .filter(|uri| reference::is_absolute_reference(uri) && path.may_be_uri_reference())
            .map(str::to_owned)
    } else {
        None
    };
    if let Some(target) = target {
        let native = ["resourceType", "id", "versionId", "localRef", "uri"];
        replace_target(object, &native, vec![("reference", target)]);
    }
}

/// Returns the text of a reference to a resource, if its parts make one.
fn relative(resource_type: Option<&str>, id: Option<&str>, version: Option<&Value>) -> Option<String> {
    let key = ResourceKey { resource_type: resource_type?.parse().ok()?, id: id?.parse().ok()? };
    match version {
        None => Some(key.to_string()),
        Some(Value::String(version)) => {
            let text = format!("{key}/_history/{version}");
            ReferenceTarget::parse(&text).is_some().then_some(text)
        }
        Some(_) => None,
    }
}

/// Replaces the keys of one format by those of the other, where the first stood.
fn replace_target(object: &mut Map<String, Value>, remove: &[&str], target: Vec<(&str, String)>) {
    let mut target = Some(target);
    let mut rewritten = Map::new();
    for (name, value) in std::mem::take(object) {
        if remove.contains(&name.as_str()) {
            let parts = target.take().into_iter().flatten();
            rewritten.extend(parts.map(|(name, text)| (name.to_owned(), text.into())));
        } else {
            rewritten.insert(name, value);
        }
    }
    *object = rewritten;
}

/// `valueX: v` as `value: {X: v}`.
fn native_union(object: &mut Map<String, Value>) {
    let mut choices = object.keys().filter(|name| type_of_choice(name).is_some());
    let (Some(choice), None) = (choices.next().cloned(), choices.next()) else { return };
    if object.contains_key("value") {
        return;
    }
    let renamed = std::mem::take(object).into_iter().map(|(name, value)| match type_of_choice(&name) {
        Some(type_name) if name == choice => ("value".to_owned(), Value::Object(Map::from_iter([(type_name, value)]))),
        _ => (name, value),
    });
    *object = renamed.collect();
}

/// `value: {X: v}` as `valueX: v`.
fn fhir_choice(object: &mut Map<String, Value>) {
    let Some(Value::Object(union)) = object.get("value") else { return };
    let mut members = union.keys();
    let (Some(type_name), None) = (members.next(), members.next()) else { return };
    let Some(choice) = choice_of_type(type_name) else { return };
    if object.keys().any(|name| type_of_choice(name).is_some()) {
        return;
    }
    let mut rewritten = Map::new();
    for (name, value) in std::mem::take(object) {
        match value {
            Value::Object(union) if name == "value" => {
                rewritten.extend(union.into_iter().map(|(_, value)| (choice.clone(), value)));
            }
            value => {
                rewritten.insert(name, value);
            }
        }
    }
    *object = rewritten;
}

/// `valueUri` → `uri`, `valueCoding` → `Coding`; `None` for what is no choice of a type.
fn type_of_choice(name: &str) -> Option<String> {
    let type_name = name.strip_prefix("value").filter(|type_name| is_type_name(type_name))?;
    let primitive = PRIMITIVES.into_iter().find(|primitive| capitalized(primitive) == type_name);
    Some(primitive.unwrap_or(type_name).to_owned())
}

/// `uri` → `valueUri`, `Coding` → `valueCoding`.
fn choice_of_type(type_name: &str) -> Option<String> {
    (PRIMITIVES.contains(&type_name) || is_type_name(type_name)).then(|| format!("value{}", capitalized(type_name)))
}

fn is_type_name(type_name: &str) -> bool {
    type_name.bytes().next().is_some_and(|first| first.is_ascii_uppercase())
        && type_name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

#[cfg(test)]
mod tests;
