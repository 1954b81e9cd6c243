//! What a reader asks for, bounded by what they may have.

use std::sync::Arc;

use super::{Candidate, Condition, Term};
use crate::access::{History, history};
use crate::channel::{Channel, Privacy, Span};
use crate::id::{ChannelId, MessageId, UserId};
use crate::message::{Conversation, Flag, Message, Recipient, topic_key};
use crate::snapshot::RealmSnapshot;
use crate::user::User;
use crate::words::Sought;

/// The messages that match a narrow, limited to those that the reader may read.
///
/// What they may have of a channel is looked up where a message of it is judged, not for all channels beforehand: a
/// search finds messages in a few of the hundreds that somebody is in.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The reader.
    pub user_id: UserId,
    /// What they ask for.
    pub terms: Vec<Term>,
    /// Whether they may have messages to sets of users they are in.
    pub directs: bool,
    /// In which it is decided what they may have.
    realm: Arc<RealmSnapshot>,
    reach: Reach,
}

/// The channels that are asked for, and whether with the history that the reader did not receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// What they received anywhere.
    Received,
    /// What they received in one channel.
    ReceivedIn(ChannelId),
    /// One channel.
    Channel(ChannelId),
    /// All public channels, and what they received in others.
    Public,
}

impl Selection {
    /// Bounds a narrow by what the reader may have: messages they received, and of a channel that is asked for by
    /// name, or of all public channels, also the history before them; but not with an `is` term, which asks about
    /// their own copies.
    #[must_use]
    pub fn new(realm: &Arc<RealmSnapshot>, reader: &User, terms: Vec<Term>) -> Self {
        let asks_own = terms.iter().any(|term| term.condition.asks_flags());
        let mut asked = terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
        let public = !asks_own && asked.any(|asked| matches!(asked, Condition::PublicChannels));
        let only = terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
            Condition::Channel(id) => Some(id),
            _ => None,
        });
        let reach = match only {
            Some(id) if asks_own => Reach::ReceivedIn(id),
            Some(id) => Reach::Channel(id),
            None if public => Reach::Public,
            None => Reach::Received,
        };
        let directs = only.is_none() && !public;
        Self { user_id: reader.id, terms: searched_once(terms), directs, realm: Arc::clone(realm), reach }
    }

    /// Returns the message whose conversation is asked for.
    #[must_use]
    pub fn asked_with(terms: &[Term]) -> Option<MessageId> {
        terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
            Condition::With(id) => Some(id),
            _ => None,
        })
    }

    /// Returns the terms with those about where replaced by the conversation of a message the reader may read. Without
    /// one (`None`) the others stay as they are.
    #[must_use]
    pub fn with_conversation_of(terms: Vec<Term>, message: Option<&Message>) -> Vec<Term> {
        let Some(message) = message else { return terms };
        let is_where = |condition: &Condition| {
            matches!(condition, Condition::Channel(_) | Condition::Topic(_) | Condition::Direct(_) | Condition::With(_))
        };
        let mut kept: Vec<Term> = terms.into_iter().filter(|term| !is_where(&term.condition)).collect();
        let mut hold = |condition| kept.push(Term { condition, negated: false });
        match message.recipient {
            Recipient::Channel(id) => {
                hold(Condition::Channel(id));
                hold(Condition::Topic(topic_key(&message.topic)));
            }
            Recipient::Direct(_) => hold(Condition::Direct(message.direct_users.clone())),
        }
        kept
    }

    /// Returns whether the reader may have the message, whatever they ask for.
    #[must_use]
    pub fn permits(&self, message: &Candidate<'_>) -> bool {
        match message.recipient {
            Recipient::Direct(_) => self.directs && message.direct_users.binary_search(&self.user_id).is_ok(),
            Recipient::Channel(id) => {
                self.bounds(id).is_some_and(|bounds| bounds.permit(message.id, message.marks.moved_in))
            }
        }
    }

    /// Returns which messages of a channel the reader may have; `None` when none.
    #[must_use]
    pub fn bounds(&self, channel: ChannelId) -> Option<Bounds<'_>> {
        let with_history = match self.reach {
            Reach::ReceivedIn(only) | Reach::Channel(only) if only != channel => return None,
            Reach::Received | Reach::ReceivedIn(_) => false,
            Reach::Channel(_) => self.shows_all(channel, |_| true),
            Reach::Public => self.shows_all(channel, |channel| !channel.privacy.is_private()),
        };
        if with_history {
            return Some(Bounds(None));
        }
        self.realm.membership(channel, self.user_id).map(|membership| Bounds(Some(&membership.spans)))
    }

    /// Returns whether the channel is one of those that are meant, and all of it is shown to the reader.
    fn shows_all(&self, channel: ChannelId, is_meant: impl FnOnce(&Channel) -> bool) -> bool {
        let known = self.realm.channel(channel).zip(self.realm.user(self.user_id));
        known.is_some_and(|(channel, user)| is_meant(channel) && history(&self.realm, user, channel) == History::All)
    }

    /// Returns the channels of which the reader may have messages, in the order of their numbers.
    #[must_use]
    pub fn channels(&self) -> Vec<ChannelId> {
        let mut channels: Vec<ChannelId> = match self.reach {
            Reach::ReceivedIn(only) | Reach::Channel(only) => vec![only],
            Reach::Received => self.realm.memberships(self.user_id).map(|(id, _)| id).collect(),
            Reach::Public => self.realm.channels().map(|channel| channel.id).collect(),
        };
        channels.retain(|id| self.bounds(*id).is_some());
        channels.sort_unstable();
        channels
    }

    /// Returns whether a message to a set of users can be among those asked for.
    #[must_use]
    pub fn may_be_direct(&self) -> bool {
        let in_channel = |condition: &Condition| {
            matches!(
                condition,
                Condition::PublicChannels
                    | Condition::WebPublicChannels
                    | Condition::Topic(_)
                    | Condition::IsResolved
                    | Condition::IsFollowed(_)
            )
        };
        !self.terms.iter().any(
            |Term { condition, negated }| {
                if *negated { *condition == Condition::IsDirect } else { in_channel(condition) }
            },
        )
    }

    /// Returns whether a message in a channel can be among those asked for.
    #[must_use]
    pub fn may_be_in_channels(&self) -> bool {
        let is_direct = |condition: &Condition| {
            matches!(condition, Condition::Direct(_) | Condition::DirectIncluding(_) | Condition::IsDirect)
        };
        !self.terms.iter().any(|term| !term.negated && is_direct(&term.condition))
    }

    /// Returns whether a message in the channel can be among those asked for, as far as the channel alone says.
    #[must_use]
    pub fn may_be_in(&self, realm: &RealmSnapshot, id: ChannelId) -> bool {
        let privacy = || realm.channel(id).map(|channel| channel.privacy);
        self.terms.iter().all(|Term { condition, negated }| match condition {
            Condition::Channel(asked) => (*asked == id) != *negated,
            Condition::PublicChannels => privacy().is_some_and(|privacy| !privacy.is_private()) != *negated,
            Condition::WebPublicChannels => (privacy() == Some(Privacy::WebPublic)) != *negated,
            _ => true,
        })
    }

    /// Returns whether the narrow asks for nothing but where a message is and whether it was read.
    #[must_use]
    pub fn asks_place_alone(&self) -> bool {
        self.terms.iter().all(|term| {
            !term.negated && matches!(term.condition, Condition::Channel(_) | Condition::Topic(_) | Condition::IsUnread)
        })
    }

    /// Returns what is looked for by words.
    #[must_use]
    pub fn sought(&self) -> Option<&Sought> {
        self.terms.iter().filter(|term| !term.negated).find_map(|term| match &term.condition {
            Condition::Search(sought) => Some(sought),
            _ => None,
        })
    }

    /// Returns whether a term looks at more of a message's text than an index of its words tells.
    #[must_use]
    pub fn asks_wording(&self) -> bool {
        self.terms.iter().any(|term| match &term.condition {
            Condition::Search(sought) => term.negated || sought.has_phrases(),
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
    pub fn admits(&self, message: &Candidate<'_>, flags: &[Flag], realm: &RealmSnapshot) -> bool {
        self.permits(message) && self.terms.iter().all(|term| term.holds(message, flags, realm))
    }

    /// Returns the conversation the narrow is about, when it names a channel and a topic.
    #[must_use]
    pub fn conversation(&self) -> Option<Conversation> {
        let mut held = self.terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
        let channel = held.clone().find_map(|condition| match condition {
            Condition::Channel(id) => Some(*id),
            _ => None,
        })?;
        let key = held.find_map(|condition| match condition {
            Condition::Topic(key) => Some(key.clone()),
            _ => None,
        })?;
        Some(Conversation { recipient: Recipient::Channel(channel), topic_key: key })
    }
}

/// The range of a channel's messages that a reader may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds<'a>(Option<&'a [Span]>);

impl<'a> Bounds<'a> {
    /// Between which messages they lie; `None` when they are all there are.
    #[must_use]
    pub fn spans(self) -> Option<&'a [Span]> {
        self.0
    }

    /// Returns whether the message is among them; of one that came from another channel that is said.
    #[must_use]
    pub fn permit(self, message: MessageId, moved_in: bool) -> bool {
        // A message that came from another channel was not received by who had left before.
        let lasts = |span: &Span| !moved_in || span.until.is_none();
        let received = |span: &Span| span.contains(message.into()) && lasts(span);
        self.0.is_none_or(|spans| spans.iter().any(received))
    }
}

/// Everything that is looked for by words as one term: several searches are one search for all their words.
fn searched_once(terms: Vec<Term>) -> Vec<Term> {
    let mut all: Option<Sought> = None;
    let mut kept: Vec<Term> = Vec::with_capacity(terms.len());
    for term in terms {
        match term {
            Term { condition: Condition::Search(sought), negated: false } => {
                all = Some(all.unwrap_or_default().and(&sought));
            }
            other => kept.push(other),
        }
    }
    kept.extend(all.map(|sought| Term { condition: Condition::Search(sought), negated: false }));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::id::DirectId;
    use crate::message::Marks;
    use crate::realm::Rules;
    use crate::testing;

    fn realm() -> Arc<RealmSnapshot> {
        Arc::new(testing::realm(
            Rules::default(),
            vec![
                Change::Channel(Box::new(testing::channel(20, Privacy::Public))),
                Change::Channel(Box::new(testing::channel(21, Privacy::PrivateSharedHistory))),
                Change::Channel(Box::new(testing::channel(22, Privacy::Public))),
                Change::Subscription(Box::new(testing::subscription(20, 4))),
            ],
        ))
    }

    fn candidate(id: i64, channel: i64) -> Candidate<'static> {
        Candidate {
            id: MessageId(id),
            recipient: Recipient::Channel(ChannelId(channel)),
            direct_users: Vec::new().into(),
            topic: "Lunch".into(),
            sender_id: UserId(2),
            marks: Marks::default(),
            has_reaction: false,
            wording: None,
        }
    }

    #[test]
    fn the_channels_of_a_selection_are_those_it_may_have_messages_of() {
        let realm = realm();
        let reader = realm.user(UserId(4)).unwrap();
        let channels = |asked: &[Condition]| {
            let terms = asked.iter().map(|condition| Term { condition: condition.clone(), negated: false }).collect();
            let selection = Selection::new(&realm, reader, terms);
            assert!(selection.channels().iter().all(|id| selection.bounds(*id).is_some()));
            selection.channels().into_iter().map(|id| id.0).collect::<Vec<_>>()
        };
        assert_eq!(channels(&[]), [20]);
        assert_eq!(channels(&[Condition::PublicChannels]), [20, 22]);
        assert_eq!(channels(&[Condition::Channel(ChannelId(22))]), [22]);
        assert!(channels(&[Condition::Channel(ChannelId(22)), Condition::IsUnread]).is_empty());
        assert!(channels(&[Condition::Channel(ChannelId(21))]).is_empty());
        assert!(channels(&[Condition::Channel(ChannelId(99))]).is_empty());
    }

    #[test]
    fn history_is_for_who_asks_for_the_channel() {
        let realm = realm();
        let reader = realm.user(UserId(4)).unwrap();
        let admitted = |terms: &[Condition], negated| {
            let terms = terms.iter().map(|condition| Term { condition: condition.clone(), negated }).collect();
            let selection = Selection::new(&realm, reader, terms);
            let asked = [(5, 20), (15, 20), (15, 21), (15, 22)];
            asked.map(|(id, channel)| selection.admits(&candidate(id, channel), &[], &realm))
        };
        assert_eq!(admitted(&[], false), [false, true, false, false]);
        assert_eq!(admitted(&[Condition::Channel(ChannelId(20))], false), [true, true, false, false]);
        assert_eq!(admitted(&[Condition::Channel(ChannelId(22))], false), [false, false, false, true]);
        assert_eq!(admitted(&[Condition::PublicChannels], false), [true, true, false, true]);
        assert_eq!(
            admitted(&[Condition::Channel(ChannelId(20)), Condition::IsUnread], false),
            [false, true, false, false]
        );
        assert_eq!(admitted(&[Condition::Channel(ChannelId(22))], true), [false, true, false, false]);
    }

    #[test]
    fn a_conversation_is_followed_wherever_it_went() {
        let terms = vec![
            Term { condition: Condition::Channel(ChannelId(20)), negated: false },
            Term { condition: Condition::Topic("old".to_owned()), negated: false },
            Term { condition: Condition::With(MessageId(7)), negated: false },
            Term { condition: Condition::Sender(UserId(2)), negated: false },
        ];
        assert_eq!(Selection::asked_with(&terms), Some(MessageId(7)));
        assert_eq!(Selection::with_conversation_of(terms.clone(), None), terms);
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
            marks: Marks::default(),
            last_edit_s: None,
            revision: crate::id::EventId(7),
            reactions: Vec::new(),
            submessages: Vec::new(),
        };
        let followed = Selection::with_conversation_of(terms, Some(&message));
        let conditions: Vec<_> = followed.into_iter().map(|term| term.condition).collect();
        assert_eq!(conditions, [Condition::Sender(UserId(2)), Condition::Direct(vec![UserId(2), UserId(4)])]);
    }
}
