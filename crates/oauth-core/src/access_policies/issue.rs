//! What is wrong with a resource, said so that its writer can mend it.

/// An issue of a resource: an entry of `OperationOutcome.issue`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceIssue {
    /// Where, as a FHIRPath-like expression: `Client.jwks[0].kid`.
    pub expression: String,
    /// What kind of fault.
    pub code: ResourceIssueCode,
    /// What is allowed there, for the writer. Never contains a secret value of the resource.
    pub diagnostics: String,
}

/// The kinds of fault this crate reports, a subset of the FHIR value set `issue-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceIssueCode {
    /// The value has the wrong JSON type or a shape the element cannot have.
    Structure,
    /// A required element is missing.
    Required,
    /// The value is not one of those allowed.
    Value,
    /// Two elements contradict each other.
    Invariant,
    /// The value is longer than its limit.
    TooLong,
    /// Known, but not supported by this server.
    NotSupported,
    /// The element would weaken the deployment.
    Security,
}

impl ResourceIssueCode {
    /// Returns the code as the value set spells it.
    ///
    /// # Source
    /// FHIR R4, value set `issue-type`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Required => "required",
            Self::Value => "value",
            Self::Invariant => "invariant",
            Self::TooLong => "too-long",
            Self::NotSupported => "not-supported",
            Self::Security => "security",
        }
    }
}

impl ResourceIssue {
    /// Creates an issue at `expression`.
    #[must_use]
    pub fn new(code: ResourceIssueCode, expression: impl Into<String>, diagnostics: impl Into<String>) -> Self {
        Self { expression: expression.into(), code, diagnostics: diagnostics.into() }
    }
}
