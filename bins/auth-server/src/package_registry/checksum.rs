//! Checksums of tarballs, as registries of packages write them.

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA512};
use migrations::package::RegistryError;
use serde_json::Value;

/// What a registry says a tarball must be. What it does not say is not checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Expected {
    /// `shasum`: SHA-1 in hexadecimal.
    sha1: Option<String>,
    /// Of `integrity`, the SHA-512 in base64.
    sha512: Option<String>,
}

impl Expected {
    /// Reads the `dist` of a version.
    ///
    /// # Source
    /// npm registry, package metadata, `dist`; Subresource Integrity, section 3.5.
    pub(super) fn of(dist: &Value) -> Self {
        let text = |name: &str| dist.get(name).and_then(Value::as_str);
        let mut hashes = text("integrity").unwrap_or_default().split_ascii_whitespace();
        let sha512 = hashes.find_map(|hash| hash.split('?').next()?.strip_prefix("sha512-"));
        let sha1 = text("shasum").filter(|sha1| !sha1.is_empty());
        Self { sha1: sha1.map(str::to_owned), sha512: sha512.map(str::to_owned) }
    }

    /// Begins to read a tarball.
    pub(super) fn begin(&self) -> Reading<'_> {
        // An answer of a registry is not trusted more for its SHA-1: it finds what broke on the way.
        Reading { expected: self, sha1: Context::new(&SHA1_FOR_LEGACY_USE_ONLY), sha512: Context::new(&SHA512) }
    }
}

/// A tarball on its way.
pub(super) struct Reading<'a> {
    expected: &'a Expected,
    sha1: Context,
    sha512: Context,
}

impl Reading<'_> {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        if self.expected.sha1.is_some() {
            self.sha1.update(bytes);
        }
        if self.expected.sha512.is_some() {
            self.sha512.update(bytes);
        }
    }

    /// Compares, when all was read.
    ///
    /// # Errors
    /// [`RegistryError::Checksum`].
    pub(super) fn end(self) -> Result<(), RegistryError> {
        if let Some(expected) = &self.expected.sha512 {
            let found = base64(self.sha512.finish().as_ref());
            if *expected != found {
                return Err(differs("SHA-512", expected, found));
            }
        }
        if let Some(expected) = &self.expected.sha1 {
            let found = hex::encode(self.sha1.finish());
            if !expected.eq_ignore_ascii_case(&found) {
                return Err(differs("SHA-1", expected, found));
            }
        }
        Ok(())
    }
}

fn differs(kind: &'static str, expected: &str, found: String) -> RegistryError {
    RegistryError::Checksum { kind, expected: expected.to_owned(), found }
}

pub(super) fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
