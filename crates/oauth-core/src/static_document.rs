//! Documents with entity tags that are the same for everyone until they change.

use bytes::Bytes;

use crate::jose::{encode_base64url, sha256};

/// A prepared response body with its entity tag, served many times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StaticDocument {
    /// The bytes to send.
    pub body: Bytes,
    /// A strong entity tag, quotes included (RFC 9110, section 8.8.3).
    pub etag: String,
}

impl StaticDocument {
    /// Creates a JSON document from its serialized bytes.
    #[must_use]
    pub fn from_json_bytes(body: Bytes) -> Self {
        let digest = sha256(&body);
        let etag = format!("\"{}\"", encode_base64url(digest.get(..12).unwrap_or_default()));
        Self { body, etag }
    }
}
