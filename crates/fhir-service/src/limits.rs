//! The limits of single requests that error texts name.

/// Most profiles that one document is validated against.
pub const PROFILES_PER_DOCUMENT_MAX: usize = 10;
/// Most packages that one request installs or uninstalls, dependencies not counted.
pub const PACKAGES_PER_REQUEST_MAX: usize = 100;
