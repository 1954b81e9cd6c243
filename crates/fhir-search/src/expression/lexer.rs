//! Expressions in words.

use super::ExpressionCompileError;

/// One word of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// An element, a type, a function, or a word such as `and`.
    Name(String),
    /// `'…'`, without the quotes and escapes.
    Text(String),
    /// Digits.
    Number(usize),
    /// Punctuation, `=`, `!=` and what is not supported.
    Sign(&'static str),
}

const SIGNS: [&str; 10] = ["!=", ".", "(", ")", "[", "]", "|", "=", ",", "%"];

/// Returns the words of `text`, in their order.
///
/// # Errors
/// For a character that begins no word.
pub(super) fn words(text: &str) -> Result<Vec<Word>, ExpressionCompileError> {
    let mut rest = text.trim_start();
    let mut words = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (word, behind) = if first == '\'' { text_word(rest)? } else { plain_word(rest)? };
        words.push(word);
        rest = behind.trim_start();
    }
    Ok(words)
}

fn plain_word(rest: &str) -> Result<(Word, &str), ExpressionCompileError> {
    if let Some((sign, behind)) = SIGNS.iter().find_map(|sign| Some((*sign, rest.strip_prefix(sign)?))) {
        return Ok((Word::Sign(sign), behind));
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let (word, behind) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
    let unsupported = || ExpressionCompileError::Unsupported(rest.chars().take(16).collect());
    let first = word.chars().next().ok_or_else(unsupported)?;
    if first.is_ascii_digit() {
        return word.parse().map(|number| (Word::Number(number), behind)).map_err(|_| unsupported());
    }
    Ok((Word::Name(word.to_owned()), behind))
}

fn text_word(quoted: &str) -> Result<(Word, &str), ExpressionCompileError> {
    let mut plain = String::new();
    let mut characters = quoted.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '\'' => return Ok((Word::Text(plain), quoted.get(at + 1..).unwrap_or_default())),
            '\\' => match characters.next() {
                Some((_, escaped @ ('\'' | '"' | '\\' | '/'))) => plain.push(escaped),
                other => {
                    return Err(ExpressionCompileError::Unsupported(format!("\\{}", other.map_or(' ', |(_, c)| c))));
                }
            },
            c => plain.push(c),
        }
    }
    Err(ExpressionCompileError::End)
}
