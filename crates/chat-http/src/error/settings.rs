//! The part of the table for what people choose for themselves and administrators for all.

use chat_core::messages::reports::ReportError;
use chat_core::messages::topic_visibility_policy::TopicVisibilityPolicyError;
use chat_core::organization::settings::OrganizationError;
use chat_core::people::email_change::AddressReplacementError;
use chat_core::people::personal_settings::alert_words::AlertWordError;
use chat_core::people::personal_settings::muted_users::MuteError;
use chat_core::people::personal_settings::navigation_view::NavigationViewError;
use chat_core::people::personal_settings::preferences::PreferenceError;
use chat_core::people::personal_settings::snippet::SnippetError;
use chat_core::people::personal_settings::user_status::UserStatusError;
use chat_core::permission::group_settings::GroupSettingError;
use http::StatusCode;

use super::{ApiError, BAD_REQUEST, ErrorResponse, bad_request};
use crate::authentication::PasswordLoginError;

/// The reason why a personal setting or one of the organization is not changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingChangeError {
    /// A status stays as it is.
    #[error(transparent)]
    Status(#[from] UserStatusError),
    /// A user is not muted, or stays it.
    #[error(transparent)]
    Mute(#[from] MuteError),
    /// A topic is followed as before.
    #[error(transparent)]
    Topic(#[from] TopicVisibilityPolicyError),
    /// A topic of a channel that is not there for the caller cannot be unmuted, in the words of older clients.
    #[error("Topic is not muted")]
    TopicNotMuted,
    /// Words are not watched for.
    #[error(transparent)]
    Watch(#[from] AlertWordError),
    /// Preferences stay as they are.
    #[error(transparent)]
    Preference(#[from] PreferenceError),
    /// A snippet is not saved, or stays as it is.
    #[error(transparent)]
    Snippet(#[from] SnippetError),
    /// A navigation view stays as it is.
    #[error(transparent)]
    NavigationView(#[from] NavigationViewError),
    /// A user is not given another address.
    #[error(transparent)]
    AddressReplacement(#[from] AddressReplacementError),
    /// A message is not reported, because of a setting of the organization or of what the report says.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The organization stays as it is.
    #[error(transparent)]
    Organization(#[from] OrganizationError),
}

/// Passwords that give no key. Programs tell apart why, unlike with a key: who is at the keyboard can do something.
pub(super) fn login(error: PasswordLoginError) -> ErrorResponse {
    let code = match error {
        PasswordLoginError::WrongPassword => "AUTHENTICATION_FAILED",
        PasswordLoginError::RealmDeactivated => "REALM_DEACTIVATED",
        PasswordLoginError::AccountDeactivated => "USER_DEACTIVATED",
    };
    ErrorResponse::new(StatusCode::UNAUTHORIZED, code, error)
}

/// # Source
/// Specification, "Errors": all of these are invalid parameters, missing rights or users that do not exist.
pub(super) fn error_response(error: &SettingChangeError) -> ErrorResponse {
    match error {
        SettingChangeError::Organization(organization) => of_organization(organization),
        SettingChangeError::Snippet(SnippetError::NotFound)
        | SettingChangeError::NavigationView(NavigationViewError::NotFound) => {
            ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, error)
        }
        SettingChangeError::Status(_)
        | SettingChangeError::Mute(_)
        | SettingChangeError::Topic(_)
        | SettingChangeError::TopicNotMuted
        | SettingChangeError::Watch(_)
        | SettingChangeError::Snippet(SnippetError::TooMany)
        | SettingChangeError::NavigationView(
            NavigationViewError::NameOfBuiltIn
            | NavigationViewError::Nameless
            | NavigationViewError::Taken
            | NavigationViewError::TooMany,
        )
        | SettingChangeError::AddressReplacement(
            AddressReplacementError::NotAuthorized
            | AddressReplacementError::NotAllowed(_)
            | AddressReplacementError::Malformed
            | AddressReplacementError::Refused(_),
        )
        | SettingChangeError::Report(ReportError::Disabled | ReportError::NotExplained)
        | SettingChangeError::Preference(_) => bad_request(BAD_REQUEST, error),
    }
}

fn of_organization(error: &OrganizationError) -> ErrorResponse {
    match error {
        OrganizationError::GroupSetting(error) => group_setting(error),
        OrganizationError::NotAllowed(_)
        | OrganizationError::NoRealm
        | OrganizationError::TooLong { .. }
        | OrganizationError::InvalidCharacters(_)
        | OrganizationError::TooSmall(_)
        | OrganizationError::BadLimit { .. }
        | OrganizationError::UnknownWord(_)
        | OrganizationError::NoChannel(_)
        | OrganizationError::ModerationChannelNotPrivate
        | OrganizationError::NotListed(_) => bad_request(BAD_REQUEST, error),
    }
}

pub(super) fn group_setting(error: &GroupSettingError) -> ErrorResponse {
    match error {
        GroupSettingError::SystemGroupRequired(name) => {
            bad_request("SYSTEM_GROUP_REQUIRED", error).with("setting_name", *name)
        }
        GroupSettingError::ExpectationMismatch => bad_request("EXPECTATION_MISMATCH", error).with("field_name", "old"),
        GroupSettingError::NoGroup
        | GroupSettingError::Deactivated
        | GroupSettingError::NoSubgroup(_)
        | GroupSettingError::NoUser(_)
        | GroupSettingError::GroupRefused { .. } => bad_request(BAD_REQUEST, error),
    }
}

impl From<AddressReplacementError> for ApiError {
    fn from(error: AddressReplacementError) -> Self {
        SettingChangeError::from(error).into()
    }
}

impl From<ReportError> for ApiError {
    fn from(error: ReportError) -> Self {
        SettingChangeError::from(error).into()
    }
}

impl From<OrganizationError> for ApiError {
    fn from(error: OrganizationError) -> Self {
        SettingChangeError::from(error).into()
    }
}

impl From<UserStatusError> for ApiError {
    fn from(error: UserStatusError) -> Self {
        SettingChangeError::from(error).into()
    }
}

impl From<SnippetError> for ApiError {
    fn from(error: SnippetError) -> Self {
        SettingChangeError::from(error).into()
    }
}

impl From<NavigationViewError> for ApiError {
    fn from(error: NavigationViewError) -> Self {
        SettingChangeError::from(error).into()
    }
}

impl From<MuteError> for ApiError {
    fn from(error: MuteError) -> Self {
        SettingChangeError::from(error).into()
    }
}

impl From<TopicVisibilityPolicyError> for ApiError {
    fn from(error: TopicVisibilityPolicyError) -> Self {
        SettingChangeError::from(error).into()
    }
}

impl From<AlertWordError> for ApiError {
    fn from(error: AlertWordError) -> Self {
        SettingChangeError::from(error).into()
    }
}

impl From<PreferenceError> for ApiError {
    fn from(error: PreferenceError) -> Self {
        SettingChangeError::from(error).into()
    }
}
