//! The errors of a call of `$validate`.

use crate::limits::PROFILES_PER_DOCUMENT_MAX;

/// The reason why `$validate` did not validate anything.
#[derive(Debug, thiserror::Error)]
pub enum ValidateOperationError {
    /// A mode that does not exist.
    #[error("the mode {0} is not known; there are create, update, delete and profile")]
    Mode(String),
    /// There is no resource to judge.
    #[error("a resource is needed: as the body, or as the parameter resource of a Parameters")]
    NoResource,
    /// The mode is about a stored resource, and the address names none.
    #[error("this mode is about a resource that is there: ask at its address")]
    NoInstance,
    /// The mode is about a new resource, and the address names a stored one.
    #[error("a resource that is there is not created: ask for another mode, or at the address of the type")]
    Instance,
    /// More profiles than one document is judged by.
    #[error("a document is judged by {PROFILES_PER_DOCUMENT_MAX} profiles at most")]
    TooManyProfiles,
}
