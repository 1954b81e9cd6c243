//! Conditional writes and lists: `If-Match`, `ifNoneExist`, filters.

use fhir_resource::ResourceId;
use fhir_store::{
    ElementEqualityFilter, ListQuery, PatchDocument, ResourceLookup, ResourceWrite, WriteError, WriteOperation,
    WriteOutcome,
};
use serde_json::{Value, json};

use crate::support::{Store, WriteWords, create, delete, key, put, without_id};

fn mismatch(at: &str, current: Option<i64>) -> WriteError {
    WriteError::VersionMismatch { key: key(at), current }
}

fn by_name(name: &str) -> [ElementEqualityFilter; 1] {
    [ElementEqualityFilter::new(["name"], name)]
}

fn with_names(names: &[(&str, &str)]) -> Store {
    let store = Store::new();
    for (at, name) in names {
        store.write(put(at, json!({"name": name}))).unwrap();
    }
    store
}

#[test]
fn a_write_in_the_version_seen_passes_and_in_an_older_one_is_refused() {
    let store = with_names(&[("Client/c1", "a")]);
    store.write(put("Client/c1", json!({"name": "b"})).if_match("W/\"1\"")).unwrap();
    let writes = [
        put("Client/c1", json!({"name": "c"})),
        delete("Client/c1"),
        ResourceWrite::unconditional(key("Client/c1"), WriteOperation::Patch(PatchDocument::Merge(json!({})))),
    ];
    for write in writes {
        let fault = store.write(write.if_match("W/\"1\"")).unwrap_err();
        assert_eq!(fault, mismatch("Client/c1", Some(2)));
    }
    assert_eq!(store.found("Client/c1").resource, json!({"name": "b"}));
}

#[test]
fn any_version_means_that_there_is_one() {
    let store = with_names(&[("Client/c1", "a")]);
    store.write(put("Client/c1", json!({"name": "b"})).if_match("*")).unwrap();
    store.write(delete("Client/c1")).unwrap();
    for at in ["Client/c1", "Client/c2"] {
        let fault = store.write(put(at, json!({})).if_match("*")).unwrap_err();
        assert_eq!(fault, mismatch(at, None));
    }
    assert_eq!(store.read("Client/c2"), ResourceLookup::Missing);
}

#[test]
fn a_conditional_create_writes_once() {
    let store = Store::new();
    let write = || create("Client", json!({"name": "a"})).if_none_exist(&by_name("a"));
    let first = store.write(write()).unwrap();
    let WriteOutcome::Created(stored) = first else { panic!("{first:?}") };
    assert_eq!(store.write(write()), Ok(WriteOutcome::Existing(stored)));
}

#[test]
fn a_conditional_create_by_id_skips_the_existing_whatever_it_has_become() {
    let store = Store::new();
    let write = |n| create("Client", json!({"id": "m1", "n": n})).if_none_exist(&[ElementEqualityFilter::by_id("m1")]);
    store.write(write(1)).unwrap();
    store.write(put("Client/m1", json!({"status": "done"}))).unwrap();
    let second = store.write(write(2)).unwrap();
    assert!(matches!(second, WriteOutcome::Existing(_)));
    assert_eq!(store.found("Client/m1").resource, json!({"status": "done"}));
}

#[test]
fn a_condition_that_matches_several_is_refused() {
    let store = with_names(&[("Client/c1", "a"), ("Client/c2", "a"), ("User/u1", "a")]);
    let many = WriteError::MultipleMatches { resource_type: "Client".parse().unwrap() };
    let writes = [
        create("Client", json!({})),
        without_id("Client", WriteOperation::Put(json!({}))),
        without_id("Client", WriteOperation::Delete),
    ];
    for write in writes {
        assert_eq!(store.write(write.if_none_exist(&by_name("a"))), Err(many.clone()));
    }
}

#[test]
fn the_condition_of_a_put_without_id_finds_what_to_replace() {
    let store = with_names(&[("Client/c1", "a")]);
    let conditional = |body: Value| without_id("Client", WriteOperation::Put(body)).if_none_exist(&by_name("a"));
    let written = store.write(conditional(json!({"name": "a", "n": 1}))).unwrap();
    let WriteOutcome::Updated(stored) = written else { panic!("{written:?}") };
    assert_eq!(stored.key, key("Client/c1"));
    let fault = store.write(conditional(json!({"id": "c2"}))).unwrap_err();
    assert!(matches!(fault, WriteError::Invalid(_)), "{fault:?}");
    store.write(delete("Client/c1")).unwrap();
    let written = store.write(conditional(json!({"id": "c9", "name": "a"}))).unwrap();
    let WriteOutcome::Created(stored) = written else { panic!("{written:?}") };
    assert_eq!(stored.key, key("Client/c9"));
}

#[test]
fn the_condition_of_a_put_with_id_guards_it() {
    let store = with_names(&[("Client/c1", "a")]);
    let write = put("Client/c2", json!({"name": "b"})).if_none_exist(&by_name("a"));
    let written = store.write(write).unwrap();
    assert_eq!(written, WriteOutcome::Existing(store.found("Client/c1")));
    assert_eq!(store.read("Client/c2"), ResourceLookup::Missing);
}

#[test]
fn a_conditional_delete_or_patch_of_nothing_is_told_apart() {
    let store = Store::new();
    let write = without_id("Client", WriteOperation::Delete).if_none_exist(&by_name("a"));
    assert_eq!(store.write(write), Ok(WriteOutcome::Absent));
    let patch = WriteOperation::Patch(PatchDocument::Merge(json!({})));
    let write = without_id("Client", patch).if_none_exist(&by_name("a"));
    let nothing = WriteError::NothingMatches("Client".parse().unwrap());
    assert_eq!(store.write(write), Err(nothing));
}

#[test]
fn an_address_without_id_and_condition_is_refused() {
    let store = Store::new();
    for operation in [WriteOperation::Delete, WriteOperation::Patch(PatchDocument::Merge(json!({})))] {
        let fault = store.write(without_id("Client", operation)).unwrap_err();
        assert!(matches!(fault, WriteError::Invalid(_)), "{fault:?}");
    }
}

#[test]
fn a_list_is_of_one_type_ordered_by_id_and_paged() {
    let store = with_names(&[("Client/c", "x"), ("Client/a", "x"), ("Client/b", "y"), ("User/u", "x")]);
    let page = |count, page| {
        let all = ListQuery::all_of_type("Client".parse().unwrap());
        let page = store.list(&ListQuery { count, page, ..all });
        let ids: Vec<ResourceId> = page.entries.into_iter().map(|stored| stored.key.id).collect();
        (page.total, ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    };
    assert_eq!(page(100, 1), (3, "a,b,c".to_owned()));
    assert_eq!(page(2, 1), (3, "a,b".to_owned()));
    assert_eq!(page(2, 2), (3, "c".to_owned()));
    assert_eq!(page(2, 3), (3, String::new()));
    assert_eq!(page(0, 1), (3, String::new()));
    assert_eq!(page(1000, u32::MAX), (3, String::new()));
}

#[test]
fn filters_all_have_to_hold() {
    let store = with_names(&[("Client/a", "x"), ("Client/b", "x")]);
    let list = |filters: Vec<ElementEqualityFilter>| {
        let all = ListQuery::all_of_type("Client".parse().unwrap());
        store.list(&ListQuery { filters, ..all }).total
    };
    assert_eq!(list(by_name("x").to_vec()), 2);
    assert_eq!(list(vec![ElementEqualityFilter::new(["name"], "x"), ElementEqualityFilter::by_id("b")]), 1);
    assert_eq!(list(vec![ElementEqualityFilter::new(["name"], "y"), ElementEqualityFilter::by_id("b")]), 0);
    assert_eq!(list(vec![ElementEqualityFilter::by_id("B")]), 0);
}
