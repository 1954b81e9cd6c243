//! What bounds the work and the output of one message, beside the length of the message itself.

/// Pictures shown below the text of one message.
pub const MAX_PREVIEWS: usize = 24;

/// How deep quotes, spoilers and lists may nest; what would nest deeper stays text.
pub const MAX_DEPTH: usize = 16;

/// Paired parentheses inside one another in an automatic link; a deeper URL stays text.
pub const MAX_URL_PARENTHESES: usize = 6;

/// Overlapping attempts at links and URLs may together look at this many times the length of their text.
/// Ordinary text needs less than once; a text made to be slow runs out and stays text.
pub const MAX_RESCANS: usize = 4;

/// Bytes of one formula that are typeset; a longer one is shown as its source.
pub const MAX_FORMULA_BYTES: usize = 1_000;

/// Braces inside one another in a formula that is typeset.
pub const MAX_FORMULA_DEPTH: usize = 20;

/// What typesetting all formulas of a message may cost, in units of about a microsecond each: two for a byte,
/// twenty for one that begins a command, an index or a column. What comes after is shown as its source.
pub const MAX_FORMULAS_COST: usize = 3_500;

/// Formulas of a message that are typeset.
pub const MAX_FORMULAS: usize = 40;

/// Links a linkifier may make of one piece of text.
pub const MAX_LINKIFIER_MATCHES: usize = 500;

/// Bytes a compiled linkifier may take.
pub const MAX_LINKIFIER_BYTES: usize = 256 * 1024;
