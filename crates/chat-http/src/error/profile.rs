//! The part of the table for custom profile fields.

use chat_core::profile::{AnswerError, ProfileError};

use super::{BAD_REQUEST, Verdict, refusal};

pub(super) fn field(refused: &ProfileError) -> Verdict {
    match refused {
        ProfileError::NotAllowed(_)
        | ProfileError::NoSuchField(_)
        | ProfileError::SummaryFull
        | ProfileError::SummaryRefused
        | ProfileError::NoSuchKind
        | ProfileError::Data(_)
        | ProfileError::NameBlank
        | ProfileError::NameTooLong
        | ProfileError::HintTooLong
        | ProfileError::InvalidCharacters(_)
        | ProfileError::NameTaken
        | ProfileError::TooMany
        | ProfileError::DefaultUnchangeable
        | ProfileError::NotAnOrder => refusal(BAD_REQUEST, refused),
    }
}

pub(super) fn answer(refused: &AnswerError) -> Verdict {
    match refused {
        AnswerError::Field(refused) => field(refused),
        AnswerError::NotAString(_)
        | AnswerError::NotAList
        | AnswerError::TooLong { .. }
        | AnswerError::InvalidCharacters(_)
        | AnswerError::NotAChoice { .. }
        | AnswerError::NotADate(_)
        | AnswerError::NotAUrl(_)
        | AnswerError::NoSuchUser(_)
        | AnswerError::UserDeactivated(_)
        | AnswerError::IsBot(_)
        | AnswerError::TooManyPeople(_) => refusal(BAD_REQUEST, refused),
    }
}
