//! What both passes share: the names to resolve, the formulas found, the steps taken.

use super::context::MarkdownContext;
use super::limits::MAX_BLOCK_NESTING_DEPTH;
use super::tree::{Formula, FormulaIndex, FormulaStyle, MentionNotification};

pub(super) struct Parser<'c> {
    pub(super) context: &'c MarkdownContext<'c>,
    pub(super) formulas: Vec<Formula>,
    /// Steps taken, one for about each byte looked at.
    pub(super) work: u64,
}

impl Parser<'_> {
    pub(super) fn formula(&mut self, source: &str, style: FormulaStyle) -> FormulaIndex {
        self.formulas.push(Formula { source: source.to_owned(), style });
        FormulaIndex(self.formulas.len() - 1)
    }

    pub(super) fn worked(&mut self, steps: usize) {
        self.work = self.work.saturating_add(u64::try_from(steps).unwrap_or(u64::MAX));
    }
}

/// Where a piece of text stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    depth: usize,
    quoted: bool,
    linked: bool,
}

impl Scope {
    pub(super) const MESSAGE: Self = Self { depth: 0, quoted: false, linked: false };

    pub(super) fn deeper(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    pub(super) fn in_quote(self) -> Self {
        Self { quoted: true, ..self.deeper() }
    }

    pub(super) fn in_link(self) -> Self {
        Self { linked: true, ..self }
    }

    /// Returns whether quotes, spoilers and lists may still begin here.
    pub(super) fn may_nest(self) -> bool {
        self.depth < MAX_BLOCK_NESTING_DEPTH
    }

    /// Returns whether links may begin here; there are none inside a link.
    pub(super) fn may_link(self) -> bool {
        !self.linked
    }

    pub(super) fn loudness(self, typed: MentionNotification) -> MentionNotification {
        if self.quoted { MentionNotification::Silent } else { typed }
    }
}
