//! What a message is read against: the names of the realm and the choices of the sender.

use super::linkifier::Linkifier;
use crate::id::{ChannelId, UserGroupId, UserId};

/// The names, settings and realm data that decide how a text is rendered.
#[derive(Clone, Copy)]
pub struct MarkdownContext<'a> {
    /// The names of the realm.
    pub directory: &'a dyn RealmNames,
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

/// The names of users, groups and channels, for mentions and links. Answers come from memory: a message may ask for
/// hundreds.
pub trait RealmNames {
    /// Returns the full name of a user who may be mentioned.
    fn user(&self, id: UserId) -> Option<&str>;

    /// Returns whether the user hears of a mention. Who does not, because the account is out of use, is mentioned
    /// silently.
    fn hears(&self, _: UserId) -> bool {
        true
    }

    /// Returns the one user of that full name, compared without regard to case, with the name as stored. `None` also
    /// when several share it; those are mentioned by name and id.
    fn user_named(&self, full_name: &str) -> Option<(UserId, &str)>;

    /// The user group of that name, compared without regard to case, with the name as stored.
    fn group_named(&self, name: &str) -> Option<(UserGroupId, &str)>;

    /// Returns the channel of exactly that name, also a private one the sender cannot see.
    fn channel_named(&self, name: &str) -> Option<ChannelId>;

    /// Returns the address of the image of the realm's own active emoji of that name.
    fn realm_emoji(&self, name: &str) -> Option<&str>;
}

/// A directory without names, for text outside a realm.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoNames;

impl RealmNames for NoNames {
    fn user(&self, _: UserId) -> Option<&str> {
        None
    }

    fn user_named(&self, _: &str) -> Option<(UserId, &str)> {
        None
    }

    fn group_named(&self, _: &str) -> Option<(UserGroupId, &str)> {
        None
    }

    fn channel_named(&self, _: &str) -> Option<ChannelId> {
        None
    }

    fn realm_emoji(&self, _: &str) -> Option<&str> {
        None
    }
}
