//! What is said of messages that are not sent, not changed and not reacted to.

use chat_core::messages::edit::MessageEditError;
use chat_core::messages::reaction::ReactionError;
use chat_core::permission::send_message::SendError;
use chat_core::text_processing::search_words::escape_html;

use super::{BAD_REQUEST, ErrorResponse, bad_request};

/// Returns the part of the table for sending.
pub(super) fn send(error: &SendError) -> ErrorResponse {
    match error {
        SendError::NoChannelWithId(id) => bad_request("STREAM_DOES_NOT_EXIST", error).with("stream_id", id.0),
        SendError::NoChannelNamed(name) => {
            bad_request("STREAM_DOES_NOT_EXIST", error).with("stream", escape_html(name))
        }
        SendError::ChannelWildcardRefused => bad_request("STREAM_WILDCARD_MENTION_NOT_ALLOWED", error),
        SendError::TopicWildcardRefused => bad_request("TOPIC_WILDCARD_MENTION_NOT_ALLOWED", error),
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
        | SendError::TopicRequired => bad_request(BAD_REQUEST, error),
    }
}

/// Returns the part of the table for edits and moves.
pub(super) fn edit(error: &MessageEditError) -> ErrorResponse {
    match error {
        MessageEditError::PartlyTooLate { first_allowed, allowed, total } => {
            bad_request("MOVE_MESSAGES_TIME_LIMIT_EXCEEDED", error)
                .with("first_message_id_allowed_to_move", first_allowed.0)
                .with("total_messages_in_topic", *total)
                .with("total_messages_allowed_to_move", *allowed)
        }
        MessageEditError::ContentChanged => {
            bad_request("EXPECTATION_MISMATCH", error).with("field_name", "prev_content_sha256")
        }
        MessageEditError::Send(error) => send(error),
        MessageEditError::Widget
        | MessageEditError::NothingToChange
        | MessageEditError::EditingOff
        | MessageEditError::NotPermitted
        | MessageEditError::ContentTooLate
        | MessageEditError::TopicTooLate
        | MessageEditError::ChannelTooLate
        | MessageEditError::DirectToChannel
        | MessageEditError::DirectTopic
        | MessageEditError::UnknownPropagate
        | MessageEditError::PropagateWithoutMove
        | MessageEditError::ContentAndChannel
        | MessageEditError::MoveNotPermitted
        | MessageEditError::Content(_)
        | MessageEditError::Topic(_)
        | MessageEditError::ResolveNotPermitted
        | MessageEditError::Channel(_) => bad_request(BAD_REQUEST, error),
    }
}

/// Returns the part of the table for reactions.
pub(super) fn reaction(error: &ReactionError) -> ErrorResponse {
    match error {
        ReactionError::AlreadyThere => bad_request("REACTION_ALREADY_EXISTS", error),
        ReactionError::NotThere => bad_request("REACTION_DOES_NOT_EXIST", error),
        ReactionError::Nameless | ReactionError::Emoji(_) => bad_request(BAD_REQUEST, error),
    }
}
