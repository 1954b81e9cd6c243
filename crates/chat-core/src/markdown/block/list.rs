//! Lists. Two spaces of indentation make a level.

use super::super::parser::{Parser, Scope};
use super::super::tree::{Block, ListKind};
use super::chunk::Cut;
use super::is_blank;

const LEVEL: &str = "  ";
const TWO_LEVELS: &str = "    ";

/// Digits a number may have; more are text.
const MAX_DIGITS: usize = 9;

/// The start of a list item.
struct Marker<'t> {
    kind: ListKind,
    indent: usize,
    text: &'t str,
    digits: usize,
}

impl Marker<'_> {
    fn is_outermost(&self) -> bool {
        self.indent < LEVEL.len()
    }

    fn is_short(&self) -> bool {
        self.digits <= 1
    }

    fn is_like(&self, kind: ListKind) -> bool {
        matches!(
            (self.kind, kind),
            (ListKind::Bullets, ListKind::Bullets) | (ListKind::Numbers { .. }, ListKind::Numbers { .. })
        )
    }
}

/// Returns whether `line` begins a list though it follows a line of text without a blank line between.
pub(super) fn hangs(before: &str, line: &str) -> bool {
    marker(line).is_some_and(|found| found.is_outermost()) && is_parted(before, line)
}

/// Returns whether `line` is read as if a blank line were before it: an item after text, or after an item of the other
/// kind, at whatever indentation.
///
/// A number of two digits is not parted: "on the\n12. of May".
fn is_parted(before: &str, line: &str) -> bool {
    marker(line).filter(Marker::is_short).is_some_and(|found| {
        !is_blank(before) && marker(before).filter(Marker::is_short).is_none_or(|before| !before.is_like(found.kind))
    })
}

fn marker(line: &str) -> Option<Marker<'_>> {
    let start = line.trim_start_matches(' ');
    let after = start.trim_start_matches(|character: char| character.is_ascii_digit());
    let number = start.strip_suffix(after)?;
    let (kind, rest) = if number.is_empty() {
        (ListKind::Bullets, start.strip_prefix(['*', '+', '-'])?)
    } else {
        let start = number.parse().ok().filter(|_| number.len() <= MAX_DIGITS)?;
        (ListKind::Numbers { start }, after.strip_prefix('.')?)
    };
    let text = rest.trim_start_matches(' ');
    (text.len() < rest.len()).then_some(Marker { kind, indent: line.len() - start.len(), text, digits: number.len() })
}

/// Whether blank lines part an item from its neighbours; then its text is a paragraph.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spacing {
    Tight,
    Loose,
}

/// What the lines without a blank one between them belong to. It is the first of them that decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    /// To the list: each line is judged by its indentation.
    Begun,
    /// To the last item, the lines with less indentation too.
    Nested,
}

/// An item whose lines are known and not yet read.
struct Draft<'t> {
    text: Vec<&'t str>,
    nested: Vec<&'t str>,
    spacing: Spacing,
}

/// A list whose lines are being distinguished.
struct Drafts<'t> {
    kind: ListKind,
    items: Vec<Draft<'t>>,
}

impl<'t> Drafts<'t> {
    fn begin(&mut self, text: &'t str, spacing: Spacing) {
        if let Some(last) = self.items.last_mut().filter(|_| spacing == Spacing::Loose) {
            last.spacing = Spacing::Loose;
        }
        self.items.push(Draft { text: vec![text], nested: Vec::new(), spacing });
    }

    fn nest(&mut self, line: &'t str) {
        if let Some(last) = self.items.last_mut() {
            last.nested.push(line);
        }
    }

    /// A line that begins nothing belongs to what is before it, indented or not.
    fn continue_last(&mut self, line: &'t str) {
        if let Some(last) = self.items.last_mut() {
            if last.nested.is_empty() {
                last.text.push(line);
            } else {
                last.nested.push(line);
            }
        }
    }

    /// An indented line after a blank one: more of the last item, or of what is nested in it.
    fn resume(&mut self, line: &'t str) {
        if let Some(last) = self.items.last_mut() {
            if last.nested.is_empty() || !line.starts_with(TWO_LEVELS) {
                last.spacing = Spacing::Loose;
            }
            last.nested.extend(["", line]);
        }
    }

    /// Takes the lines from `from` on that belong to the list; the number of the line after them.
    fn take(&mut self, lines: &[&'t str], from: usize) -> usize {
        let mut at = from;
        let mut run = Run::Begun;
        while let Some(&line) = lines.get(at) {
            let blank = lines.get(at..).unwrap_or_default().iter().take_while(|line| is_blank(line)).count();
            let before = at.checked_sub(1).and_then(|before| lines.get(before)).copied().unwrap_or_default();
            if blank == 0 && super::chunk::stands_alone(line) {
                return at;
            }
            if blank > 0 || (at > from && is_parted(before, line)) {
                let Some(next) = lines.get(at + blank).and_then(|next| self.take_parted(next)) else { return at };
                run = next;
                at += blank + 1;
                continue;
            }
            match run {
                Run::Begun => self.take_line(line),
                Run::Nested => self.nest(line),
            }
            at += 1;
        }
        at
    }

    /// Takes a line after a blank one, if it belongs to the list; what the lines until the next blank one belong to.
    fn take_parted(&mut self, line: &'t str) -> Option<Run> {
        if self.is_sibling(line) {
            self.begin(marker(line)?.text, Spacing::Loose);
            return Some(Run::Begun);
        }
        line.starts_with(LEVEL).then(|| self.resume(line))?;
        Some(Run::Nested)
    }

    fn take_line(&mut self, line: &'t str) {
        match marker(line) {
            Some(found) if found.is_outermost() && found.is_like(self.kind) => self.begin(found.text, Spacing::Tight),
            Some(found) if !found.is_outermost() => self.nest(line),
            _ => self.continue_last(line),
        }
    }

    fn is_sibling(&self, line: &str) -> bool {
        !super::chunk::stands_alone(line)
            && marker(line).is_some_and(|found| found.is_outermost() && found.is_like(self.kind))
    }
}

impl Parser<'_> {
    /// Returns the list that begins at a line, if one does.
    pub(super) fn list(&mut self, lines: &[&str], at: usize, scope: Scope) -> Option<Cut> {
        let first = marker(lines.get(at)?).filter(Marker::is_outermost)?;
        let mut drafts = Drafts { kind: first.kind, items: Vec::new() };
        let end = drafts.take(lines, at);
        let items = drafts.items.into_iter().map(|item| self.item(&item, scope.deeper())).collect();
        Some((Block::List { kind: drafts.kind, items }, end))
    }

    fn item(&mut self, item: &Draft<'_>, scope: Scope) -> Vec<Block> {
        let mut blocks = self.chunk(&item.text, scope);
        if item.spacing == Spacing::Tight {
            if let Some(Block::Paragraph(text)) = blocks.first_mut() {
                let text = std::mem::take(text);
                if let Some(first) = blocks.first_mut() {
                    *first = Block::Plain(text);
                }
            } else if blocks.is_empty() {
                blocks.push(Block::Plain(Vec::new()));
            }
        }
        let nested: Vec<&str> =
            item.nested.iter().map(|line| line.strip_prefix(LEVEL).unwrap_or_else(|| line.trim_start())).collect();
        if !nested.is_empty() {
            blocks.extend(self.blocks(&nested, scope));
        }
        blocks
    }
}
