//! The part of the table for bots.

use chat_core::people::bots::BotError;

use super::{BAD_REQUEST, Verdict, refusal};

pub(super) fn bot(refused: &BotError) -> Verdict {
    match refused {
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
        | BotError::StorageFull(_) => refusal(BAD_REQUEST, refused),
    }
}
