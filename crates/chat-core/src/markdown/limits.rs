//! What bounds the work and the output of one message, beside the length of the message itself.

/// Pictures shown below the text of one message.
pub const MAX_IMAGE_PREVIEWS: usize = 24;

/// How deep quotes, spoilers and lists may nest; what would nest deeper stays text.
pub const MAX_BLOCK_NESTING_DEPTH: usize = 16;

/// Paired parentheses inside one another in an automatic link; a deeper URL stays text.
pub const MAX_NESTED_URL_PARENTHESES: usize = 6;

/// The maximum work for overlapping attempts at links and URLs, as a multiple of the length of their text. Ordinary
/// text needs less than one; beyond the maximum, text stays text.
pub const MAX_LINK_RESCAN_FACTOR: usize = 4;

/// The maximum size of a formula that is typeset, in bytes; a longer one is shown as its source.
pub const MAX_FORMULA_BYTES: usize = 1_000;

/// The maximum nesting depth of braces in a formula that is typeset.
pub const MAX_FORMULA_BRACE_DEPTH: usize = 20;

/// The maximum cost of typesetting all formulas of a message, in units of about a microsecond: two per byte, twenty for
/// one that begins a command, an index or a column. Later formulas are shown as their source.
pub const MAX_TOTAL_FORMULA_COST: usize = 3_500;

/// The maximum number of formulas of a message that are typeset.
pub const MAX_FORMULAS_PER_MESSAGE: usize = 40;

/// The maximum number of links that a linkifier makes in one piece of text.
pub const MAX_LINKIFIER_MATCHES: usize = 500;

/// The maximum size of a compiled linkifier, in bytes.
pub const MAX_COMPILED_LINKIFIER_BYTES: usize = 256 * 1024;
