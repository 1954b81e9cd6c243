//! Several writes that stand or fall together.

use fhir_store::{
    ElementEqualityFilter, ListQuery, ResourceLookup, TransactionError, WriteError, WriteOperation, WriteOutcome,
};
use serde_json::json;

use crate::support::{Store, WriteWords, create, delete, key, put, without_id};

const ORGANIZATION: &str = "urn:uuid:4f6c9d3a-0000-4000-8000-000000000001";
const CLIENT: &str = "urn:uuid:4f6c9d3a-0000-4000-8000-000000000002";

#[test]
fn answers_come_in_the_order_of_the_writes() {
    let store = Store::new();
    let answers =
        store.transact(vec![put("Client/b", json!({})), put("Client/a", json!({})), delete("Client/x")]).unwrap();
    let keys: Vec<_> = answers.iter().map(|answer| answer.stored_resource().map(|s| s.key.to_string())).collect();
    assert_eq!(keys, [Some("Client/b".to_owned()), Some("Client/a".to_owned()), None]);
}

#[test]
fn entries_refer_to_each_other_in_both_directions_and_both_spellings() {
    let store = Store::new();
    let answers = store
        .transact(vec![
            create("Client", json!({"organization": {"reference": ORGANIZATION}})).named(CLIENT),
            create("Organization", json!({"app": {"uri": CLIENT, "display": "c"}})).named(ORGANIZATION),
        ])
        .unwrap();
    let [WriteOutcome::Created(client), WriteOutcome::Created(organization)] = answers.as_slice() else {
        panic!("{answers:?}")
    };
    let to_organization = json!({"organization": {"reference": organization.key.to_string()}});
    assert_eq!(client.resource, to_organization);
    let id = client.key.id.as_str();
    let to_client = json!({"app": {"resourceType": "Client", "id": id, "display": "c"}});
    assert_eq!(organization.resource, to_client);
    assert_eq!(store.found(&client.key.to_string()).resource, to_organization);
}

#[test]
fn a_reference_to_a_conditional_entry_leads_to_the_existing_resource() {
    let store = Store::new();
    store.write(put("Organization/o1", json!({"name": "Payer"}))).unwrap();
    let filters = [ElementEqualityFilter::new(["name"], "Payer")];
    store
        .transact(vec![
            create("Organization", json!({"name": "Payer"})).if_none_exist(&filters).named(ORGANIZATION),
            put("Client/c1", json!({"organization": {"reference": ORGANIZATION}})),
        ])
        .unwrap();
    let expected = json!({"organization": {"reference": "Organization/o1"}});
    assert_eq!(store.found("Client/c1").resource, expected);
}

#[test]
fn a_reference_no_entry_carries_fails_the_transaction_at_its_entry() {
    let store = Store::new();
    let refusal = store
        .transact(vec![
            put("Client/c1", json!({})),
            put("Client/c2", json!({"organization": {"reference": ORGANIZATION}})),
        ])
        .unwrap_err();
    let cause = WriteError::UnresolvedReference(ORGANIZATION.to_owned());
    assert_eq!(refusal, TransactionError { index: 1, cause });
    assert_eq!(store.read("Client/c1"), ResourceLookup::Missing);
}

#[test]
fn nothing_of_a_refused_transaction_is_written() {
    let store = Store::new();
    store.write(put("Client/old", json!({"n": 1}))).unwrap();
    store.write(put("Client/gone", json!({}))).unwrap();
    let before = store.list(&ListQuery::all_of_type("Client".parse().unwrap()));
    let refusal = store
        .transact(vec![
            put("Client/new", json!({})),
            put("Client/other", json!({"n": 2})),
            delete("Client/gone"),
            create("Client/old", json!({})),
        ])
        .unwrap_err();
    assert_eq!(refusal.index, 3);
    assert_eq!(refusal.cause, WriteError::AlreadyExists(key("Client/old")));
    assert_eq!(store.list(&ListQuery::all_of_type("Client".parse().unwrap())), before);
    assert_eq!(store.read("Client/new"), ResourceLookup::Missing);
    let next = store.write(put("Client/next", json!({}))).unwrap();
    assert_eq!(next.stored_resource().unwrap().version, 3, "a refused transaction uses up no version");
}

#[test]
fn a_resource_that_two_writes_are_to_fails_the_transaction_at_the_later_one() {
    let store = Store::new();
    store.write(put("Client/c1", json!({"name": "a"}))).unwrap();
    let found = || {
        without_id("Client", WriteOperation::Put(json!({"n": 2})))
            .if_none_exist(&[ElementEqualityFilter::new(["name"], "a")])
    };
    let made = |n| create("Client", json!({"id": "m1", "n": n})).if_none_exist(&[ElementEqualityFilter::by_id("m1")]);
    for (writes, twice) in [
        (vec![put("Client/c1", json!({"n": 1})), put("Client/c1", json!({"n": 2}))], "Client/c1"),
        (vec![put("Client/c1", json!({"n": 1})), delete("Client/c1")], "Client/c1"),
        (vec![put("Client/c1", json!({"n": 1})), found()], "Client/c1"),
        (vec![made(1), made(2)], "Client/m1"),
    ] {
        let refusal = store.transact(writes).unwrap_err();
        assert_eq!(refusal, TransactionError { index: 1, cause: WriteError::WrittenTwice(key(twice)) });
        assert_eq!(store.found("Client/c1").resource, json!({"name": "a"}));
    }
    assert_eq!(store.read("Client/m1"), ResourceLookup::Missing);
}

#[test]
fn what_a_condition_found_and_an_earlier_entry_deleted_is_gone() {
    let store = Store::new();
    store.write(put("Client/c1", json!({"name": "a"}))).unwrap();
    let refusal = store
        .transact(vec![
            delete("Client/c1"),
            create("Client", json!({})).if_none_exist(&[ElementEqualityFilter::new(["name"], "a")]),
        ])
        .unwrap_err();
    assert_eq!(refusal, TransactionError { index: 1, cause: WriteError::Gone(key("Client/c1")) });
    assert!(matches!(store.read("Client/c1"), ResourceLookup::Found(_)));
}

#[test]
fn an_empty_transaction_does_nothing() {
    assert_eq!(Store::new().transact(Vec::new()), Ok(Vec::new()));
}
