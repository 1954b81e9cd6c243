//! Every bound of this crate, in one place.

/// Deepest nesting of a resource: objects and arrays on the way to the deepest value.
///
/// Not specified; 100, because no published profile comes near it and every walk over a resource
/// here is recursive.
pub const MAX_DEPTH: usize = 100;

/// Most entries in one request Bundle, and most resources in one list to be written.
///
/// Not specified; 5,000, because an init bundle of a whole deployment stays below it and one
/// transaction of that size still fits in memory and holds nobody up for long.
pub const MAX_BUNDLE_ENTRIES: usize = 5_000;

/// Entries of a list page when the request names no `_count`.
pub const DEFAULT_COUNT: u32 = 100;

/// Most entries of a list page; a larger `_count` is taken as this one.
pub const MAX_COUNT: u32 = 1000;

/// Most filters in one query.
pub const MAX_FILTERS: usize = 32;

/// Most segments of a filter's path.
pub const MAX_PATH_SEGMENTS: usize = 16;

/// Longest value of a filter, in bytes.
pub const MAX_FILTER_VALUE_BYTES: usize = 4096;

/// Most operations in one JSON Patch.
pub const MAX_PATCH_OPERATIONS: usize = 1000;

/// Bytes one JSON Patch may copy or move in all, counted as the size of each subtree it names.
///
/// Without it thirty `copy` operations, each copying the result of the one before, would make a
/// gigabyte out of a page.
pub const MAX_PATCH_COPIED_BYTES: usize = 4 * 1024 * 1024;

/// Most alternatives of one token parameter. Not specified; 64, because each becomes a condition of a
/// statement and a scope names a handful.
pub const MAX_TOKENS: usize = 64;
