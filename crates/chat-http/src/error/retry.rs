//! Which refusals another node may have made wrong in the meantime.

use chat_core::permission::account_administration::AccountChangeError;

use super::{ApiError, BrowserRequestError};

impl ApiError {
    /// Returns whether it was decided on what the node knows of the realm, so that news from another node may turn it
    /// into a success.
    ///
    /// What depends on the request alone is not among it, and neither is a password: a try must not count twice.
    pub(crate) fn may_be_stale(&self) -> bool {
        !matches!(
            self,
            Self::Parameter(_)
                | Self::Form(_)
                | Self::BodyTooLarge { .. }
                | Self::BodyBroken
                | Self::Credentials(_)
                | Self::Login(_)
                | Self::UnknownRoute
                | Self::MethodNotAllowed { .. }
                | Self::Throttled(_)
                | Self::ForDevelopment
                | Self::Browser(BrowserRequestError::Csrf | BrowserRequestError::SetupCode)
                | Self::Account(AccountChangeError::Password(_) | AccountChangeError::WrongPassword)
                | Self::NoQueue { .. }
                | Self::NotInQueue { .. }
                | Self::Panicked(_)
                | Self::Internal(_)
        )
    }
}
