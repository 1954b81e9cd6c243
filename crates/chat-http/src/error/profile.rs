//! The part of the table for custom profile fields.

use chat_core::people::custom_profile_fields::{ProfileFieldError, ProfileFieldValueError};

use super::{BAD_REQUEST, ErrorResponse, bad_request};

pub(super) fn field(error: &ProfileFieldError) -> ErrorResponse {
    match error {
        ProfileFieldError::NotAllowed(_)
        | ProfileFieldError::NoSuchField(_)
        | ProfileFieldError::SummaryFull
        | ProfileFieldError::SummaryRefused
        | ProfileFieldError::NoSuchKind
        | ProfileFieldError::Data(_)
        | ProfileFieldError::NameBlank
        | ProfileFieldError::NameTooLong
        | ProfileFieldError::HintTooLong
        | ProfileFieldError::InvalidCharacters(_)
        | ProfileFieldError::NameTaken
        | ProfileFieldError::TooMany
        | ProfileFieldError::DefaultUnchangeable
        | ProfileFieldError::NotAnOrder => bad_request(BAD_REQUEST, error),
    }
}

pub(super) fn answer(error: &ProfileFieldValueError) -> ErrorResponse {
    match error {
        ProfileFieldValueError::Field(error) => field(error),
        ProfileFieldValueError::NotAString(_)
        | ProfileFieldValueError::NotAList
        | ProfileFieldValueError::TooLong { .. }
        | ProfileFieldValueError::InvalidCharacters(_)
        | ProfileFieldValueError::NotAChoice { .. }
        | ProfileFieldValueError::NotADate(_)
        | ProfileFieldValueError::NotAUrl(_)
        | ProfileFieldValueError::NoSuchUser(_)
        | ProfileFieldValueError::UserDeactivated(_)
        | ProfileFieldValueError::IsBot(_)
        | ProfileFieldValueError::NotEditable
        | ProfileFieldValueError::TooManyPeople(_) => bad_request(BAD_REQUEST, error),
    }
}
