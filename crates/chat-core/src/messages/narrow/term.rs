//! One condition, and whether it holds for a message.

use std::borrow::Cow;

use crate::id::{ChannelId, MessageId, UserId};
use crate::messages::topic_visibility_policy::{self, TopicVisibilityPolicy};
use crate::model::channel::ChannelPrivacy;
use crate::model::message::{ContentFlags, Message, MessageFlag, RESOLVED_TOPIC_PREFIX, Recipient, topic_key};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::text_processing::search_words::{MessageSearchCache, SearchWords};

/// A term of a narrow; all terms hold at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NarrowTerm {
    /// What is asked.
    pub condition: NarrowCondition,
    /// Whether the opposite is.
    pub negated: bool,
}

/// The condition of a narrow term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NarrowCondition {
    /// It is in the channel.
    Channel(ChannelId),
    /// It is in a public channel.
    PublicChannels,
    /// It is in a web-public channel.
    WebPublicChannels,
    /// It is under the topic of that key.
    Topic(String),
    /// It is among exactly these users, in the order of their numbers.
    Direct(Vec<UserId>),
    /// It is to a set of users with this one in it.
    DirectIncluding(UserId),
    /// The user wrote it.
    Sender(UserId),
    /// It is to a set of users.
    IsDirect,
    /// The reader's copy has the flag.
    IsFlag(MessageFlag),
    /// The reader has not read it.
    IsUnread,
    /// It mentions the reader in any way.
    IsMentioned,
    /// Its topic says that it is resolved.
    IsResolved,
    /// It has what is asked for.
    Has(HasOperand),
    /// It is this one.
    Id(MessageId),
    /// It is in the conversation of this one, whatever else the narrow says about where.
    With(MessageId),
    /// It has these words.
    Search(SearchWords),
    /// The user follows its topic.
    IsFollowed(UserId),
    /// The user has muted its topic, or its channel and not the topic apart from it.
    IsMuted(UserId),
    /// The user wants to hear of its topic: has muted neither it nor its channel, or the channel alone.
    InHome(UserId),
}

/// The operand of the `has` operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HasOperand {
    /// An upload.
    Attachment,
    /// An image.
    Image,
    /// A link.
    Link,
    /// A reaction.
    Reaction,
}

/// The fields of a message that narrow terms look at.
#[derive(Debug, Clone)]
pub struct NarrowCandidate<'m> {
    /// Its number.
    pub id: MessageId,
    /// Where it is.
    pub recipient: Recipient,
    /// For a set of users: all of them, in the order of their numbers.
    pub direct_users: Cow<'m, [UserId]>,
    /// Its topic; empty for sets of users.
    pub topic: Cow<'m, str>,
    /// Who wrote it.
    pub sender_id: UserId,
    /// What it has in it.
    pub content_flags: ContentFlags,
    /// Whether it has a reaction.
    pub has_reaction: bool,
    /// Its text, where
    /// [`ReadableMessageSelection::needs_message_text`](super::ReadableMessageSelection::needs_message_text). Without
    /// it, it is taken to be one of those an index found by their words.
    pub wording: Option<MessageText<'m>>,
}

/// The content of a message, as typed and as HTML.
#[derive(Debug, Clone)]
pub struct MessageText<'m> {
    content: Cow<'m, str>,
    html: Cow<'m, str>,
    cache: MessageSearchCache,
}

impl<'m> MessageText<'m> {
    /// Returns the text of a message, not yet compared by any search.
    #[must_use]
    pub fn new(content: impl Into<Cow<'m, str>>, html: impl Into<Cow<'m, str>>) -> Self {
        Self { content: content.into(), html: html.into(), cache: MessageSearchCache::default() }
    }
}

impl<'m> From<&'m Message> for NarrowCandidate<'m> {
    fn from(message: &'m Message) -> Self {
        Self {
            id: message.id,
            recipient: message.recipient,
            direct_users: Cow::Borrowed(&message.direct_users),
            topic: Cow::Borrowed(&message.topic),
            sender_id: message.sender_id,
            content_flags: message.content_flags,
            has_reaction: !message.reactions.is_empty(),
            wording: Some(MessageText::new(&message.content, &message.html)),
        }
    }
}

impl NarrowTerm {
    /// Returns whether the term matches a message with these flags. [`NarrowCondition::With`] always does: see
    /// [`ReadableMessageSelection::resolve_with_operator`](super::ReadableMessageSelection::resolve_with_operator).
    #[must_use]
    pub fn matches(&self, message: &NarrowCandidate<'_>, flags: &[MessageFlag], realm: &RealmSnapshot) -> bool {
        self.condition.holds(message, flags, realm) != self.negated
    }
}

impl NarrowCondition {
    fn holds(&self, message: &NarrowCandidate<'_>, flags: &[MessageFlag], realm: &RealmSnapshot) -> bool {
        let channel = || match message.recipient {
            Recipient::Channel(id) => Some(id),
            Recipient::Direct(_) => None,
        };
        let privacy = || channel().and_then(|id| realm.channel(id)).map(|channel| channel.privacy);
        let is_direct = matches!(message.recipient, Recipient::Direct(_));
        match self {
            Self::Channel(id) => message.recipient == Recipient::Channel(*id),
            Self::PublicChannels => privacy().is_some_and(|privacy| !privacy.is_invite_only()),
            Self::WebPublicChannels => privacy() == Some(ChannelPrivacy::WebPublic),
            Self::Topic(key) => !is_direct && topic_key(&message.topic) == *key,
            Self::Direct(users) => is_direct && message.direct_users == *users,
            Self::DirectIncluding(user) => is_direct && message.direct_users.contains(user),
            Self::Sender(user) => message.sender_id == *user,
            Self::IsDirect => is_direct,
            Self::IsFlag(flag) => flags.contains(flag),
            Self::IsUnread => !flags.contains(&MessageFlag::Read),
            Self::IsMentioned => flags.iter().any(|flag| flag.is_mention()),
            Self::IsResolved => message.topic.starts_with(RESOLVED_TOPIC_PREFIX),
            Self::Has(HasOperand::Attachment) => message.content_flags.has_attachment,
            Self::Has(HasOperand::Image) => message.content_flags.has_image,
            Self::Has(HasOperand::Link) => message.content_flags.has_link,
            Self::Has(HasOperand::Reaction) => message.has_reaction,
            Self::Id(id) => message.id == *id,
            Self::With(_) => true,
            Self::Search(sought) => {
                let finds = |text: &MessageText<'_>| {
                    sought.matches_message_cached(&text.cache, &message.topic, &text.content, &text.html)
                };
                message.wording.as_ref().is_none_or(finds)
            }
            Self::IsFollowed(user) => channel().is_some_and(|channel| {
                topic_visibility_policy::topic_visibility_policy_of(realm, *user, channel, &message.topic)
                    == TopicVisibilityPolicy::Followed
            }),
            Self::IsMuted(user) => {
                channel().is_some_and(|channel| topic_visibility_policy::mutes(realm, *user, channel, &message.topic))
            }
            Self::InHome(user) => channel()
                .is_none_or(|channel| !topic_visibility_policy::is_topic_muted(realm, *user, channel, &message.topic)),
        }
    }

    /// Returns whether the condition depends on the reader's own flags.
    #[must_use]
    pub fn filters_by_flags(&self) -> bool {
        matches!(self, Self::IsFlag(_) | Self::IsUnread | Self::IsMentioned)
    }

    /// Returns whether the condition filters by a flag that readers set themselves, on received messages or not.
    #[must_use]
    pub fn filters_by_self_set_flag(&self) -> bool {
        matches!(self, Self::IsFlag(MessageFlag::Starred | MessageFlag::Collapsed))
    }
}
