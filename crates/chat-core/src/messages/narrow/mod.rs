//! Narrows: which messages someone asks for, and which of those they may have.
//!
//! [`NarrowTerm`] is one condition, read from the wire's operators; a [`MessageSelection`] is all of them, bounded by what the reader
//! may have; a [`MessageWindow`] is some of the messages selected, around an [`Anchor`].

mod term;

mod parse;
mod selection;
mod window;

pub use parse::{NarrowError, NarrowOperand, check_place, check_searches};
pub use selection::{MessageSelection, ReadableRange};
pub use term::{HasOperand, MessageCandidate, MessageText, NarrowCondition, NarrowTerm};
pub use window::{Anchor, MessageWindow, NEWEST, WindowError};
