//! Writes in FHIR's format as the native store takes them.

use fhir_resource::StoredResource;
use fhir_resource::format_conversion::{convert_changed_to_native, convert_to_fhir, convert_typed_to_native};
use serde_json::Value;

use crate::patch::{self, PatchError};
use crate::ports::{PatchDocument, ResourceWrite, WriteOperation};

/// Converts the bodies of a write from FHIR's format to the native one, by the type in the address.
///
/// The operations of a JSON Patch stay as they are; it becomes a [`PatchDocument::FhirJson`], which
/// [`apply_fhir_patch_to_native`] applies.
#[must_use]
pub fn convert_write_to_native(write: ResourceWrite) -> ResourceWrite {
    let native = |body| convert_typed_to_native(write.resource_type.as_str(), body);
    let operation = match write.operation {
        WriteOperation::Create(body) => WriteOperation::Create(native(body)),
        WriteOperation::Put(body) => WriteOperation::Put(native(body)),
        WriteOperation::Patch(PatchDocument::Merge(change)) => {
            WriteOperation::Patch(PatchDocument::Merge(native(change)))
        }
        WriteOperation::Patch(PatchDocument::Json(operations) | PatchDocument::FhirJson(operations)) => {
            WriteOperation::Patch(PatchDocument::FhirJson(operations))
        }
        WriteOperation::Delete => WriteOperation::Delete,
    };
    ResourceWrite { operation, ..write }
}

/// Applies a patch to a resource in FHIR's format, and returns the patched body in the native format. Unchanged parts
/// stay in the format in which they are stored.
///
/// # Errors
/// See [`PatchError`].
pub fn apply_fhir_patch_to_native(current: &StoredResource, change: &PatchDocument) -> Result<Value, PatchError> {
    let before = current.to_document();
    let patched = patch::apply_patch(&convert_to_fhir(before.clone()), change)?;
    Ok(convert_changed_to_native(current.key.resource_type.as_str(), patched, &before))
}

#[cfg(test)]
mod tests {
    use fhir_resource::ResourceKey;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_patterns_of_an_access_policy_are_written_as_they_stand() {
        let pattern = json!({"resource": {"subject": {"reference": "Patient/1"}, "organization": {"localRef": "a"}}});
        let untyped = json!({"engine": "matcho", "matcho": pattern});
        let at: ResourceKey = "AccessPolicy/p".parse().unwrap();
        for operation in [
            WriteOperation::Create(untyped.clone()),
            WriteOperation::Put(untyped.clone()),
            WriteOperation::Patch(PatchDocument::Merge(untyped.clone())),
        ] {
            assert_eq!(
                convert_write_to_native(ResourceWrite::unconditional(at.clone(), operation.clone())).operation,
                operation
            );
        }
        let stored = StoredResource { key: at, version: 1, updated_us: 0, resource: untyped.clone() };
        let patched =
            apply_fhir_patch_to_native(&stored, &PatchDocument::Merge(json!({"resourceType": null, "x": 1}))).unwrap();
        assert_eq!(patched["matcho"], pattern);
    }

    #[test]
    fn a_patch_in_fhirs_format_applies_to_what_is_stored_natively() {
        let stored = StoredResource {
            key: "Client/c1".parse().unwrap(),
            version: 1,
            updated_us: 0,
            resource: json!({"extension": [{"url": "u", "value": {"string": "a"}}]}),
        };
        let patch = patch::parse_json_patch(json!([
            {"op": "replace", "path": "/extension/0/valueString", "value": "b"},
        ]));
        let body = apply_fhir_patch_to_native(&stored, &patch.unwrap()).unwrap();
        assert_eq!(body["extension"], json!([{"url": "u", "value": {"string": "b"}}]));
    }

    #[test]
    fn what_a_patch_leaves_alone_stays_as_it_was_written() {
        let organization = json!({"url": "organization", "valueReference": {"reference": "Organization/o1"}});
        let purpose = json!({"url": "purposeOfUse", "valueCoding": {"code": "HPAYMT"}});
        let union = json!({"url": "note", "value": {"Reference": {"resourceType": "Patient", "id": "p"}}});
        let resource = json!({"name": "A", "extension": [{"url": "b2b", "extension": [organization, purpose]}, union]});
        let stored = StoredResource { key: "Client/c1".parse().unwrap(), version: 1, updated_us: 0, resource };
        let patched = |operations: Value| {
            let patch: json_patch::Patch = serde_json::from_value(operations).unwrap();
            apply_fhir_patch_to_native(&stored, &PatchDocument::Json(patch)).unwrap()
        };
        let renamed = patched(json!([{"op": "replace", "path": "/name", "value": "B"}]));
        assert_eq!((&renamed["name"], &renamed["extension"]), (&json!("B"), &stored.resource["extension"]));
        let added = json!({"url": "more", "valueReference": {"reference": "Patient/q"}});
        let more = patched(json!([{"op": "add", "path": "/extension/0", "value": added}]));
        let native = json!({"url": "more", "value": {"Reference": {"resourceType": "Patient", "id": "q"}}});
        assert_eq!(more["extension"], json!([native, stored.resource["extension"][0], union]));
        let part =
            patched(json!([{"op": "replace", "path": "/extension/0/extension/1/valueCoding/code", "value": "X"}]));
        assert_eq!(part["extension"][0]["extension"][0], organization);
        assert_eq!(
            part["extension"][0]["extension"][1],
            json!({"url": "purposeOfUse", "value": {"Coding": {"code": "X"}}})
        );
    }

    #[test]
    fn a_write_is_converted_in_its_body() {
        let body = json!({"a": {"reference": "A/b"}});
        let native = json!({"a": {"resourceType": "A", "id": "b"}});
        let key: ResourceKey = "Client/c1".parse().unwrap();
        let converted =
            |operation| convert_write_to_native(ResourceWrite::unconditional(key.clone(), operation)).operation;
        assert_eq!(converted(WriteOperation::Put(body.clone())), WriteOperation::Put(native.clone()));
        assert_eq!(converted(WriteOperation::Create(body.clone())), WriteOperation::Create(native.clone()));
        let merge = |value| WriteOperation::Patch(PatchDocument::Merge(value));
        assert_eq!(converted(merge(body)), merge(native));
        assert_eq!(converted(WriteOperation::Delete), WriteOperation::Delete);
        let operations: json_patch::Patch = serde_json::from_value(json!([{"op": "remove", "path": "/a"}])).unwrap();
        let patch = WriteOperation::Patch(PatchDocument::Json(operations.clone()));
        assert_eq!(converted(patch), WriteOperation::Patch(PatchDocument::FhirJson(operations)));
    }
}
