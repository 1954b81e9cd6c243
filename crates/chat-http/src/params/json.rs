//! JSON-encoded values: strict types, and paths that say where one fails.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use chat_core::id::{ChannelId, UserGroupId, UserId};
use serde_json::Value;

use super::kind::{WordEnum, word, words};
use super::reader::unreadable;
use super::{Expected, ParamError, ParamFormat, ParamKind, RawParam};
use crate::limits::JSON_MAX_DEPTH;
use crate::schema::Schema;

/// A value sent as JSON text: `[1, 2]`, `true`, `null`, `"quoted"`.
#[derive(Debug)]
pub struct Json<T>(PhantomData<T>);

impl<T: FromJson> ParamKind for Json<T> {
    type Value = T;

    fn form() -> ParamFormat {
        ParamFormat::json(T::schema())
    }

    fn to_json(value: &T) -> Option<Value> {
        value.to_json()
    }

    fn decode(param: RawParam<'_>) -> Result<T, ParamError> {
        if let Some(value) = T::at_once(param.text) {
            return Ok(value);
        }
        let value = parse(param)?;
        T::from_json(value, &JsonPath::name(param.name))
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

/// Where in a parameter a value is. Prints as `name[0]["key"]`.
#[derive(Debug, Clone, Copy)]
pub struct JsonPath<'a> {
    parent: Option<&'a JsonPath<'a>>,
    step: PathStep<'a>,
}

#[derive(Debug, Clone, Copy)]
enum PathStep<'a> {
    Name(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> JsonPath<'a> {
    /// Returns the whole value of a parameter.
    #[must_use]
    pub const fn name(name: &'a str) -> Self {
        Self { parent: None, step: PathStep::Name(name) }
    }

    /// An element of the array here.
    #[must_use]
    pub const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: PathStep::Index(index) }
    }

    /// A member of the object here; also how the alternatives of a value of several types are named.
    #[must_use]
    pub const fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: PathStep::Key(key) }
    }

    /// Returns the error of holding another type than `expected` here.
    #[must_use]
    pub fn is_not(&self, expected: Expected) -> ParamError {
        ParamError::WrongType { path: self.to_string(), expected }
    }
}

impl fmt::Display for JsonPath<'_> {
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

/// A type that a JSON value is read into, strictly: `"5"` and `5.0` are no integers, `1` is no boolean.
pub trait FromJson: Sized {
    /// Reads the value found at `path`.
    ///
    /// # Errors
    /// When it is another type, or outside the type's limits; the error names the path.
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError>;

    /// Reads a text without a value between, where there are types that are read much faster so. What it refuses is
    /// read as any other and may be accepted then.
    #[must_use]
    fn at_once(_text: &str) -> Option<Self> {
        None
    }

    /// The same of a list of it.
    #[must_use]
    fn all_at_once(_text: &str) -> Option<Vec<Self>> {
        None
    }

    /// Returns what values it is read from.
    fn schema() -> Schema;

    /// Returns the JSON it is read from, for the default in the API's document.
    fn to_json(&self) -> Option<Value> {
        None
    }
}

impl FromJson for bool {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        value.as_bool().ok_or_else(|| path.is_not(Expected::Boolean))
    }

    fn schema() -> Schema {
        Schema::boolean()
    }

    fn to_json(&self) -> Option<Value> {
        Some((*self).into())
    }
}

impl FromJson for i64 {
    fn all_at_once(text: &str) -> Option<Vec<Self>> {
        // A number of a value is a text of its own, and clients send thousands.
        serde_json::from_str(text).ok()
    }

    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let Value::Number(number) = value else {
            return Err(path.is_not(Expected::Integer));
        };
        if let Some(integer) = number.as_i64() {
            return Ok(integer);
        }
        let digits = number.to_string();
        match digits.strip_prefix('-') {
            Some(rest) if is_digits(rest) => Err(ParamError::TooSmall { path: path.to_string() }),
            None if is_digits(&digits) => Err(ParamError::TooLarge { path: path.to_string() }),
            _ => Err(path.is_not(Expected::Integer)),
        }
    }

    fn schema() -> Schema {
        Schema::integer()
    }

    fn to_json(&self) -> Option<Value> {
        Some((*self).into())
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

impl FromJson for String {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(path.is_not(Expected::String)),
        }
    }

    fn schema() -> Schema {
        Schema::string()
    }

    fn to_json(&self) -> Option<Value> {
        Some(self.as_str().into())
    }
}

/// `null` is `None`.
impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        if value.is_null() { Ok(None) } else { T::from_json(value, path).map(Some) }
    }

    fn schema() -> Schema {
        T::schema().or_null()
    }

    fn to_json(&self) -> Option<Value> {
        Some(self.as_ref().map_or(Value::Null, |value| value.to_json().unwrap_or_default()))
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn at_once(text: &str) -> Option<Self> {
        T::all_at_once(text)
    }

    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let Value::Array(elements) = value else {
            return Err(path.is_not(Expected::List));
        };
        let read = |(index, element)| T::from_json(element, &path.index(index));
        elements.into_iter().enumerate().map(read).collect()
    }

    fn schema() -> Schema {
        Schema::list(T::schema())
    }

    fn to_json(&self) -> Option<Value> {
        self.iter().map(FromJson::to_json).collect()
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let Value::Object(members) = value else {
            return Err(path.is_not(Expected::Dict));
        };
        let read =
            |(key, member): (String, Value)| T::from_json(member, &path.key(&key)).map(|value| (key.clone(), value));
        members.into_iter().map(read).collect()
    }

    fn schema() -> Schema {
        Schema::map(T::schema())
    }
}

/// Any JSON, for values whose shape only the rules know.
impl FromJson for Value {
    fn from_json(value: Value, _: &JsonPath<'_>) -> Result<Self, ParamError> {
        Ok(value)
    }

    fn schema() -> Schema {
        Schema::any()
    }
}

impl FromJson for UserId {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        i64::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::integer()
    }
}

impl FromJson for ChannelId {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        i64::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::integer()
    }
}

impl FromJson for UserGroupId {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        i64::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::integer()
    }
}

/// An integer from `LEAST` to `MOST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundedInteger<const LEAST: i64, const MOST: i64>(i64);

/// An integer that is not negative.
pub type NonNegative = BoundedInteger<0, { i64::MAX }>;

impl<const LEAST: i64, const MOST: i64> BoundedInteger<LEAST, MOST> {
    /// Returns the integer.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl<const LEAST: i64, const MOST: i64> FromJson for BoundedInteger<LEAST, MOST> {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let integer = i64::from_json(value, path)?;
        if integer < LEAST {
            return Err(ParamError::TooSmall { path: path.to_string() });
        }
        if integer > MOST {
            return Err(ParamError::TooLarge { path: path.to_string() });
        }
        Ok(Self(integer))
    }

    fn schema() -> Schema {
        let schema = Schema::integer().at_least(LEAST);
        if MOST < i64::MAX { schema.at_most(MOST) } else { schema }
    }
}

/// A string of at most `LIMIT` characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedString<const LIMIT: usize>(pub String);

impl<const LIMIT: usize> FromJson for BoundedString<LIMIT> {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let text = String::from_json(value, path)?;
        super::max_chars(&text, LIMIT, path)?;
        Ok(Self(text))
    }

    fn schema() -> Schema {
        Schema::string().at_most_chars(LIMIT)
    }
}

/// A type whose values are numbers on the wire.
pub trait NumberEnum: Copy + PartialEq + 'static {
    /// Every number and its value.
    const NUMBERS: &'static [(i64, Self)];
}

/// An integer out of `E`'s numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedNumber<E>(pub E);

impl<E: NumberEnum> FromJson for ListedNumber<E> {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let integer = i64::from_json(value, path)?;
        let found = E::NUMBERS.iter().find(|(number, _)| *number == integer);
        found.map(|(_, value)| Self(*value)).ok_or_else(|| ParamError::NotListed { path: path.to_string() })
    }

    fn schema() -> Schema {
        Schema::numbers(E::NUMBERS.iter().map(|(number, _)| *number))
    }

    fn to_json(&self) -> Option<Value> {
        E::NUMBERS.iter().find(|(_, value)| *value == self.0).map(|(number, _)| (*number).into())
    }
}

/// A string out of `E`'s words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonWord<E>(pub E);

impl<E: WordEnum> FromJson for JsonWord<E> {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        word(&String::from_json(value, path)?, path).map(Self)
    }

    fn schema() -> Schema {
        words::<E>()
    }
}
