//! Lines without fences, cut into blocks.

use super::super::parser::{Parser, Scope};
use super::super::tree::Block;
use super::{is_blank, list};

/// A block and the number of the line after it.
pub(super) type Cut = (Block, usize);

/// Lines, and which of them begin a quote.
struct Chunk<'a, 't> {
    lines: &'a [&'t str],
    quotes: Vec<bool>,
}

impl<'t> Chunk<'_, 't> {
    fn line(&self, at: usize) -> Option<&'t str> {
        self.lines.get(at).copied()
    }

    fn begins_quote(&self, at: usize) -> bool {
        self.quotes.get(at).copied().unwrap_or(false)
    }

    /// Returns the lines from `from` up to the first that `ends` or is blank; at least one.
    fn run(&self, from: usize, ends: impl Fn(&Self, usize) -> bool) -> usize {
        let mut end = from + 1;
        while self.line(end).is_some_and(|line| !is_blank(line)) && !ends(self, end) {
            end += 1;
        }
        end
    }

    /// Returns whether the line is a block of its own wherever it stands, or a list hanging off the line before it.
    fn ends_text(&self, at: usize, scope: Scope) -> bool {
        let line = self.line(at).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|before| self.line(before)).unwrap_or_default();
        stands_alone(line) || (scope.may_nest() && list::hangs(before, line))
    }

    fn ends_paragraph(&self, at: usize, scope: Scope) -> bool {
        self.ends_text(at, scope) || (scope.may_nest() && self.begins_quote(at))
    }
}

impl Parser<'_> {
    /// Returns the blocks of lines among which there are no fences.
    pub(super) fn chunk(&mut self, lines: &[&str], scope: Scope) -> Vec<Block> {
        let chunk = Chunk { lines, quotes: quote_starts(lines) };
        self.worked(lines.len());
        let mut blocks = Vec::new();
        let mut at = 0;
        while let Some(line) = chunk.line(at) {
            if is_blank(line) {
                at += 1;
                continue;
            }
            let (block, next) = self.cut(&chunk, at, scope);
            self.worked(next - at);
            blocks.push(block);
            at = next;
        }
        blocks
    }

    fn cut(&mut self, chunk: &Chunk<'_, '_>, at: usize, scope: Scope) -> Cut {
        let line = chunk.line(at).unwrap_or_default();
        if line.starts_with(INDENT) {
            return indented_code(chunk, at);
        }
        if let Some((level, text)) = heading(line) {
            let text = self.inlines(text, scope);
            return (Block::Heading { level, text }, at + 1);
        }
        if is_rule(line) {
            return (Block::Rule, at + 1);
        }
        if let Some(table) = self.table(chunk.lines, at, scope) {
            return table;
        }
        if scope.may_nest() {
            if let Some(list) = self.list(chunk.lines, at, scope) {
                return list;
            }
            if chunk.begins_quote(at) {
                return self.quote(chunk, at, scope);
            }
        }
        let end = chunk.run(at, |chunk, at| chunk.ends_paragraph(at, scope));
        let text = chunk.lines.get(at..end).unwrap_or_default().join("\n");
        (Block::Paragraph(self.inlines(text.trim_start(), scope)), end)
    }

    fn quote(&mut self, chunk: &Chunk<'_, '_>, at: usize, scope: Scope) -> Cut {
        let end = chunk.run(at, |chunk, at| chunk.ends_text(at, scope));
        let inside: Vec<&str> =
            chunk.lines.get(at..end).unwrap_or_default().iter().map(|line| quoted(line).unwrap_or(line)).collect();
        (Block::Quote(self.blocks(&inside, scope.in_quote())), end)
    }
}

const INDENT: &str = "    ";

/// Code by indentation; empty lines between indented ones belong to it.
fn indented_code(chunk: &Chunk<'_, '_>, from: usize) -> Cut {
    let mut text = String::new();
    let mut end = from;
    let mut at = from;
    while let Some(line) = chunk.line(at) {
        at += 1;
        if let Some(code) = line.strip_prefix(INDENT) {
            text.extend(std::iter::repeat_n('\n', at - 1 - end));
            text.push_str(code);
            text.push('\n');
            end = at;
        } else if !is_blank(line) {
            break;
        }
    }
    let text = format!("{}\n", text.trim_end());
    (Block::Code { language: None, text }, end)
}

/// Returns the level and the text of a heading: one to six `#` in the first column and a space.
fn heading(line: &str) -> Option<(u8, &str)> {
    let text = line.trim_start_matches('#');
    let level = u8::try_from(line.len() - text.len()).ok().filter(|level| (1..=6).contains(level))?;
    let text = text.strip_prefix(' ')?;
    Some((level, text.trim_end_matches('#').trim()))
}

/// Three or more `-`, `_` or `*` with at most two spaces after each.
fn is_rule(line: &str) -> bool {
    let marks = line.trim_start_matches(' ');
    let Some(mark) = marks.chars().next().filter(|mark| "-_*".contains(*mark)) else {
        return false;
    };
    let indent = line.len() - marks.len();
    let pieces = marks.trim_end().split(mark);
    let mut count = 0;
    indent <= 3
        && pieces.into_iter().all(|piece| {
            count += 1;
            matches!(piece, "" | " " | "  ")
        })
        && count > 3
}

/// Returns whether the line is a block of its own whatever is around it.
pub(super) fn stands_alone(line: &str) -> bool {
    heading(line).is_some() || is_rule(line)
}

/// Returns what a line says after the `>` it begins with.
fn quoted(line: &str) -> Option<&str> {
    let start = line.trim_start_matches(' ');
    let rest = start.strip_prefix('>').filter(|_| line.len() - start.len() <= 3)?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// For each line whether it begins a quote: a `>` with text behind it, or an empty one that text follows.
///
/// Found from the end, so that each line is looked at once.
fn quote_starts(lines: &[&str]) -> Vec<bool> {
    let mut starts = vec![false; lines.len()];
    let mut text_follows = false;
    for (start, line) in starts.iter_mut().zip(lines).rev() {
        match quoted(line) {
            Some(rest) if is_blank(rest) => *start = text_follows,
            Some(_) => *start = true,
            None => {}
        }
        text_follows = match quoted(line) {
            Some(_) => *start,
            None => !is_blank(line),
        };
    }
    starts
}
