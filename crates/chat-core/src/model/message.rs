//! Messages, where they go, and what a user's own copy says about one.

use serde::{Deserialize, Serialize};

use crate::id::{ChannelId, DirectConversationId, EventId, MessageId, UserId};
use crate::limits::{MAX_MESSAGE_CHARS, MAX_TOPIC_CHARS};
use crate::model::user::fold_case;
use crate::text_processing::printable_names::find_unprintable_in_name;

/// The recipient of a message: a channel, or a set of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "i64", from = "i64")]
pub enum Recipient {
    /// A channel.
    Channel(ChannelId),
    /// A set of users.
    Direct(DirectConversationId),
}

/// One number for both, the wire's `recipient_id`: even for channels, odd for sets of users.
impl From<Recipient> for i64 {
    fn from(recipient: Recipient) -> Self {
        match recipient {
            Recipient::Channel(ChannelId(id)) => id << 1,
            Recipient::Direct(DirectConversationId(id)) => (id << 1) | 1,
        }
    }
}

impl From<i64> for Recipient {
    fn from(number: i64) -> Self {
        if number & 1 == 0 {
            Self::Channel(ChannelId(number >> 1))
        } else {
            Self::Direct(DirectConversationId(number >> 1))
        }
    }
}

/// A topic of a channel, or the direct messages of a set of users.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Conversation {
    /// Where.
    pub recipient: Recipient,
    /// [`topic_key`] of the topic; empty for sets of users.
    pub topic_key: String,
}

/// A message with its current content, recipient, topic and reactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its number.
    pub id: MessageId,
    /// Who wrote it.
    pub sender_id: UserId,
    /// Where it is.
    pub recipient: Recipient,
    /// For a set of users: all of them, in the order of their numbers.
    pub direct_users: Vec<UserId>,
    /// Its topic; empty for sets of users.
    pub topic: String,
    /// What was typed.
    pub content: String,
    /// The same in HTML.
    pub html: String,
    /// When it was sent, in unix seconds.
    pub sent_s: i64,
    /// The program it was sent with.
    pub client: String,
    /// The properties that rendering found in the text. Stored events have them under another name.
    #[serde(rename = "marks")]
    pub content_flags: ContentFlags,
    /// When its text or topic was last changed, in unix seconds.
    pub last_edit_s: Option<i64>,
    /// The place in the log of its last change; its own at first.
    pub revision: EventId,
    /// In the order they were given.
    pub reactions: Vec<Reaction>,
    /// In the order they came; none but for a [`crate::messages::widget`].
    #[serde(default)]
    pub submessages: Vec<Submessage>,
}

/// The properties that rendering found in a message: links, images, mentions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts of a text, each by itself")]
pub struct ContentFlags {
    /// It speaks of its sender in the third person.
    pub is_me: bool,
    /// It has a link.
    pub has_link: bool,
    /// It has an image.
    pub has_image: bool,
    /// It has an upload of the realm.
    pub has_attachment: bool,
    /// It mentions everybody in the channel.
    pub mentions_channel: bool,
    /// It was sent from a program that shows its sender what they send.
    pub read_by_sender: bool,
    /// It came from another channel after it was sent, so not all who were here when it was sent have received it.
    pub moved_in: bool,
    /// It has submessages.
    #[serde(default)]
    pub is_widget: bool,
}

impl ContentFlags {
    /// Returns the flags as bits, for the database.
    #[must_use]
    pub fn to_bits(self) -> i64 {
        let content_flags = [
            self.is_me,
            self.has_link,
            self.has_image,
            self.has_attachment,
            self.mentions_channel,
            self.read_by_sender,
            self.moved_in,
            self.is_widget,
        ];
        content_flags.into_iter().enumerate().map(|(place, mark)| i64::from(mark) << place).sum()
    }

    /// Returns the flags of bits from [`ContentFlags::to_bits`].
    #[must_use]
    pub fn from_bits(bits: i64) -> Self {
        let mark = |place: u32| bits >> place & 1 == 1;
        Self {
            is_me: mark(0),
            has_link: mark(1),
            has_image: mark(2),
            has_attachment: mark(3),
            mentions_channel: mark(4),
            read_by_sender: mark(5),
            moved_in: mark(6),
            is_widget: mark(7),
        }
    }
}

/// A user's emoji reaction to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reaction {
    /// Who.
    pub user_id: UserId,
    /// The emoji's name when it was given.
    pub emoji_name: String,
    /// The emoji.
    pub emoji_code: String,
    /// Its kind.
    pub reaction_type: ReactionType,
}

/// The type of a reaction's emoji: Unicode, custom or special.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReactionType {
    /// The code is of Unicode.
    UnicodeEmoji,
    /// The code is the number of a custom emoji.
    RealmEmoji,
    /// The code is the name. Spelled as existing clients know it.
    #[serde(rename = "zulip_extra_emoji")]
    ExtraEmoji,
}

impl ReactionType {
    /// Returns the name of the type on the wire and in the database.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::UnicodeEmoji => "unicode_emoji",
            Self::RealmEmoji => "realm_emoji",
            Self::ExtraEmoji => "zulip_extra_emoji",
        }
    }

    /// Returns the type of that wire name.
    #[must_use]
    pub fn from_wire_name(name: &str) -> Option<Self> {
        [Self::UnicodeEmoji, Self::RealmEmoji, Self::ExtraEmoji].into_iter().find(|kind| kind.wire_name() == name)
    }
}

/// A flag of a user's message, such as read, starred or mentioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageFlag {
    /// They read it.
    Read,
    /// They marked it.
    Starred,
    /// They folded it away.
    Collapsed,
    /// It mentions them, or a group they are in.
    Mentioned,
    /// It mentions everybody in its channel.
    StreamWildcardMentioned,
    /// It mentions everybody in its topic.
    TopicWildcardMentioned,
    /// It has one of their alert words.
    HasAlertWord,
    /// It was sent before they came.
    Historical,
}

impl MessageFlag {
    /// All flags, in the order of the wire.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Starred,
        Self::Collapsed,
        Self::Mentioned,
        Self::StreamWildcardMentioned,
        Self::TopicWildcardMentioned,
        Self::HasAlertWord,
        Self::Historical,
    ];

    /// Returns the name of the flag on the wire.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Starred => "starred",
            Self::Collapsed => "collapsed",
            Self::Mentioned => "mentioned",
            Self::StreamWildcardMentioned => "stream_wildcard_mentioned",
            Self::TopicWildcardMentioned => "topic_wildcard_mentioned",
            Self::HasAlertWord => "has_alert_word",
            Self::Historical => "historical",
        }
    }

    /// Returns the number of the flag in the database.
    #[must_use]
    pub fn database_number(self) -> i64 {
        match self {
            Self::Read => 0,
            Self::Starred => 1,
            Self::Collapsed => 2,
            Self::Mentioned => 3,
            Self::StreamWildcardMentioned => 4,
            Self::TopicWildcardMentioned => 5,
            Self::HasAlertWord => 6,
            Self::Historical => 7,
        }
    }

    /// Returns the flag of that database number.
    #[must_use]
    pub fn from_database_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|flag| flag.database_number() == number)
    }

    /// Returns whether the flag is set by a mention of the user.
    #[must_use]
    pub fn is_mention(self) -> bool {
        matches!(self, Self::Mentioned | Self::StreamWildcardMentioned | Self::TopicWildcardMentioned)
    }

    /// Parses the wire name of a flag that users may change.
    ///
    /// # Errors
    /// See [`MessageFlagError`].
    pub fn parse_editable(name: &str) -> Result<Self, MessageFlagError> {
        match Self::ALL.into_iter().find(|flag| flag.wire_name() == name) {
            Some(flag @ (Self::Read | Self::Starred | Self::Collapsed)) => Ok(flag),
            Some(_) => Err(MessageFlagError::NotEditable(name.to_owned())),
            None => Err(MessageFlagError::Unknown(name.to_owned())),
        }
    }
}

/// The reason why a user may not change a flag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageFlagError {
    /// There is none of that name.
    #[error("Invalid flag: '{0}'")]
    Unknown(String),
    /// The server alone sets it.
    #[error("Flag not editable: '{0}'")]
    NotEditable(String),
}

/// The reason why a text is not valid message content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageContentError {
    /// Nothing but blanks.
    #[error("Message must not be empty")]
    Empty,
    /// It has a NUL.
    #[error("Message must not contain null bytes")]
    Nul,
}

/// What stands at the end of a message that was cut.
const CUT_MESSAGE: &str = "\n[message truncated]";
/// What stands at the end of a topic that was cut.
const CUT_TOPIC: &str = "...";

/// Returns the content to store: without leading empty lines and trailing white space, truncated to
/// [`MAX_MESSAGE_CHARS`].
///
/// # Errors
/// See [`MessageContentError`].
pub fn normalize_message_content(written: &str) -> Result<String, MessageContentError> {
    let body = written.trim_end().trim_start_matches(['\n', '\r']);
    if body.is_empty() {
        return Err(MessageContentError::Empty);
    }
    if body.contains('\0') {
        return Err(MessageContentError::Nul);
    }
    Ok(cut(body, MAX_MESSAGE_CHARS, CUT_MESSAGE))
}

/// Returns the content to render as a preview: as typed, trailing white space included, truncated to
/// [`MAX_MESSAGE_CHARS`].
///
/// # Errors
/// See [`MessageContentError`].
pub fn normalize_preview_content(written: &str) -> Result<String, MessageContentError> {
    if written.contains('\0') {
        return Err(MessageContentError::Nul);
    }
    Ok(cut(written, MAX_MESSAGE_CHARS, CUT_MESSAGE))
}

/// The reason why a text is not a valid topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    /// Nothing but blanks.
    #[error("Topic can't be empty!")]
    Empty,
    /// A character no screen shows; its place counted from 1.
    #[error("Invalid character in topic, at position {0}!")]
    InvalidCharacter(usize),
}

/// Returns the topic to store: trimmed and truncated to [`MAX_TOPIC_CHARS`].
///
/// # Errors
/// See [`TopicError`].
pub fn normalize_topic(written: &str) -> Result<String, TopicError> {
    let topic = written.trim();
    if topic.is_empty() {
        return Err(TopicError::Empty);
    }
    match find_unprintable_in_name(topic) {
        Some(place) => Err(TopicError::InvalidCharacter(place)),
        None => Ok(cut(topic, MAX_TOPIC_CHARS, CUT_TOPIC)),
    }
}

/// What the topic of a resolved conversation begins with, and its key too.
pub const RESOLVED_TOPIC_PREFIX: &str = "✔ ";

/// Returns the case-insensitive key by which topics are compared.
#[must_use]
pub fn topic_key(topic: &str) -> String {
    fold_case(topic)
}

fn cut(text: &str, max_chars: usize, ending: &str) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let kept = max_chars.saturating_sub(ending.chars().count());
    text.chars().take(kept).chain(ending.chars()).collect()
}

/// Returns the wire names of a receiver's flags, in the order of `flags`. A wildcard mention has its older name too.
pub fn wire_flag_names(flags: &[MessageFlag]) -> impl Iterator<Item = &'static str> {
    let everybody = flags.iter().any(|flag| flag.is_mention() && *flag != MessageFlag::Mentioned);
    flags.iter().map(|flag| flag.wire_name()).chain(everybody.then_some("wildcard_mentioned"))
}

/// A submessage: a part of a widget message such as a vote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submessage {
    /// The place in the log at which it came; that of its message for the one that came with it.
    pub id: i64,
    /// Who added it.
    pub sender_id: UserId,
    /// What it says, a JSON text.
    pub content: String,
}

/// An entry of a message's edit history: an earlier state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditHistoryEntry {
    /// When it ended, in unix seconds.
    pub at_s: i64,
    /// Who ended it; `None` for the server.
    pub user_id: Option<UserId>,
    /// The text and its HTML before, when that changed.
    pub content: Option<(String, String)>,
    /// The channel before and after, when that changed.
    pub channel: Option<(ChannelId, ChannelId)>,
    /// The topic before and after, when that changed.
    pub topic: Option<(String, String)>,
}

/// Returns when the text of a message changed last, in unix seconds. `past` are its earlier states, the newest first;
/// a message that was imported may have the time without them.
#[must_use]
pub fn last_edit_s(message: &Message, past: &[EditHistoryEntry]) -> Option<i64> {
    match past {
        [] => message.last_edit_s,
        past => past.iter().find(|edit| edit.content.is_some()).map(|edit| edit.at_s),
    }
}

/// Returns when a message moved last, in unix seconds. Resolving its topic does not move it. `past` are its earlier
/// states, the newest first.
#[must_use]
pub fn last_moved_s(past: &[EditHistoryEntry]) -> Option<i64> {
    let bare = |topic: &str| topic.strip_prefix(RESOLVED_TOPIC_PREFIX).unwrap_or(topic).to_owned();
    let is_move = |edit: &EditHistoryEntry| {
        edit.channel.is_some() || edit.topic.as_ref().is_some_and(|(before, after)| bare(before) != bare(after))
    };
    past.iter().find(|edit| is_move(edit)).map(|edit| edit.at_s)
}

/// The wire type of submessages: the only one there is.
pub const WIDGET_SUBMESSAGE_TYPE: &str = "widget";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipient_survives_its_number() {
        for recipient in [Recipient::Channel(ChannelId(7)), Recipient::Direct(DirectConversationId(7))] {
            assert_eq!(Recipient::from(i64::from(recipient)), recipient);
        }
        assert_ne!(i64::from(Recipient::Channel(ChannelId(7))), i64::from(Recipient::Direct(DirectConversationId(7))));
    }

    #[test]
    fn a_text_is_trimmed_and_cut_to_characters() {
        assert_eq!(normalize_message_content("\n\n  a b \n"), Ok("  a b".to_owned()));
        assert_eq!(normalize_message_content(" \n"), Err(MessageContentError::Empty));
        assert_eq!(normalize_message_content("a\0b"), Err(MessageContentError::Nul));
        let long = normalize_message_content(&"ä".repeat(10_001)).unwrap();
        assert_eq!(long.chars().count(), 10_000);
        assert!(long.ends_with("ä\n[message truncated]"));
        assert_eq!(normalize_message_content(&"ä".repeat(10_000)).unwrap().chars().last(), Some('ä'));
    }

    #[test]
    fn a_topic_is_trimmed_cut_and_printable() {
        assert_eq!(normalize_topic(" lunch "), Ok("lunch".to_owned()));
        assert_eq!(normalize_topic("  "), Err(TopicError::Empty));
        assert_eq!(normalize_topic(&"a".repeat(61)), Ok(format!("{}...", "a".repeat(57))));
        assert_eq!(
            normalize_topic("a\u{7}").map_err(|error| error.to_string()),
            Err("Invalid character in topic, at position 2!".to_owned())
        );
        assert_eq!(normalize_topic("lun\u{202e}ch"), Err(TopicError::InvalidCharacter(4)));
    }

    #[test]
    fn users_set_three_flags() {
        assert_eq!(MessageFlag::parse_editable("starred"), Ok(MessageFlag::Starred));
        assert_eq!(MessageFlag::parse_editable("mentioned").unwrap_err().to_string(), "Flag not editable: 'mentioned'");
        assert_eq!(MessageFlag::parse_editable("x").unwrap_err().to_string(), "Invalid flag: 'x'");
        for flag in MessageFlag::ALL {
            assert_eq!(MessageFlag::from_database_number(flag.database_number()), Some(flag));
        }
    }

    #[test]
    fn marks_survive_their_bits() {
        for bits in 0..256 {
            assert_eq!(ContentFlags::from_bits(bits).to_bits(), bits);
        }
    }
}
