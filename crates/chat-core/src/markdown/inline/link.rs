//! `[text](target "title")`.

use super::super::tree::Inline;
use super::super::url::SafeUrl;
use super::code;
use super::scan::{Found, Scanner};
use std::collections::HashMap;

/// Which bracket closes which, for square brackets and for parentheses, outside of code.
pub(super) struct Brackets(HashMap<usize, usize>);

impl Brackets {
    /// One look at the text; nothing when there is no `[` in it.
    pub(super) fn of(text: &str) -> Self {
        let mut closed_by = HashMap::new();
        if !text.contains("](") {
            return Self(closed_by);
        }
        let mut code = code::spans(text).into_iter().peekable();
        let (mut square, mut round) = (Vec::new(), Vec::new());
        for (at, byte) in text.bytes().enumerate() {
            while code.next_if(|span| span.whole.end <= at).is_some() {}
            if code.peek().is_some_and(|span| span.whole.contains(&at)) {
                continue;
            }
            let opened = match byte {
                b'[' => {
                    square.push(at);
                    None
                }
                b'(' => {
                    round.push(at);
                    None
                }
                b']' => square.pop(),
                b')' => round.pop(),
                _ => None,
            };
            closed_by.extend(opened.map(|opened: usize| (opened, at)));
        }
        Self(closed_by)
    }

    fn closing(&self, open: usize) -> Option<usize> {
        self.0.get(&open).copied()
    }
}

impl Scanner<'_, '_, '_> {
    pub(super) fn link(&mut self) -> Option<Found> {
        let text_end = self.brackets.closing(self.at)?;
        let target_start = text_end + 1;
        let target_end = self.brackets.closing(target_start).filter(|&end| end > target_start)?;
        let target = self.text.get(target_start..target_end)?.strip_prefix('(')?;
        if !self.spend(target.len()) {
            return None;
        }
        let (address, title) = split_title(target.trim());
        let url = SafeUrl::parse(address)?.relative_to_realm(self.parser.context.realm_url);
        let label = self.text.get(self.at + 1..text_end)?;
        let text = if label.trim().is_empty() {
            vec![Inline::Text(url.as_str().to_owned())]
        } else {
            self.parser.inlines(label, self.scope.in_link())
        };
        let title = title.map(str::to_owned);
        Some((Inline::Link { url, title, text }, target_end + 1))
    }
}

/// Returns the address and the title behind it in quotation marks.
fn split_title(target: &str) -> (&str, Option<&str>) {
    let titled = ['"', '\''].into_iter().find_map(|mark| {
        let inside = target.strip_suffix(mark)?;
        let (address, title) = inside.split_once([' ', '\n']).and_then(|_| split_at_mark(inside, mark))?;
        Some((address, Some(title)))
    });
    let (address, title) = titled.unwrap_or((target, None));
    let bare = address.strip_prefix('<').and_then(|address| address.strip_suffix('>'));
    (bare.unwrap_or(address), title)
}

/// Splits before the first `mark` that follows white space.
fn split_at_mark(text: &str, mark: char) -> Option<(&str, &str)> {
    text.match_indices(mark).find_map(|(at, _)| {
        let (before, after) = text.split_at(at);
        let address = before.trim_end();
        (address.len() < before.len()).then_some((address, after.strip_prefix(mark)?))
    })
}
