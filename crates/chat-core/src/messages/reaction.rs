//! Emoji that users put on messages.

use std::sync::Arc;

use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::event_log::event;
use crate::id::{MessageId, UserId};
use crate::messages::emoji_choice::{
    EmojiChoice, EmojiChoiceError, check_emoji_exists, complete_emoji_choice, resolve_emoji_by_name,
};
use crate::messages::readable_message;
use crate::messages::store::MessageWriteOutcome;
use crate::messages::topic_visibility_policy::automatic_policies;
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::flag_change::FlagOp;
use crate::model::message::{Message, Reaction, ReactionType};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access;

/// An emoji as a reaction request names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestedEmoji<'a> {
    /// By its name.
    pub name: Option<&'a str>,
    /// By its code.
    pub code: Option<&'a str>,
    /// The wire's `reaction_type`.
    pub kind: Option<&'a str>,
}

/// The reason why a reaction cannot be added or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReactionError {
    /// It is there.
    #[error("Reaction already exists.")]
    AlreadyThere,
    /// It is not there.
    #[error("Reaction doesn't exist.")]
    NotThere,
    /// No emoji is named.
    #[error("At least one of the following arguments must be present: emoji_name, emoji_code")]
    Nameless,
    /// There is no such emoji.
    #[error(transparent)]
    Emoji(#[from] EmojiChoiceError),
}

/// Adds the caller's reaction to a message, or removes it.
///
/// # Errors
/// See [`ReactionError`]; when the message is not there for the caller, or the server failed.
pub async fn add_or_remove_reaction(
    ports: &MessageWorkflowContext<'_>,
    caller: &Arc<User>,
    id: MessageId,
    (op, requested): (FlagOp, RequestedEmoji<'_>),
) -> Result<(), MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let found = readable_message::find_readable_message(ports, caller, id).await?;
        let (realm, user, message) = (&found.realm, &found.user, &found.message);
        let decided = found.decided();
        let written = match op {
            FlagOp::Add => {
                access::may_react_or_edit(realm, user, message)?;
                let reaction = to_add(realm, user.id, message, requested)?;
                let event = (ports.now_s, event::reaction_event(user, message, &reaction, op));
                ports.messages.add_reaction(&decided, &reaction, event).await?
            }
            FlagOp::Remove => {
                let reaction = to_remove(realm, user.id, message, requested)?;
                let event = (ports.now_s, event::reaction_event(user, message, &reaction, op));
                ports.messages.remove_reaction(&decided, &reaction, event).await?
            }
        };
        if written != MessageWriteOutcome::Unchanged {
            if op == FlagOp::Add {
                automatic_policies::after_taking_part(ports, user.id, message).await;
            }
            return Ok(());
        }
    }
    Err(StaleDecisionError("a message").into())
}

/// Returns the reaction a user adds.
///
/// An emoji that is on the message already, whoever put it there, can be joined whatever became of it since; it keeps
/// the name it has there.
///
/// # Errors
/// See [`ReactionError`].
fn to_add(
    realm: &RealmSnapshot,
    user_id: UserId,
    message: &Message,
    asked: RequestedEmoji<'_>,
) -> Result<Reaction, ReactionError> {
    let name = asked.name.ok_or(ReactionError::Nameless)?;
    let EmojiChoice { code, kind, .. } = complete_emoji_choice(realm, name, (asked.code, asked.kind))?;
    let mut same = message.reactions.iter().filter(|there| there.emoji_code == code && there.reaction_type == kind);
    let there = same.clone().next();
    if there.is_none() {
        check_emoji_exists(realm, (&code, kind), Some(name))?;
    }
    let emoji_name = there.map_or(name, |there| &there.emoji_name).to_owned();
    if same.any(|there| there.user_id == user_id) {
        return Err(ReactionError::AlreadyThere);
    }
    Ok(Reaction { user_id, emoji_name, emoji_code: code, reaction_type: kind })
}

/// Returns the reaction a user takes away: their own, named by code, or else by name.
///
/// # Errors
/// See [`ReactionError`]. A code that no emoji has is distinguished from an emoji that is not on the message.
fn to_remove(
    realm: &RealmSnapshot,
    user_id: UserId,
    message: &Message,
    asked: RequestedEmoji<'_>,
) -> Result<Reaction, ReactionError> {
    let mut own = message.reactions.iter().filter(|there| there.user_id == user_id);
    let kind = asked.kind.map(kind_named).transpose()?;
    let (code, kind) = match asked {
        RequestedEmoji { code: Some(code), .. } => (code.to_owned(), kind.unwrap_or(ReactionType::UnicodeEmoji)),
        RequestedEmoji { name: Some(name), .. } => {
            let is_meant =
                |there: &&Reaction| there.emoji_name == name && kind.is_none_or(|kind| there.reaction_type == kind);
            if let Some(there) = own.clone().find(is_meant) {
                return Ok(there.clone());
            }
            let choice = resolve_emoji_by_name(realm, name)?;
            (choice.code, choice.kind)
        }
        RequestedEmoji { name: None, code: None, .. } => return Err(ReactionError::Nameless),
    };
    if let Some(there) = own.find(|there| there.emoji_code == code && there.reaction_type == kind) {
        return Ok(there.clone());
    }
    check_emoji_exists(realm, (&code, kind), None)?;
    Err(ReactionError::NotThere)
}

fn kind_named(name: &str) -> Result<ReactionType, EmojiChoiceError> {
    ReactionType::from_wire_name(name).ok_or(EmojiChoiceError::UnknownKind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ChannelId;
    use crate::model::message::Recipient;
    use crate::model::realm::RealmPermissionSettings;
    use crate::testing;

    fn message(reactions: &[(i64, &str, &str)]) -> Message {
        let reaction = |(user, name, code): &(i64, &str, &str)| Reaction {
            user_id: UserId(*user),
            emoji_name: (*name).to_owned(),
            emoji_code: (*code).to_owned(),
            reaction_type: ReactionType::UnicodeEmoji,
        };
        let reactions = reactions.iter().map(reaction).collect();
        Message { reactions, ..testing::message(2, Recipient::Channel(ChannelId(20))) }
    }

    fn asked(name: &'static str) -> RequestedEmoji<'static> {
        RequestedEmoji { name: Some(name), ..RequestedEmoji::default() }
    }

    #[test]
    fn who_joins_a_reaction_joins_its_name() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let there = message(&[(1, "+1", "1f44d")]);
        assert_eq!(to_add(&realm, UserId(4), &there, asked("thumbs_up")).unwrap().emoji_name, "+1");
        assert_eq!(to_add(&realm, UserId(1), &there, asked("thumbs_up")), Err(ReactionError::AlreadyThere));
        let odd = RequestedEmoji { name: Some("bent"), code: Some("1f44d"), kind: Some("unicode_emoji") };
        assert_eq!(to_add(&realm, UserId(4), &there, odd).unwrap().emoji_name, "+1");
        let fresh = to_add(&realm, UserId(4), &message(&[]), odd).unwrap_err();
        assert_eq!(fresh.to_string(), "Invalid emoji name.");
    }

    #[test]
    fn a_reaction_goes_by_code_or_by_any_of_its_names() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let there = message(&[(1, "+1", "1f44d"), (4, "+1", "1f44d")]);
        let by_code = RequestedEmoji { code: Some("1f44d"), ..RequestedEmoji::default() };
        for asked in [by_code, asked("+1"), asked("thumbs_up")] {
            let taken = to_remove(&realm, UserId(4), &there, asked).unwrap();
            assert_eq!((taken.user_id, taken.emoji_code.as_str()), (UserId(4), "1f44d"));
            assert_eq!(to_remove(&realm, UserId(2), &there, asked), Err(ReactionError::NotThere));
        }
    }

    #[test]
    fn a_code_no_emoji_has_is_not_merely_absent() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let refusal = |asked| to_remove(&realm, UserId(4), &message(&[]), asked).unwrap_err().to_string();
        assert_eq!(refusal(RequestedEmoji { code: Some("zz"), ..RequestedEmoji::default() }), "Invalid emoji code.");
        let custom = RequestedEmoji { code: Some("1f44d"), kind: Some("realm_emoji"), ..RequestedEmoji::default() };
        assert_eq!(refusal(custom), "Invalid custom emoji.");
        assert_eq!(refusal(asked("nothing_like_it")), "Emoji 'nothing_like_it' does not exist");
        assert_eq!(
            refusal(RequestedEmoji::default()),
            "At least one of the following arguments must be present: emoji_name, emoji_code"
        );
        assert_eq!(refusal(RequestedEmoji { kind: Some("x"), ..asked("smile") }), "Invalid emoji type.");
    }
}
