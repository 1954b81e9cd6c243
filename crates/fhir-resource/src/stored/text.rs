//! A resource whose body is left as text: for who shows it and does not look inside.

use serde_json::Value;

use super::{StoredResource, etag, format_instant};
use crate::format_conversion::{DocumentHead, append_document_line};
use crate::resource_key::ResourceKey;

/// A stored resource whose body is unparsed JSON text.
///
/// **Why**: parsing a document and printing it again costs several times what copying its text does, and most responses
/// show documents as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResourceText {
    /// Type and id.
    pub key: ResourceKey,
    /// The number of the write that made this version.
    pub version: i64,
    /// When this version was written, unix microseconds.
    pub updated_us: i64,
    /// The JSON of [`StoredResource::resource`]. An engine that lets users write past the rules may hold any text here.
    pub body: String,
}

impl From<&StoredResource> for StoredResourceText {
    fn from(stored: &StoredResource) -> Self {
        let body = stored.resource.to_string();
        Self { key: stored.key.clone(), version: stored.version, updated_us: stored.updated_us, body }
    }
}

impl StoredResourceText {
    /// Parses the body, and returns the stored resource; `None` when the body is not JSON.
    #[must_use]
    pub fn parse_body(&self) -> Option<StoredResource> {
        let resource: Value = serde_json::from_str(&self.body).ok()?;
        Some(StoredResource { key: self.key.clone(), version: self.version, updated_us: self.updated_us, resource })
    }

    /// Appends the document that readers see as one line of JSON, in the native format or FHIR's. Returns `false` and
    /// appends nothing when the body has to be parsed for that, which is left to the caller.
    #[must_use]
    pub fn try_append_document_to(&self, native: bool, out: &mut Vec<u8>) -> bool {
        let last_updated = format_instant(self.updated_us);
        let head = DocumentHead { key: &self.key, version: self.version, last_updated: &last_updated };
        append_document_line(head, &self.body, native, out).is_ok()
    }

    /// Returns the weak entity tag of this version: `W/"7"`.
    #[must_use]
    pub fn etag(&self) -> String {
        etag(self.version)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(body: &str) -> StoredResourceText {
        let key = "Patient/x".parse().unwrap();
        StoredResourceText { key, version: 7, updated_us: 1_767_225_600_000_001, body: body.to_owned() }
    }

    #[test]
    fn a_copied_document_is_the_one_that_is_made_of_values() {
        for body in [json!({}), json!({"meta": {"tag": []}, "gender": "female", "name": [{"family": "\"é\n"}]})] {
            let text = text(&body.to_string());
            let mut copied = b"before".to_vec();
            assert!(text.try_append_document_to(true, &mut copied));
            let read = text.parse_body().unwrap();
            assert_eq!(copied.strip_prefix(b"before").unwrap(), read.to_document().to_string().as_bytes());
            assert_eq!((StoredResourceText::from(&read), text.etag()), (text, read.etag()));
        }
    }

    #[test]
    fn what_is_no_document_is_neither_copied_nor_read() {
        let mut copied = b"before".to_vec();
        for body in ["", "{", "{\"a\": tru}"] {
            assert!(!text(body).try_append_document_to(true, &mut copied), "{body}");
            assert_eq!(text(body).parse_body(), None, "{body}");
        }
        assert_eq!(copied, b"before");
    }
}
