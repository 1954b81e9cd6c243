//! Whether a body may be stored: an object of the right type and id, not too deep, without NUL.

/// One thing that is wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{expression}: {problem}")]
pub struct ShapeFault {
    /// Where, as a `FHIRPath`: `Client.auth.client_credentials`, `Client.extension[0]`.
    pub expression: String,
    /// What.
    pub problem: ShapeProblem,
}

/// What is wrong at one place of a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeProblem {
    /// A resource is a JSON object.
    #[error("must be an object")]
    NotAnObject,
    /// `resourceType` or `id` is no string.
    #[error("must be a string")]
    NotAString,
    /// `resourceType` is another one than the address says.
    #[error("does not name the type that is written")]
    OtherType,
    /// `id` has characters or a length an id cannot have.
    #[error("is not an id")]
    NotAnId,
    /// `id` is another one than the address says.
    #[error("does not equal the id that is written")]
    OtherId,
    /// Nested deeper than [`crate::limits::MAX_DEPTH`].
    #[error("is nested too deeply")]
    TooDeep,
    /// A string or a key holds the character NUL, which no engine stores.
    #[error("contains the character NUL")]
    Nul,
}
