//! Where files are kept.

use std::fmt;

use super::{PathId, ResumableUploadId};

/// Letters and digits of the names of files.
const NAME_CHARS: usize = 32;

/// The storage key of a file: folders and a name, separated by slashes. Made of names of ours, so it leads nowhere
/// else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileKey(String);

impl FileKey {
    /// Returns the key as text: a relative path without `.`, `..` or empty parts.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&PublicImageName> for FileKey {
    fn from(name: &PublicImageName) -> Self {
        Self(format!("pictures/{name}"))
    }
}

impl From<&PathId> for FileKey {
    fn from(path: &PathId) -> Self {
        Self(format!("uploads/{path}"))
    }
}

impl FileKey {
    /// Returns the storage key of the thumbnail of that name: one of [`super::THUMBNAIL_NAMES`].
    #[must_use]
    pub fn for_thumbnail(path: &PathId, name: &'static str) -> Self {
        Self(format!("thumbnails/{path}/{name}"))
    }

    /// Returns the storage key of a part of an unfinished upload. The name of the part is one of letters and digits.
    #[must_use]
    pub fn of_upload_part(upload: &ResumableUploadId, part: &str) -> Self {
        Self(format!("incoming/{}/{part}", upload.as_str()))
    }

    /// Returns where the archive of the data export of that number is stored.
    #[must_use]
    pub fn of_data_export(id: i64) -> Self {
        Self(format!("exports/{id}.tar.gz"))
    }
}

/// The file name of a public image, which anybody who knows it may fetch: a user's avatar, an organization image or a
/// custom emoji.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PublicImageName(String);

impl PublicImageName {
    /// What may stand between the random part and the extension.
    const VARIANTS: [&str; 3] = ["", "-medium", "-still"];
    /// What such a name may end in.
    const EXTENSIONS: [&str; 2] = ["png", "gif"];

    /// Makes a name from 32 random letters and digits, a variant and a file extension; `None` when one of them is not
    /// valid.
    #[must_use]
    pub fn new(random: &str, variant: &str, extension: &str) -> Option<Self> {
        let is_random = random.len() == NAME_CHARS && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let fits = is_random && Self::VARIANTS.contains(&variant) && Self::EXTENSIONS.contains(&extension);
        fits.then(|| Self(format!("{random}{variant}.{extension}")))
    }

    /// Parses the name of a public image as a request gives it; `None` when the text is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (stem, extension) = text.rsplit_once('.')?;
        let (random, variant) = stem.split_at_checked(NAME_CHARS)?;
        Self::new(random, variant, extension)
    }

    /// Returns the name at the end of an address, when it is one.
    #[must_use]
    pub fn from_url(url: &str) -> Option<Self> {
        Self::parse(url.rsplit_once('/')?.1)
    }

    /// Returns the random part of the name, which an image and its variants share.
    #[must_use]
    pub fn random_stem(&self) -> &str {
        self.0.get(..NAME_CHARS).unwrap_or_default()
    }

    /// Returns the file extension, without the dot.
    #[must_use]
    pub fn extension(&self) -> &str {
        self.0.rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

impl fmt::Display for PublicImageName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: &str = "0123456789abcdefABCDEF0123456789";

    #[test]
    fn a_name_of_a_picture_is_read_as_it_was_made() {
        for (variant, extension) in [("", "png"), ("-medium", "png"), ("-still", "png"), ("", "gif")] {
            let name = PublicImageName::new(RANDOM, variant, extension).unwrap();
            assert_eq!(PublicImageName::parse(&name.to_string()), Some(name.clone()));
            assert_eq!((name.extension(), name.random_stem()), (extension, RANDOM));
            assert_eq!(PublicImageName::from_url(&format!("/user_avatars/1/{name}")), Some(name.clone()));
            assert_eq!(FileKey::from(&name).as_str(), format!("pictures/{RANDOM}{variant}.{extension}"));
        }
    }

    #[test]
    fn what_leads_elsewhere_is_no_name() {
        let long = format!("{RANDOM}x.png");
        let dots = format!("../{RANDOM}.png");
        let html = format!("{RANDOM}.html");
        let other = format!("{RANDOM}-large.png");
        for text in
            ["", ".", "..", "a.png", RANDOM, &long, &dots, &html, &other, &format!("{RANDOM}/../a.png"), "é.png"]
        {
            assert_eq!(PublicImageName::parse(text), None, "{text}");
        }
    }
}
