//! Applying a patch to a document, within limits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use json_patch::{PatchErrorKind, PatchOperation};
use serde_json::{Map, Value};

use crate::body_validation;
use crate::limits;
use crate::ports::PatchDocument;

/// RFC 6902.
const JSON_PATCH: &str = "application/json-patch+json";
/// RFC 7396.
const MERGE_PATCH: &str = "application/merge-patch+json";

/// The reason why a patch does not apply to a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// A merge patch that is no object would replace the resource by a scalar.
    #[error("a merge patch is an object")]
    NotAnObject,
    /// More operations than [`limits::MAX_PATCH_OPERATIONS`].
    #[error("a patch has at most {} operations", limits::MAX_PATCH_OPERATIONS)]
    TooManyOperations,
    /// The operation does not fit the document.
    #[error("operation {index}: {reason}")]
    Operation {
        /// The number of the operation, from 0.
        index: usize,
        /// The reason in words.
        reason: &'static str,
    },
}

/// Parses a JSON Patch (RFC 6902) from its array.
///
/// # Errors
/// A text for the caller when the value is not a JSON Patch.
pub fn parse_json_patch(value: Value) -> Result<PatchDocument, String> {
    serde_json::from_value(value).map(PatchDocument::Json).map_err(|error| error.to_string())
}

/// Returns whether an object is a Binary that carries a patch of a resource of type `resource_type`.
pub(crate) fn is_encoded(resource_type: &str, object: &Map<String, Value>) -> bool {
    let is_binary = object.get("resourceType").is_some_and(|resource_type| resource_type == "Binary");
    is_binary
        && (resource_type != "Binary"
            || media_type(object).is_some_and(|sent| [JSON_PATCH, MERGE_PATCH].contains(&sent)))
}

fn media_type(binary: &Map<String, Value>) -> Option<&str> {
    let sent = binary.get("contentType")?.as_str()?;
    Some(sent.split(';').next().unwrap_or_default().trim())
}

/// Reads the patch that a Binary carries. `bytes_left` is how much may still be decoded, and becomes less.
///
/// # Errors
/// A sentence for the caller.
pub(crate) fn read_encoded(binary: &Map<String, Value>, bytes_left: &mut usize) -> Result<PatchDocument, String> {
    let media_type = media_type(binary).unwrap_or_default();
    if ![JSON_PATCH, MERGE_PATCH].contains(&media_type) {
        return Err(format!("the contentType of the Binary has to be {JSON_PATCH} or {MERGE_PATCH}"));
    }
    let data = binary.get("data").and_then(Value::as_str).ok_or("the Binary has no data")?;
    let data: String = data.chars().filter(|character| !character.is_ascii_whitespace()).collect();
    let text = STANDARD.decode(data).map_err(|_| "the data of the Binary is not base64")?;
    let over =
        format!("the patches in Binaries have more than {} bytes together", limits::MAX_BUNDLE_ENCODED_PATCH_BYTES);
    *bytes_left = bytes_left.checked_sub(text.len()).ok_or(over)?;
    let value: Value = serde_json::from_slice(&text).map_err(|error| format!("the data is not JSON: {error}"))?;
    if let Some(problem) = body_validation::unstorable(&value) {
        return Err(format!("something in the data {problem}"));
    }
    if media_type == MERGE_PATCH { Ok(PatchDocument::Merge(value)) } else { parse_json_patch(value) }
}

/// Returns a copy of the document with the patch applied.
///
/// # Errors
/// See [`PatchError`]. A `test` that fails is one of them.
pub fn apply_patch(document: &Value, patch: &PatchDocument) -> Result<Value, PatchError> {
    let mut patched = document.clone();
    match patch {
        PatchDocument::Merge(changes) if changes.is_object() => {
            json_patch::merge(&mut patched, changes);
        }
        PatchDocument::Merge(_) => return Err(PatchError::NotAnObject),
        PatchDocument::Json(operations) | PatchDocument::FhirJson(operations) => {
            apply_all(&mut patched, &operations.0)?;
        }
    }
    Ok(patched)
}

fn apply_all(document: &mut Value, operations: &[PatchOperation]) -> Result<(), PatchError> {
    if operations.len() > limits::MAX_PATCH_OPERATIONS {
        return Err(PatchError::TooManyOperations);
    }
    let mut budget = limits::MAX_PATCH_COPIED_BYTES;
    for (index, operation) in operations.iter().enumerate() {
        let fault = |reason| PatchError::Operation { index, reason };
        check_growth(document, operation, &mut budget).map_err(fault)?;
        json_patch::patch_unsafe(document, std::slice::from_ref(operation))
            .map_err(|error| fault(reason_of(&error.kind)))?;
    }
    Ok(())
}

/// Refuses an operation before it makes the document too deep or multiplies it.
fn check_growth(document: &Value, operation: &PatchOperation, budget: &mut usize) -> Result<(), &'static str> {
    let levels = operation.path().count();
    let from = match operation {
        PatchOperation::Copy(copy) => Some(copy.from.as_str()),
        PatchOperation::Move(moved) => Some(moved.from.as_str()),
        _ => None,
    };
    let source = from.and_then(|pointer| document.pointer(pointer));
    if levels + source.map_or(0, body_validation::depth) > limits::MAX_RESOURCE_DEPTH {
        return Err("the path leads too deep");
    }
    *budget = budget
        .checked_sub(source.map_or(0, body_validation::approximate_json_bytes))
        .ok_or("copies and moves more than one patch may")?;
    Ok(())
}

fn reason_of(kind: &PatchErrorKind) -> &'static str {
    match kind {
        PatchErrorKind::TestFailed => "the tested value is another one",
        PatchErrorKind::InvalidFromPointer => "`from` names nothing in the resource",
        PatchErrorKind::InvalidPointer => "`path` names nothing in the resource",
        PatchErrorKind::CannotMoveInsideItself => "a value cannot be moved into itself",
        _ => "it cannot be applied",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn json_patch(operations: Value) -> PatchDocument {
        parse_json_patch(operations).unwrap()
    }

    #[test]
    fn a_merge_patch_sets_removes_and_keeps() {
        let patch = PatchDocument::Merge(json!({"a": {"x": null, "z": 3}, "b": null}));
        let patched = apply_patch(&json!({"a": {"x": 1, "y": 2}, "b": 1, "c": 1}), &patch).unwrap();
        assert_eq!(patched, json!({"a": {"y": 2, "z": 3}, "c": 1}));
    }

    #[test]
    fn a_merge_patch_that_is_no_object_is_refused() {
        let patch = PatchDocument::Merge(json!([]));
        assert_eq!(apply_patch(&json!({}), &patch), Err(PatchError::NotAnObject));
    }

    #[test]
    fn a_json_patch_applies_in_order() {
        let patch = json_patch(json!([
            {"op": "test", "path": "/a", "value": [1]},
            {"op": "add", "path": "/a/-", "value": 2},
            {"op": "copy", "from": "/a", "path": "/b"},
            {"op": "remove", "path": "/a/0"},
        ]));
        let patched = apply_patch(&json!({"a": [1]}), &patch).unwrap();
        assert_eq!(patched, json!({"a": [2], "b": [1, 2]}));
    }

    #[test]
    fn a_patch_that_does_not_fit_names_its_operation() {
        let patch = json_patch(json!([
            {"op": "add", "path": "/b", "value": 1},
            {"op": "test", "path": "/a", "value": 2},
        ]));
        let fault = apply_patch(&json!({"a": 1}), &patch).unwrap_err();
        assert_eq!(fault.to_string(), "operation 1: the tested value is another one");
        let patch = json_patch(json!([{"op": "remove", "path": "/x/y"}]));
        let fault = apply_patch(&json!({}), &patch).unwrap_err();
        assert_eq!(fault.to_string(), "operation 0: `path` names nothing in the resource");
    }

    #[test]
    fn copies_are_stopped_before_they_fill_the_memory() {
        let copies = |count: usize| {
            let copy = |n| json!({"op": "copy", "from": "/a", "path": format!("/b{n}")});
            json_patch((0..count).map(copy).collect())
        };
        let document = json!({"a": "x".repeat(limits::MAX_PATCH_COPIED_BYTES / 4)});
        assert!(apply_patch(&document, &copies(3)).is_ok());
        let fault = apply_patch(&document, &copies(4)).unwrap_err();
        assert_eq!(fault.to_string(), "operation 3: copies and moves more than one patch may");
    }

    #[test]
    fn copies_into_themselves_are_stopped_before_they_lead_too_deep() {
        let copy = json!({"op": "copy", "from": "/a", "path": "/a/a"});
        let patch = json_patch(json!(vec![copy; limits::MAX_RESOURCE_DEPTH]));
        let fault = apply_patch(&json!({"a": {}}), &patch).unwrap_err();
        assert!(fault.to_string().ends_with("the path leads too deep"), "{fault}");
    }

    #[test]
    fn a_path_deeper_than_a_resource_may_be_is_refused() {
        let deep = "/a".repeat(limits::MAX_RESOURCE_DEPTH + 1);
        let patch = json_patch(json!([{"op": "add", "path": deep, "value": 1}]));
        let fault = apply_patch(&json!({}), &patch).unwrap_err();
        assert_eq!(fault.to_string(), "operation 0: the path leads too deep");
    }

    #[test]
    fn too_many_operations_are_refused() {
        let operation = json!({"op": "test", "path": "", "value": {}});
        let patch = json_patch(json!(vec![operation; limits::MAX_PATCH_OPERATIONS + 1]));
        assert_eq!(apply_patch(&json!({}), &patch), Err(PatchError::TooManyOperations));
    }
}
