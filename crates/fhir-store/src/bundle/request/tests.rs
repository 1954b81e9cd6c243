use fhir_resource::property_testing;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::element_filter::ElementEqualityFilter;

const BY_ELEMENTS: WriteCriteriaParser<'static> = &|_, text| ConditionalWriteCriteria::parse_element_criteria(text);

fn transaction(entries: Value) -> Result<RequestBundle, RequestBundleError> {
    let members = [("resourceType", "Bundle".into()), ("type", "transaction".into()), ("entry", entries)];
    parse_request_bundle(members.into_iter().collect(), BY_ELEMENTS)
}

fn one(entry: Value) -> Result<BundleEntryRequest, BundleEntryErrorKind> {
    match transaction(Value::Array(vec![entry])) {
        Ok(bundle) => Ok(bundle.entries[0].clone().unwrap()),
        Err(RequestBundleError::Entry(fault)) => Err(fault.problem),
        Err(other) => panic!("{other}"),
    }
}

fn request(method: &str, url: &str) -> Value {
    json!({"request": {"method": method, "url": url}, "resource": {}})
}

fn write(entry: Value) -> ResourceWrite {
    match one(entry) {
        Ok(BundleEntryRequest::Write(write)) => write,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_migration_bundle_is_read_as_it_is_submitted() {
    let resource = json!({"resourceType": "PlatformMigration", "id": "m1", "status": "to-run"});
    let write = write(json!({
        "request": {"method": "POST", "url": "PlatformMigration", "ifNoneExist": "id=m1"},
        "resource": resource,
    }));
    let precondition = WritePrecondition {
        if_none_exist: Some(vec![ElementEqualityFilter::by_id("m1")].into()),
        ..WritePrecondition::default()
    };
    let resource_type = "PlatformMigration".parse().unwrap();
    let expected = ResourceWrite::conditional(resource_type, WriteOperation::Create(resource), precondition);
    assert_eq!(write, expected);
}

#[test]
fn each_method_becomes_its_operation() {
    let id = Some("c1".parse().unwrap());
    let put = write(request("PUT", "/Client/c1"));
    assert_eq!((put.operation, put.id.clone()), (WriteOperation::Put(json!({})), id.clone()));
    let patch = write(request("PATCH", "Client/c1"));
    assert_eq!(patch.operation, WriteOperation::Patch(PatchDocument::Merge(json!({}))));
    let delete = write(json!({"request": {"method": "DELETE", "url": "Client/c1"}}));
    assert_eq!((delete.operation, delete.id), (WriteOperation::Delete, id));
    let read = one(request("GET", "Client/c1"));
    assert_eq!(read, Ok(BundleEntryRequest::Read(BundleReadRequest::One("Client/c1".parse().unwrap()))));
    let list = one(request("GET", "Client?name=a%20b&_count=5"));
    let parameters = [("name", "a b"), ("_count", "5")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let expected = BundleReadRequest::List { resource_type: "Client".parse().unwrap(), parameters: parameters.into() };
    assert_eq!(list, Ok(BundleEntryRequest::Read(expected)));
}

#[test]
fn a_json_patch_is_an_array_and_fhirs_own_forms_are_refused() {
    let patch =
        |resource: Value| one(json!({"request": {"method": "PATCH", "url": "Client/c1"}, "resource": resource}));
    let operations = json!([{"op": "remove", "path": "/a"}]);
    let Ok(BundleEntryRequest::Write(write)) = patch(operations) else { panic!("refused") };
    assert!(matches!(write.operation, WriteOperation::Patch(PatchDocument::Json(_))));
    let refused = [
        json!({"resourceType": "Binary", "data": "W10="}),
        json!({"resourceType": "Parameters"}),
        json!([{"op": "explode", "path": "/a"}]),
        json!("text"),
    ];
    for resource in refused {
        assert!(matches!(patch(resource.clone()), Err(BundleEntryErrorKind::Patch(_))), "{resource}");
    }
}

#[test]
fn conditions_and_versions_are_read() {
    let put = write(json!({
        "fullUrl": "urn:uuid:1",
        "request": {"method": "PUT", "url": "Client/c1", "ifMatch": "W/\"3\""},
        "resource": {},
    }));
    assert_eq!(put.precondition.if_match, Some(IfMatch::Version(3)));
    assert_eq!(put.full_url.as_deref(), Some("urn:uuid:1"));
    let put = write(request("PUT", "Client?name=a"));
    assert_eq!(
        (put.id, put.precondition.if_none_exist),
        (None, Some(vec![ElementEqualityFilter::new(["name"], "a")].into()))
    );
    let both = json!({"request": {"method": "PUT", "url": "Client?a=b", "ifNoneExist": "a=b"}, "resource": {}});
    assert_eq!(one(both), Err(BundleEntryErrorKind::TwoConditions));
    let bad = json!({"request": {"method": "PUT", "url": "Client/c1", "ifMatch": "x"}, "resource": {}});
    assert_eq!(one(bad), Err(BundleEntryErrorKind::IfMatch(ParseIfMatchError)));
    let empty = json!({"request": {"method": "POST", "url": "Client", "ifNoneExist": ""}, "resource": {}});
    assert_eq!(one(empty), Err(BundleEntryErrorKind::Criteria(QueryError::Empty.into())));
}

#[test]
fn a_url_that_does_not_fit_its_method_is_refused() {
    let urls = [
        ("POST", "Client/c1"),
        ("POST", "Client?a=b"),
        ("PUT", "Client"),
        ("DELETE", "/Client"),
        ("PATCH", "Client"),
        ("PUT", "client/c1"),
        ("PUT", "Client/c1/_history/1"),
        ("GET", ""),
        ("PUT", "Client/c1?a=b"),
        ("PUT", "http://h/Client/c1"),
        ("GET", "//Client"),
    ];
    for (method, url) in urls {
        let problem = one(request(method, url)).unwrap_err();
        assert!(matches!(problem, BundleEntryErrorKind::Url(_)), "{method} {url}: {problem}");
    }
    let nothing = json!({"request": {"method": "DELETE", "url": "Client?"}});
    assert_eq!(one(nothing), Err(BundleEntryErrorKind::Criteria(QueryError::Empty.into())));
}

#[test]
fn an_entry_that_is_no_request_is_refused() {
    for entry in [json!(null), json!({}), json!({"request": []})] {
        assert_eq!(one(entry), Err(BundleEntryErrorKind::NotARequest));
    }
    assert_eq!(one(request("TRACE", "Client/c1")), Err(BundleEntryErrorKind::Method));
    assert_eq!(one(json!({"request": {"url": "Client"}})), Err(BundleEntryErrorKind::Method));
    let number = json!({"request": {"method": 1, "url": "Client"}});
    assert_eq!(one(number), Err(BundleEntryErrorKind::NotAString("method")));
    for method in ["POST", "PUT", "PATCH"] {
        let url = if method == "POST" { "Client" } else { "Client/c1" };
        let entry = json!({"request": {"method": method, "url": url}});
        assert_eq!(one(entry), Err(BundleEntryErrorKind::NoResource));
    }
}

#[test]
fn a_fault_of_a_transaction_names_its_entry_and_of_a_batch_only_its_entry() {
    let entries = json!([request("PUT", "Client/c1"), request("PUT", "nowhere")]);
    let Err(RequestBundleError::Entry(fault)) = transaction(entries.clone()) else { panic!("read") };
    assert_eq!((fault.index, fault.entry_fhirpath()), (1, "Bundle.entry[1]".to_owned()));
    let batch = json!({"resourceType": "Bundle", "type": "batch", "entry": entries});
    let batch = parse_request_bundle(batch, BY_ELEMENTS).unwrap();
    assert_eq!(batch.bundle_type, BundleType::Batch);
    assert!(batch.entries[0].is_ok());
    assert_eq!(batch.entries[1], Err(fault));
}

#[test]
fn entries_keep_their_index_when_they_are_sorted() {
    let entries = json!([
        request("GET", "Client/c1"),
        request("PUT", "Client/c1"),
        request("TRACE", "Client/c1"),
        request("GET", "Client"),
        request("DELETE", "Client/c1"),
    ]);
    let batch = json!({"resourceType": "Bundle", "type": "batch", "entry": entries});
    let entries = parse_request_bundle(batch, BY_ELEMENTS).unwrap().into_entries_by_action();
    assert_eq!(entries.writes.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(entries.reads.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 3]);
    assert_eq!(entries.faults.iter().map(|fault| fault.index).collect::<Vec<_>>(), [2]);
}

#[test]
fn two_entries_cannot_share_a_name() {
    let entry = json!({
        "fullUrl": "urn:uuid:1", "request": {"method": "POST", "url": "Client"}, "resource": {},
    });
    let Err(RequestBundleError::Entry(fault)) = transaction(json!([entry, entry])) else { panic!("read") };
    assert_eq!(fault, BundleEntryError { index: 1, problem: BundleEntryErrorKind::DuplicateFullUrl });
}

#[test]
fn what_is_no_bundle_to_execute_is_refused() {
    for body in [json!(null), json!([]), json!({}), json!({"resourceType": "Client"})] {
        assert_eq!(parse_request_bundle(body, BY_ELEMENTS), Err(RequestBundleError::NotABundle));
    }
    for resource_type in [json!("collection"), json!(null), json!(1)] {
        assert_eq!(
            parse_request_bundle(json!({"resourceType": "Bundle", "type": resource_type}), BY_ELEMENTS),
            Err(RequestBundleError::Type)
        );
    }
    assert_eq!(transaction(json!({})), Err(RequestBundleError::EntriesNotAnArray));
    let many = vec![json!({}); limits::MAX_BUNDLE_ENTRIES + 1];
    assert_eq!(transaction(json!(many)), Err(RequestBundleError::TooManyEntries));
}

#[test]
fn a_bundle_without_entries_is_an_empty_one() {
    let bundle = parse_request_bundle(json!({"resourceType": "Bundle", "type": "transaction"}), BY_ELEMENTS).unwrap();
    assert_eq!(bundle, RequestBundle { bundle_type: BundleType::Transaction, entries: Vec::new() });
}

proptest! {
    #![proptest_config(property_testing::seeded_proptest_config(500))]

    #[test]
    fn no_json_makes_the_reader_fail_otherwise_than_by_a_fault(
        body in property_testing::any_json(),
        entries in proptest::collection::vec(property_testing::any_json(), 0..4),
        method in "(POST|PUT|PATCH|DELETE|GET)",
        url in "/?[A-Z]?[a-z]{0,3}[/?]?.{0,8}",
        condition in ".{0,16}",
    ) {
        let _ = parse_request_bundle(body.clone(), BY_ELEMENTS);
        let _ = transaction(Value::Array(entries));
        let request = json!({"method": method, "url": url, "ifNoneExist": condition, "ifMatch": condition});
        let entry = json!({"request": request, "resource": body});
        if let Err(RequestBundleError::Entry(fault)) = transaction(json!([entry])) {
            prop_assert_eq!(fault.index, 0);
        }
    }
}
