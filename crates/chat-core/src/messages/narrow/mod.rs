//! Narrows: which messages someone asks for, and which of those they may have.
//!
//! [`NarrowTerm`] is one condition, read from the wire's operators; a [`ReadableMessageSelection`] is all of them,
//! bounded by what the reader may have; a [`MessageWindow`] is some of the messages selected, around an [`Anchor`].

mod term;

mod parse;
mod selection;
mod window;

pub use parse::{NarrowError, NarrowOperand, check_channel_direct_conflict, check_search_word_limit};
pub use selection::{ReadableChannelRange, ReadableMessageSelection};
pub use term::{HasOperand, MessageText, NarrowCandidate, NarrowCondition, NarrowTerm};
pub use window::{Anchor, MessageWindow, MessageWindowError, NEWEST_ANCHOR};
