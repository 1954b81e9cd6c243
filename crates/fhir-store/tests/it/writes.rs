//! Single writes: create, put, patch, delete.

use fhir_store::body_validation::RequestBodyErrorKind;
use fhir_store::patch::parse_json_patch;
use fhir_store::{ListQuery, PatchDocument, ResourceLookup, ResourceWrite, WriteError, WriteOperation, WriteOutcome};
use serde_json::{Value, json};

use crate::support::{NOW_US, Store, create, delete, key, put, without_id};

fn merge(at: &str, change: Value) -> ResourceWrite {
    ResourceWrite::unconditional(key(at), WriteOperation::Patch(PatchDocument::Merge(change)))
}

#[test]
fn a_create_stores_the_body_and_answers_it_with_its_version() {
    let store = Store::new();
    let written = store.write(create("Client/c1", json!({"active": true}))).unwrap();
    let WriteOutcome::Created(stored) = written else { panic!("{written:?}") };
    assert_eq!(stored.version, 1);
    assert_eq!(stored.updated_us, NOW_US);
    assert_eq!(stored.etag(), "W/\"1\"");
    assert_eq!(stored.version_location(), "Client/c1/_history/1");
    let document = json!({
        "resourceType": "Client", "id": "c1",
        "meta": {"versionId": "1", "lastUpdated": "2024-01-01T00:00:00.000000Z"},
        "active": true,
    });
    assert_eq!(stored.to_document(), document);
    assert_eq!(store.found("Client/c1"), stored);
}

#[test]
fn a_create_without_an_id_takes_the_bodys_or_is_given_one() {
    let store = Store::new();
    let written = store.write(create("Client", json!({"id": "mine"}))).unwrap();
    assert_eq!(written.stored_resource().unwrap().key, key("Client/mine"));
    let written = store.write(create("Client", json!({}))).unwrap();
    let id = written.stored_resource().unwrap().key.id.to_string();
    assert_eq!(id.len(), 36);
    let again = store.write(create("Client", json!({}))).unwrap();
    assert_ne!(again.stored_resource().unwrap().key.id.to_string(), id);
}

#[test]
fn a_create_of_what_exists_is_refused_and_changes_nothing() {
    let store = Store::new();
    store.write(create("Client/c1", json!({"n": 1}))).unwrap();
    let fault = store.write(create("Client/c1", json!({"n": 2}))).unwrap_err();
    assert_eq!(fault, WriteError::AlreadyExists(key("Client/c1")));
    assert_eq!(store.found("Client/c1").resource, json!({"n": 1}));
}

#[test]
fn a_put_creates_then_updates_then_leaves_the_same_content_alone() {
    let store = Store::new();
    let first = store.write(put("Client/c1", json!({"n": 1, "m": {"a": 1, "b": 2}}))).unwrap();
    assert!(matches!(first, WriteOutcome::Created(_)));
    let second = store.write(put("Client/c1", json!({"n": 2, "m": {"a": 1, "b": 2}}))).unwrap();
    let WriteOutcome::Updated(stored) = second else { panic!("{second:?}") };
    assert_eq!(stored.version, 2);
    let same = json!({"m": {"b": 2, "a": 1}, "n": 2, "meta": {"versionId": "9"}});
    let third = store.write(put("Client/c1", same)).unwrap();
    assert_eq!(third, WriteOutcome::Unchanged(stored.clone()));
    assert_eq!(store.found("Client/c1"), stored);
}

#[test]
fn what_a_reader_got_can_be_put_back_without_a_new_version() {
    let store = Store::new();
    store.write(put("Client/c1", json!({"meta": {"tag": [{"code": "x"}]}, "n": 1}))).unwrap();
    let document = store.found("Client/c1").to_document();
    let written = store.write(put("Client/c1", document)).unwrap();
    assert!(matches!(written, WriteOutcome::Unchanged(_)));
}

#[test]
fn a_put_needs_an_id_from_somewhere() {
    let store = Store::new();
    let written = store.write(without_id("Client", WriteOperation::Put(json!({"id": "c1"})))).unwrap();
    assert_eq!(written.stored_resource().unwrap().key, key("Client/c1"));
    let fault = store.write(without_id("Client", WriteOperation::Put(json!({})))).unwrap_err();
    let WriteError::Invalid(faults) = fault else { panic!("{fault:?}") };
    assert_eq!(faults[0].expression, "Client.id");
    assert_eq!(faults[0].problem, RequestBodyErrorKind::Required);
}

#[test]
fn a_body_of_another_type_or_id_is_refused() {
    let store = Store::new();
    for body in [json!({"id": "c2"}), json!({"resourceType": "User"}), json!("text")] {
        let fault = store.write(put("Client/c1", body)).unwrap_err();
        assert!(matches!(fault, WriteError::Invalid(_)), "{fault:?}");
    }
    let fault = store.write(create("Client", json!({"id": "a b"}))).unwrap_err();
    assert!(matches!(fault, WriteError::Invalid(_)), "{fault:?}");
    assert_eq!(store.read("Client/c1"), ResourceLookup::Missing);
}

#[test]
fn a_merge_patch_changes_what_it_names() {
    let store = Store::new();
    store.write(put("Client/c1", json!({"a": 1, "b": {"c": 1}}))).unwrap();
    let written = store.write(merge("Client/c1", json!({"a": null, "b": {"d": 2}}))).unwrap();
    let WriteOutcome::Updated(stored) = written else { panic!("{written:?}") };
    assert_eq!(stored.resource, json!({"b": {"c": 1, "d": 2}}));
    let written = store.write(merge("Client/c1", json!({"b": {"d": 2}}))).unwrap();
    assert_eq!(written, WriteOutcome::Unchanged(stored));
}

#[test]
fn a_json_patch_sees_the_document_a_reader_sees() {
    let store = Store::new();
    store.write(put("Client/c1", json!({"scope": ["a"]}))).unwrap();
    let patch = parse_json_patch(json!([
        {"op": "test", "path": "/resourceType", "value": "Client"},
        {"op": "test", "path": "/meta/versionId", "value": "1"},
        {"op": "add", "path": "/scope/-", "value": "b"},
    ]));
    let write = ResourceWrite::unconditional(key("Client/c1"), WriteOperation::Patch(patch.unwrap()));
    store.write(write.clone()).unwrap();
    assert_eq!(store.found("Client/c1").resource, json!({"scope": ["a", "b"]}));
    let fault = store.write(write).unwrap_err();
    assert_eq!(fault, WriteError::Patch("operation 1: the tested value is another one".to_owned()));
}

#[test]
fn a_patch_cannot_rename_a_resource() {
    let store = Store::new();
    store.write(put("Client/c1", json!({"a": 1}))).unwrap();
    for change in [json!({"id": "c2"}), json!({"resourceType": "User"})] {
        let fault = store.write(merge("Client/c1", change)).unwrap_err();
        assert!(matches!(fault, WriteError::Invalid(_)), "{fault:?}");
    }
    assert_eq!(store.found("Client/c1").version, 1);
}

#[test]
fn a_patch_of_nothing_and_of_the_deleted_are_told_apart() {
    let store = Store::new();
    let fault = store.write(merge("Client/c1", json!({}))).unwrap_err();
    assert_eq!(fault, WriteError::NotFound(key("Client/c1")));
    store.write(put("Client/c1", json!({}))).unwrap();
    store.write(delete("Client/c1")).unwrap();
    let fault = store.write(merge("Client/c1", json!({}))).unwrap_err();
    assert_eq!(fault, WriteError::Gone(key("Client/c1")));
}

#[test]
fn a_delete_answers_the_last_version_and_then_there_is_nothing_to_delete() {
    let store = Store::new();
    assert_eq!(store.write(delete("Client/c1")), Ok(WriteOutcome::Absent));
    store.write(put("Client/c1", json!({"n": 1}))).unwrap();
    let last = store.found("Client/c1");
    assert_eq!(store.write(delete("Client/c1")), Ok(WriteOutcome::Deleted(last)));
    assert_eq!(store.read("Client/c1"), ResourceLookup::Deleted { version: 2 });
    assert_eq!(store.write(delete("Client/c1")), Ok(WriteOutcome::Absent));
    assert_eq!(store.list(&ListQuery::all_of_type("Client".parse().unwrap())).total, 0);
}

#[test]
fn the_deleted_can_be_created_and_put_again_under_a_new_version() {
    for again in [create("Client/c1", json!({"n": 2})), put("Client/c1", json!({"n": 2}))] {
        let store = Store::new();
        store.write(put("Client/c1", json!({"n": 1}))).unwrap();
        store.write(delete("Client/c1")).unwrap();
        let written = store.write(again).unwrap();
        let WriteOutcome::Created(stored) = written else { panic!("{written:?}") };
        assert_eq!(stored.version, 3);
    }
}
