//! Documents that are the same for everyone until something changes.

use bytes::Bytes;

use crate::jose::{base64url, sha256};

/// A body made once and served many times, with its entity tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StaticDocument {
    /// The bytes to send.
    pub body: Bytes,
    /// A strong entity tag, quotes included (RFC 9110, section 8.8.3).
    pub etag: String,
}

impl StaticDocument {
    /// A JSON document.
    #[must_use]
    pub fn json(body: Bytes) -> Self {
        let digest = sha256(&body);
        let etag = format!("\"{}\"", base64url(digest.get(..12).unwrap_or_default()));
        Self { body, etag }
    }
}
