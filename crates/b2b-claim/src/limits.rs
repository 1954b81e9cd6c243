//! How much of a stored resource is repeated in an explanation.

/// Longest stored value quoted in an [`crate::Omission`] or [`crate::ExtensionIssue`], in characters; the rest is cut.
pub const MAX_QUOTED_CHARS: usize = 200;

/// Most stored values listed in one explanation.
pub const MAX_QUOTED_VALUES: usize = 16;

/// Longest id taken from a reference, in bytes. FHIR ids have 64; the platform's own may be longer.
pub const MAX_REFERENCE_ID_BYTES: usize = 255;
