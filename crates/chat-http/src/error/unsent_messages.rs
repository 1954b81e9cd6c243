//! The part of the table for what is not a message yet, or not any more.

use chat_core::messages::draft::SavedDraftError;
use chat_core::messages::reminders::ReminderError;
use chat_core::messages::scheduled::ScheduledMessageError;
use chat_core::people::typing_notifications::TypingError;
use http::StatusCode;

use super::messages::{edit, send};
use super::{BAD_REQUEST, ErrorResponse, bad_request};

/// Typing. Where the caller may not send, the texts are those of sending.
pub(super) fn typing(error: &TypingError) -> ErrorResponse {
    match error {
        TypingError::Send(error) => send(error),
        TypingError::Edit(error) => edit(error),
        TypingError::NoUsers
        | TypingError::EmptyUsers
        | TypingError::NoChannel
        | TypingError::NoTopic
        | TypingError::HiddenDirect
        | TypingError::HiddenInChannels
        | TypingError::Channel(_)
        | TypingError::Topic(_) => bad_request(BAD_REQUEST, error),
    }
}

/// Scheduled messages.
pub(super) fn scheduled(error: &ScheduledMessageError) -> ErrorResponse {
    match error {
        ScheduledMessageError::NoneSuch => ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, error),
        ScheduledMessageError::NothingToChange
        | ScheduledMessageError::NoReceiver
        | ScheduledMessageError::NoTopic
        | ScheduledMessageError::NotInFuture
        | ScheduledMessageError::TooLate
        | ScheduledMessageError::TooMany => bad_request(BAD_REQUEST, error),
    }
}

/// Reminders.
pub(super) fn reminder(error: ReminderError) -> ErrorResponse {
    match error {
        ReminderError::NoneSuch => ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, error),
        ReminderError::TooMany | ReminderError::NoteTooLong => bad_request(BAD_REQUEST, error),
    }
}

/// Drafts.
pub(super) fn draft(error: &SavedDraftError) -> ErrorResponse {
    match error {
        SavedDraftError::NoneSuch => ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, error),
        SavedDraftError::Send(error) => send(error),
        SavedDraftError::Disabled
        | SavedDraftError::NotOneChannel
        | SavedDraftError::NegativeTime
        | SavedDraftError::TooMany
        | SavedDraftError::Channel(_)
        | SavedDraftError::Content(_)
        | SavedDraftError::Topic(_) => bad_request(BAD_REQUEST, error),
    }
}
