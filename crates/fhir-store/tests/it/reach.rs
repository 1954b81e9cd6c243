//! What a writer does not reach is to it as if it were not there.

use fhir_resource::PatientCompartment;
use fhir_store::{
    AccessFilter, AccessFilterBranch, ElementEqualityFilter, ListQuery, PatchDocument, ResourceLookup, ResourceWrite,
    WriteAccess, WriteError, WriteOperation, WriteOutcome,
};
use serde_json::{Value, json};

use crate::support::{Store, WriteWords as _, create, delete, key, put, without_id};

fn mine() -> AccessFilter {
    let compartment = PatientCompartment::of_patient("me".parse().unwrap(), "https://payer.example/fhir");
    AccessFilter::union_of_branches(vec![AccessFilterBranch { compartment: Some(compartment), criteria: Vec::new() }])
}

/// By the patient `me`.
fn by_me(write: ResourceWrite) -> ResourceWrite {
    ResourceWrite { reach: WriteAccess { search: mine(), target: mine(), ..WriteAccess::default() }, ..write }
}

fn of(patient: &str) -> Value {
    json!({"subject": {"reference": format!("Patient/{patient}")}, "status": "final"})
}

fn two_records() -> Store {
    let store = Store::new();
    store.transact(vec![put("Observation/mine", of("me")), put("Observation/theirs", of("you"))]).unwrap();
    store
}

#[test]
fn a_write_to_anothers_resource_is_answered_as_one_to_nothing_and_changes_nothing() {
    let store = two_records();
    let merge = |at: &str| {
        ResourceWrite::unconditional(key(at), WriteOperation::Patch(PatchDocument::Merge(json!({"status": "amended"}))))
    };
    let before = store.found("Observation/theirs");
    for at in ["Observation/theirs", "Observation/nowhere"] {
        assert_eq!(store.write(by_me(merge(at))), Err(WriteError::NotFound(key(at))), "{at}");
        assert_eq!(store.write(by_me(delete(at))), Ok(WriteOutcome::Absent), "{at}");
        let guarded = by_me(delete(at)).if_match("*");
        assert_eq!(store.write(guarded), Err(WriteError::VersionMismatch { key: key(at), current: None }), "{at}");
    }
    for at in ["Observation/theirs", "Observation/nowhere"] {
        assert_eq!(store.write(by_me(put(at, of("me")))), Err(WriteError::NotFound(key(at))), "{at}");
    }
    assert_eq!(store.found("Observation/theirs"), before);
}

#[test]
fn a_confined_writer_chooses_no_id_so_none_is_told_to_be_taken() {
    let store = two_records();
    for id in ["theirs", "mine", "nowhere"] {
        let mut body = of("me");
        body["id"] = id.into();
        for write in [create(&format!("Observation/{id}"), body.clone()), create("Observation", body)] {
            let Ok(WriteOutcome::Created(made)) = store.write(by_me(write)) else { panic!("{id} was not created") };
            assert_ne!(made.key, key(&format!("Observation/{id}")));
            assert_eq!(made.resource, of("me"));
        }
    }
}

#[test]
fn what_a_confined_writer_writes_stays_in_its_compartment() {
    let store = two_records();
    assert!(matches!(store.write(by_me(create("Observation", of("me")))), Ok(WriteOutcome::Created(_))));
    for write in [
        put("Observation/mine", of("you")),
        create("Observation", json!({})),
        create("Observation", of("you")),
        ResourceWrite::unconditional(key("Observation/mine"), WriteOperation::Patch(PatchDocument::Merge(of("you")))),
    ] {
        assert_eq!(store.write(by_me(write.clone())), Err(WriteError::Outside), "{write:?}");
    }
    assert_eq!(store.read("Observation/other"), ResourceLookup::Missing);
    assert_eq!(store.found("Observation/mine").resource, of("me"));
    assert!(matches!(store.write(by_me(delete("Observation/mine"))), Ok(WriteOutcome::Deleted(_))));
}

#[test]
fn nobody_confined_sees_that_something_was_deleted() {
    let store = two_records();
    store.write(delete("Observation/mine")).unwrap();
    let patch = || {
        ResourceWrite::unconditional(key("Observation/mine"), WriteOperation::Patch(PatchDocument::Merge(json!({}))))
    };
    assert_eq!(store.write(patch()), Err(WriteError::Gone(key("Observation/mine"))));
    assert_eq!(store.write(by_me(patch())), Err(WriteError::NotFound(key("Observation/mine"))));
}

#[test]
fn a_condition_finds_only_what_is_reached() {
    let store = two_records();
    let status = [ElementEqualityFilter::new(["status"], "final")];
    let found = store.write(by_me(without_id("Observation", WriteOperation::Delete).if_none_exist(&status)));
    assert!(
        matches!(found, Ok(WriteOutcome::Deleted(stored)) if stored.key == key("Observation/mine")),
        "one, not two"
    );
    let theirs = [ElementEqualityFilter::by_id("theirs")];
    let created = store.write(by_me(create("Observation", of("me")).if_none_exist(&theirs)));
    assert!(matches!(created, Ok(WriteOutcome::Created(_))), "nothing matches: {created:?}");
    let all = ListQuery::all_of_type("Observation".parse().unwrap());
    assert_eq!(store.list(&all).total, 2);
    let page = store.list(&ListQuery { within: mine(), ..all });
    assert_eq!((page.total, page.entries.len()), (1, 1));
}

#[test]
fn a_name_of_an_entry_that_stands_for_another_patient_is_seen_through() {
    let store = Store::new();
    store.write(put("Patient/you", json!({}))).unwrap();
    let urn = "urn:uuid:4f6c9d3a-0000-4000-8000-000000000001";
    let named = put("Patient/you", json!({"active": true})).named(urn);
    let observation = json!({"subject": {"reference": urn}, "performer": [{"reference": "Patient/me"}]});
    let refused = store.transact(vec![named, by_me(create("Observation", observation))]).unwrap_err();
    assert_eq!((refused.index, refused.cause), (1, WriteError::Outside));
}
