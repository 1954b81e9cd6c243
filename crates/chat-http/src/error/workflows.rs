//! The errors of the workflows of `chat-core`, each of whose causes has its own place in the table.

use chat_core::log::decision::{CommitError, StaleDecisionError};
use chat_core::messages::compose::ComposeError;
use chat_core::messages::delete::DeleteTopicError;
use chat_core::messages::flag_update::FlagUpdateError;
use chat_core::messages::readable::{FindMessageError, MessageWriteError};
use chat_core::messages::scheduled::change::ScheduleMessageError;
use chat_core::messages::send::SendMessageError;

use super::{ApiError, InternalError};

impl From<StaleDecisionError> for ApiError {
    fn from(error: StaleDecisionError) -> Self {
        InternalError::new("a decision was given up", error).into()
    }
}

/// Makes an [`ApiError`] of an error by the cause that each of its variants holds.
macro_rules! by_cause {
    ($($error:ident { $($variant:ident),+ })+) => {$(
        impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                match error {
                    $($error::$variant(cause) => cause.into(),)+
                }
            }
        }
    )+};
}

impl<R: Into<Self>> From<MessageWriteError<R>> for ApiError {
    fn from(error: MessageWriteError<R>) -> Self {
        match error {
            MessageWriteError::Refused(cause) => cause.into(),
            MessageWriteError::NotFound(cause) => cause.into(),
            MessageWriteError::Store(cause) => cause.into(),
            MessageWriteError::Stale(cause) => cause.into(),
        }
    }
}

by_cause! {
    CommitError { Store, Stale }
    FindMessageError { NotFound, Store }
    DeleteTopicError { Authentication, Permission, Channel, Topic, Store, Stale }
    FlagUpdateError { Message, Channel, Topic, Store, Stale }
    ComposeError { Content, Topic, ChannelName, Send }
    SendMessageError { Authentication, Compose, Store, Stale }
    ScheduleMessageError { Scheduled, Send, Store, Stale }
}
