//! What a message is read against: the names of the realm and the choices of the sender.

use super::linkifier::Linkifier;
use crate::id::{ChannelId, UserGroupId, UserId};

/// The names, settings and realm data that decide how a text is rendered.
#[derive(Clone, Copy)]
pub struct MarkdownContext<'a> {
    /// The names of the realm.
    pub directory: &'a dyn NameDirectory,
    /// The realm's linkifiers; where two match the same text the earlier wins.
    pub linkifiers: &'a [Linkifier],
    /// The realm's own address without a slash at the end; links into it become relative.
    pub realm_url: &'a str,
    /// Whether the sender wants `:)` to become an emoji.
    pub emoticons: EmoticonHandling,
    /// Whether the realm shows pictures below the text that links them.
    pub image_previews: ImagePreviews,
    /// The language of fenced code that names none.
    pub default_code_language: Option<&'a str>,
}

/// The handling of emoticons such as `:)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmoticonHandling {
    /// They stay as typed.
    Keep,
    /// They become emoji.
    Translate,
}

/// The handling of links to uploaded images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImagePreviews {
    /// They stay links.
    Hide,
    /// The picture follows the text.
    Show,
}

/// A directory of the names of users, groups, channels and custom emoji, for mentions and links. It answers from
/// memory: a message may ask for hundreds.
pub trait NameDirectory {
    /// Returns the full name of a user who may be mentioned.
    fn user_full_name(&self, id: UserId) -> Option<&str>;

    /// Returns whether a mention notifies the user; false for a deactivated account, which is mentioned silently. Who
    /// does not, because the account is out of use, is mentioned silently.
    fn receives_mention_notifications(&self, _: UserId) -> bool {
        true
    }

    /// Returns the one user of that full name, compared without regard to case, with the name as stored. `None` also
    /// when several share it; those are mentioned by name and id.
    fn user_by_full_name(&self, full_name: &str) -> Option<(UserId, &str)>;

    /// Returns the user group of that name, compared case-insensitively, with the name as stored.
    fn group_by_name(&self, name: &str) -> Option<(UserGroupId, &str)>;

    /// Returns the system group of that name.
    fn system_group_by_name(&self, _: &str) -> Option<UserGroupId> {
        None
    }

    /// Returns the name that the system group of that name is shown under.
    fn system_group_display_name(&self, _: &str) -> Option<&'static str> {
        None
    }

    /// Returns the id of the channel of exactly that name, even one that the sender cannot see.
    fn channel_id_by_name(&self, name: &str) -> Option<ChannelId>;

    /// Returns the image URL of the realm's active custom emoji of that name.
    fn custom_emoji_url(&self, name: &str) -> Option<&str>;
}

/// An empty directory, for text outside a realm.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmptyNameDirectory;

impl NameDirectory for EmptyNameDirectory {
    fn user_full_name(&self, _: UserId) -> Option<&str> {
        None
    }

    fn user_by_full_name(&self, _: &str) -> Option<(UserId, &str)> {
        None
    }

    fn group_by_name(&self, _: &str) -> Option<(UserGroupId, &str)> {
        None
    }

    fn channel_id_by_name(&self, _: &str) -> Option<ChannelId> {
        None
    }

    fn custom_emoji_url(&self, _: &str) -> Option<&str> {
        None
    }
}
