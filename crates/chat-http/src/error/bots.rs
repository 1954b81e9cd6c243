//! The part of the table for bots.

use chat_core::people::bots::BotError;

use super::{BAD_REQUEST, ErrorResponse, bad_request};

pub(super) fn bot(error: &BotError) -> ErrorResponse {
    match error {
        BotError::NotAllowed(_)
        | BotError::NoSuchBot
        | BotError::NoSuchKind
        | BotError::FullName(_)
        | BotError::ShortName
        | BotError::AddressTaken
        | BotError::NameTaken
        | BotError::TooMany
        | BotError::NoSuchOwner
        | BotError::OwnerDeactivated
        | BotError::OwnerIsBot
        | BotError::KeyMissing(_)
        | BotError::StorageFull(_) => bad_request(BAD_REQUEST, error),
    }
}
