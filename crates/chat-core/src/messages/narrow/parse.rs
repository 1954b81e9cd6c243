//! Reading a narrow: operators and operands as the wire has them.

use super::{HasOperand, NarrowCondition, NarrowTerm};
use crate::id::{ChannelId, MessageId, UserId};
use crate::limits::MAX_SEARCH_WORDS_PER_NARROW;
use crate::model::email_address_visibility;
use crate::model::message::{MessageFlag, topic_key};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::text_processing::search_words::SearchWords;

/// The operand of a narrow term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NarrowOperand {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// Numbers.
    Numbers(Vec<i64>),
}

impl NarrowOperand {
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
pub struct NarrowError {
    /// What is wrong, for the wire's `desc`.
    pub desc: String,
}

fn bad<T>(desc: impl Into<String>) -> Result<T, NarrowError> {
    Err(NarrowError { desc: desc.into() })
}

impl NarrowTerm {
    /// Parses a narrow term for a reader; `None` for `near` and `in:all`, which select everything.
    ///
    /// # Errors
    /// When there is no such operator, or its operand names nothing the reader may know.
    pub fn parse(
        realm: &RealmSnapshot,
        reader: &User,
        (operator, operand): (&str, &NarrowOperand),
        negated: bool,
    ) -> Result<Option<Self>, NarrowError> {
        let condition = match operator {
            "channel" | "stream" => NarrowCondition::Channel(find_channel(realm, reader, operand)?),
            "channels" | "streams" => match operand.show().as_str() {
                "public" => NarrowCondition::PublicChannels,
                "web-public" => NarrowCondition::WebPublicChannels,
                other => return bad(format!("unknown channels operand {other}")),
            },
            "topic" => NarrowCondition::Topic(topic_key(&operand.show())),
            "dm" | "pm-with" | "pm_with" => NarrowCondition::Direct(find_users(realm, reader, operand)?),
            "dm-including" | "group-pm-with" | "group_pm_with" => {
                NarrowCondition::DirectIncluding(find_user(realm, reader, operand)?)
            }
            "sender" => NarrowCondition::Sender(find_user(realm, reader, operand)?),
            "is" if operand.show() == "followed" => NarrowCondition::IsFollowed(reader.id),
            "is" if operand.show() == "muted" => NarrowCondition::IsMuted(reader.id),
            "is" => is(&operand.show())?,
            "search" => NarrowCondition::Search(SearchWords::parse(&operand.show())),
            "has" => NarrowCondition::Has(has(&operand.show())?),
            "id" | "with" => match (operator, operand.number().filter(|id| *id >= 0)) {
                ("id", Some(id)) => NarrowCondition::Id(MessageId(id)),
                (_, Some(id)) => NarrowCondition::With(MessageId(id)),
                ("id", None) => return bad("Invalid message ID"),
                (_, None) => return bad("Invalid 'with' operator"),
            },
            "near" => return Ok(None),
            "in" if operand.show() == "all" => return Ok(None),
            "in" if operand.show() == "home" => NarrowCondition::InHome(reader.id),
            "in" => return bad(format!("unknown 'in' operand {}", operand.show())),
            other => return bad(format!("unknown operator {other}")),
        };
        Ok(Some(Self { condition, negated }))
    }
}

/// Rejects a narrow whose searches, negated or not, together have more than [`MAX_SEARCH_WORDS_PER_NARROW`] words and
/// phrases.
///
/// # Errors
/// When they do.
pub fn check_search_word_limit(terms: &[NarrowTerm]) -> Result<(), NarrowError> {
    let words = terms.iter().map(|term| match &term.condition {
        NarrowCondition::Search(sought) => sought.count_words_and_phrases(),
        _ => 0,
    });
    if words.sum::<usize>() > MAX_SEARCH_WORDS_PER_NARROW {
        return bad(format!("too many words to search for (limit: {MAX_SEARCH_WORDS_PER_NARROW})"));
    }
    Ok(())
}

/// Rejects a narrow that requires a message to be both in a channel and a direct message.
///
/// # Errors
/// When it does.
pub fn check_channel_direct_conflict(terms: &[NarrowTerm]) -> Result<(), NarrowError> {
    let asked = || terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
    let in_channel = asked().any(|condition| {
        matches!(
            condition,
            NarrowCondition::Channel(_)
                | NarrowCondition::PublicChannels
                | NarrowCondition::WebPublicChannels
                | NarrowCondition::Topic(_)
                | NarrowCondition::IsResolved
        )
    });
    let among_users = asked().any(|condition| {
        matches!(
            condition,
            NarrowCondition::Direct(_) | NarrowCondition::DirectIncluding(_) | NarrowCondition::IsDirect
        )
    });
    if in_channel && among_users {
        return bad("No message can be both a channel message and direct message");
    }
    Ok(())
}

fn find_channel(realm: &RealmSnapshot, reader: &User, operand: &NarrowOperand) -> Result<ChannelId, NarrowError> {
    let channel = match operand {
        NarrowOperand::Number(id) => realm.channel(ChannelId(*id)),
        other => realm.channel_by_name_even_archived(&other.show()),
    };
    // Who left a private channel still reaches what they received there.
    let known = channel.filter(|channel| {
        crate::permission::access::may_know_channel_name(realm, reader, channel)
            || realm.membership(channel.id, reader.id).is_some()
    });
    known.map_or_else(|| bad(format!("unknown channel {}", operand.show())), |channel| Ok(channel.id))
}

fn find_user(realm: &RealmSnapshot, reader: &User, operand: &NarrowOperand) -> Result<UserId, NarrowError> {
    let user = match operand {
        NarrowOperand::Number(id) => realm.user(UserId(*id)),
        other => email_address_visibility::find_user_by_visible_email(realm, reader, &other.show()),
    };
    user.map_or_else(|| bad(format!("unknown user {}", operand.show())), |user| Ok(user.id))
}

fn find_users(realm: &RealmSnapshot, reader: &User, operand: &NarrowOperand) -> Result<Vec<UserId>, NarrowError> {
    let found: Option<Vec<UserId>> = match operand {
        NarrowOperand::Numbers(ids) => ids.iter().map(|id| realm.user(UserId(*id)).map(|user| user.id)).collect(),
        NarrowOperand::Number(id) => realm.user(UserId(*id)).map(|user| vec![user.id]),
        NarrowOperand::Text(text) => text
            .split(',')
            .map(|email| email_address_visibility::find_user_by_visible_email(realm, reader, email).map(|user| user.id))
            .collect(),
    };
    let Some(mut users) = found else { return bad(format!("unknown user in {}", operand.show())) };
    users.push(reader.id);
    users.sort_unstable();
    users.dedup();
    Ok(users)
}

fn is(operand: &str) -> Result<NarrowCondition, NarrowError> {
    Ok(match operand {
        "dm" | "private" => NarrowCondition::IsDirect,
        "starred" => NarrowCondition::IsFlag(MessageFlag::Starred),
        "unread" => NarrowCondition::IsUnread,
        "mentioned" => NarrowCondition::IsMentioned,
        "alerted" => NarrowCondition::IsFlag(MessageFlag::HasAlertWord),
        "resolved" => NarrowCondition::IsResolved,
        other => return bad(format!("unknown 'is' operand {other}")),
    })
}

fn has(operand: &str) -> Result<HasOperand, NarrowError> {
    Ok(match operand {
        "attachment" => HasOperand::Attachment,
        "image" => HasOperand::Image,
        "link" => HasOperand::Link,
        "reaction" => HasOperand::Reaction,
        other => return bad(format!("unknown 'has' operand {other}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::channel::ChannelPrivacy;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    fn realm() -> RealmSnapshot {
        testing::realm(
            RealmPermissionSettings::default(),
            vec![
                RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
                RealmChange::Channel(Box::new(testing::channel(21, ChannelPrivacy::PrivateSharedHistory))),
                RealmChange::Channel(Box::new(testing::channel(22, ChannelPrivacy::Public))),
                RealmChange::Subscription(Box::new(testing::subscription(20, 4))),
            ],
        )
    }

    fn parse(operator: &str, operand: &NarrowOperand) -> Result<Option<NarrowTerm>, String> {
        let realm = realm();
        let reader = realm.user(UserId(4)).unwrap();
        NarrowTerm::parse(&realm, reader, (operator, operand), false).map_err(|error| error.to_string())
    }

    fn text(text: &str) -> NarrowOperand {
        NarrowOperand::Text(text.to_owned())
    }

    #[test]
    fn a_term_names_what_the_reader_may_know() {
        let holds = |condition| Ok(Some(NarrowTerm { condition, negated: false }));
        assert_eq!(parse("stream", &text("channel 20")), holds(NarrowCondition::Channel(ChannelId(20))));
        assert_eq!(
            parse("channel", &NarrowOperand::Number(21)),
            Err("Invalid narrow operator: unknown channel 21".to_owned())
        );
        assert_eq!(
            parse("dm", &NarrowOperand::Numbers(vec![6, 1])),
            holds(NarrowCondition::Direct(vec![UserId(1), UserId(4), UserId(6)]))
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
            let of = |condition, negated| NarrowTerm { condition, negated };
            [of(NarrowCondition::Topic("x".to_owned()), false), of(NarrowCondition::IsDirect, negated)]
        };
        assert!(check_channel_direct_conflict(&terms(true)).is_ok());
        let refused = check_channel_direct_conflict(&terms(false)).unwrap_err();
        assert_eq!(refused.desc, "No message can be both a channel message and direct message");
    }
}
