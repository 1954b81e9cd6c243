//! Writing a Bundle of answers.
//!
//! The functions take documents that are ready to be seen: which fields a caller may not see, and
//! in which format they go out, is decided before.

use fhir_resource::StoredResource;
use serde_json::{Map, Value, json};

use crate::ports::{ListPage, ListQuery, WriteOutcome};

/// Returns the response Bundle of a transaction, with its response entries.
#[must_use]
pub fn transaction_response_bundle(entries: Vec<Value>) -> Value {
    bundle("transaction-response", entries)
}

/// Returns the response Bundle of a batch, with its response entries.
#[must_use]
pub fn batch_response_bundle(entries: Vec<Value>) -> Value {
    bundle("batch-response", entries)
}

fn bundle(bundle_type: &str, entries: Vec<Value>) -> Value {
    let members = [("resourceType", "Bundle".into()), ("type", bundle_type.into()), ("entry", Value::Array(entries))];
    members.into_iter().collect()
}

/// Returns the response entry of a write, with `resource` as the document where the caller is shown one.
///
/// The status of a deletion is 200, and 204 when there was nothing to delete, as at the native endpoint.
#[must_use]
pub fn write_response_entry(written: &WriteOutcome, resource: Option<Value>) -> Value {
    let (status, current) = match written {
        WriteOutcome::Created(stored) => ("201", Some(stored)),
        WriteOutcome::Updated(stored) | WriteOutcome::Unchanged(stored) | WriteOutcome::Existing(stored) => {
            ("200", Some(stored))
        }
        WriteOutcome::Deleted(_) => ("200", None),
        WriteOutcome::Absent => ("204", None),
    };
    let mut response = Map::new();
    response.insert("status".to_owned(), status.into());
    if let Some(stored) = current {
        response.insert("location".to_owned(), stored.version_location().into());
        response.insert("etag".to_owned(), stored.etag().into());
        response.insert("lastModified".to_owned(), stored.last_updated().into());
    }
    entry(resource, response)
}

/// Returns the response entry of a read; of a list or a search `stored` is `None` and `resource` the Bundle.
#[must_use]
pub fn read_response_entry(stored: Option<&StoredResource>, resource: Value) -> Value {
    let mut response = Map::new();
    response.insert("status".to_owned(), "200".into());
    if let Some(stored) = stored {
        response.insert("etag".to_owned(), stored.etag().into());
        response.insert("lastModified".to_owned(), stored.last_updated().into());
    }
    entry(Some(resource), response)
}

/// Returns the response entry of a batch entry that failed, with its HTTP status and its `OperationOutcome`.
#[must_use]
pub fn failed_batch_entry(status: u16, outcome: Value) -> Value {
    let response = [("status", status.to_string().into()), ("outcome", outcome)];
    [("response", Value::from_iter(response))].into_iter().collect()
}

fn entry(resource: Option<Value>, response: Map<String, Value>) -> Value {
    let mut entry = Map::new();
    entry.extend(resource.map(|resource| ("resource".to_owned(), resource)));
    entry.insert("response".to_owned(), Value::Object(response));
    Value::Object(entry)
}

/// The address and parameters from which the paging links of a list are built.
#[derive(Clone, Copy, Debug)]
pub struct ListRequestUrl<'a> {
    /// The address of the list without its query: `{base_url}/fhir/Client`.
    pub address: &'a str,
    /// The parameters of the request, decoded, in their order.
    pub parameters: &'a [(String, String)],
}

impl ListRequestUrl<'_> {
    fn to_page(self, page: u32) -> String {
        let kept = self.parameters.iter().filter(|(name, _)| name != "_page");
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(kept)
            .append_pair("_page", &page.to_string())
            .finish();
        format!("{}?{query}", self.address)
    }
}

/// Returns the `searchset` Bundle of a page of a list. `entries` are those of [`searchset_entry`] for the resources of
/// the page.
#[must_use]
pub fn list_searchset_bundle(
    query: &ListQuery,
    page: &ListPage,
    links: ListRequestUrl<'_>,
    entries: Vec<Value>,
) -> Value {
    let mut link = vec![json!({"relation": "self", "url": links.to_page(query.page)})];
    let here = query.offset().saturating_add(u64::from(query.count));
    if let Some(next) = query.page.checked_add(1)
        && query.count > 0
        && here < page.total
    {
        link.push(json!({"relation": "next", "url": links.to_page(next)}));
    }
    let members = [
        ("resourceType", "Bundle".into()),
        ("type", "searchset".into()),
        ("total", page.total.into()),
        ("link", Value::Array(link)),
        ("entry", Value::Array(entries)),
    ];
    members.into_iter().collect()
}

/// Returns the `searchset` entry of one resource.
#[must_use]
pub fn searchset_entry(base: &str, stored: &StoredResource, resource: Value) -> Value {
    let members = [
        ("fullUrl", format!("{base}/{}", stored.key).into()),
        ("resource", resource),
        ("search", json!({"mode": "match"})),
    ];
    members.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored() -> StoredResource {
        StoredResource {
            key: "Client/c1".parse().unwrap(),
            version: 7,
            updated_us: 1_704_067_200_123_456,
            resource: json!({"active": true}),
        }
    }

    #[test]
    fn a_created_resource_is_answered_with_where_and_when() {
        let entry = write_response_entry(&WriteOutcome::Created(stored()), Some(stored().to_document()));
        let response = json!({
            "status": "201",
            "location": "Client/c1/_history/7",
            "etag": "W/\"7\"",
            "lastModified": "2024-01-01T00:00:00.123456Z",
        });
        assert_eq!(entry["response"], response);
        assert_eq!(entry["resource"]["id"], "c1");
    }

    #[test]
    fn every_answer_has_its_status() {
        let status = |written: WriteOutcome| {
            let entry = write_response_entry(&written, None);
            assert_eq!(entry.get("resource"), None);
            entry["response"]["status"].as_str().map(str::to_owned).unwrap()
        };
        assert_eq!(status(WriteOutcome::Updated(stored())), "200");
        assert_eq!(status(WriteOutcome::Unchanged(stored())), "200");
        assert_eq!(status(WriteOutcome::Existing(stored())), "200");
        assert_eq!(status(WriteOutcome::Deleted(stored())), "200");
        assert_eq!(status(WriteOutcome::Absent), "204");
    }

    #[test]
    fn the_deleted_has_no_location() {
        let entry = write_response_entry(&WriteOutcome::Deleted(stored()), None);
        assert_eq!(entry, json!({"response": {"status": "200"}}));
    }

    #[test]
    fn a_failed_entry_carries_its_outcome() {
        let entry = failed_batch_entry(404, json!({"resourceType": "OperationOutcome"}));
        assert_eq!(entry["response"]["status"], "404");
        assert_eq!(entry["response"]["outcome"]["resourceType"], "OperationOutcome");
    }

    #[test]
    fn a_list_links_to_itself_and_to_what_follows() {
        let parameters = [("name".to_owned(), "a b&c".to_owned()), ("_page".to_owned(), "2".to_owned())];
        let links = ListRequestUrl { address: "http://h/fhir/Client", parameters: &parameters };
        let of = |page: u32, total: u64| {
            let query = ListQuery { count: 10, page, ..ListQuery::all_of_type("Client".parse().unwrap()) };
            list_searchset_bundle(&query, &ListPage { total, entries: Vec::new() }, links, Vec::new())
        };
        let link = |page: u32| format!("http://h/fhir/Client?name=a+b%26c&_page={page}");
        let both = json!([
            {"relation": "self", "url": link(2)}, {"relation": "next", "url": link(3)},
        ]);
        assert_eq!(of(2, 21)["link"], both);
        assert_eq!(of(2, 20)["link"], json!([{"relation": "self", "url": link(2)}]));
        assert_eq!(of(2, 21)["total"], 21);
    }

    #[test]
    fn a_list_entry_names_its_resource_absolutely() {
        let entry = searchset_entry("http://h/fhir", &stored(), stored().to_document());
        assert_eq!(entry["fullUrl"], "http://h/fhir/Client/c1");
        assert_eq!(entry["search"], json!({"mode": "match"}));
    }
}
