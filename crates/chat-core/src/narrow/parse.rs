//! Reading a narrow: operators and operands as the wire has them.

use super::{Condition, Has, Term};
use crate::address;
use crate::id::{ChannelId, MessageId, UserId};
use crate::limits::MAX_SEARCH_WORDS;
use crate::message::{Flag, topic_key};
use crate::snapshot::RealmSnapshot;
use crate::user::User;
use crate::words::Sought;

/// The operand of a narrow term.
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

/// A narrow that cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid narrow operator: {desc}")]
pub struct BadNarrow {
    /// What is wrong, for the wire's `desc`.
    pub desc: String,
}

fn bad<T>(desc: impl Into<String>) -> Result<T, BadNarrow> {
    Err(BadNarrow { desc: desc.into() })
}

impl Term {
    /// Reads a term for a reader. `None` for `near` and `in:all`, which ask for nothing.
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
                Condition::DirectIncluding(find_user(realm, reader, operand)?)
            }
            "sender" => Condition::Sender(find_user(realm, reader, operand)?),
            "is" if operand.show() == "followed" => Condition::IsFollowed(reader.id),
            "is" => is(&operand.show())?,
            "search" => Condition::Search(Sought::parse(&operand.show())),
            "has" => Condition::Has(has(&operand.show())?),
            "id" | "with" => match (operator, operand.number().filter(|id| *id >= 0)) {
                ("id", Some(id)) => Condition::Id(MessageId(id)),
                (_, Some(id)) => Condition::With(MessageId(id)),
                ("id", None) => return bad("Invalid message ID"),
                (_, None) => return bad("Invalid 'with' operator"),
            },
            "near" => return Ok(None),
            "in" if operand.show() == "all" => return Ok(None),
            "in" if operand.show() == "home" => Condition::InHome(reader.id),
            "in" => return bad(format!("unknown 'in' operand {}", operand.show())),
            other => return bad(format!("unknown operator {other}")),
        };
        Ok(Some(Self { condition, negated }))
    }
}

/// Refuses a narrow whose searches, negated or not, together look for more than [`MAX_SEARCH_WORDS`].
///
/// # Errors
/// When they do.
pub fn check_searches(terms: &[Term]) -> Result<(), BadNarrow> {
    let words = terms.iter().map(|term| match &term.condition {
        Condition::Search(sought) => sought.count(),
        _ => 0,
    });
    if words.sum::<usize>() > MAX_SEARCH_WORDS {
        return bad(format!("too many words to search for (limit: {MAX_SEARCH_WORDS})"));
    }
    Ok(())
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

fn find_user(realm: &RealmSnapshot, reader: &User, operand: &Operand) -> Result<UserId, BadNarrow> {
    let user = match operand {
        Operand::Number(id) => realm.user(UserId(*id)),
        other => address::find(realm, reader, &other.show()),
    };
    user.map_or_else(|| bad(format!("unknown user {}", operand.show())), |user| Ok(user.id))
}

fn find_users(realm: &RealmSnapshot, reader: &User, operand: &Operand) -> Result<Vec<UserId>, BadNarrow> {
    let found: Option<Vec<UserId>> = match operand {
        Operand::Numbers(ids) => ids.iter().map(|id| realm.user(UserId(*id)).map(|user| user.id)).collect(),
        Operand::Number(id) => realm.user(UserId(*id)).map(|user| vec![user.id]),
        Operand::Text(text) => {
            text.split(',').map(|email| address::find(realm, reader, email).map(|user| user.id)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::channel::Privacy;
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
    fn no_message_is_in_a_channel_and_among_users() {
        let terms = |negated| {
            let of = |condition, negated| Term { condition, negated };
            [of(Condition::Topic("x".to_owned()), false), of(Condition::IsDirect, negated)]
        };
        assert!(check_place(&terms(true)).is_ok());
        let refused = check_place(&terms(false)).unwrap_err();
        assert_eq!(refused.desc, "No message can be both a channel message and direct message");
    }
}
