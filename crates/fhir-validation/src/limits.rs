//! Every limit of this crate.

/// Most issues that one validation reports.
pub const MAX_ISSUES: usize = 50;

/// Most characters of a value that an issue quotes.
pub const MAX_SHOWN_VALUE_CHARACTERS: usize = 60;
