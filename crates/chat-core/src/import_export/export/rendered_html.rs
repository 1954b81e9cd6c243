//! The HTML of messages in a form that the original server shows.
//!
//! The original server keeps the HTML of an import, and corrects in it only the numbers of users, channels and groups
//! and the paths of uploads.
//!
//! # Source
//! Not specified; `zerver/lib/import_realm.py` and `zerver/views/upload.py` of the public repository zulip/zulip, as
//! facts.

use super::OriginalServerRelease;
use crate::organization::custom_emoji;

/// The folder of custom emoji in the first organization that an original server imports: its own internal organization
/// is number 1. In a further organization the pictures of custom emoji are missing in earlier messages.
const EMOJI_FOLDER: &str = "/user_avatars/2/emoji/images";

const THUMBNAIL: &str = " src=\"/user_uploads/thumbnail/";
const ANIMATED: &str = " data-animated=\"true\"";

impl OriginalServerRelease {
    /// Returns the HTML of a message with the addresses of pictures that an original server of this release serves
    /// after the import.
    pub(super) fn rendered_html(self, html: &str) -> String {
        let emoji = |folder: &str| format!(" src=\"{folder}/");
        let html = html.replace(&emoji(custom_emoji::CUSTOM_EMOJI_IMAGE_FOLDER), &emoji(EMOJI_FOLDER));
        match self {
            // It makes no thumbnails of what it imports.
            Self::R9_2 => without_thumbnails(&html),
            Self::R11_0 => html,
        }
    }
}

/// Replaces thumbnails with the pictures that they are made of.
fn without_thumbnails(html: &str) -> String {
    let mut parts = html.split(THUMBNAIL);
    let mut full = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let tag = full.split_off(full.rfind("<img").unwrap_or(full.len()));
        full.push_str(&tag.replace(ANIMATED, ""));
        let (address, rest) = part.split_once('"').unwrap_or((part, ""));
        let (path, _) = address.rsplit_once('/').unwrap_or((address, ""));
        full.push_str(" src=\"/user_uploads/");
        full.push_str(path);
        full.push('"');
        full.push_str(rest);
    }
    full
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbnails_give_way_to_their_pictures_where_the_import_makes_none() {
        let html = "<p>x</p><a href=\"/user_uploads/1/2/a.png\" title=\"a\"><img data-original-dimensions=\"3x2\" \
                    src=\"/user_uploads/thumbnail/1/2/a.png/840x560.webp\"></a><img data-animated=\"true\" \
                    data-original-dimensions=\"3x2\" src=\"/user_uploads/thumbnail/1/2/b.gif/840x560-anim.webp\"> src=&quot;/user_uploads/thumbnail/&quot;";
        let full = "<p>x</p><a href=\"/user_uploads/1/2/a.png\" title=\"a\"><img data-original-dimensions=\"3x2\" \
                    src=\"/user_uploads/1/2/a.png\"></a><img data-original-dimensions=\"3x2\" \
                    src=\"/user_uploads/1/2/b.gif\"> src=&quot;/user_uploads/thumbnail/&quot;";
        assert_eq!(OriginalServerRelease::R9_2.rendered_html(html), full);
        assert_eq!(OriginalServerRelease::R11_0.rendered_html(html), html);
    }

    #[test]
    fn custom_emoji_are_in_the_first_organization_of_the_other_server() {
        let html =
            |realm: u8| format!("<img class=\"emoji\" src=\"/user_avatars/{realm}/emoji/images/5.png\" title=\"a\">");
        for release in OriginalServerRelease::ALL {
            assert_eq!(release.rendered_html(&html(1)), html(2));
        }
    }
}
