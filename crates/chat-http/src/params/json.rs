//! JSON-encoded values: strict types, and paths that say where one fails.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use chat_core::id::{ChannelId, UserGroupId, UserId};
use serde_json::Value;

use super::kind::{Words, word, words};
use super::reader::unreadable;
use super::{Expected, Form, Given, Kind, ParamFault};
use crate::limits::JSON_MAX_DEPTH;
use crate::schema::Schema;

/// A value sent as JSON text: `[1, 2]`, `true`, `null`, `"quoted"`.
#[derive(Debug)]
pub struct Json<T>(PhantomData<T>);

impl<T: FromJson> Kind for Json<T> {
    type Value = T;

    fn form() -> Form {
        Form::json(T::schema())
    }

    fn told(value: &T) -> Option<Value> {
        value.told()
    }

    fn decode(given: Given<'_>) -> Result<T, ParamFault> {
        if let Some(value) = T::at_once(given.text) {
            return Ok(value);
        }
        let value = parse(given)?;
        T::from_json(value, &Path::name(given.name))
    }
}

fn parse(given: Given<'_>) -> Result<Value, ParamFault> {
    let not_json = || ParamFault::NotJson { name: given.name };
    let value: Value = serde_json::from_str(given.text).map_err(|_| not_json())?;
    match inspect(&value, JSON_MAX_DEPTH) {
        Ok(()) => Ok(value),
        Err(Unfit::TooDeep) => Err(not_json()),
        Err(Unfit::Nul) => Err(unreadable(given.name, given.text)),
    }
}

enum Unfit {
    TooDeep,
    Nul,
}

fn inspect(value: &Value, levels: usize) -> Result<(), Unfit> {
    let inside = || levels.checked_sub(1).ok_or(Unfit::TooDeep);
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

fn without_nul(text: &str) -> Result<(), Unfit> {
    if text.contains('\0') { Err(Unfit::Nul) } else { Ok(()) }
}

/// Where in a parameter a value is. Prints as `name[0]["key"]`.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// Returns the whole value of a parameter.
    #[must_use]
    pub const fn name(name: &'a str) -> Self {
        Self { parent: None, step: Step::Name(name) }
    }

    /// An element of the array here.
    #[must_use]
    pub const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    /// A member of the object here; also how the alternatives of a value of several types are named.
    #[must_use]
    pub const fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }

    /// Returns the fault of holding another type than `expected` here.
    #[must_use]
    pub fn is_not(&self, expected: Expected) -> ParamFault {
        ParamFault::WrongType { path: self.to_string(), expected }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.step {
            Step::Name(name) => formatter.write_str(name),
            Step::Index(index) => write!(formatter, "[{index}]"),
            Step::Key(key) => write!(formatter, "[\"{key}\"]"),
        }
    }
}

/// A type that a JSON value is read into, strictly: `"5"` and `5.0` are no integers, `1` is no boolean.
pub trait FromJson: Sized {
    /// Reads the value found at `path`.
    ///
    /// # Errors
    /// When it is another type, or outside the type's limits; the fault names the path.
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault>;

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

    /// Returns the JSON it is read from, where it is told that it is usual.
    fn told(&self) -> Option<Value> {
        None
    }
}

impl FromJson for bool {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        value.as_bool().ok_or_else(|| path.is_not(Expected::Boolean))
    }

    fn schema() -> Schema {
        Schema::boolean()
    }

    fn told(&self) -> Option<Value> {
        Some((*self).into())
    }
}

impl FromJson for i64 {
    fn all_at_once(text: &str) -> Option<Vec<Self>> {
        // A number of a value is a text of its own, and clients send thousands.
        serde_json::from_str(text).ok()
    }

    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let Value::Number(number) = value else {
            return Err(path.is_not(Expected::Integer));
        };
        if let Some(integer) = number.as_i64() {
            return Ok(integer);
        }
        let digits = number.to_string();
        match digits.strip_prefix('-') {
            Some(rest) if is_digits(rest) => Err(ParamFault::TooSmall { path: path.to_string() }),
            None if is_digits(&digits) => Err(ParamFault::TooLarge { path: path.to_string() }),
            _ => Err(path.is_not(Expected::Integer)),
        }
    }

    fn schema() -> Schema {
        Schema::integer()
    }

    fn told(&self) -> Option<Value> {
        Some((*self).into())
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

impl FromJson for String {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(path.is_not(Expected::String)),
        }
    }

    fn schema() -> Schema {
        Schema::string()
    }

    fn told(&self) -> Option<Value> {
        Some(self.as_str().into())
    }
}

/// `null` is `None`.
impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        if value.is_null() { Ok(None) } else { T::from_json(value, path).map(Some) }
    }

    fn schema() -> Schema {
        T::schema().or_null()
    }

    fn told(&self) -> Option<Value> {
        Some(self.as_ref().map_or(Value::Null, |value| value.told().unwrap_or_default()))
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn at_once(text: &str) -> Option<Self> {
        T::all_at_once(text)
    }

    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let Value::Array(elements) = value else {
            return Err(path.is_not(Expected::List));
        };
        let read = |(index, element)| T::from_json(element, &path.index(index));
        elements.into_iter().enumerate().map(read).collect()
    }

    fn schema() -> Schema {
        Schema::list(T::schema())
    }

    fn told(&self) -> Option<Value> {
        self.iter().map(FromJson::told).collect()
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
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
    fn from_json(value: Value, _: &Path<'_>) -> Result<Self, ParamFault> {
        Ok(value)
    }

    fn schema() -> Schema {
        Schema::any()
    }
}

impl FromJson for UserId {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        i64::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::integer()
    }
}

impl FromJson for ChannelId {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        i64::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::integer()
    }
}

impl FromJson for UserGroupId {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        i64::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::integer()
    }
}

/// An integer from `LEAST` to `MOST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<const LEAST: i64, const MOST: i64>(i64);

/// An integer that is not negative.
pub type Natural = Whole<0, { i64::MAX }>;

impl<const LEAST: i64, const MOST: i64> Whole<LEAST, MOST> {
    /// Returns the integer.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl<const LEAST: i64, const MOST: i64> FromJson for Whole<LEAST, MOST> {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let integer = i64::from_json(value, path)?;
        if integer < LEAST {
            return Err(ParamFault::TooSmall { path: path.to_string() });
        }
        if integer > MOST {
            return Err(ParamFault::TooLarge { path: path.to_string() });
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
pub struct Short<const LIMIT: usize>(pub String);

impl<const LIMIT: usize> FromJson for Short<LIMIT> {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let text = String::from_json(value, path)?;
        super::max_chars(&text, LIMIT, path)?;
        Ok(Self(text))
    }

    fn schema() -> Schema {
        Schema::string().at_most_chars(LIMIT)
    }
}

/// A type whose values are numbers on the wire.
pub trait Numbers: Copy + PartialEq + 'static {
    /// Every number and its value.
    const NUMBERS: &'static [(i64, Self)];
}

/// An integer out of `E`'s numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed<E>(pub E);

impl<E: Numbers> FromJson for Listed<E> {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let integer = i64::from_json(value, path)?;
        let found = E::NUMBERS.iter().find(|(number, _)| *number == integer);
        found.map(|(_, value)| Self(*value)).ok_or_else(|| ParamFault::NotListed { path: path.to_string() })
    }

    fn schema() -> Schema {
        Schema::numbers(E::NUMBERS.iter().map(|(number, _)| *number))
    }

    fn told(&self) -> Option<Value> {
        E::NUMBERS.iter().find(|(_, value)| *value == self.0).map(|(number, _)| (*number).into())
    }
}

/// A string out of `E`'s words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<E>(pub E);

impl<E: Words> FromJson for Quoted<E> {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        word(&String::from_json(value, path)?, path).map(Self)
    }

    fn schema() -> Schema {
        words::<E>()
    }
}
