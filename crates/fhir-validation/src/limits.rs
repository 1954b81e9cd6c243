//! Every limit of this crate.

/// Most issues of one validation; more would not help the writer.
pub const MAX_ISSUES: usize = 50;

/// Characters of a value that an issue shows.
pub const MAX_SHOWN_CHARACTERS: usize = 60;
