//! The errors of an explanation of an access decision.

use oauth_core::access_explanation::AssumedCallerError;

/// The reason why an access decision is not explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainAccessError {
    /// A parameter is missing or cannot be explained.
    #[error("an explanation needs a method and a path of resources: {0}")]
    Missing(&'static str),
    /// The assumed caller cannot exist.
    #[error("{0}")]
    Assumed(AssumedCallerError),
}
