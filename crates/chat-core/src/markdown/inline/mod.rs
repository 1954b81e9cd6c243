//! The second pass: the text of a block to its pieces.
//!
//! In the order in which they win over each other: code, then from left to right whatever cannot be cut apart
//! (formulas, mentions, channels, times, links, addresses), then linkifiers in what is left, then emphasis, and
//! within the remaining text emoji, emoticons and character references. Each step looks at its text once; what
//! could be looked at again and again draws from a budget.

mod code;
mod emphasis;
mod leaf;
mod link;
mod mention;
mod scan;

use super::parser::{Parser, Scope};
use super::tree::Inline;

/// Text still to be read, or something that has been.
enum Piece<'t> {
    Text(&'t str),
    Atom(Inline),
}

impl Parser<'_> {
    /// Returns the pieces of the text of one block.
    pub(super) fn inlines(&mut self, text: &str, scope: Scope) -> Vec<Inline> {
        let mut pieces = self.scan(text, scope);
        if scope.may_link() {
            pieces = self.linkify(pieces);
        }
        emphasis::resolve(self, pieces)
    }

    fn linkify<'t>(&mut self, mut pieces: Vec<Piece<'t>>) -> Vec<Piece<'t>> {
        let context = self.context;
        for linkifier in context.linkifiers {
            let mut split = Vec::with_capacity(pieces.len());
            for piece in pieces {
                let Piece::Text(text) = piece else {
                    split.push(piece);
                    continue;
                };
                self.worked(text.len());
                let mut done = 0;
                for (range, url) in linkifier.links_in(text) {
                    split.extend(text.get(done..range.start).map(Piece::Text));
                    let label = text.get(range.clone()).unwrap_or_default().to_owned();
                    split.push(Piece::Atom(Inline::Link { url, title: None, text: vec![Inline::Text(label)] }));
                    done = range.end;
                }
                split.extend(text.get(done..).map(Piece::Text));
            }
            pieces = split;
        }
        pieces
    }
}
