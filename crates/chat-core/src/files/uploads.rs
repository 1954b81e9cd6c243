//! The uploads that a text may use.

use std::collections::{BTreeMap, BTreeSet};

use super::{Attachment, ImageMetadata, PathId};
use crate::id::AttachmentId;

/// The uploads that a text links and that its author may read. A text that links others says nothing to them: who reads
/// it may not read those for its sake.
#[derive(Debug, Clone, Default)]
pub struct ReadableLinkedUploads(BTreeMap<PathId, Attachment>);

impl ReadableLinkedUploads {
    /// Collects the given uploads by their paths.
    pub fn new(uploads: impl IntoIterator<Item = Attachment>) -> Self {
        Self(uploads.into_iter().map(|upload| (upload.path_id.clone(), upload)).collect())
    }

    /// Returns the ids of the uploads that a rendered text links, given their paths as they stand in URLs.
    #[must_use]
    pub fn ids_of_linked_paths(&self, linked: &BTreeSet<String>) -> Vec<AttachmentId> {
        let ids: BTreeSet<AttachmentId> = linked.iter().filter_map(|path| Some(self.at(path)?.id)).collect();
        ids.into_iter().collect()
    }

    /// Returns the URL of the thumbnail of the upload at that path, relative to the realm's URL, and the image's
    /// metadata; `None` when it is not an image.
    #[must_use]
    pub fn thumbnail_url_and_metadata(&self, path: &str) -> Option<(String, ImageMetadata)> {
        let upload = self.at(path)?;
        let name = super::thumbnail_name_for_media_type(&upload.media_type);
        Some((format!("/user_uploads/thumbnail/{}/{name}", upload.path_id), upload.picture?))
    }

    /// Returns the media type of the upload at that path.
    #[must_use]
    pub fn media_type(&self, path: &str) -> Option<&str> {
        Some(&self.at(path)?.media_type)
    }

    fn at(&self, path: &str) -> Option<&Attachment> {
        let end = path.find(['?', '#']).unwrap_or(path.len());
        self.0.get(&PathId::parse(path.get(..end)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::UserId;

    #[test]
    fn what_a_text_links_is_found_whatever_follows_the_path() {
        let path_id = PathId::new(&"a".repeat(32), "x.png").unwrap();
        let upload = Attachment {
            id: AttachmentId(7),
            path_id: path_id.clone(),
            owner_id: UserId(4),
            name: "x.png".to_owned(),
            media_type: "image/png".to_owned(),
            size_bytes: 5,
            created_s: 1,
            picture: Some(ImageMetadata { width: 3, height: 4, is_animated: false }),
        };
        let uploads = ReadableLinkedUploads::new([upload]);
        let linked = |path: String| uploads.ids_of_linked_paths(&BTreeSet::from([path]));
        assert_eq!(linked(path_id.to_string()), [AttachmentId(7)]);
        assert_eq!(linked(format!("{path_id}?dl=1#x")), [AttachmentId(7)]);
        assert_eq!(linked(path_id.to_string().replace('a', "b")), []);
        let (thumbnail, picture) = uploads.thumbnail_url_and_metadata(path_id.as_str()).unwrap();
        assert_eq!(thumbnail, format!("/user_uploads/thumbnail/{path_id}/840x560.webp"));
        assert_eq!(picture.width, 3);
    }
}
