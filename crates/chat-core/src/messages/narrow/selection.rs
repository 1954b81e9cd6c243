//! What a reader asks for, bounded by what they may have.

use std::sync::Arc;

use super::{NarrowCandidate, NarrowCondition, NarrowTerm};
use crate::id::{ChannelId, MessageId, UserId};
use crate::model::channel::{Channel, ChannelPrivacy, SubscriptionPeriod};
use crate::model::message::{Conversation, Message, MessageFlag, Recipient, topic_key};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{ReadableHistory, readable_history};
use crate::text_processing::search_words::SearchWords;

/// The messages that match a narrow, limited to those that the reader may read.
///
/// What they may have of a channel is looked up where a message of it is judged, not for all channels beforehand: a
/// search finds messages in a few of the hundreds that a user is in.
#[derive(Debug, Clone)]
pub struct ReadableMessageSelection {
    /// The reader.
    pub user_id: UserId,
    /// What they ask for.
    pub terms: Vec<NarrowTerm>,
    /// Whether they may have messages to sets of users they are in.
    pub directs: bool,
    /// In which it is decided what they may have.
    realm: Arc<RealmSnapshot>,
    scope: MessageScope,
}

/// The channels that are asked for, and whether with the history that the reader did not receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageScope {
    /// What they received anywhere.
    Received,
    /// What they received in one channel.
    ReceivedIn(ChannelId),
    /// What they may read anywhere.
    Readable,
    /// One channel.
    Channel(ChannelId),
    /// All public channels, and what they received in others.
    Public,
}

impl ReadableMessageSelection {
    /// Restricts a narrow to messages that the reader received and, for a named channel or all public channels, their
    /// earlier history. An `is` term excludes that history, as it asks about the reader's own copies; a star makes a
    /// copy of any readable message.
    #[must_use]
    pub fn new(realm: &Arc<RealmSnapshot>, reader: &User, terms: Vec<NarrowTerm>) -> Self {
        let asks_own = terms.iter().any(|term| term.condition.filters_by_flags());
        let mut asked = terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
        let public = !asks_own && asked.any(|asked| matches!(asked, NarrowCondition::PublicChannels));
        let only = terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
            NarrowCondition::Channel(id) => Some(id),
            _ => None,
        });
        let marked = terms.iter().any(|term| !term.negated && term.condition.filters_by_self_set_flag());
        let scope = match only {
            Some(id) if marked => MessageScope::Channel(id),
            None if marked => MessageScope::Readable,
            Some(id) if asks_own => MessageScope::ReceivedIn(id),
            Some(id) => MessageScope::Channel(id),
            None if public => MessageScope::Public,
            None => MessageScope::Received,
        };
        let directs = only.is_none() && !public;
        Self { user_id: reader.id, terms: searched_once(terms), directs, realm: Arc::clone(realm), scope }
    }

    /// Returns the message that the narrow's `with` operator names.
    #[must_use]
    pub fn with_operator_message(terms: &[NarrowTerm]) -> Option<MessageId> {
        terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
            NarrowCondition::With(id) => Some(id),
            _ => None,
        })
    }

    /// Replaces the terms about where messages are by the conversation of `message`, which the reader may read. With
    /// `None` the terms stay as they are.
    #[must_use]
    pub fn resolve_with_operator(terms: Vec<NarrowTerm>, message: Option<&Message>) -> Vec<NarrowTerm> {
        let Some(message) = message else { return terms };
        let is_where = |condition: &NarrowCondition| {
            matches!(
                condition,
                NarrowCondition::Channel(_)
                    | NarrowCondition::Topic(_)
                    | NarrowCondition::Direct(_)
                    | NarrowCondition::With(_)
            )
        };
        let mut kept: Vec<NarrowTerm> = terms.into_iter().filter(|term| !is_where(&term.condition)).collect();
        let mut hold = |condition| kept.push(NarrowTerm { condition, negated: false });
        match message.recipient {
            Recipient::Channel(id) => {
                hold(NarrowCondition::Channel(id));
                hold(NarrowCondition::Topic(topic_key(&message.topic)));
            }
            Recipient::Direct(_) => hold(NarrowCondition::Direct(message.direct_users.clone())),
        }
        kept
    }

    /// Returns whether the reader may read the message, regardless of the narrow.
    #[must_use]
    pub fn may_read(&self, message: &NarrowCandidate<'_>) -> bool {
        match message.recipient {
            Recipient::Direct(_) => self.directs && message.direct_users.binary_search(&self.user_id).is_ok(),
            Recipient::Channel(id) => self
                .readable_range(id)
                .is_some_and(|bounds| bounds.contains_message(message.id, message.content_flags.moved_in)),
        }
    }

    /// Returns the range of a channel's messages that the reader may read; `None` when none.
    #[must_use]
    pub fn readable_range(&self, channel: ChannelId) -> Option<ReadableChannelRange<'_>> {
        let with_history = match self.scope {
            MessageScope::ReceivedIn(only) | MessageScope::Channel(only) if only != channel => return None,
            MessageScope::Received | MessageScope::ReceivedIn(_) => false,
            MessageScope::Channel(_) | MessageScope::Readable => self.shows_all(channel, |_| true),
            MessageScope::Public => {
                self.shows_all(channel, |channel| !channel.is_archived && !channel.privacy.is_invite_only())
            }
        };
        if with_history {
            return Some(ReadableChannelRange(None));
        }
        self.realm.membership(channel, self.user_id).map(|membership| ReadableChannelRange(Some(&membership.spans)))
    }

    /// Returns whether the channel is one of those that are meant, and all of it is shown to the reader.
    fn shows_all(&self, channel: ChannelId, is_meant: impl FnOnce(&Channel) -> bool) -> bool {
        let known = self.realm.channel(channel).zip(self.realm.user(self.user_id));
        known.is_some_and(|(channel, user)| {
            is_meant(channel) && readable_history(&self.realm, user, channel) == ReadableHistory::All
        })
    }

    /// Returns the channels of which the reader may read messages, in ascending order.
    #[must_use]
    pub fn readable_channels(&self) -> Vec<ChannelId> {
        let mut channels: Vec<ChannelId> = match self.scope {
            MessageScope::ReceivedIn(only) | MessageScope::Channel(only) => vec![only],
            MessageScope::Received => self.realm.memberships_of_user(self.user_id).map(|(id, _)| id).collect(),
            MessageScope::Public | MessageScope::Readable => self.realm.channels().map(|channel| channel.id).collect(),
        };
        channels.retain(|id| self.readable_range(*id).is_some());
        channels.sort_unstable();
        channels
    }

    /// Returns whether a direct message can match the narrow.
    #[must_use]
    pub fn can_match_direct_messages(&self) -> bool {
        let in_channel = |condition: &NarrowCondition| {
            matches!(
                condition,
                NarrowCondition::PublicChannels
                    | NarrowCondition::WebPublicChannels
                    | NarrowCondition::Topic(_)
                    | NarrowCondition::IsResolved
                    | NarrowCondition::IsFollowed(_)
                    | NarrowCondition::IsMuted(_)
            )
        };
        !self.terms.iter().any(
            |NarrowTerm { condition, negated }| {
                if *negated { *condition == NarrowCondition::IsDirect } else { in_channel(condition) }
            },
        )
    }

    /// Returns whether a channel message can match the narrow.
    #[must_use]
    pub fn can_match_channel_messages(&self) -> bool {
        let is_direct = |condition: &NarrowCondition| {
            matches!(
                condition,
                NarrowCondition::Direct(_) | NarrowCondition::DirectIncluding(_) | NarrowCondition::IsDirect
            )
        };
        !self.terms.iter().any(|term| !term.negated && is_direct(&term.condition))
    }

    /// Returns whether a message in the channel can match the narrow, judged by the channel alone.
    #[must_use]
    pub fn can_match_channel(&self, realm: &RealmSnapshot, id: ChannelId) -> bool {
        let privacy = || realm.channel(id).map(|channel| channel.privacy);
        self.terms.iter().all(|NarrowTerm { condition, negated }| match condition {
            NarrowCondition::Channel(asked) => (*asked == id) != *negated,
            NarrowCondition::PublicChannels => privacy().is_some_and(|privacy| !privacy.is_invite_only()) != *negated,
            NarrowCondition::WebPublicChannels => (privacy() == Some(ChannelPrivacy::WebPublic)) != *negated,
            _ => true,
        })
    }

    /// Returns whether the narrow filters only by conversation and by whether messages are read.
    #[must_use]
    pub fn filters_only_location_or_unread(&self) -> bool {
        self.terms.iter().all(|term| {
            !term.negated
                && matches!(
                    term.condition,
                    NarrowCondition::Channel(_) | NarrowCondition::Topic(_) | NarrowCondition::IsUnread
                )
        })
    }

    /// Returns the search words of the narrow.
    #[must_use]
    pub fn search_words(&self) -> Option<&SearchWords> {
        self.terms.iter().filter(|term| !term.negated).find_map(|term| match &term.condition {
            NarrowCondition::Search(sought) => Some(sought),
            _ => None,
        })
    }

    /// Returns whether a term needs the text of a message, more than an index of its words has.
    #[must_use]
    pub fn needs_message_text(&self) -> bool {
        self.terms.iter().any(|term| match &term.condition {
            NarrowCondition::Search(sought) => term.negated || sought.has_phrases(),
            _ => false,
        })
    }

    /// Returns whether any term filters by flags.
    #[must_use]
    pub fn filters_by_flags(&self) -> bool {
        self.terms.iter().any(|term| term.condition.filters_by_flags())
    }

    /// Returns whether the message matches the narrow and the reader may read it.
    #[must_use]
    pub fn matches(&self, message: &NarrowCandidate<'_>, flags: &[MessageFlag], realm: &RealmSnapshot) -> bool {
        self.may_read(message) && self.asks_for(message, flags, realm)
    }

    /// Returns whether the message is among those asked for, without regard to who may read it.
    #[must_use]
    pub fn asks_for(&self, message: &NarrowCandidate<'_>, flags: &[MessageFlag], realm: &RealmSnapshot) -> bool {
        self.terms.iter().all(|term| term.matches(message, flags, realm))
    }

    /// Returns the conversation that the narrow is limited to, when it names a channel and a topic.
    #[must_use]
    pub fn narrowed_conversation(&self) -> Option<Conversation> {
        let mut held = self.terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
        let channel = held.clone().find_map(|condition| match condition {
            NarrowCondition::Channel(id) => Some(*id),
            _ => None,
        })?;
        let key = held.find_map(|condition| match condition {
            NarrowCondition::Topic(key) => Some(key.clone()),
            _ => None,
        })?;
        Some(Conversation { recipient: Recipient::Channel(channel), topic_key: key })
    }
}

/// The range of a channel's messages that a reader may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadableChannelRange<'a>(Option<&'a [SubscriptionPeriod]>);

impl<'a> ReadableChannelRange<'a> {
    /// Returns the subscription periods whose messages are readable; `None` when all messages of the channel are.
    #[must_use]
    pub fn subscription_periods(self) -> Option<&'a [SubscriptionPeriod]> {
        self.0
    }

    /// Returns whether the message is in the range; `moved_in` tells that it came from another channel.
    #[must_use]
    pub fn contains_message(self, message: MessageId, moved_in: bool) -> bool {
        // A message that came from another channel was not received by who had left before.
        let lasts = |span: &SubscriptionPeriod| !moved_in || span.until.is_none();
        let received = |span: &SubscriptionPeriod| span.contains(message.into()) && lasts(span);
        self.0.is_none_or(|spans| spans.iter().any(received))
    }
}

/// Everything that is looked for by words as one term: several searches are one search for all their words.
fn searched_once(terms: Vec<NarrowTerm>) -> Vec<NarrowTerm> {
    let mut all: Option<SearchWords> = None;
    let mut kept: Vec<NarrowTerm> = Vec::with_capacity(terms.len());
    for term in terms {
        match term {
            NarrowTerm { condition: NarrowCondition::Search(sought), negated: false } => {
                all = Some(all.unwrap_or_default().combined_with(&sought));
            }
            other => kept.push(other),
        }
    }
    kept.extend(all.map(|sought| NarrowTerm { condition: NarrowCondition::Search(sought), negated: false }));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DirectConversationId;
    use crate::model::message::ContentFlags;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    fn realm() -> Arc<RealmSnapshot> {
        Arc::new(testing::realm(
            RealmPermissionSettings::default(),
            vec![
                RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
                RealmChange::Channel(Box::new(testing::channel(21, ChannelPrivacy::PrivateSharedHistory))),
                RealmChange::Channel(Box::new(testing::channel(22, ChannelPrivacy::Public))),
                RealmChange::Subscription(Box::new(testing::subscription(20, 4))),
            ],
        ))
    }

    fn candidate(id: i64, channel: i64) -> NarrowCandidate<'static> {
        NarrowCandidate {
            id: MessageId(id),
            recipient: Recipient::Channel(ChannelId(channel)),
            direct_users: Vec::new().into(),
            topic: "Lunch".into(),
            sender_id: UserId(2),
            content_flags: ContentFlags::default(),
            has_reaction: false,
            wording: None,
        }
    }

    #[test]
    fn the_channels_of_a_selection_are_those_it_may_have_messages_of() {
        let realm = realm();
        let reader = realm.user(UserId(4)).unwrap();
        let channels = |asked: &[NarrowCondition]| {
            let terms =
                asked.iter().map(|condition| NarrowTerm { condition: condition.clone(), negated: false }).collect();
            let selection = ReadableMessageSelection::new(&realm, reader, terms);
            assert!(selection.readable_channels().iter().all(|id| selection.readable_range(*id).is_some()));
            selection.readable_channels().into_iter().map(|id| id.0).collect::<Vec<_>>()
        };
        assert_eq!(channels(&[]), [20]);
        assert_eq!(channels(&[NarrowCondition::PublicChannels]), [20, 22]);
        assert_eq!(channels(&[NarrowCondition::Channel(ChannelId(22))]), [22]);
        assert!(channels(&[NarrowCondition::Channel(ChannelId(22)), NarrowCondition::IsUnread]).is_empty());
        assert!(channels(&[NarrowCondition::Channel(ChannelId(21))]).is_empty());
        assert!(channels(&[NarrowCondition::Channel(ChannelId(99))]).is_empty());
    }

    #[test]
    fn history_is_for_who_asks_for_the_channel() {
        let realm = realm();
        let reader = realm.user(UserId(4)).unwrap();
        let admitted = |terms: &[NarrowCondition], negated| {
            let terms = terms.iter().map(|condition| NarrowTerm { condition: condition.clone(), negated }).collect();
            let selection = ReadableMessageSelection::new(&realm, reader, terms);
            let asked = [(5, 20), (15, 20), (15, 21), (15, 22)];
            asked.map(|(id, channel)| selection.matches(&candidate(id, channel), &[], &realm))
        };
        assert_eq!(admitted(&[], false), [false, true, false, false]);
        assert_eq!(admitted(&[NarrowCondition::Channel(ChannelId(20))], false), [true, true, false, false]);
        assert_eq!(admitted(&[NarrowCondition::Channel(ChannelId(22))], false), [false, false, false, true]);
        assert_eq!(admitted(&[NarrowCondition::PublicChannels], false), [true, true, false, true]);
        assert_eq!(
            admitted(&[NarrowCondition::Channel(ChannelId(20)), NarrowCondition::IsUnread], false),
            [false, true, false, false]
        );
        assert_eq!(admitted(&[NarrowCondition::Channel(ChannelId(22))], true), [false, true, false, false]);
    }

    #[test]
    fn a_conversation_is_followed_wherever_it_went() {
        let terms = vec![
            NarrowTerm { condition: NarrowCondition::Channel(ChannelId(20)), negated: false },
            NarrowTerm { condition: NarrowCondition::Topic("old".to_owned()), negated: false },
            NarrowTerm { condition: NarrowCondition::With(MessageId(7)), negated: false },
            NarrowTerm { condition: NarrowCondition::Sender(UserId(2)), negated: false },
        ];
        assert_eq!(ReadableMessageSelection::with_operator_message(&terms), Some(MessageId(7)));
        assert_eq!(ReadableMessageSelection::resolve_with_operator(terms.clone(), None), terms);
        let message = Message {
            id: MessageId(7),
            sender_id: UserId(2),
            recipient: Recipient::Direct(DirectConversationId(7)),
            direct_users: vec![UserId(2), UserId(4)],
            topic: String::new(),
            content: String::new(),
            html: String::new(),
            sent_s: 0,
            client: String::new(),
            content_flags: ContentFlags::default(),
            last_edit_s: None,
            revision: crate::id::EventId(7),
            reactions: Vec::new(),
            submessages: Vec::new(),
        };
        let followed = ReadableMessageSelection::resolve_with_operator(terms, Some(&message));
        let conditions: Vec<_> = followed.into_iter().map(|term| term.condition).collect();
        assert_eq!(
            conditions,
            [NarrowCondition::Sender(UserId(2)), NarrowCondition::Direct(vec![UserId(2), UserId(4)])]
        );
    }
}
