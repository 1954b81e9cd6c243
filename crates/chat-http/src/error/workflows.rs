//! The errors of the workflows of `chat-core`, each of whose causes has its own place in the table.

use chat_core::files::UploadError;
use chat_core::log::decision::StaleDecisionError;
use chat_core::messages::compose::ComposeError;
use chat_core::messages::ports::WorkflowError;

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

impl From<WorkflowError> for ApiError {
    fn from(error: WorkflowError) -> Self {
        match error {
            WorkflowError::Authentication(error) => error.into(),
            WorkflowError::Permission(error) => error.into(),
            WorkflowError::Channel(error) => error.into(),
            WorkflowError::Topic(error) => error.into(),
            WorkflowError::Message(error) => error.into(),
            WorkflowError::Compose(error) => error.into(),
            WorkflowError::Draft(error) => error.into(),
            WorkflowError::Scheduled(error) => error.into(),
            WorkflowError::Edit(error) => error.into(),
            WorkflowError::Delete(error) => error.into(),
            WorkflowError::Reaction(error) => error.into(),
            WorkflowError::Widget(error) => error.into(),
            WorkflowError::Store(error) => error.into(),
            WorkflowError::Stale(error) => error.into(),
        }
    }
}
