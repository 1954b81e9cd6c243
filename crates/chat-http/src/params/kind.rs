//! What a parameter can be: raw strings and their rules, and words of a fixed set.

use std::marker::PhantomData;

use serde_json::Value;

use super::json::ParamValuePath;
use super::{ParamError, ParamWireFormat};
use crate::json_schema::JsonSchema;

/// A parameter as it was sent: UTF-8 text, with its name.
#[derive(Debug, Clone, Copy)]
pub struct RawParam<'a> {
    /// The name it was asked for under.
    pub name: &'static str,
    /// The value; without NUL unless the kind takes them.
    pub text: &'a str,
}

/// A decoder of a parameter's value.
pub trait ParamDecoder {
    /// The type of the decoded value.
    type Value;
    /// Whether the decoder handles values with a NUL itself. Others are refused before decoding: no database column
    /// holds one.
    const ACCEPTS_NUL: bool = false;
    /// Returns the wire format of the parameter and what its value can be.
    fn wire_format() -> ParamWireFormat;
    /// Returns the value as JSON, for the default in the API's document.
    #[must_use]
    fn documented_default(_: &Self::Value) -> Option<Value> {
        None
    }
    /// Decodes the parameter.
    ///
    /// # Errors
    /// When it is not of this kind.
    fn decode(param: RawParam<'_>) -> Result<Self::Value, ParamError>;
}

/// A parameter of raw text, exactly as sent. Quotes around it are part of it.
#[derive(Debug)]
pub struct TextParam;

impl ParamDecoder for TextParam {
    type Value = String;

    fn wire_format() -> ParamWireFormat {
        ParamWireFormat::raw(JsonSchema::string())
    }

    fn documented_default(text: &String) -> Option<Value> {
        Some(text.as_str().into())
    }

    fn decode(param: RawParam<'_>) -> Result<String, ParamError> {
        Ok(param.text.to_owned())
    }
}

/// A raw string that may hold NUL, for what the rules refuse in their own words (message content).
#[derive(Debug)]
pub struct RawTextParamAllowingNul;

impl ParamDecoder for RawTextParamAllowingNul {
    type Value = String;
    const ACCEPTS_NUL: bool = true;

    fn wire_format() -> ParamWireFormat {
        ParamWireFormat::raw(JsonSchema::string())
    }

    fn decode(param: RawParam<'_>) -> Result<String, ParamError> {
        Ok(param.text.to_owned())
    }
}

/// A parameter of raw text without white space at its ends, as topics are taken.
#[derive(Debug)]
pub struct TrimmedTextParam;

impl ParamDecoder for TrimmedTextParam {
    type Value = String;

    fn wire_format() -> ParamWireFormat {
        ParamWireFormat::raw(JsonSchema::string())
    }

    fn decode(param: RawParam<'_>) -> Result<String, ParamError> {
        Ok(param.text.trim().to_owned())
    }
}

/// A parameter `K` that is not blank: neither empty nor white space alone.
#[derive(Debug)]
pub struct NonBlankParam<K>(PhantomData<K>);

impl<K: ParamDecoder<Value = String>> ParamDecoder for NonBlankParam<K> {
    type Value = String;
    const ACCEPTS_NUL: bool = K::ACCEPTS_NUL;

    fn wire_format() -> ParamWireFormat {
        let ParamWireFormat { schema, is_json } = K::wire_format();
        ParamWireFormat { schema: schema.with_keyword("pattern", r"\S"), is_json }
    }

    fn decode(param: RawParam<'_>) -> Result<String, ParamError> {
        let text = K::decode(param)?;
        check_not_blank(&text, &ParamValuePath::root(param.name))?;
        Ok(text)
    }
}

/// A parameter `K` of at most `LIMIT` characters.
#[derive(Debug)]
pub struct MaxCharsParam<K, const LIMIT: usize>(PhantomData<K>);

impl<K: ParamDecoder<Value = String>, const LIMIT: usize> ParamDecoder for MaxCharsParam<K, LIMIT> {
    type Value = String;
    const ACCEPTS_NUL: bool = K::ACCEPTS_NUL;

    fn wire_format() -> ParamWireFormat {
        let ParamWireFormat { schema, is_json } = K::wire_format();
        ParamWireFormat { schema: schema.with_max_length(LIMIT), is_json }
    }

    fn decode(param: RawParam<'_>) -> Result<String, ParamError> {
        let text = K::decode(param)?;
        check_max_chars(&text, LIMIT, &ParamValuePath::root(param.name))?;
        Ok(text)
    }
}

/// An enumeration whose values are words on the wire.
pub trait WordEnum: Copy + PartialEq + 'static {
    /// Every word on the wire with its value. Two words may mean the same.
    const WORDS: &'static [(&'static str, Self)];
}

/// A parameter of raw text that is one of the words of the enumeration `E`; another one is `Invalid {name}`.
#[derive(Debug)]
pub struct EnumWordParam<E>(PhantomData<E>);

impl<E: WordEnum> ParamDecoder for EnumWordParam<E> {
    type Value = E;

    fn wire_format() -> ParamWireFormat {
        ParamWireFormat::raw(words::<E>())
    }

    fn documented_default(value: &E) -> Option<Value> {
        E::WORDS.iter().find(|(_, known)| known == value).map(|(word, _)| (*word).into())
    }

    fn decode(param: RawParam<'_>) -> Result<E, ParamError> {
        parse_enum_word(param.text, &ParamValuePath::root(param.name))
    }
}

/// As [`EnumWordParam`], for the parameters whose error message speaks of a list of possible values.
#[derive(Debug)]
pub struct EnumWordParamListingChoices<E>(PhantomData<E>);

impl<E: WordEnum> ParamDecoder for EnumWordParamListingChoices<E> {
    type Value = E;

    fn wire_format() -> ParamWireFormat {
        ParamWireFormat::raw(words::<E>())
    }

    fn documented_default(value: &E) -> Option<Value> {
        E::WORDS.iter().find(|(_, known)| known == value).map(|(word, _)| (*word).into())
    }

    fn decode(param: RawParam<'_>) -> Result<E, ParamError> {
        find(param.text).ok_or_else(|| ParamError::NotListed { path: param.name.to_owned() })
    }
}

/// Parses a word into the enumeration `E`.
///
/// # Errors
/// When `E` does not know it.
pub fn parse_enum_word<E: WordEnum>(text: &str, path: &ParamValuePath<'_>) -> Result<E, ParamError> {
    find(text).ok_or_else(|| ParamError::NotAWord { path: path.to_string() })
}

/// Any word of `E`.
pub(super) fn words<E: WordEnum>() -> JsonSchema {
    JsonSchema::one_of_words(E::WORDS.iter().map(|(word, _)| *word))
}

fn find<E: WordEnum>(text: &str) -> Option<E> {
    E::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

/// Checks that a text is not blank: neither empty nor white space alone.
///
/// # Errors
/// When it is.
pub fn check_not_blank(text: &str, path: &ParamValuePath<'_>) -> Result<(), ParamError> {
    if text.trim().is_empty() { Err(ParamError::Blank { path: path.to_string() }) } else { Ok(()) }
}

/// Checks that a text has at most `limit` characters (not bytes).
///
/// # Errors
/// When it is longer.
pub fn check_max_chars(text: &str, limit: usize, path: &ParamValuePath<'_>) -> Result<(), ParamError> {
    if text.chars().nth(limit).is_some() {
        return Err(ParamError::TooLong { path: path.to_string(), limit });
    }
    Ok(())
}
