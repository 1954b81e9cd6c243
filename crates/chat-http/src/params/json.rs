//! JSON-encoded values: strict types, and paths that say where one fails.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use chat_core::id::{ChannelId, UserGroupId, UserId};
use serde_json::Value;

use super::kind::{WordEnum, parse_enum_word, words};
use super::reader::unreadable;
use super::{ExpectedJsonType, ParamDecoder, ParamError, ParamWireFormat, RawParam};
use crate::json_schema::JsonSchema;
use crate::limits::JSON_MAX_DEPTH;

/// A parameter that is sent as JSON text: `[1, 2]`, `true`, `null`, `"quoted"`.
#[derive(Debug)]
pub struct JsonParam<T>(PhantomData<T>);

impl<T: FromJson> ParamDecoder for JsonParam<T> {
    type Value = T;

    fn wire_format() -> ParamWireFormat {
        ParamWireFormat::json(T::json_schema())
    }

    fn documented_default(value: &T) -> Option<Value> {
        value.documented_default()
    }

    fn decode(param: RawParam<'_>) -> Result<T, ParamError> {
        if let Some(value) = T::parse_fast(param.text) {
            return Ok(value);
        }
        let value = parse(param)?;
        T::from_json(value, &ParamValuePath::root(param.name))
    }
}

fn parse(param: RawParam<'_>) -> Result<Value, ParamError> {
    let not_json = || ParamError::NotJson { name: param.name };
    let value: Value = serde_json::from_str(param.text).map_err(|_| not_json())?;
    match inspect(&value, JSON_MAX_DEPTH) {
        Ok(()) => Ok(value),
        Err(JsonTextError::TooDeep) => Err(not_json()),
        Err(JsonTextError::Nul) => Err(unreadable(param.name, param.text)),
    }
}

enum JsonTextError {
    TooDeep,
    Nul,
}

fn inspect(value: &Value, levels: usize) -> Result<(), JsonTextError> {
    let inside = || levels.checked_sub(1).ok_or(JsonTextError::TooDeep);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => without_nul(text),
        Value::Array(elements) => {
            let levels = inside()?;
            elements.iter().try_for_each(|element| inspect(element, levels))
        }
        Value::Object(members) => {
            let levels = inside()?;
            members.iter().try_for_each(|(key, member)| without_nul(key).and_then(|()| inspect(member, levels)))
        }
    }
}

fn without_nul(text: &str) -> Result<(), JsonTextError> {
    if text.contains('\0') { Err(JsonTextError::Nul) } else { Ok(()) }
}

/// The path to a value within a parameter; prints as `name[0]["key"]`.
#[derive(Debug, Clone, Copy)]
pub struct ParamValuePath<'a> {
    parent: Option<&'a ParamValuePath<'a>>,
    step: PathStep<'a>,
}

#[derive(Debug, Clone, Copy)]
enum PathStep<'a> {
    Name(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> ParamValuePath<'a> {
    /// Returns the path of the whole value of the parameter `name`.
    #[must_use]
    pub const fn root(name: &'a str) -> Self {
        Self { parent: None, step: PathStep::Name(name) }
    }

    /// Returns the path of an element of the array at this path.
    #[must_use]
    pub const fn element(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: PathStep::Index(index) }
    }

    /// Returns the path of a member of the object at this path; it also names the alternatives of a value of several
    /// types.
    #[must_use]
    pub const fn member(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: PathStep::Key(key) }
    }

    /// Returns the error that the value at this path has another type than `expected`.
    #[must_use]
    pub fn wrong_type_error(&self, expected: ExpectedJsonType) -> ParamError {
        ParamError::WrongType { path: self.to_string(), expected }
    }
}

impl fmt::Display for ParamValuePath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.step {
            PathStep::Name(name) => formatter.write_str(name),
            PathStep::Index(index) => write!(formatter, "[{index}]"),
            PathStep::Key(key) => write!(formatter, "[\"{key}\"]"),
        }
    }
}

/// A type that is parsed strictly from a JSON value: `"5"` and `5.0` are no integers, `1` is no boolean.
pub trait FromJson: Sized {
    /// Reads the value found at `path`.
    ///
    /// # Errors
    /// When it is another type, or outside the type's limits; the error names the path.
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError>;

    /// Parses JSON text without a value between, for types that are parsed much faster so. What it refuses (`None`) is
    /// read by [`Self::from_json`] as any other and may be accepted then.
    #[must_use]
    fn parse_fast(_text: &str) -> Option<Self> {
        None
    }

    /// Parses the JSON text of a list of it as [`Self::parse_fast`] parses one; `None` falls back to
    /// [`Self::from_json`].
    #[must_use]
    fn parse_list_fast(_text: &str) -> Option<Vec<Self>> {
        None
    }

    /// Returns the JSON Schema of the values that are accepted.
    fn json_schema() -> JsonSchema;

    /// Returns the JSON that the value is read from, for the default in the API's document.
    fn documented_default(&self) -> Option<Value> {
        None
    }
}

impl FromJson for bool {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        value.as_bool().ok_or_else(|| path.wrong_type_error(ExpectedJsonType::Boolean))
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::boolean()
    }

    fn documented_default(&self) -> Option<Value> {
        Some((*self).into())
    }
}

impl FromJson for i64 {
    fn parse_list_fast(text: &str) -> Option<Vec<Self>> {
        // A number of a value is a text of its own, and clients send thousands.
        serde_json::from_str(text).ok()
    }

    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let Value::Number(number) = value else {
            return Err(path.wrong_type_error(ExpectedJsonType::Integer));
        };
        if let Some(integer) = number.as_i64() {
            return Ok(integer);
        }
        let digits = number.to_string();
        match digits.strip_prefix('-') {
            Some(rest) if is_digits(rest) => Err(ParamError::TooSmall { path: path.to_string() }),
            None if is_digits(&digits) => Err(ParamError::TooLarge { path: path.to_string() }),
            _ => Err(path.wrong_type_error(ExpectedJsonType::Integer)),
        }
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::integer()
    }

    fn documented_default(&self) -> Option<Value> {
        Some((*self).into())
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

impl FromJson for String {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(path.wrong_type_error(ExpectedJsonType::String)),
        }
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::string()
    }

    fn documented_default(&self) -> Option<Value> {
        Some(self.as_str().into())
    }
}

/// `null` is `None`.
impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        if value.is_null() { Ok(None) } else { T::from_json(value, path).map(Some) }
    }

    fn json_schema() -> JsonSchema {
        T::json_schema().nullable()
    }

    fn documented_default(&self) -> Option<Value> {
        Some(self.as_ref().map_or(Value::Null, |value| value.documented_default().unwrap_or_default()))
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn parse_fast(text: &str) -> Option<Self> {
        T::parse_list_fast(text)
    }

    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let Value::Array(elements) = value else {
            return Err(path.wrong_type_error(ExpectedJsonType::List));
        };
        let read = |(index, element)| T::from_json(element, &path.element(index));
        elements.into_iter().enumerate().map(read).collect()
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::list(T::json_schema())
    }

    fn documented_default(&self) -> Option<Value> {
        self.iter().map(FromJson::documented_default).collect()
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let Value::Object(members) = value else {
            return Err(path.wrong_type_error(ExpectedJsonType::Dict));
        };
        let read =
            |(key, member): (String, Value)| T::from_json(member, &path.member(&key)).map(|value| (key.clone(), value));
        members.into_iter().map(read).collect()
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::map(T::json_schema())
    }
}

/// Any JSON, for values whose shape only the rules know.
impl FromJson for Value {
    fn from_json(value: Value, _: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        Ok(value)
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::any()
    }
}

impl FromJson for UserId {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        i64::from_json(value, path).map(Self)
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::integer()
    }
}

impl FromJson for ChannelId {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        i64::from_json(value, path).map(Self)
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::integer()
    }
}

impl FromJson for UserGroupId {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        i64::from_json(value, path).map(Self)
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::integer()
    }
}

/// An integer from `LEAST` to `MOST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundedInteger<const LEAST: i64, const MOST: i64>(i64);

/// An integer that is not negative.
pub type NonNegativeInteger = BoundedInteger<0, { i64::MAX }>;

impl<const LEAST: i64, const MOST: i64> BoundedInteger<LEAST, MOST> {
    /// Returns the integer.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl<const LEAST: i64, const MOST: i64> FromJson for BoundedInteger<LEAST, MOST> {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let integer = i64::from_json(value, path)?;
        if integer < LEAST {
            return Err(ParamError::TooSmall { path: path.to_string() });
        }
        if integer > MOST {
            return Err(ParamError::TooLarge { path: path.to_string() });
        }
        Ok(Self(integer))
    }

    fn json_schema() -> JsonSchema {
        let schema = JsonSchema::integer().with_minimum(LEAST);
        if MOST < i64::MAX { schema.with_maximum(MOST) } else { schema }
    }
}

/// A string of at most `LIMIT` characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedString<const LIMIT: usize>(pub String);

impl<const LIMIT: usize> FromJson for BoundedString<LIMIT> {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let text = String::from_json(value, path)?;
        super::check_max_chars(&text, LIMIT, path)?;
        Ok(Self(text))
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::string().with_max_length(LIMIT)
    }
}

/// An enumeration whose values are numbers on the wire.
pub trait NumberEnum: Copy + PartialEq + 'static {
    /// Every number on the wire with its value.
    const NUMBERS: &'static [(i64, Self)];
}

/// A JSON integer that is one of the numbers of the enumeration `E`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnumNumberJson<E>(pub E);

impl<E: NumberEnum> FromJson for EnumNumberJson<E> {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let integer = i64::from_json(value, path)?;
        let found = E::NUMBERS.iter().find(|(number, _)| *number == integer);
        found.map(|(_, value)| Self(*value)).ok_or_else(|| ParamError::NotListed { path: path.to_string() })
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::one_of_numbers(E::NUMBERS.iter().map(|(number, _)| *number))
    }

    fn documented_default(&self) -> Option<Value> {
        E::NUMBERS.iter().find(|(_, value)| *value == self.0).map(|(number, _)| (*number).into())
    }
}

/// A JSON string that is one of the words of the enumeration `E`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnumWordJson<E>(pub E);

impl<E: WordEnum> FromJson for EnumWordJson<E> {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        parse_enum_word(&String::from_json(value, path)?, path).map(Self)
    }

    fn json_schema() -> JsonSchema {
        words::<E>()
    }
}
