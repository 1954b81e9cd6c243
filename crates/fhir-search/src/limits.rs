//! Every limit of this crate.

/// Entries of a list page when the request names no `_count`.
pub const DEFAULT_PAGE_SIZE: u32 = 100;

/// Most entries of a list page; a larger `_count` is taken as this one.
pub const MAX_PAGE_SIZE: u32 = 1000;

/// Most parameters of a search. Not specified; 32, because each becomes a condition of one statement.
pub const MAX_SEARCH_PARAMETERS: usize = 32;

/// Most values of one search parameter. Not specified; 500, because clients ask for a page of ids in one
/// `_id`.
pub const MAX_VALUES_PER_PARAMETER: usize = 500;

/// Most types that one reference of a chain leads to, when the query does not say which. Not specified; 32,
/// because each is a branch of the statement.
pub const MAX_CHAIN_TARGET_TYPES: usize = 32;

/// Most conditions that all parameters of one search become: each value is one, and a chain asks for it of each type
/// it may lead to. Not specified; 1000, twice what one parameter may have, because the cost of a search grows with all
/// of them together.
pub const MAX_SEARCH_CONDITIONS: usize = 1000;

/// Longest value of a search parameter between two commas, in bytes.
pub const MAX_SEARCH_VALUE_BYTES: usize = 1000;

/// Most references a chain goes over. Not specified; 3, because each is a join.
pub const MAX_CHAIN_REFERENCES: usize = 3;

/// Longest text in the index, in bytes; longer than any search value ([`MAX_SEARCH_VALUE_BYTES`]), so that no value
/// equals a text that was cut.
pub const MAX_INDEX_TEXT_BYTES: usize = 1024;

/// A cut is at most three bytes before the bound, where a character ends.
const _: () = assert!(MAX_INDEX_TEXT_BYTES - 3 > MAX_SEARCH_VALUE_BYTES);

/// Most entries of one resource in the index. Not specified; 20,000, so that a resource of megabytes is
/// still written in one go. What is beyond is not found by search.
pub const MAX_INDEX_ENTRIES_PER_RESOURCE: usize = 20_000;

/// Longest expression of a search parameter, in bytes; the longest of R4 has 1,386.
pub const MAX_EXPRESSION_BYTES: usize = 8192;

/// Deepest nesting of an expression.
pub const MAX_EXPRESSION_DEPTH: usize = 16;

/// Most criteria in one `_sort`.
pub const MAX_SORT_CRITERIA: usize = 4;

/// Most parts of a composite parameter; R4 has three at most.
pub const MAX_COMPOSITE_COMPONENTS: usize = 5;

/// Most combinations of values that one element has for a composite parameter. Not specified; 500. What is
/// beyond is not found by that parameter, unless it has the rows of others and they find it.
pub const MAX_COMPOSITE_COMBINATIONS: usize = 500;
