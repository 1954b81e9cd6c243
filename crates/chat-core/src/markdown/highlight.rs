//! Colours in code: comments, strings, numbers and the words of a language.
//!
//! No maintained highlighter writes the classes clients of this API know (those of Pygments), and the complete ones
//! bring unmaintained parsers or grammars in C. What readers need most is distinguished by very little, so this is one
//! lexer with a table of languages. It takes each byte once and never fails; code it does not know is plain.

mod grammar;

use grammar::{Language, Quote};

/// What a piece of code is. The class is that of Pygments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    BlockComment,
    Constant,
    Keyword,
    LineComment,
    Number,
    String,
}

impl Kind {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::BlockComment => "cm",
            Self::Constant => "kc",
            Self::Keyword => "k",
            Self::LineComment => "c1",
            Self::Number => "m",
            Self::String => "s",
        }
    }
}

/// A piece of code and what it is, if it is anything special.
pub(super) type Token<'c> = (Option<Kind>, &'c str);

/// Returns the code in pieces, which together are the code again. `language` is the name it is shown by.
pub(super) fn tokens<'c>(language: Option<&str>, code: &'c str) -> Vec<Token<'c>> {
    match language.and_then(grammar::of) {
        Some(language) => Lexer { language, code, at: 0, plain_from: 0, tokens: Vec::new() }.run(),
        None => vec![(None, code)],
    }
}

struct Lexer<'c> {
    language: &'static Language,
    code: &'c str,
    at: usize,
    plain_from: usize,
    tokens: Vec<Token<'c>>,
}

impl<'c> Lexer<'c> {
    fn run(mut self) -> Vec<Token<'c>> {
        while let Some(next) = self.rest().chars().next() {
            let (kind, length) = self.next(next);
            let end = self.at + length;
            if let Some(kind) = kind {
                self.plain();
                self.tokens.extend(self.code.get(self.at..end).map(|piece| (Some(kind), piece)));
                self.plain_from = end;
            }
            self.at = end;
        }
        self.plain();
        self.tokens
    }

    fn rest(&self) -> &'c str {
        self.code.get(self.at..).unwrap_or_default()
    }

    fn plain(&mut self) {
        let plain = self.code.get(self.plain_from..self.at).filter(|plain| !plain.is_empty());
        self.tokens.extend(plain.map(|plain| (None, plain)));
    }

    /// Returns what begins here and its length; at least one character.
    fn next(&self, next: char) -> (Option<Kind>, usize) {
        let rest = self.rest();
        let grammar = self.language.grammar;
        if grammar.line_comments.iter().any(|mark| rest.starts_with(mark)) {
            return (Some(Kind::LineComment), rest.find('\n').unwrap_or(rest.len()));
        }
        if let Some((open, close)) = grammar.block_comment.filter(|(open, _)| rest.starts_with(open)) {
            let inside = rest.get(open.len()..).unwrap_or_default();
            let length = inside.find(close).map_or(rest.len(), |end| open.len() + end + close.len());
            return (Some(Kind::BlockComment), length);
        }
        if let Some(quote) = grammar.quotes.iter().find(|quote| rest.starts_with(quote.mark)) {
            return (Some(Kind::String), string_length(rest, quote));
        }
        if !is_word(next) {
            return (None, next.len_utf8());
        }
        let number = next.is_ascii_digit();
        let length =
            rest.find(|character: char| !(is_word(character) || (number && character == '.'))).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        (if number { Some(Kind::Number) } else { self.language.word(word) }, length)
    }
}

/// A string ends at its mark, or with its line or the code when the mark does not come.
fn string_length(text: &str, quote: &Quote) -> usize {
    let mut escaped = false;
    let inside = text.get(quote.mark.len()..).unwrap_or_default();
    for (at, character) in inside.char_indices() {
        if escaped {
            escaped = false;
        } else if inside.get(at..).is_some_and(|rest| rest.starts_with(quote.mark)) {
            return quote.mark.len() + at + quote.mark.len();
        } else if character == '\n' && !quote.spans_lines {
            return quote.mark.len() + at;
        } else {
            escaped = character == '\\' && quote.escapes;
        }
    }
    text.len()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(language: &str, code: &str) -> String {
        let tokens = tokens(Some(language), code);
        assert_eq!(tokens.iter().map(|(_, piece)| *piece).collect::<String>(), code);
        tokens
            .into_iter()
            .map(|(kind, piece)| kind.map_or_else(|| piece.to_owned(), |kind| format!("<{}:{piece}>", kind.class())))
            .collect()
    }

    #[test]
    fn words_strings_numbers_and_comments_are_told_apart() {
        assert_eq!(marked("Rust", "let x = 0xff; // \"no\"\n"), "<k:let> x = <m:0xff>; <c1:// \"no\">\n");
        assert_eq!(
            marked("Python", "def f():\n    \"\"\"a\n\"b\"\"\"\n    return None\n"),
            "<k:def> f():\n    <s:\"\"\"a\n\"b\"\"\">\n    <k:return> <kc:None>\n"
        );
        assert_eq!(marked("JSON", "{\"a\\\"\": [1.5, true]}"), "{<s:\"a\\\"\">: [<m:1.5>, <kc:true>]}");
        assert_eq!(marked("SQL", "SELECT 'it''s' -- x"), "<k:SELECT> <s:'it'><s:'s'> <c1:-- x>");
        assert_eq!(marked("C", "/* a\nb */ int x;"), "<cm:/* a\nb */> <k:int> x;");
    }

    #[test]
    fn what_is_not_closed_ends_with_the_line_or_the_code() {
        assert_eq!(marked("C", "\"a\nint"), "<s:\"a>\n<k:int>");
        assert_eq!(marked("C", "/* a\nint"), "<cm:/* a\nint>");
        assert_eq!(marked("Bash", "'a\nif"), "<s:'a\nif>");
    }

    #[test]
    fn a_word_within_another_is_no_word_of_the_language() {
        assert_eq!(marked("Rust", "letter fn_ élet"), "letter fn_ élet");
    }

    #[test]
    fn an_unknown_language_and_none_are_plain() {
        assert_eq!(tokens(Some("invented"), "let x"), [(None, "let x")]);
        assert_eq!(tokens(None, "let x"), [(None, "let x")]);
    }

    #[test]
    fn every_grammar_belongs_to_a_language_that_is_shown() {
        for name in grammar::names() {
            let shown = super::super::language::is_shown(name);
            assert!(shown, "{name}");
        }
    }
}
