//! What a parameter can be: raw strings and their rules, and words of a fixed set.

use std::marker::PhantomData;

use serde_json::Value;

use super::json::JsonPath;
use super::{ParamError, ParamFormat};
use crate::schema::Schema;

/// A parameter as it was sent: UTF-8 text, with its name.
#[derive(Debug, Clone, Copy)]
pub struct RawParam<'a> {
    /// The name it was asked for under.
    pub name: &'static str,
    /// The value; without NUL unless the kind takes them.
    pub text: &'a str,
}

/// A decoder of a parameter's value.
pub trait ParamKind {
    /// What it becomes.
    type Value;
    /// Whether the kind has its own answer to a NUL. The others are spared it: no database column holds one.
    const TAKES_NUL: bool = false;
    /// Returns how it is written and what it can be.
    fn form() -> ParamFormat;
    /// Returns the value as JSON, for the default in the API's document.
    #[must_use]
    fn to_json(_: &Self::Value) -> Option<Value> {
        None
    }
    /// Reads the value.
    ///
    /// # Errors
    /// When it is not of this kind.
    fn decode(param: RawParam<'_>) -> Result<Self::Value, ParamError>;
}

/// A raw string, exactly as sent. Quotes around it are part of it.
#[derive(Debug)]
pub struct TextParam;

impl ParamKind for TextParam {
    type Value = String;

    fn form() -> ParamFormat {
        ParamFormat::raw(Schema::string())
    }

    fn to_json(text: &String) -> Option<Value> {
        Some(text.as_str().into())
    }

    fn decode(param: RawParam<'_>) -> Result<String, ParamError> {
        Ok(param.text.to_owned())
    }
}

/// A raw string that may hold NUL, for what the rules refuse in their own words (message content).
#[derive(Debug)]
pub struct TextParamWithNul;

impl ParamKind for TextParamWithNul {
    type Value = String;
    const TAKES_NUL: bool = true;

    fn form() -> ParamFormat {
        ParamFormat::raw(Schema::string())
    }

    fn decode(param: RawParam<'_>) -> Result<String, ParamError> {
        Ok(param.text.to_owned())
    }
}

/// A raw string without white space at its ends, as topics are taken.
#[derive(Debug)]
pub struct TrimmedText;

impl ParamKind for TrimmedText {
    type Value = String;

    fn form() -> ParamFormat {
        ParamFormat::raw(Schema::string())
    }

    fn decode(param: RawParam<'_>) -> Result<String, ParamError> {
        Ok(param.text.trim().to_owned())
    }
}

/// `K` that is not blank: neither empty nor white space alone.
#[derive(Debug)]
pub struct NotBlank<K>(PhantomData<K>);

impl<K: ParamKind<Value = String>> ParamKind for NotBlank<K> {
    type Value = String;
    const TAKES_NUL: bool = K::TAKES_NUL;

    fn form() -> ParamFormat {
        let ParamFormat { schema, is_json } = K::form();
        ParamFormat { schema: schema.with("pattern", r"\S"), is_json }
    }

    fn decode(param: RawParam<'_>) -> Result<String, ParamError> {
        let text = K::decode(param)?;
        not_blank(&text, &JsonPath::name(param.name))?;
        Ok(text)
    }
}

/// `K` of at most `LIMIT` characters.
#[derive(Debug)]
pub struct MaxChars<K, const LIMIT: usize>(PhantomData<K>);

impl<K: ParamKind<Value = String>, const LIMIT: usize> ParamKind for MaxChars<K, LIMIT> {
    type Value = String;
    const TAKES_NUL: bool = K::TAKES_NUL;

    fn form() -> ParamFormat {
        let ParamFormat { schema, is_json } = K::form();
        ParamFormat { schema: schema.at_most_chars(LIMIT), is_json }
    }

    fn decode(param: RawParam<'_>) -> Result<String, ParamError> {
        let text = K::decode(param)?;
        max_chars(&text, LIMIT, &JsonPath::name(param.name))?;
        Ok(text)
    }
}

/// A type whose values are words on the wire.
pub trait WordEnum: Copy + PartialEq + 'static {
    /// Every word and its value. Two words may mean the same.
    const WORDS: &'static [(&'static str, Self)];
}

/// A raw string out of `E`'s words; another one is `Invalid {name}`.
#[derive(Debug)]
pub struct WordParam<E>(PhantomData<E>);

impl<E: WordEnum> ParamKind for WordParam<E> {
    type Value = E;

    fn form() -> ParamFormat {
        ParamFormat::raw(words::<E>())
    }

    fn to_json(value: &E) -> Option<Value> {
        E::WORDS.iter().find(|(_, known)| known == value).map(|(word, _)| (*word).into())
    }

    fn decode(param: RawParam<'_>) -> Result<E, ParamError> {
        word(param.text, &JsonPath::name(param.name))
    }
}

/// As [`WordParam`], for the parameters whose refusal speaks of a list of possible values.
#[derive(Debug)]
pub struct ListedWordParam<E>(PhantomData<E>);

impl<E: WordEnum> ParamKind for ListedWordParam<E> {
    type Value = E;

    fn form() -> ParamFormat {
        ParamFormat::raw(words::<E>())
    }

    fn to_json(value: &E) -> Option<Value> {
        E::WORDS.iter().find(|(_, known)| known == value).map(|(word, _)| (*word).into())
    }

    fn decode(param: RawParam<'_>) -> Result<E, ParamError> {
        find(param.text).ok_or_else(|| ParamError::NotListed { path: param.name.to_owned() })
    }
}

/// Returns the value of a word.
///
/// # Errors
/// When `E` does not know it.
pub fn word<E: WordEnum>(text: &str, path: &JsonPath<'_>) -> Result<E, ParamError> {
    find(text).ok_or_else(|| ParamError::NotAWord { path: path.to_string() })
}

/// Any word of `E`.
pub(super) fn words<E: WordEnum>() -> Schema {
    Schema::words(E::WORDS.iter().map(|(word, _)| *word))
}

fn find<E: WordEnum>(text: &str) -> Option<E> {
    E::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

/// Refuses a text that is empty or white space alone.
///
/// # Errors
/// When it is.
pub fn not_blank(text: &str, path: &JsonPath<'_>) -> Result<(), ParamError> {
    if text.trim().is_empty() { Err(ParamError::Blank { path: path.to_string() }) } else { Ok(()) }
}

/// Refuses a text of more than `limit` characters (not bytes).
///
/// # Errors
/// When it is longer.
pub fn max_chars(text: &str, limit: usize, path: &JsonPath<'_>) -> Result<(), ParamError> {
    if text.chars().nth(limit).is_some() {
        return Err(ParamError::TooLong { path: path.to_string(), limit });
    }
    Ok(())
}
