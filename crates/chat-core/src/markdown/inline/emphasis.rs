//! `**bold**`, `*italic*`, `***both***`, `~~struck out~~`: pairs within a line.
//!
//! Bold is paired first, then italic, then struck out, each over the pieces of a line from left to right; an
//! opening mark remembers where it stands and nothing is looked for twice.

use super::super::parser::Parser;
use super::super::tree::Inline;
use super::Piece;
use super::leaf::{self, Edge};

enum Token<'t> {
    Text(&'t str),
    /// So many `*` in a row.
    Stars(usize),
    /// `~~`
    Tildes,
    Done(Inline),
}

impl Token<'_> {
    fn begins_with_space(&self) -> bool {
        matches!(self, Self::Text(text) if text.starts_with(char::is_whitespace))
    }

    fn ends_with_space(&self) -> bool {
        matches!(self, Self::Text(text) if text.ends_with(char::is_whitespace))
    }
}

/// Reads the marks in the pieces of a block, and what is left of the text.
pub(super) fn resolve(parser: &mut Parser<'_>, pieces: Vec<Piece<'_>>) -> Vec<Inline> {
    let mut inlines = Vec::new();
    let mut line = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Atom(inline) => line.push(Token::Done(inline)),
            Piece::Text(text) => {
                parser.worked(text.len());
                for (number, part) in text.split('\n').enumerate() {
                    if number > 0 {
                        inlines.extend(resolve_line(parser, std::mem::take(&mut line)));
                        inlines.push(Inline::Break);
                    }
                    tokens(part, &mut line);
                }
            }
        }
    }
    inlines.extend(resolve_line(parser, line));
    inlines
}

fn tokens<'t>(text: &'t str, line: &mut Vec<Token<'t>>) {
    let mut rest = text;
    while let Some(at) = rest.find(['*', '~']) {
        let (before, marks) = rest.split_at(at);
        let after = marks.trim_start_matches(if marks.starts_with('*') { '*' } else { '~' });
        let length = marks.len() - after.len();
        let mark = match (marks.starts_with('*'), length) {
            (true, _) => Token::Stars(length),
            (false, 2) => Token::Tildes,
            (false, _) => Token::Text(marks.get(..length).unwrap_or_default()),
        };
        if !before.is_empty() {
            line.push(Token::Text(before));
        }
        line.push(mark);
        rest = after;
    }
    if !rest.is_empty() {
        line.push(Token::Text(rest));
    }
}

fn resolve_line(parser: &mut Parser<'_>, line: Vec<Token<'_>>) -> Vec<Inline> {
    parser.worked(line.len());
    let line = both(parser, line);
    let line = bold(parser, line);
    let line = italic(parser, line);
    let line = struck(parser, line);
    finish(parser, line)
}

/// `***both***`, with no star inside.
fn both<'t>(parser: &mut Parser<'_>, line: Vec<Token<'t>>) -> Vec<Token<'t>> {
    pair_neighbours(line, 3, |inside| {
        let struck = struck(parser, inside);
        Inline::Strong(vec![Inline::Emphasis(finish(parser, struck))])
    })
}

/// `*italic*`, with no star inside.
fn italic<'t>(parser: &mut Parser<'_>, line: Vec<Token<'t>>) -> Vec<Token<'t>> {
    pair_neighbours(line, 1, |inside| {
        let struck = struck(parser, inside);
        Inline::Emphasis(finish(parser, struck))
    })
}

/// Pairs runs of exactly `length` stars that have no other stars and no white space at their inner sides.
fn pair_neighbours<'t>(
    line: Vec<Token<'t>>,
    length: usize,
    mut wrap: impl FnMut(Vec<Token<'t>>) -> Inline,
) -> Vec<Token<'t>> {
    let mut out: Vec<Token<'t>> = Vec::with_capacity(line.len());
    let mut open: Option<usize> = None;
    for token in line {
        let Token::Stars(found) = token else {
            out.push(token);
            continue;
        };
        let opened = open.filter(|&at| {
            let first = out.get(at + 1).is_some_and(|first| !first.begins_with_space());
            found == length && first && out.last().is_some_and(|last| !last.ends_with_space())
        });
        if let Some(at) = opened {
            let inside = out.split_off(at + 1);
            out.pop();
            out.push(Token::Done(wrap(inside)));
            open = None;
        } else {
            open = (found == length).then_some(out.len());
            out.push(token);
        }
    }
    out
}

/// `**bold**`: the next two stars close it, whatever is between.
fn bold<'t>(parser: &mut Parser<'_>, line: Vec<Token<'t>>) -> Vec<Token<'t>> {
    let mut out: Vec<Token<'t>> = Vec::with_capacity(line.len());
    let mut open: Option<usize> = None;
    for token in line {
        let Token::Stars(found @ (2 | 3)) = token else {
            out.push(token);
            continue;
        };
        if let Some(at) = open.filter(|&at| out.len() > at + 1) {
            let mut inside = out.split_off(at + 1);
            if let Some(Token::Stars(3)) = out.pop() {
                inside.insert(0, Token::Stars(1));
            }
            let inside = italic(parser, inside);
            let inside = struck(parser, inside);
            out.push(Token::Done(Inline::Strong(finish(parser, inside))));
            if found == 3 {
                out.push(Token::Stars(1));
            }
            open = None;
        } else {
            open = Some(out.len());
            out.push(token);
        }
    }
    out
}

/// `~~struck out~~`, with no tilde inside.
fn struck<'t>(parser: &mut Parser<'_>, line: Vec<Token<'t>>) -> Vec<Token<'t>> {
    let mut out: Vec<Token<'t>> = Vec::with_capacity(line.len());
    let mut open: Option<usize> = None;
    for token in line {
        match (&token, open) {
            (Token::Tildes, Some(at)) if out.len() > at + 1 => {
                let inside = out.split_off(at + 1);
                out.pop();
                out.push(Token::Done(Inline::Struck(finish(parser, inside))));
                open = None;
            }
            (Token::Tildes, _) => {
                open = Some(out.len());
                out.push(token);
            }
            (Token::Text(text), _) => {
                if text.contains('~') {
                    open = None;
                }
                out.push(token);
            }
            _ => out.push(token),
        }
    }
    out
}

/// Marks that found no partner become text again; the text is read to its end.
fn finish(parser: &mut Parser<'_>, tokens: Vec<Token<'_>>) -> Vec<Inline> {
    let mut inlines = Vec::new();
    let mut text = String::new();
    let mut left = Edge::Open;
    for token in tokens {
        match token {
            Token::Text(part) => text.push_str(part),
            Token::Stars(length) => text.extend(std::iter::repeat_n('*', length)),
            Token::Tildes => text.push_str("~~"),
            Token::Done(inline) => {
                leaf::read(parser, &std::mem::take(&mut text), (left, Edge::Closed), &mut inlines);
                inlines.push(inline);
                left = Edge::Closed;
            }
        }
    }
    leaf::read(parser, &text, (left, Edge::Open), &mut inlines);
    inlines
}
