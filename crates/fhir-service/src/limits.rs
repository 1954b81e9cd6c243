//! The limits of single requests that error texts name.

/// Most profiles that one document is judged by.
pub const PROFILES_MAX: usize = 10;
/// Most packages of one request.
pub const PACKAGES_MAX: usize = 100;
