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

/// Versions a store looks at for one page of a history, reached by the caller or not.
///
/// Not specified; 10,000, because whoever reaches few of many versions would otherwise make a store read
/// them all for every page.
pub const MAX_VERSIONS_LOOKED_AT: usize = 10_000;

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

/// Most bytes of patches that one Bundle carries in base64, decoded. Not specified; 1 MiB, because the bound on the
/// values of a body does not see what is encoded.
pub const MAX_ENCODED_PATCH_BYTES: usize = 1024 * 1024;

/// Most alternatives of one token parameter. Not specified; 64, because each becomes a condition of a
/// statement and a scope names a handful.
pub const MAX_TOKENS: usize = 64;

/// Most parameters of a search. Not specified; 32, because each becomes a condition of one statement.
pub const MAX_CLAUSES: usize = 32;

/// Most values of one search parameter. Not specified; 500, because clients ask for a page of ids in one
/// `_id`.
pub const MAX_ALTERNATIVES: usize = 500;

/// Most types that one reference of a chain leads to, when the query does not say which. Not specified; 32,
/// because each is a branch of the statement.
pub const MAX_CHAIN_TYPES: usize = 32;

/// Most conditions that all parameters of one search become: each value is one, and a chain asks for it of each type
/// it may lead to. Not specified; 1000, twice what one parameter may have, because the cost of a search grows with all
/// of them together.
pub const MAX_TESTS: usize = 1000;

/// Most different conditional references in one transaction Bundle. Not specified; 500, because each is a search.
pub const MAX_CONDITIONAL_REFERENCES: usize = 500;

/// Longest value of a search parameter between two commas, in bytes.
pub const MAX_SEARCH_VALUE_BYTES: usize = 1000;

/// Most references a chain goes over. Not specified; 3, because each is a join.
pub const MAX_CHAIN: usize = 3;

/// Longest text in the index, in bytes; more than a search value has, so that no value equals what is cut.
pub const MAX_ENTRY_BYTES: usize = 1024;

/// A cut is at most three bytes before the bound, where a character ends.
const _: () = assert!(MAX_ENTRY_BYTES - 3 > MAX_SEARCH_VALUE_BYTES);

/// Most entries of one resource in the index. Not specified; 20,000, so that a resource of megabytes is
/// still written in one go. What is beyond is not found by search.
pub const MAX_ENTRIES: usize = 20_000;

/// Longest expression of a search parameter, in bytes; the longest of R4 has 1,386.
pub const MAX_EXPRESSION_BYTES: usize = 8192;

/// Deepest nesting of an expression.
pub const MAX_EXPRESSION_DEPTH: usize = 16;

/// Most criteria of an order.
pub const MAX_SORT: usize = 4;

/// Most parts of a composite parameter; R4 has three at most.
pub const MAX_COMPONENTS: usize = 5;

/// Most combinations of values that one element has for a composite parameter. Not specified; 500. What is
/// beyond is not found by that parameter, unless it has the rows of others and they find it.
pub const MAX_TUPLES: usize = 500;
