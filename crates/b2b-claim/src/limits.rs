//! How much of a stored resource is repeated in an explanation.

/// Longest stored value quoted in an [`crate::Omission`] or [`crate::ExtensionIssue`], in characters; the rest is cut.
pub const MAX_QUOTED_CHARS: usize = 200;

/// Most stored values listed in one [`crate::Omission`].
pub const MAX_QUOTED_VALUES: usize = 16;

/// Longest id that is read from a reference, in bytes. FHIR ids have at most 64; those of the platform may be longer.
pub const MAX_REFERENCE_ID_BYTES: usize = 255;
