//! What is said of messages that are not sent, not changed and not reacted to.

use chat_core::messages::edit::EditError;
use chat_core::messages::reaction::ReactionError;
use chat_core::permission::send::SendError;
use chat_core::text::search_words::escaped;

use super::{BAD_REQUEST, Verdict, refusal};

/// Returns the part of the table for sending.
pub(super) fn send(refused: &SendError) -> Verdict {
    match refused {
        SendError::NoChannelWithId(id) => refusal("STREAM_DOES_NOT_EXIST", refused).with("stream_id", id.0),
        SendError::NoChannelNamed(name) => refusal("STREAM_DOES_NOT_EXIST", refused).with("stream", escaped(name)),
        SendError::ChannelWildcardRefused => refusal("STREAM_WILDCARD_MENTION_NOT_ALLOWED", refused),
        SendError::TopicWildcardRefused => refusal("TOPIC_WILDCARD_MENTION_NOT_ALLOWED", refused),
        SendError::NoChannel
        | SendError::NoTopic
        | SendError::Forged
        | SendError::GroupMentionRefused(_)
        | SendError::NotInChannel(_)
        | SendError::AdministratorsOnly
        | SendError::ModeratorsOnly
        | SendError::GuestRefused
        | SendError::NewMemberRefused
        | SendError::NoRecipients
        | SendError::TooManyRecipients
        | SendError::NoUserWithId(_)
        | SendError::NoUserWithEmail(_)
        | SendError::UserDeactivated(_)
        | SendError::DirectDisabled
        | SendError::DirectNotAuthorized
        | SendError::DirectNotInitiated
        | SendError::TopicRequired => refusal(BAD_REQUEST, refused),
    }
}

/// Returns the part of the table for edits and moves.
pub(super) fn edit(refused: &EditError) -> Verdict {
    match refused {
        EditError::PartlyTooLate { first_allowed, allowed, total } => {
            refusal("MOVE_MESSAGES_TIME_LIMIT_EXCEEDED", refused)
                .with("first_message_id_allowed_to_move", first_allowed.0)
                .with("total_messages_in_topic", *total)
                .with("total_messages_allowed_to_move", *allowed)
        }
        EditError::Send(refused) => send(refused),
        EditError::Widget
        | EditError::NothingToChange
        | EditError::EditingOff
        | EditError::NotPermitted
        | EditError::ContentTooLate
        | EditError::TopicTooLate
        | EditError::ChannelTooLate
        | EditError::DirectToChannel
        | EditError::DirectTopic
        | EditError::UnknownPropagate
        | EditError::PropagateWithoutMove
        | EditError::ContentAndChannel
        | EditError::MoveNotPermitted
        | EditError::Content(_)
        | EditError::Topic(_)
        | EditError::Channel(_) => refusal(BAD_REQUEST, refused),
    }
}

/// Returns the part of the table for reactions.
pub(super) fn reaction(refused: &ReactionError) -> Verdict {
    match refused {
        ReactionError::AlreadyThere => refusal("REACTION_ALREADY_EXISTS", refused),
        ReactionError::NotThere => refusal("REACTION_DOES_NOT_EXIST", refused),
        ReactionError::Nameless | ReactionError::Emoji(_) => refusal(BAD_REQUEST, refused),
    }
}
