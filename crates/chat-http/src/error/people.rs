//! The part of the table for what people choose for themselves and administrators for all.

use chat_core::messages::topic_policy::TopicPolicyError;
use chat_core::organization::settings::OrganizationError;
use chat_core::people::personal::alert::AlertWordError;
use chat_core::people::personal::mute::MuteError;
use chat_core::people::personal::preference::PreferenceError;
use chat_core::people::personal::status::StatusError;
use http::StatusCode;

use super::{BAD_REQUEST, Fault, Verdict, refusal};
use crate::auth::LoginFault;

/// The reason why somebody's choice is refused.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceFault {
    /// A status stays as it is.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// A user is not muted, or stays it.
    #[error(transparent)]
    Mute(#[from] MuteError),
    /// A topic is followed as before.
    #[error(transparent)]
    Topic(#[from] TopicPolicyError),
    /// A topic of a channel that is not there for the caller cannot be unmuted, in the words of older clients.
    #[error("Topic is not muted")]
    TopicNotMuted,
    /// Words are not watched for.
    #[error(transparent)]
    Watch(#[from] AlertWordError),
    /// Preferences stay as they are.
    #[error(transparent)]
    Preference(#[from] PreferenceError),
    /// The organization stays as it is.
    #[error(transparent)]
    Organization(#[from] OrganizationError),
}

/// Passwords that give no key. Programs tell apart why, unlike with a key: who is at the keyboard can do something.
pub(super) fn login(refused: LoginFault) -> Verdict {
    let code = match refused {
        LoginFault::WrongPassword => "AUTHENTICATION_FAILED",
        LoginFault::RealmDeactivated => "REALM_DEACTIVATED",
        LoginFault::AccountDeactivated => "USER_DEACTIVATED",
    };
    Verdict::new(StatusCode::UNAUTHORIZED, code, refused)
}

/// # Source
/// Specification, "Errors": all of these are invalid parameters, missing rights or users that do not exist.
pub(super) fn verdict(refused: &ChoiceFault) -> Verdict {
    match refused {
        ChoiceFault::Organization(organization) => of_organization(organization),
        ChoiceFault::Status(_)
        | ChoiceFault::Mute(_)
        | ChoiceFault::Topic(_)
        | ChoiceFault::TopicNotMuted
        | ChoiceFault::Watch(_)
        | ChoiceFault::Preference(_) => refusal(BAD_REQUEST, refused),
    }
}

fn of_organization(refused: &OrganizationError) -> Verdict {
    match refused {
        OrganizationError::NotOfSystem(name) => refusal("SYSTEM_GROUP_REQUIRED", refused).with("setting_name", *name),
        OrganizationError::NotAllowed(_)
        | OrganizationError::NoRealm
        | OrganizationError::TooLong { .. }
        | OrganizationError::InvalidCharacters(_)
        | OrganizationError::TooSmall(_)
        | OrganizationError::BadLimit { .. }
        | OrganizationError::NotListed(_)
        | OrganizationError::NoGroup
        | OrganizationError::GroupRefused { .. } => refusal(BAD_REQUEST, refused),
    }
}

impl From<OrganizationError> for Fault {
    fn from(refused: OrganizationError) -> Self {
        ChoiceFault::from(refused).into()
    }
}

impl From<StatusError> for Fault {
    fn from(refused: StatusError) -> Self {
        ChoiceFault::from(refused).into()
    }
}

impl From<MuteError> for Fault {
    fn from(refused: MuteError) -> Self {
        ChoiceFault::from(refused).into()
    }
}

impl From<TopicPolicyError> for Fault {
    fn from(refused: TopicPolicyError) -> Self {
        ChoiceFault::from(refused).into()
    }
}

impl From<AlertWordError> for Fault {
    fn from(refused: AlertWordError) -> Self {
        ChoiceFault::from(refused).into()
    }
}

impl From<PreferenceError> for Fault {
    fn from(refused: PreferenceError) -> Self {
        ChoiceFault::from(refused).into()
    }
}
