//! The Bundle that answers a history.

use serde_json::{Map, Value, json};

use super::response::ListRequestUrl;
use crate::history::{HistoryPage, HistoryPosition, ResourceVersion, VersionInteraction};

/// The parameter that says where a page begins.
const CURSOR: &str = "_cursor";

impl ListRequestUrl<'_> {
    fn to_place(self, place: Option<&str>) -> String {
        let kept = self.parameters.iter().filter(|(name, _)| name != CURSOR);
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(kept);
        if let Some(place) = place {
            query.append_pair(CURSOR, place);
        }
        let query = query.finish();
        if query.is_empty() { self.address.to_owned() } else { format!("{}?{query}", self.address) }
    }
}

/// Returns the Bundle of a history page that begins at the position `here`. `entries` are those of [`history_entry`]
/// for the versions of the page. The Bundle has no `total`, because counting would have to read every version.
#[must_use]
pub fn history_bundle(
    here: Option<HistoryPosition>,
    page: &HistoryPage,
    links: ListRequestUrl<'_>,
    entries: Vec<Value>,
) -> Value {
    let (here, next) = (here.map(|place| place.to_string()), page.next.map(|place| place.to_string()));
    paged("history", (here.as_deref(), next.as_deref()), links, entries)
}

/// Returns the Bundle that answers `$everything`, with the positions of this page and the next. `entries` are those of
/// [`searchset_entry`](super::searchset_entry). The Bundle has no `total`, because counting would have to read every
/// resource.
#[must_use]
pub fn everything_bundle(
    places: (Option<&str>, Option<&str>),
    links: ListRequestUrl<'_>,
    entries: Vec<Value>,
) -> Value {
    paged("searchset", places, links, entries)
}

fn paged(
    bundle_type: &str,
    (here, next): (Option<&str>, Option<&str>),
    links: ListRequestUrl<'_>,
    entries: Vec<Value>,
) -> Value {
    let mut link = vec![json!({"relation": "self", "url": links.to_place(here)})];
    link.extend(next.map(|next| json!({"relation": "next", "url": links.to_place(Some(next))})));
    let members = [
        ("resourceType", "Bundle".into()),
        ("type", bundle_type.into()),
        ("link", Value::Array(link)),
        ("entry", Value::Array(entries)),
    ];
    members.into_iter().collect()
}

/// Returns the Bundle entry of one version of a history; a deletion has no resource.
///
/// Not specified; how a resource was first written is not stored, so every first version is a POST.
#[must_use]
pub fn history_entry(base: &str, version: &ResourceVersion, resource: Value) -> Value {
    let ResourceVersion { change, stored } = version;
    let (method, url, status) = match change {
        VersionInteraction::Created => ("POST", stored.key.resource_type.to_string(), "201"),
        VersionInteraction::Updated => ("PUT", stored.key.to_string(), "200"),
        VersionInteraction::Deleted => ("DELETE", stored.key.to_string(), "204"),
    };
    let mut response = Map::new();
    response.insert("status".to_owned(), status.into());
    response.insert("etag".to_owned(), stored.etag().into());
    response.insert("lastModified".to_owned(), stored.last_updated().into());
    let mut entry = Map::new();
    entry.insert("fullUrl".to_owned(), format!("{base}/{}", stored.key).into());
    if *change != VersionInteraction::Deleted {
        entry.insert("resource".to_owned(), resource);
    }
    entry.insert("request".to_owned(), json!({"method": method, "url": url}));
    entry.insert("response".to_owned(), Value::Object(response));
    Value::Object(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir_resource::StoredResource;

    fn version(change: VersionInteraction) -> ResourceVersion {
        let stored = StoredResource {
            key: "Client/c1".parse().unwrap(),
            version: 7,
            updated_us: 1_704_067_200_123_456,
            resource: json!({"active": true}),
        };
        ResourceVersion { change, stored }
    }

    #[test]
    fn a_version_says_what_made_it_and_a_deletion_shows_nothing() {
        let entry = |change| history_entry("https://p.example/fhir", &version(change), json!({"shown": 1}));
        let updated = entry(VersionInteraction::Updated);
        assert_eq!(updated["request"], json!({"method": "PUT", "url": "Client/c1"}));
        assert_eq!(updated["resource"], json!({"shown": 1}));
        assert_eq!(updated["response"]["etag"], "W/\"7\"");
        assert_eq!(updated["response"]["lastModified"], "2024-01-01T00:00:00.123456Z");
        let deleted = entry(VersionInteraction::Deleted);
        assert_eq!((&deleted["request"]["method"], deleted.get("resource")), (&json!("DELETE"), None));
        assert_eq!(deleted["fullUrl"], "https://p.example/fhir/Client/c1");
        assert_eq!(entry(VersionInteraction::Created)["request"], json!({"method": "POST", "url": "Client"}));
    }

    #[test]
    fn the_next_page_is_asked_for_as_this_one_was() {
        let parameters = [("_count", "2"), ("_cursor", "9-9")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let links = ListRequestUrl { address: "https://p.example/fhir/_history", parameters: &parameters };
        let page = HistoryPage { entries: Vec::new(), next: Some(HistoryPosition { updated_us: 5, version: 3 }) };
        let bundle = history_bundle(Some(HistoryPosition { updated_us: 9, version: 9 }), &page, links, Vec::new());
        let urls: Vec<_> =
            bundle["link"].as_array().unwrap().iter().map(|link| link["url"].as_str().unwrap()).collect();
        assert_eq!(
            urls,
            [
                "https://p.example/fhir/_history?_count=2&_cursor=9-9",
                "https://p.example/fhir/_history?_count=2&_cursor=5-3"
            ]
        );
        let last = HistoryPage::default();
        let bundle = history_bundle(None, &last, ListRequestUrl { parameters: &[], ..links }, Vec::new());
        assert_eq!(bundle["link"], json!([{"relation": "self", "url": "https://p.example/fhir/_history"}]));
    }
}
