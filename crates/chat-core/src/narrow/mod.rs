//! Narrows: which messages someone asks for, and which of those they may have.
//!
//! [`Term`] is one condition, read from the wire's operators; a [`Selection`] is all of them, bounded by what the reader
//! may have; a [`Window`] is some of the messages selected, around an [`Anchor`].

mod term;

mod parse;
mod selection;
mod window;

pub use parse::{BadNarrow, Operand, check_place, check_searches};
pub use selection::{Bounds, Selection};
pub use term::{Candidate, Condition, Has, Term, Wording};
pub use window::{Anchor, NEWEST, Window, WindowError};
