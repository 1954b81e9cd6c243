//! The files pages load: one stylesheet, and the logo where it is a file.
//!
//! Their names hold a digest of their content, so they can be kept for ever.

use bytes::Bytes;
use oauth_core::jose::{encode_base64url, sha256};
use oauth_core::static_document::StaticDocument;

use super::theme::{AccentColors, PageLogo, PageTheme};

/// The stylesheet but for what a deployment chooses.
const SHEET: &str = include_str!("../../templates/style.css");
/// Bytes of the digest in a name.
const DIGEST_BYTES: usize = 12;

/// A file as served.
pub(crate) struct StaticAsset {
    name: String,
    pub(crate) media_type: &'static str,
    pub(crate) document: StaticDocument,
}

impl StaticAsset {
    fn new(extension: &str, media_type: &'static str, body: Bytes) -> Self {
        let digest = encode_base64url(sha256(&body).get(..DIGEST_BYTES).unwrap_or_default());
        let document = StaticDocument { etag: format!("\"{digest}\""), body };
        Self { name: format!("{digest}.{extension}"), media_type, document }
    }

    /// Its path below the server's address.
    pub(crate) fn path(&self) -> String {
        format!("/auth/style/{}", self.name)
    }
}

/// All of them.
pub(crate) struct StaticAssets {
    pub(crate) stylesheet: StaticAsset,
    pub(crate) logo: Option<StaticAsset>,
}

impl StaticAssets {
    pub(crate) fn new(look: &PageTheme) -> Self {
        let logo = match &look.logo {
            Some(PageLogo::File { bytes, kind }) => {
                let media_type = kind.media_type();
                let extension = media_type.rsplit('/').next().unwrap_or_default().trim_end_matches("+xml");
                Some(StaticAsset::new(extension, media_type, bytes.clone()))
            }
            Some(PageLogo::Url(_)) | None => None,
        };
        let stylesheet = StaticAsset::new("css", "text/css; charset=utf-8", Bytes::from(sheet(look.accents)));
        Self { stylesheet, logo }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&StaticAsset> {
        std::iter::once(&self.stylesheet).chain(&self.logo).find(|asset| asset.name == name)
    }
}

fn sheet(accents: AccentColors) -> String {
    let (light, dark) = (accents.on_light, accents.on_dark);
    format!(":root {{ --accent-on-light: {light}; --accent-on-dark: {dark}; }}\n{SHEET}")
}
