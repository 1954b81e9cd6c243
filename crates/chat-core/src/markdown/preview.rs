//! Pictures and videos shown below the text that links them.
//!
//! Only uploads of the realm: a picture from elsewhere would tell its server who reads the message. Not specified
//! which size is shown; a smaller one where the upload is known to be a picture, as existing clients expect, and else
//! the upload itself.

use super::tree::Inline;
use super::url::SafeUrl;
use crate::files::{ImageMetadata, ReadableLinkedUploads};

/// A picture or video to show.
pub(super) struct Preview<'d> {
    pub(super) url: &'d SafeUrl,
    /// What the link says, when that is not its address.
    pub(super) title: Option<String>,
}

/// A smaller picture that is shown for one.
pub(super) struct Thumbnail {
    pub(super) url: SafeUrl,
    pub(super) picture: ImageMetadata,
    /// The media type of the picture that it stands for.
    pub(super) media_type: String,
}

/// The media types of sounds that are played in place.
const AUDIO_TYPES: [&str; 4] = ["audio/aac", "audio/flac", "audio/mpeg", "audio/wav"];

/// Returns the words of a link to an uploaded sound that is played in place; `None` for any other link, and for one that
/// says no more than its address.
pub(super) fn audio_title((url, text): (&SafeUrl, &[Inline]), uploads: &ReadableLinkedUploads) -> Option<String> {
    let path = url.upload_path().filter(|_| url.as_str().starts_with('/'))?;
    let media_type = uploads.media_type(path)?;
    let mut title = String::new();
    spell(text, &mut title);
    let has_words = !title.is_empty() && !title.ends_with(url.as_str());
    (AUDIO_TYPES.contains(&media_type) && has_words).then_some(title)
}

/// Returns the smaller picture of an upload. None of one that is linked with the realm's whole address: existing
/// servers have none there.
pub(super) fn thumbnail(url: &SafeUrl, uploads: &ReadableLinkedUploads) -> Option<Thumbnail> {
    let upload = url.upload_path().filter(|_| url.as_str().starts_with('/'))?;
    let (path, picture) = uploads.thumbnail_url_and_metadata(upload)?;
    let media_type = uploads.media_type(upload)?.to_owned();
    Some(Thumbnail { url: SafeUrl::parse(&path)?, picture, media_type })
}

/// Returns the pictures and videos linked in a text, in its order, each once.
pub(super) fn previews(text: &[Inline]) -> Vec<Preview<'_>> {
    let mut found = Vec::new();
    gather(text, &mut found);
    found
}

fn gather<'d>(text: &'d [Inline], found: &mut Vec<Preview<'d>>) {
    for inline in text {
        match inline {
            Inline::Strong(inside) | Inline::Emphasis(inside) | Inline::Struck(inside) => gather(inside, found),
            Inline::Link { url, text, .. }
                if url.upload_path().is_some() && (url.has_image_extension() || url.has_video_extension()) =>
            {
                let mut label = String::new();
                spell(text, &mut label);
                let title = Some(label).filter(|label| !label.ends_with(url.as_str()));
                found.push(Preview { url, title });
            }
            _ => {}
        }
    }
}

/// The characters of a text without its marks.
fn spell(text: &[Inline], spelled: &mut String) {
    for inline in text {
        match inline {
            Inline::Text(text) | Inline::Code(text) => spelled.push_str(text),
            Inline::Strong(inside) | Inline::Emphasis(inside) | Inline::Struck(inside) => spell(inside, spelled),
            Inline::Break => spelled.push(' '),
            _ => {}
        }
    }
}
