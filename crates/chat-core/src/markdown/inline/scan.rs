//! From left to right: what cannot be cut apart.

use super::super::limits::MAX_LINK_RESCAN_FACTOR;
use super::super::parser::{Parser, Scope};
use super::super::tree::{FormulaStyle, Inline};
use super::super::{autolink, time};
use super::code::{self, Span};
use super::link::Brackets;
use super::{Piece, mention};

impl Parser<'_> {
    pub(super) fn scan<'t>(&mut self, text: &'t str, scope: Scope) -> Vec<Piece<'t>> {
        self.worked(text.len());
        let scanner = Scanner {
            parser: self,
            text,
            scope,
            code: code::spans(text).into_iter().peekable(),
            brackets: Brackets::of(text),
            budget: text.len().saturating_mul(MAX_LINK_RESCAN_FACTOR),
            no_angle_from: text.len(),
            pieces: Vec::new(),
            plain_from: 0,
            at: 0,
        };
        scanner.run()
    }
}

/// Something read, and where the text goes on.
pub(super) type Found = (Inline, usize);

pub(super) struct Scanner<'s, 't, 'c> {
    pub(super) parser: &'s mut Parser<'c>,
    pub(super) text: &'t str,
    pub(super) scope: Scope,
    pub(super) at: usize,
    pub(super) brackets: Brackets,
    code: std::iter::Peekable<std::vec::IntoIter<Span>>,
    budget: usize,
    /// From here on there is no `>`.
    no_angle_from: usize,
    pieces: Vec<Piece<'t>>,
    plain_from: usize,
}

impl<'t> Scanner<'_, 't, '_> {
    fn run(mut self) -> Vec<Piece<'t>> {
        while let Some(next) = self.rest().chars().next() {
            self.parser.worked(1);
            match self.atom(next) {
                Some((inline, end)) => {
                    self.plain_until_here();
                    self.pieces.push(Piece::Atom(inline));
                    self.at = end;
                    self.plain_from = end;
                }
                None => self.at += next.len_utf8(),
            }
        }
        self.plain_until_here();
        self.pieces
    }

    fn plain_until_here(&mut self) {
        let plain = self.text.get(self.plain_from..self.at).filter(|plain| !plain.is_empty());
        self.pieces.extend(plain.map(Piece::Text));
    }

    fn atom(&mut self, next: char) -> Option<Found> {
        match next {
            '`' => self.code(),
            '$' => self.math(),
            '@' => mention::person(self),
            '#' => mention::channel(self),
            '<' => self.time(),
            '[' if self.scope.may_link() => self.link(),
            _ if self.scope.may_link() && (next.is_alphanumeric() || next == '_') => self.autolink(),
            _ => None,
        }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn previous(&self) -> Option<char> {
        self.text.get(..self.at)?.chars().next_back()
    }

    /// Takes from the budget of this text; `false` when it is spent.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        self.parser.worked(bytes);
        let left = self.budget.checked_sub(bytes);
        self.budget = left.unwrap_or(0);
        left.is_some()
    }

    fn code(&mut self) -> Option<Found> {
        while self.code.next_if(|span| span.whole.start < self.at).is_some() {}
        let span = self.code.next_if(|span| span.whole.start == self.at)?;
        let code = self.text.get(span.inside)?.to_owned();
        Some((Inline::Code(code), span.whole.end))
    }

    fn math(&mut self) -> Option<Found> {
        let joined = |character: char| character == '$' || is_word(character);
        let body = self.rest().strip_prefix("$$")?;
        if self.previous().is_some_and(joined) || body.starts_with(['\n', '_', '$']) {
            return None;
        }
        let length = formula_length(body)?;
        self.parser.worked(length);
        if body.get(length + 2..)?.chars().next().is_some_and(is_word) {
            return None;
        }
        let formula = self.parser.formula(body.get(..length)?, FormulaStyle::Inline);
        Some((Inline::Math(formula), self.at + length + 4))
    }

    fn time(&mut self) -> Option<Found> {
        const OPEN: &str = "<time:";
        let written = self.rest().strip_prefix(OPEN).filter(|_| self.at < self.no_angle_from)?;
        let Some(length) = written.find('>') else {
            self.parser.worked(written.len());
            self.no_angle_from = self.at;
            return None;
        };
        let written = written.get(..length).filter(|written| !written.is_empty())?.to_owned();
        self.parser.worked(length);
        let inline = match time::parse(&written) {
            Some(at_s) => Inline::Time { at_s, written },
            None => Inline::BadTime(written),
        };
        Some((inline, self.at + OPEN.len() + length + 1))
    }

    fn autolink(&mut self) -> Option<Found> {
        if !autolink::may_follow(self.previous()) || self.budget == 0 {
            return None;
        }
        let attempt = autolink::leading(self.rest());
        self.spend(attempt.cost);
        let (length, url) = attempt.found?;
        let label = self.rest().get(..length)?.to_owned();
        let link = Inline::Link {
            url: url.relative_to_realm(self.parser.context.realm_url),
            title: None,
            text: vec![Inline::Text(label)],
        };
        Some((link, self.at + length))
    }
}

/// Returns the bytes before the `$$` that end a formula: on the same line, not three dollars, not behind a backslash
/// unless that is part of no escaped dollar.
fn formula_length(body: &str) -> Option<usize> {
    let bytes = body.as_bytes();
    let dollars = |at: usize| bytes.iter().skip(at).take(3).take_while(|&&byte| byte == b'$').count();
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'\n' => return None,
            b'\\' => match dollars(at + 1) {
                0 => at += 1,
                2 => return Some(at + 1),
                _ => at += 2,
            },
            b'$' => return (dollars(at) == 2).then_some(at),
            _ => at += 1,
        }
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
