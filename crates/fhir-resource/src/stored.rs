//! A stored resource: its key, its version and its body.

mod text;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::resource_key::ResourceKey;

pub use text::StoredResourceText;

/// A stored version of a resource: key, version, time and body.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredResource {
    /// Type and id.
    pub key: ResourceKey,
    /// The number of the write that made this version; it grows with every write of the store,
    /// so two versions of one resource need not be neighbours.
    pub version: i64,
    /// When this version was written, unix microseconds.
    pub updated_us: i64,
    /// The body, always an object, without `resourceType`, `id`, `meta.versionId` and
    /// `meta.lastUpdated`: those are the fields above.
    pub resource: Value,
}

impl StoredResource {
    /// Returns the document that readers see: `resourceType`, `id`, `meta`, then the body.
    #[must_use]
    pub fn to_document(&self) -> Value {
        self.clone().into_document()
    }

    /// Converts the stored resource into the document that readers see, without copying the body.
    #[must_use]
    pub fn into_document(self) -> Value {
        let mut meta = Map::new();
        meta.insert("versionId".to_owned(), self.version.to_string().into());
        meta.insert("lastUpdated".to_owned(), self.last_updated().into());
        let mut document = Map::new();
        document.insert("resourceType".to_owned(), self.key.resource_type.as_str().into());
        document.insert("id".to_owned(), self.key.id.as_str().into());
        document.insert("meta".to_owned(), Value::Null);
        if let Value::Object(mut body) = self.resource {
            if let Some(Value::Object(own)) = body.shift_remove("meta") {
                meta.extend(own);
            }
            document.extend(body);
        }
        document.insert("meta".to_owned(), Value::Object(meta));
        Value::Object(document)
    }

    /// Returns the weak entity tag of this version: `W/"7"`.
    #[must_use]
    pub fn etag(&self) -> String {
        etag(self.version)
    }

    /// Returns the location of this version, relative to the base: `Type/id/_history/7`.
    #[must_use]
    pub fn version_location(&self) -> String {
        format!("{}/_history/{}", self.key, self.version)
    }

    /// Returns the time of this version as a FHIR `instant` in UTC with microseconds.
    #[must_use]
    pub fn last_updated(&self) -> String {
        format_instant(self.updated_us)
    }
}

fn etag(version: i64) -> String {
    format!("W/\"{version}\"")
}

/// Returns a time in UNIX microseconds as a FHIR `instant` in UTC with microseconds, as in `meta.lastUpdated`. A time
/// that the format cannot express becomes the nearest one that it can.
#[must_use]
pub fn format_instant(updated_us: i64) -> String {
    let limit = if updated_us < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let at = Timestamp::from_microsecond(updated_us).unwrap_or(limit);
    format!("{at:.6}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(updated_us: i64, resource: Value) -> StoredResource {
        StoredResource { key: "Client/c1".parse().unwrap(), version: 7, updated_us, resource }
    }

    #[test]
    fn a_document_begins_with_what_names_it_and_keeps_the_order_of_the_rest() {
        let body = json!({"z": 1, "meta": {"tag": []}, "a": 2});
        let document = stored(1_704_067_200_000_001, body).to_document().to_string();
        let expected = concat!(
            r#"{"resourceType":"Client","id":"c1","meta":{"versionId":"7","#,
            r#""lastUpdated":"2024-01-01T00:00:00.000001Z","tag":[]},"z":1,"a":2}"#,
        );
        assert_eq!(document, expected);
    }

    #[test]
    fn a_time_out_of_range_is_the_nearest_in_range() {
        assert!(stored(i64::MAX, json!({})).last_updated().starts_with("9999-12-"));
        assert!(stored(i64::MIN, json!({})).last_updated().starts_with("-009999-01-"));
    }
}
