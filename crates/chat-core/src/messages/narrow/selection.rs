//! What a reader asks for, bounded by what they may have.

use std::sync::Arc;

use super::{MessageCandidate, NarrowCondition, NarrowTerm};
use crate::id::{ChannelId, MessageId, UserId};
use crate::model::channel::{Channel, Privacy, SubscriptionPeriod};
use crate::model::message::{Conversation, Flag, Message, Recipient, topic_key};
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{ReadableHistory, history};
use crate::text::search_words::SearchWords;

/// The messages that match a narrow, limited to those that the reader may read.
///
/// What they may have of a channel is looked up where a message of it is judged, not for all channels beforehand: a
/// search finds messages in a few of the hundreds that a user is in.
#[derive(Debug, Clone)]
pub struct MessageSelection {
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

impl MessageSelection {
    /// Bounds a narrow by what the reader may have: messages they received, and of a channel that is asked for by
    /// name, or of all public channels, also the history before them; but not with an `is` term, which asks about
    /// their own copies. A star makes a copy of any message that they may read.
    #[must_use]
    pub fn new(realm: &Arc<RealmSnapshot>, reader: &User, terms: Vec<NarrowTerm>) -> Self {
        let asks_own = terms.iter().any(|term| term.condition.asks_flags());
        let mut asked = terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
        let public = !asks_own && asked.any(|asked| matches!(asked, NarrowCondition::PublicChannels));
        let only = terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
            NarrowCondition::Channel(id) => Some(id),
            _ => None,
        });
        let marked = terms.iter().any(|term| !term.negated && term.condition.asks_own_mark());
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

    /// Returns the message whose conversation is asked for.
    #[must_use]
    pub fn asked_with(terms: &[NarrowTerm]) -> Option<MessageId> {
        terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
            NarrowCondition::With(id) => Some(id),
            _ => None,
        })
    }

    /// Returns the terms with those about where replaced by the conversation of a message the reader may read. Without
    /// one (`None`) the others stay as they are.
    #[must_use]
    pub fn with_conversation_of(terms: Vec<NarrowTerm>, message: Option<&Message>) -> Vec<NarrowTerm> {
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

    /// Returns whether the reader may have the message, whatever they ask for.
    #[must_use]
    pub fn permits(&self, message: &MessageCandidate<'_>) -> bool {
        match message.recipient {
            Recipient::Direct(_) => self.directs && message.direct_users.binary_search(&self.user_id).is_ok(),
            Recipient::Channel(id) => {
                self.bounds(id).is_some_and(|bounds| bounds.permit(message.id, message.content_flags.moved_in))
            }
        }
    }

    /// Returns which messages of a channel the reader may have; `None` when none.
    #[must_use]
    pub fn bounds(&self, channel: ChannelId) -> Option<ReadableRange<'_>> {
        let with_history = match self.scope {
            MessageScope::ReceivedIn(only) | MessageScope::Channel(only) if only != channel => return None,
            MessageScope::Received | MessageScope::ReceivedIn(_) => false,
            MessageScope::Channel(_) | MessageScope::Readable => self.shows_all(channel, |_| true),
            MessageScope::Public => self.shows_all(channel, |channel| !channel.privacy.is_private()),
        };
        if with_history {
            return Some(ReadableRange(None));
        }
        self.realm.membership(channel, self.user_id).map(|membership| ReadableRange(Some(&membership.spans)))
    }

    /// Returns whether the channel is one of those that are meant, and all of it is shown to the reader.
    fn shows_all(&self, channel: ChannelId, is_meant: impl FnOnce(&Channel) -> bool) -> bool {
        let known = self.realm.channel(channel).zip(self.realm.user(self.user_id));
        known.is_some_and(|(channel, user)| {
            is_meant(channel) && history(&self.realm, user, channel) == ReadableHistory::All
        })
    }

    /// Returns the channels of which the reader may have messages, in the order of their numbers.
    #[must_use]
    pub fn channels(&self) -> Vec<ChannelId> {
        let mut channels: Vec<ChannelId> = match self.scope {
            MessageScope::ReceivedIn(only) | MessageScope::Channel(only) => vec![only],
            MessageScope::Received => self.realm.memberships(self.user_id).map(|(id, _)| id).collect(),
            MessageScope::Public | MessageScope::Readable => self.realm.channels().map(|channel| channel.id).collect(),
        };
        channels.retain(|id| self.bounds(*id).is_some());
        channels.sort_unstable();
        channels
    }

    /// Returns whether a message to a set of users can be among those asked for.
    #[must_use]
    pub fn may_be_direct(&self) -> bool {
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

    /// Returns whether a message in a channel can be among those asked for.
    #[must_use]
    pub fn may_be_in_channels(&self) -> bool {
        let is_direct = |condition: &NarrowCondition| {
            matches!(
                condition,
                NarrowCondition::Direct(_) | NarrowCondition::DirectIncluding(_) | NarrowCondition::IsDirect
            )
        };
        !self.terms.iter().any(|term| !term.negated && is_direct(&term.condition))
    }

    /// Returns whether a message in the channel can be among those asked for, as far as the channel alone says.
    #[must_use]
    pub fn may_be_in(&self, realm: &RealmSnapshot, id: ChannelId) -> bool {
        let privacy = || realm.channel(id).map(|channel| channel.privacy);
        self.terms.iter().all(|NarrowTerm { condition, negated }| match condition {
            NarrowCondition::Channel(asked) => (*asked == id) != *negated,
            NarrowCondition::PublicChannels => privacy().is_some_and(|privacy| !privacy.is_private()) != *negated,
            NarrowCondition::WebPublicChannels => (privacy() == Some(Privacy::WebPublic)) != *negated,
            _ => true,
        })
    }

    /// Returns whether the narrow asks for nothing but where a message is and whether it was read.
    #[must_use]
    pub fn asks_place_alone(&self) -> bool {
        self.terms.iter().all(|term| {
            !term.negated
                && matches!(
                    term.condition,
                    NarrowCondition::Channel(_) | NarrowCondition::Topic(_) | NarrowCondition::IsUnread
                )
        })
    }

    /// Returns what is looked for by words.
    #[must_use]
    pub fn sought(&self) -> Option<&SearchWords> {
        self.terms.iter().filter(|term| !term.negated).find_map(|term| match &term.condition {
            NarrowCondition::Search(sought) => Some(sought),
            _ => None,
        })
    }

    /// Returns whether a term looks at more of a message's text than an index of its words tells.
    #[must_use]
    pub fn asks_wording(&self) -> bool {
        self.terms.iter().any(|term| match &term.condition {
            NarrowCondition::Search(sought) => term.negated || sought.has_phrases(),
            _ => false,
        })
    }

    /// Returns whether any term looks at flags.
    #[must_use]
    pub fn asks_flags(&self) -> bool {
        self.terms.iter().any(|term| term.condition.asks_flags())
    }

    /// Returns whether the message is among those asked for and permitted.
    #[must_use]
    pub fn admits(&self, message: &MessageCandidate<'_>, flags: &[Flag], realm: &RealmSnapshot) -> bool {
        self.permits(message) && self.asks_for(message, flags, realm)
    }

    /// Returns whether the message is among those asked for, without regard to who may read it.
    #[must_use]
    pub fn asks_for(&self, message: &MessageCandidate<'_>, flags: &[Flag], realm: &RealmSnapshot) -> bool {
        self.terms.iter().all(|term| term.holds(message, flags, realm))
    }

    /// Returns the conversation the narrow is about, when it names a channel and a topic.
    #[must_use]
    pub fn conversation(&self) -> Option<Conversation> {
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
pub struct ReadableRange<'a>(Option<&'a [SubscriptionPeriod]>);

impl<'a> ReadableRange<'a> {
    /// Between which messages they lie; `None` when they are all there are.
    #[must_use]
    pub fn spans(self) -> Option<&'a [SubscriptionPeriod]> {
        self.0
    }

    /// Returns whether the message is among them; of one that came from another channel that is said.
    #[must_use]
    pub fn permit(self, message: MessageId, moved_in: bool) -> bool {
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
                all = Some(all.unwrap_or_default().and(&sought));
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
    use crate::id::DirectId;
    use crate::model::change::RealmChange;
    use crate::model::message::ContentFlags;
    use crate::model::realm::RealmRules;
    use crate::testing;

    fn realm() -> Arc<RealmSnapshot> {
        Arc::new(testing::realm(
            RealmRules::default(),
            vec![
                RealmChange::Channel(Box::new(testing::channel(20, Privacy::Public))),
                RealmChange::Channel(Box::new(testing::channel(21, Privacy::PrivateSharedHistory))),
                RealmChange::Channel(Box::new(testing::channel(22, Privacy::Public))),
                RealmChange::Subscription(Box::new(testing::subscription(20, 4))),
            ],
        ))
    }

    fn candidate(id: i64, channel: i64) -> MessageCandidate<'static> {
        MessageCandidate {
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
            let selection = MessageSelection::new(&realm, reader, terms);
            assert!(selection.channels().iter().all(|id| selection.bounds(*id).is_some()));
            selection.channels().into_iter().map(|id| id.0).collect::<Vec<_>>()
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
            let selection = MessageSelection::new(&realm, reader, terms);
            let asked = [(5, 20), (15, 20), (15, 21), (15, 22)];
            asked.map(|(id, channel)| selection.admits(&candidate(id, channel), &[], &realm))
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
        assert_eq!(MessageSelection::asked_with(&terms), Some(MessageId(7)));
        assert_eq!(MessageSelection::with_conversation_of(terms.clone(), None), terms);
        let message = Message {
            id: MessageId(7),
            sender_id: UserId(2),
            recipient: Recipient::Direct(DirectId(7)),
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
        let followed = MessageSelection::with_conversation_of(terms, Some(&message));
        let conditions: Vec<_> = followed.into_iter().map(|term| term.condition).collect();
        assert_eq!(
            conditions,
            [NarrowCondition::Sender(UserId(2)), NarrowCondition::Direct(vec![UserId(2), UserId(4)])]
        );
    }
}
