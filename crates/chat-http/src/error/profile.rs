//! The part of the table for custom profile fields.

use chat_core::people::profile::{ProfileError, ProfileValueError};

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

pub(super) fn answer(refused: &ProfileValueError) -> Verdict {
    match refused {
        ProfileValueError::Field(refused) => field(refused),
        ProfileValueError::NotAString(_)
        | ProfileValueError::NotAList
        | ProfileValueError::TooLong { .. }
        | ProfileValueError::InvalidCharacters(_)
        | ProfileValueError::NotAChoice { .. }
        | ProfileValueError::NotADate(_)
        | ProfileValueError::NotAUrl(_)
        | ProfileValueError::NoSuchUser(_)
        | ProfileValueError::UserDeactivated(_)
        | ProfileValueError::IsBot(_)
        | ProfileValueError::TooManyPeople(_) => refusal(BAD_REQUEST, refused),
    }
}
