//! How much of a scope string is read.

/// Longest single scope, in bytes. Granular scopes with two coded parameters stay below 300.
pub const MAX_SCOPE_BYTES: usize = 1024;

/// Longest space-separated list, in bytes, before it is split.
pub const MAX_LIST_BYTES: usize = 32 * 1024;

/// Most scopes in one set: every FHIR resource type once under each of three contexts fits.
pub const MAX_SCOPES: usize = 512;

/// Most parameters in the query of one scope.
pub const MAX_QUERY_PARAMETERS: usize = 16;

/// Longest resource type name, in bytes. The longest of FHIR R4 has 33.
pub const MAX_TYPE_NAME_BYTES: usize = 64;
