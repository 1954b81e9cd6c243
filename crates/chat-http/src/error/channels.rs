//! The part of the table for channels and subscriptions.

use axum::http::StatusCode;
use chat_core::channels::ChannelError;

use super::{BAD_REQUEST, ErrorResponse, bad_request};

pub(super) fn channel(error: &ChannelError) -> ErrorResponse {
    match error {
        ChannelError::Exists(name) => ErrorResponse::new(StatusCode::CONFLICT, "CHANNEL_ALREADY_EXISTS", error)
            .with("channel_name", name.as_str()),
        ChannelError::NoSuchChannel(_)
        | ChannelError::NoneNamed(_)
        | ChannelError::NotAllowed(_)
        | ChannelError::Membership(_)
        | ChannelError::Name(_)
        | ChannelError::Folder(_)
        | ChannelError::NameTaken
        | ChannelError::NameUnchanged
        | ChannelError::AlreadyArchived
        | ChannelError::NotArchived
        | ChannelError::ArchivedWithoutSubscribers
        | ChannelError::Openness
        | ChannelError::DefaultMadePrivate
        | ChannelError::PrivateMadeDefault
        | ChannelError::ModerationChannelNotPrivate
        | ChannelError::NoSuchGroup
        | ChannelError::SystemGroupRequired
        | ChannelError::GroupRefused(_)
        | ChannelError::NoSuchUser
        | ChannelError::UserDeactivated
        | ChannelError::TooMany
        | ChannelError::NotSubscribed(_) => bad_request(BAD_REQUEST, error),
    }
}
