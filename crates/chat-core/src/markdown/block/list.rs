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

    fn is_like(&self, kind: ListKind) -> bool {
        matches!(
            (self.kind, kind),
            (ListKind::Bullets, ListKind::Bullets) | (ListKind::Numbers { .. }, ListKind::Numbers { .. })
        )
    }
}

/// Returns whether `line` begins a list though it follows a line of text without a blank line between.
///
/// A number of two digits does not: "on the\n12. of May".
pub(super) fn hangs(before: &str, line: &str) -> bool {
    marker(line).is_some_and(|found| {
        let another = marker(before).is_none_or(|before| !before.is_like(found.kind));
        found.is_outermost() && found.digits <= 1 && another
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

/// An item whose lines are known and not yet read.
struct Draft<'t> {
    text: Vec<&'t str>,
    nested: Vec<&'t str>,
    spacing: Spacing,
}

/// A list whose lines are being told apart.
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

    /// Takes the lines from `at` on that belong to the list; the number of the line after them.
    fn take(&mut self, lines: &[&'t str], from: usize) -> usize {
        let mut at = from;
        while let Some(&line) = lines.get(at) {
            if is_blank(line) {
                let blank = lines.get(at..).unwrap_or_default().iter().take_while(|line| is_blank(line)).count();
                match lines.get(at + blank) {
                    Some(&next) if self.is_sibling(next) => at += blank,
                    Some(&next) if next.starts_with(LEVEL) => {
                        self.resume(next);
                        at += blank + 1;
                    }
                    _ => return at,
                }
                continue;
            }
            let before = at.checked_sub(1).and_then(|before| lines.get(before)).copied().unwrap_or_default();
            if !self.take_line(before, line) {
                return at;
            }
            at += 1;
        }
        at
    }

    /// Returns whether the line belongs to the list; it is taken when it does.
    fn take_line(&mut self, before: &str, line: &'t str) -> bool {
        if super::chunk::stands_alone(line) {
            return false;
        }
        match marker(line) {
            Some(found) if found.is_outermost() && found.is_like(self.kind) => {
                // A line of text before it parts it from the last item as a blank one does.
                let apart = !self.items.is_empty() && marker(before).is_none();
                self.begin(found.text, if apart { Spacing::Loose } else { Spacing::Tight });
            }
            Some(found) if found.is_outermost() && found.digits <= 1 => return false,
            Some(found) if !found.is_outermost() => self.nest(line),
            _ => self.continue_last(line),
        }
        true
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
