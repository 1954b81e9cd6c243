//! The part of the table for what is not a message yet, or not any more.

use chat_core::messages::compose::ComposeError;
use chat_core::messages::draft::DraftError;
use chat_core::messages::scheduled::ScheduledError;
use chat_core::people::typing::TypingError;
use http::StatusCode;

use super::messages::send;
use super::{BAD_REQUEST, Verdict, refusal};

/// Typing. Where somebody may not write, the words are those of sending.
pub(super) fn typing(refused: &TypingError) -> Verdict {
    match refused {
        TypingError::Send(refused) => send(refused),
        TypingError::NoUsers
        | TypingError::EmptyUsers
        | TypingError::NoChannel
        | TypingError::NoTopic
        | TypingError::HiddenDirect
        | TypingError::HiddenInChannels
        | TypingError::Channel(_)
        | TypingError::Topic(_) => refusal(BAD_REQUEST, refused),
    }
}

/// Scheduled messages.
pub(super) fn scheduled(refused: &ScheduledError) -> Verdict {
    match refused {
        ScheduledError::NoneSuch => Verdict::new(StatusCode::NOT_FOUND, BAD_REQUEST, refused),
        ScheduledError::Compose(ComposeError::Send(refused)) => send(refused),
        ScheduledError::Compose(ComposeError::Content(_) | ComposeError::Topic(_) | ComposeError::ChannelName(_))
        | ScheduledError::NothingToChange
        | ScheduledError::NoReceiver
        | ScheduledError::NoTopic
        | ScheduledError::NotInFuture
        | ScheduledError::TooLate
        | ScheduledError::TooMany => refusal(BAD_REQUEST, refused),
    }
}

/// Drafts.
pub(super) fn draft(refused: &DraftError) -> Verdict {
    match refused {
        DraftError::NoneSuch => Verdict::new(StatusCode::NOT_FOUND, BAD_REQUEST, refused),
        DraftError::Send(refused) => send(refused),
        DraftError::Disabled
        | DraftError::NotOneChannel
        | DraftError::NegativeTime
        | DraftError::TooMany
        | DraftError::Channel(_)
        | DraftError::Content(_)
        | DraftError::Topic(_) => refusal(BAD_REQUEST, refused),
    }
}
