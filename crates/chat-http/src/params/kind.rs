//! What a parameter can be: raw strings and their rules, and words of a fixed set.

use std::marker::PhantomData;

use serde_json::Value;

use super::json::Path;
use super::{Form, ParamFault};
use crate::schema::Schema;

/// A parameter as it was sent: UTF-8, with its name.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The name it was asked for under.
    pub name: &'static str,
    /// The value; without NUL unless the kind takes them.
    pub text: &'a str,
}

/// One way of reading a parameter's value.
pub trait Kind {
    /// What it becomes.
    type Value;
    /// Whether the kind has its own answer to a NUL. The others are spared it: no database column holds one.
    const TAKES_NUL: bool = false;
    /// Returns how it is written and what it can be.
    fn form() -> Form;
    /// Returns the value as JSON, where it is told that it is usual.
    #[must_use]
    fn told(_: &Self::Value) -> Option<Value> {
        None
    }
    /// Reads the value.
    ///
    /// # Errors
    /// When it is not of this kind.
    fn decode(given: Given<'_>) -> Result<Self::Value, ParamFault>;
}

/// A raw string, exactly as sent. Quotes around it are part of it.
#[derive(Debug)]
pub struct Text;

impl Kind for Text {
    type Value = String;

    fn form() -> Form {
        Form::raw(Schema::string())
    }

    fn told(text: &String) -> Option<Value> {
        Some(text.as_str().into())
    }

    fn decode(given: Given<'_>) -> Result<String, ParamFault> {
        Ok(given.text.to_owned())
    }
}

/// A raw string that may hold NUL, for what the rules refuse in their own words (message content).
#[derive(Debug)]
pub struct Verbatim;

impl Kind for Verbatim {
    type Value = String;
    const TAKES_NUL: bool = true;

    fn form() -> Form {
        Form::raw(Schema::string())
    }

    fn decode(given: Given<'_>) -> Result<String, ParamFault> {
        Ok(given.text.to_owned())
    }
}

/// A raw string without white space at its ends, as topics are taken.
#[derive(Debug)]
pub struct Stripped;

impl Kind for Stripped {
    type Value = String;

    fn form() -> Form {
        Form::raw(Schema::string())
    }

    fn decode(given: Given<'_>) -> Result<String, ParamFault> {
        Ok(given.text.trim().to_owned())
    }
}

/// `K` that is not blank: neither empty nor white space alone.
#[derive(Debug)]
pub struct NotBlank<K>(PhantomData<K>);

impl<K: Kind<Value = String>> Kind for NotBlank<K> {
    type Value = String;
    const TAKES_NUL: bool = K::TAKES_NUL;

    fn form() -> Form {
        let Form { schema, is_json } = K::form();
        Form { schema: schema.with("pattern", r"\S"), is_json }
    }

    fn decode(given: Given<'_>) -> Result<String, ParamFault> {
        let text = K::decode(given)?;
        not_blank(&text, &Path::name(given.name))?;
        Ok(text)
    }
}

/// `K` of at most `LIMIT` characters.
#[derive(Debug)]
pub struct MaxChars<K, const LIMIT: usize>(PhantomData<K>);

impl<K: Kind<Value = String>, const LIMIT: usize> Kind for MaxChars<K, LIMIT> {
    type Value = String;
    const TAKES_NUL: bool = K::TAKES_NUL;

    fn form() -> Form {
        let Form { schema, is_json } = K::form();
        Form { schema: schema.at_most_chars(LIMIT), is_json }
    }

    fn decode(given: Given<'_>) -> Result<String, ParamFault> {
        let text = K::decode(given)?;
        max_chars(&text, LIMIT, &Path::name(given.name))?;
        Ok(text)
    }
}

/// A type whose values are words on the wire.
pub trait Words: Copy + PartialEq + 'static {
    /// Every word and its value. Two words may mean the same.
    const WORDS: &'static [(&'static str, Self)];
}

/// A raw string out of `E`'s words; another one is `Invalid {name}`.
#[derive(Debug)]
pub struct Word<E>(PhantomData<E>);

impl<E: Words> Kind for Word<E> {
    type Value = E;

    fn form() -> Form {
        Form::raw(words::<E>())
    }

    fn told(value: &E) -> Option<Value> {
        E::WORDS.iter().find(|(_, known)| known == value).map(|(word, _)| (*word).into())
    }

    fn decode(given: Given<'_>) -> Result<E, ParamFault> {
        word(given.text, &Path::name(given.name))
    }
}

/// As [`Word`], for the parameters whose refusal speaks of a list of possible values.
#[derive(Debug)]
pub struct ListedWord<E>(PhantomData<E>);

impl<E: Words> Kind for ListedWord<E> {
    type Value = E;

    fn form() -> Form {
        Form::raw(words::<E>())
    }

    fn told(value: &E) -> Option<Value> {
        E::WORDS.iter().find(|(_, known)| known == value).map(|(word, _)| (*word).into())
    }

    fn decode(given: Given<'_>) -> Result<E, ParamFault> {
        find(given.text).ok_or_else(|| ParamFault::NotListed { path: given.name.to_owned() })
    }
}

/// Returns the value of a word.
///
/// # Errors
/// When `E` does not know it.
pub fn word<E: Words>(text: &str, path: &Path<'_>) -> Result<E, ParamFault> {
    find(text).ok_or_else(|| ParamFault::NotAWord { path: path.to_string() })
}

/// Any word of `E`.
pub(super) fn words<E: Words>() -> Schema {
    Schema::words(E::WORDS.iter().map(|(word, _)| *word))
}

fn find<E: Words>(text: &str) -> Option<E> {
    E::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

/// Refuses a text that is empty or white space alone.
///
/// # Errors
/// When it is.
pub fn not_blank(text: &str, path: &Path<'_>) -> Result<(), ParamFault> {
    if text.trim().is_empty() { Err(ParamFault::Blank { path: path.to_string() }) } else { Ok(()) }
}

/// Refuses a text of more than `limit` characters (not bytes).
///
/// # Errors
/// When it is longer.
pub fn max_chars(text: &str, limit: usize, path: &Path<'_>) -> Result<(), ParamFault> {
    if text.chars().nth(limit).is_some() {
        return Err(ParamFault::TooLong { path: path.to_string(), limit });
    }
    Ok(())
}
