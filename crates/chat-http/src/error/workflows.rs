//! The errors of the workflows of `chat-core`, each of whose causes has its own place in the table.

use chat_core::event_log::decision_queue::StaleDecisionError;
use chat_core::files::UploadError;
use chat_core::messages::compose::ComposeError;
use chat_core::messages::workflow_context::MessageWorkflowError;

use super::{ApiError, InternalError, OrganizationItemError};

impl From<StaleDecisionError> for ApiError {
    fn from(error: StaleDecisionError) -> Self {
        InternalError::new("a decision was given up", error).into()
    }
}

impl From<UploadError> for ApiError {
    fn from(error: UploadError) -> Self {
        match error {
            UploadError::OverQuota => OrganizationItemError::OverQuota.into(),
            UploadError::NotFound => OrganizationItemError::NoAttachment.into(),
            UploadError::File(error) => error.into(),
            UploadError::Store(error) => error.into(),
        }
    }
}

impl From<ComposeError> for ApiError {
    fn from(error: ComposeError) -> Self {
        match error {
            ComposeError::Content(error) => error.into(),
            ComposeError::Topic(error) => error.into(),
            ComposeError::ChannelName(error) => error.into(),
            ComposeError::Send(error) => error.into(),
        }
    }
}

impl From<MessageWorkflowError> for ApiError {
    fn from(error: MessageWorkflowError) -> Self {
        match error {
            MessageWorkflowError::Authentication(error) => error.into(),
            MessageWorkflowError::Permission(error) => error.into(),
            MessageWorkflowError::Channel(error) => error.into(),
            MessageWorkflowError::Topic(error) => error.into(),
            MessageWorkflowError::Message(error) => error.into(),
            MessageWorkflowError::Compose(error) => error.into(),
            MessageWorkflowError::Draft(error) => error.into(),
            MessageWorkflowError::Scheduled(error) => error.into(),
            MessageWorkflowError::Reminder(error) => error.into(),
            MessageWorkflowError::Report(error) => error.into(),
            MessageWorkflowError::Edit(error) => error.into(),
            MessageWorkflowError::Delete(error) => error.into(),
            MessageWorkflowError::Reaction(error) => error.into(),
            MessageWorkflowError::Widget(error) => error.into(),
            MessageWorkflowError::Store(error) => error.into(),
            MessageWorkflowError::Stale(error) => error.into(),
        }
    }
}
