//! Every bound of this crate, in one place.

/// Deepest nesting of a resource: objects and arrays on the way to the deepest value.
///
/// Not specified; 100, because no published profile comes near it and every walk over a resource
/// here is recursive.
pub const MAX_RESOURCE_DEPTH: usize = 100;

/// Most entries in one request Bundle, and most resources in one list that is written.
///
/// Not specified; 5,000, because an init bundle of a whole deployment stays below it and one
/// transaction of that size still fits in memory and delays no other writer for long.
pub const MAX_BUNDLE_ENTRIES: usize = 5_000;

/// Most versions that a store reads for one page of a history, accessible to the caller or not.
///
/// Not specified; 10,000, because a caller who reaches few of many versions would otherwise make a store read
/// them all for every page.
pub const MAX_HISTORY_VERSIONS_SCANNED: usize = 10_000;

/// Most filters in one query.
pub const MAX_QUERY_FILTERS: usize = 32;

/// Most segments of a filter's path.
pub const MAX_FILTER_PATH_SEGMENTS: usize = 16;

/// Longest value of a filter, in bytes.
pub const MAX_FILTER_VALUE_BYTES: usize = 4096;

/// Most operations in one JSON Patch.
pub const MAX_PATCH_OPERATIONS: usize = 1000;

/// Most bytes that the copy and move operations of one JSON Patch may duplicate in all.
///
/// Without it thirty `copy` operations, each copying the result of the one before, would make a
/// gigabyte out of a page.
pub const MAX_PATCH_COPIED_BYTES: usize = 4 * 1024 * 1024;

/// Most bytes of patches that one Bundle carries in base64, decoded. Not specified; 1 MiB, because the bound on the
/// values of a body does not see what is encoded.
pub const MAX_BUNDLE_ENCODED_PATCH_BYTES: usize = 1024 * 1024;

/// Most alternatives of one token parameter. Not specified; 64, because each becomes a condition of a
/// statement and a scope names a handful.
pub const MAX_TOKEN_ALTERNATIVES: usize = 64;

/// Most different conditional references in one transaction Bundle. Not specified; 500, because each is a search.
pub const MAX_CONDITIONAL_REFERENCES: usize = 500;
