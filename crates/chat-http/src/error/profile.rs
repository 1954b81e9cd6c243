//! The part of the table for custom profile fields.

use chat_core::people::profile::{ProfileError, ProfileValueError};

use super::{BAD_REQUEST, ErrorResponse, bad_request};

pub(super) fn field(error: &ProfileError) -> ErrorResponse {
    match error {
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
        | ProfileError::NotAnOrder => bad_request(BAD_REQUEST, error),
    }
}

pub(super) fn answer(error: &ProfileValueError) -> ErrorResponse {
    match error {
        ProfileValueError::Field(error) => field(error),
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
        | ProfileValueError::NotEditable
        | ProfileValueError::TooManyPeople(_) => bad_request(BAD_REQUEST, error),
    }
}
