//! Narrows: which messages someone asks for, and which of those they may have.

use std::collections::BTreeMap;

use crate::access::{History, history};
use crate::channel::{Privacy, Span};
use crate::id::{ChannelId, MessageId, UserId};
use crate::limits::MAX_WINDOW;
use crate::message::{Conversation, Flag, Marks, Message, Recipient, topic_key};
use crate::snapshot::RealmSnapshot;
use crate::user::User;

/// One condition; all conditions of a narrow hold at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// What is asked.
    pub condition: Condition,
    /// Whether the opposite is.
    pub negated: bool,
}

/// What a term asks of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
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
    IsFlag(Flag),
    /// The reader has not read it.
    IsUnread,
    /// It mentions the reader in any way.
    IsMentioned,
    /// Its topic says that it is resolved.
    IsResolved,
    /// It has what is asked for.
    Has(Has),
    /// It is this one.
    Id(MessageId),
    /// It is in the conversation of this one, whatever else the narrow says about where.
    With(MessageId),
}

/// What a message may have in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Has {
    /// An upload.
    Attachment,
    /// An image.
    Image,
    /// A link.
    Link,
    /// A reaction.
    Reaction,
}

/// What stands to the right of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// Numbers.
    Numbers(Vec<i64>),
}

impl Operand {
    fn show(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Numbers(numbers) => format!("{numbers:?}"),
        }
    }

    fn number(&self) -> Option<i64> {
        match self {
            Self::Text(text) => text.parse().ok(),
            Self::Number(number) => Some(*number),
            Self::Numbers(_) => None,
        }
    }
}

/// A narrow that asks for nothing that can be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid narrow operator: {desc}")]
pub struct BadNarrow {
    /// What is wrong, for the wire's `desc`.
    pub desc: String,
}

fn bad<T>(desc: impl Into<String>) -> Result<T, BadNarrow> {
    Err(BadNarrow { desc: desc.into() })
}

/// What the topic of a resolved conversation begins with.
const RESOLVED: &str = "✔ ";

impl Term {
    /// Reads a term for a reader. `None` for `near` and `in:all`, which ask for nothing.
    ///
    /// Full-text `search`, `in:home` and `is:followed` are not terms of this function: they need more than a message
    /// and its flags.
    ///
    /// # Errors
    /// When there is no such operator, or its operand names nothing the reader may know.
    pub fn parse(
        realm: &RealmSnapshot,
        reader: &User,
        (operator, operand): (&str, &Operand),
        negated: bool,
    ) -> Result<Option<Self>, BadNarrow> {
        let condition = match operator {
            "channel" | "stream" => Condition::Channel(find_channel(realm, reader, operand)?),
            "channels" | "streams" => match operand.show().as_str() {
                "public" => Condition::PublicChannels,
                "web-public" => Condition::WebPublicChannels,
                other => return bad(format!("unknown channels operand {other}")),
            },
            "topic" => Condition::Topic(topic_key(&operand.show())),
            "dm" | "pm-with" | "pm_with" => Condition::Direct(find_users(realm, reader, operand)?),
            "dm-including" | "group-pm-with" | "group_pm_with" => {
                Condition::DirectIncluding(find_user(realm, operand)?)
            }
            "sender" => Condition::Sender(find_user(realm, operand)?),
            "is" => is(&operand.show())?,
            "has" => Condition::Has(has(&operand.show())?),
            "id" | "with" => match (operator, operand.number().filter(|id| *id >= 0)) {
                ("id", Some(id)) => Condition::Id(MessageId(id)),
                (_, Some(id)) => Condition::With(MessageId(id)),
                ("id", None) => return bad("Invalid message ID"),
                (_, None) => return bad("Invalid 'with' operator"),
            },
            "near" => return Ok(None),
            "in" if operand.show() == "all" => return Ok(None),
            "in" => return bad(format!("unknown 'in' operand {}", operand.show())),
            other => return bad(format!("unknown operator {other}")),
        };
        Ok(Some(Self { condition, negated }))
    }

    /// Whether the term holds for a message with these flags. [`Condition::With`] always does: see
    /// [`Selection::with_conversation_of`].
    #[must_use]
    pub fn holds(&self, message: &Candidate, flags: &[Flag], realm: &RealmSnapshot) -> bool {
        self.condition.holds(message, flags, realm) != self.negated
    }
}

fn find_channel(realm: &RealmSnapshot, reader: &User, operand: &Operand) -> Result<ChannelId, BadNarrow> {
    let channel = match operand {
        Operand::Number(id) => realm.channel(ChannelId(*id)),
        other => realm.channel_by_name(&other.show()),
    };
    // Who left a private channel still reaches what they received there.
    let known = channel.filter(|channel| {
        crate::access::sees_channel(realm, reader, channel) || realm.membership(channel.id, reader.id).is_some()
    });
    known.map_or_else(|| bad(format!("unknown channel {}", operand.show())), |channel| Ok(channel.id))
}

fn find_user(realm: &RealmSnapshot, operand: &Operand) -> Result<UserId, BadNarrow> {
    let user = match operand {
        Operand::Number(id) => realm.user(UserId(*id)),
        other => realm.user_by_email(&other.show()),
    };
    user.map_or_else(|| bad(format!("unknown user {}", operand.show())), |user| Ok(user.id))
}

fn find_users(realm: &RealmSnapshot, reader: &User, operand: &Operand) -> Result<Vec<UserId>, BadNarrow> {
    let found: Option<Vec<UserId>> = match operand {
        Operand::Numbers(ids) => ids.iter().map(|id| realm.user(UserId(*id)).map(|user| user.id)).collect(),
        Operand::Number(id) => realm.user(UserId(*id)).map(|user| vec![user.id]),
        Operand::Text(text) => {
            text.split(',').map(|email| realm.user_by_email(email.trim()).map(|user| user.id)).collect()
        }
    };
    let Some(mut users) = found else { return bad(format!("unknown user in {}", operand.show())) };
    users.push(reader.id);
    users.sort_unstable();
    users.dedup();
    Ok(users)
}

fn is(operand: &str) -> Result<Condition, BadNarrow> {
    Ok(match operand {
        "dm" | "private" => Condition::IsDirect,
        "starred" => Condition::IsFlag(Flag::Starred),
        "unread" => Condition::IsUnread,
        "mentioned" => Condition::IsMentioned,
        "alerted" => Condition::IsFlag(Flag::HasAlertWord),
        "resolved" => Condition::IsResolved,
        other => return bad(format!("unknown 'is' operand {other}")),
    })
}

fn has(operand: &str) -> Result<Has, BadNarrow> {
    Ok(match operand {
        "attachment" => Has::Attachment,
        "image" => Has::Image,
        "link" => Has::Link,
        "reaction" => Has::Reaction,
        other => return bad(format!("unknown 'has' operand {other}")),
    })
}

/// What terms look at in a message.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its number.
    pub id: MessageId,
    /// Where it is.
    pub recipient: Recipient,
    /// For a set of users: all of them, in the order of their numbers.
    pub direct_users: Vec<UserId>,
    /// Its topic; empty for sets of users.
    pub topic: String,
    /// Who wrote it.
    pub sender_id: UserId,
    /// What it has in it.
    pub marks: Marks,
    /// Whether it has a reaction.
    pub has_reaction: bool,
}

impl From<&Message> for Candidate {
    fn from(message: &Message) -> Self {
        Self {
            id: message.id,
            recipient: message.recipient,
            direct_users: message.direct_users.clone(),
            topic: message.topic.clone(),
            sender_id: message.sender_id,
            marks: message.marks,
            has_reaction: !message.reactions.is_empty(),
        }
    }
}

/// Refuses a narrow that wants messages to be in a channel and among users at once.
///
/// # Errors
/// When it does.
pub fn check_place(terms: &[Term]) -> Result<(), BadNarrow> {
    let asked = || terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
    let in_channel = asked().any(|condition| {
        matches!(
            condition,
            Condition::Channel(_)
                | Condition::PublicChannels
                | Condition::WebPublicChannels
                | Condition::Topic(_)
                | Condition::IsResolved
        )
    });
    let among_users = asked().any(|condition| {
        matches!(condition, Condition::Direct(_) | Condition::DirectIncluding(_) | Condition::IsDirect)
    });
    if in_channel && among_users {
        return bad("No message can be both a channel message and direct message");
    }
    Ok(())
}

impl Condition {
    fn holds(&self, message: &Candidate, flags: &[Flag], realm: &RealmSnapshot) -> bool {
        let privacy = || match message.recipient {
            Recipient::Channel(id) => realm.channel(id).map(|channel| channel.privacy),
            Recipient::Direct(_) => None,
        };
        let is_direct = matches!(message.recipient, Recipient::Direct(_));
        match self {
            Self::Channel(id) => message.recipient == Recipient::Channel(*id),
            Self::PublicChannels => privacy().is_some_and(|privacy| !privacy.is_private()),
            Self::WebPublicChannels => privacy() == Some(Privacy::WebPublic),
            Self::Topic(key) => !is_direct && topic_key(&message.topic) == *key,
            Self::Direct(users) => is_direct && message.direct_users == *users,
            Self::DirectIncluding(user) => is_direct && message.direct_users.contains(user),
            Self::Sender(user) => message.sender_id == *user,
            Self::IsDirect => is_direct,
            Self::IsFlag(flag) => flags.contains(flag),
            Self::IsUnread => !flags.contains(&Flag::Read),
            Self::IsMentioned => flags.iter().any(|flag| flag.is_mention()),
            Self::IsResolved => message.topic.starts_with(RESOLVED),
            Self::Has(Has::Attachment) => message.marks.has_attachment,
            Self::Has(Has::Image) => message.marks.has_image,
            Self::Has(Has::Link) => message.marks.has_link,
            Self::Has(Has::Reaction) => message.has_reaction,
            Self::Id(id) => message.id == *id,
            Self::With(_) => true,
        }
    }

    /// Whether the reader's own flags decide it.
    #[must_use]
    pub fn asks_flags(&self) -> bool {
        matches!(self, Self::IsFlag(_) | Self::IsUnread | Self::IsMentioned)
    }
}

/// The messages a reader asks for, bounded by what they may have.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The reader.
    pub user_id: UserId,
    /// What they ask for.
    pub terms: Vec<Term>,
    /// Channels they may have messages of: all, or those within spans.
    pub channels: BTreeMap<ChannelId, Option<Vec<Span>>>,
    /// Whether they may have messages to sets of users they are in.
    pub directs: bool,
}

impl Selection {
    /// Bounds a narrow by what the reader may have: messages they received, and of a channel that is asked for by
    /// name, or of all public channels, also the history before them; but not with an `is` term, which asks about
    /// their own copies.
    #[must_use]
    pub fn new(realm: &RealmSnapshot, reader: &User, terms: Vec<Term>) -> Self {
        let asks_own = terms.iter().any(|term| term.condition.asks_flags());
        let mut asked = terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
        let public = !asks_own && asked.any(|asked| matches!(asked, Condition::PublicChannels));
        let only = terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
            Condition::Channel(id) => Some(id),
            _ => None,
        });
        let directs = only.is_none() && !public;
        let mut channels = BTreeMap::new();
        for channel in realm.channels().filter(|channel| only.is_none_or(|only| only == channel.id)) {
            let all = !asks_own && (only.is_some() || (public && !channel.privacy.is_private()));
            let spans = match history(realm, reader, channel) {
                History::All if all => None,
                History::All | History::Received(_) => match realm.membership(channel.id, reader.id) {
                    Some(membership) => Some(membership.spans.clone()),
                    None => continue,
                },
            };
            channels.insert(channel.id, spans);
        }
        Self { user_id: reader.id, terms, channels, directs }
    }

    /// The message whose conversation is asked for.
    #[must_use]
    pub fn asked_with(terms: &[Term]) -> Option<MessageId> {
        terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
            Condition::With(id) => Some(id),
            _ => None,
        })
    }

    /// The terms with those about where replaced by the conversation of a message the reader may read. Without one
    /// (`None`) the others stay as they are.
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

    /// Whether the reader may have the message, whatever they ask for.
    #[must_use]
    pub fn permits(&self, message: &Candidate) -> bool {
        match message.recipient {
            Recipient::Direct(_) => self.directs && message.direct_users.binary_search(&self.user_id).is_ok(),
            Recipient::Channel(id) => self.channels.get(&id).is_some_and(|spans| {
                // A message that came from another channel was not received by who had left before.
                let lasts = |span: &Span| !message.marks.moved_in || span.until.is_none();
                let received = |span: &Span| span.contains(message.id.into()) && lasts(span);
                spans.as_ref().is_none_or(|spans| spans.iter().any(received))
            }),
        }
    }

    /// Whether any term looks at flags.
    #[must_use]
    pub fn asks_flags(&self) -> bool {
        self.terms.iter().any(|term| term.condition.asks_flags())
    }

    /// Whether the message is among those asked for and permitted.
    #[must_use]
    pub fn admits(&self, message: &Candidate, flags: &[Flag], realm: &RealmSnapshot) -> bool {
        self.permits(message) && self.terms.iter().all(|term| term.holds(message, flags, realm))
    }

    /// The conversation the narrow is about, when it names a channel and a topic.
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

/// Where a window of messages is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// At a message, or where it would be.
    At(MessageId),
    /// Before the first.
    Oldest,
    /// After the last.
    Newest,
    /// At the first the reader has not read; after the last when there is none.
    FirstUnread,
}

/// Why a window cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// Nobody said where.
    #[error("Missing 'anchor' argument.")]
    NoAnchor,
    /// Neither a number nor one of the words.
    #[error("Invalid anchor")]
    BadAnchor,
    /// More than [`MAX_WINDOW`] messages.
    #[error("Too many messages requested (maximum {MAX_WINDOW}).")]
    TooMany,
    /// A hole in the middle.
    #[error("The anchor can only be excluded at an end of the range")]
    AnchorExcluded,
}

impl Anchor {
    /// Reads the wire's `anchor`. `first_unread` is its older form, which wins.
    ///
    /// # Errors
    /// [`WindowError::NoAnchor`] and [`WindowError::BadAnchor`].
    pub fn parse(written: Option<&str>, first_unread: bool) -> Result<Self, WindowError> {
        if first_unread {
            return Ok(Self::FirstUnread);
        }
        match written.ok_or(WindowError::NoAnchor)? {
            "oldest" => Ok(Self::Oldest),
            "newest" => Ok(Self::Newest),
            "first_unread" => Ok(Self::FirstUnread),
            number => Self::numbered(number.trim()),
        }
    }

    /// A number beyond all messages is held at the end it is beyond.
    fn numbered(text: &str) -> Result<Self, WindowError> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(WindowError::BadAnchor);
        }
        let beyond = if text.starts_with('-') { 0 } else { NEWEST.0 };
        let number: i64 = text.parse().unwrap_or(beyond);
        Ok(Self::At(MessageId(number.clamp(0, NEWEST.0))))
    }
}

impl Window {
    /// A window of a size that is answered.
    ///
    /// # Errors
    /// [`WindowError::TooMany`] and [`WindowError::AnchorExcluded`].
    pub fn new(anchor: Anchor, (before, after): (u64, u64), include_anchor: bool) -> Result<Self, WindowError> {
        if before.saturating_add(after) > MAX_WINDOW {
            return Err(WindowError::TooMany);
        }
        if before > 0 && after > 0 && !include_anchor {
            return Err(WindowError::AnchorExcluded);
        }
        Ok(Self { anchor, before, after, include_anchor })
    }
}

/// The anchor the wire gives for "after the last".
pub const NEWEST: MessageId = MessageId(10_000_000_000_000_000);

/// Some messages around an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Where.
    pub anchor: Anchor,
    /// At most so many before it.
    pub before: u64,
    /// At most so many after it.
    pub after: u64,
    /// Whether the message at the anchor is wanted too, beside those.
    pub include_anchor: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::id::DirectId;
    use crate::realm::Rules;
    use crate::testing;

    fn realm() -> RealmSnapshot {
        testing::realm(
            Rules::default(),
            vec![
                Change::Channel(Box::new(testing::channel(20, Privacy::Public))),
                Change::Channel(Box::new(testing::channel(21, Privacy::PrivateSharedHistory))),
                Change::Channel(Box::new(testing::channel(22, Privacy::Public))),
                Change::Subscription(Box::new(testing::subscription(20, 4))),
            ],
        )
    }

    fn parse(operator: &str, operand: &Operand) -> Result<Option<Term>, String> {
        let realm = realm();
        let reader = realm.user(UserId(4)).unwrap();
        Term::parse(&realm, reader, (operator, operand), false).map_err(|error| error.to_string())
    }

    fn text(text: &str) -> Operand {
        Operand::Text(text.to_owned())
    }

    fn candidate(id: i64, channel: i64) -> Candidate {
        Candidate {
            id: MessageId(id),
            recipient: Recipient::Channel(ChannelId(channel)),
            direct_users: Vec::new(),
            topic: "Lunch".to_owned(),
            sender_id: UserId(2),
            marks: Marks::default(),
            has_reaction: false,
        }
    }

    #[test]
    fn a_term_names_what_the_reader_may_know() {
        let holds = |condition| Ok(Some(Term { condition, negated: false }));
        assert_eq!(parse("stream", &text("channel 20")), holds(Condition::Channel(ChannelId(20))));
        assert_eq!(
            parse("channel", &Operand::Number(21)),
            Err("Invalid narrow operator: unknown channel 21".to_owned())
        );
        assert_eq!(
            parse("dm", &Operand::Numbers(vec![6, 1])),
            holds(Condition::Direct(vec![UserId(1), UserId(4), UserId(6)]))
        );
        assert_eq!(
            parse("pm-with", &text("user1@example.org,x")),
            Err("Invalid narrow operator: unknown user in user1@example.org,x".to_owned())
        );
        assert_eq!(parse("near", &text("whatever")), Ok(None));
        assert_eq!(parse("is", &text("odd")), Err("Invalid narrow operator: unknown 'is' operand odd".to_owned()));
        assert_eq!(parse("id", &text("-1")), Err("Invalid narrow operator: Invalid message ID".to_owned()));
        assert_eq!(parse("with", &text("x")), Err("Invalid narrow operator: Invalid 'with' operator".to_owned()));
        assert_eq!(parse("odd", &text("x")), Err("Invalid narrow operator: unknown operator odd".to_owned()));
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
    fn an_anchor_is_a_word_or_a_number_held_within_bounds() {
        let parse = |text: &str| Anchor::parse(Some(text), false);
        let at = |id| Ok(Anchor::At(MessageId(id)));
        assert_eq!(parse("newest"), Ok(Anchor::Newest));
        assert_eq!(parse("oldest"), Ok(Anchor::Oldest));
        assert_eq!(parse("first_unread"), Ok(Anchor::FirstUnread));
        assert_eq!([parse("17"), parse("-5"), parse(&"9".repeat(40))], [at(17), at(0), at(NEWEST.0)]);
        assert_eq!(parse(&format!("-{}", "9".repeat(40))), at(0));
        for odd in ["", "x", "1.5", "-", "--1", "0x1"] {
            assert_eq!(parse(odd), Err(WindowError::BadAnchor), "{odd}");
        }
        assert_eq!(Anchor::parse(None, false), Err(WindowError::NoAnchor));
        assert_eq!(Anchor::parse(Some("0"), true), Ok(Anchor::FirstUnread));
    }

    #[test]
    fn a_window_has_a_size_and_no_hole() {
        assert!(Window::new(Anchor::Newest, (5_000, 0), false).is_ok());
        assert_eq!(Window::new(Anchor::Newest, (2_500, 2_501), true), Err(WindowError::TooMany));
        assert_eq!(Window::new(Anchor::Newest, (u64::MAX, 1), true), Err(WindowError::TooMany));
        assert_eq!(Window::new(Anchor::Newest, (1, 1), false), Err(WindowError::AnchorExcluded));
    }

    #[test]
    fn no_message_is_in_a_channel_and_among_users() {
        let terms = |negated| {
            let of = |condition, negated| Term { condition, negated };
            [of(Condition::Topic("x".to_owned()), false), of(Condition::IsDirect, negated)]
        };
        assert!(check_place(&terms(true)).is_ok());
        let refused = check_place(&terms(false)).unwrap_err();
        assert_eq!(refused.desc, "No message can be both a channel message and direct message");
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
        };
        let followed = Selection::with_conversation_of(terms, Some(&message));
        let conditions: Vec<_> = followed.into_iter().map(|term| term.condition).collect();
        assert_eq!(conditions, [Condition::Sender(UserId(2)), Condition::Direct(vec![UserId(2), UserId(4)])]);
    }
}
