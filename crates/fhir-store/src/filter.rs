//! Equality on a path into a resource: what lists and conditional writes ask for.

use std::fmt;

use serde_json::{Number, Value};

use crate::ports::Stored;

/// One condition: some value at `path` equals `value`.
///
/// An array on the way, or at the end, is entered: the condition holds when it holds for any of
/// its elements. That is what SQL/JSON calls a lax path, so a database may evaluate the same
/// condition with `jsonb_path_query`. Several filters of one query all have to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Keys from the root of the resource, each at least one character. The single segment `id`
    /// names the resource's id, which is no part of the stored body.
    pub path: Vec<String>,
    /// What the value there has to equal.
    pub value: FilterValue,
}

/// The right side of a filter: the text a request carried.
///
/// A query string has no types, so the text equals a JSON string that reads the same, and also
/// the boolean or the number it spells. Strings are compared case-sensitively.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterValue(String);

impl FilterValue {
    /// A value to compare with.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as the request carried it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The JSON scalars this text equals: always the string, then the boolean or number it spells.
    ///
    /// For engines that compare typed values instead of calling [`FilterValue::matches`].
    #[must_use]
    pub fn candidates(&self) -> Vec<Value> {
        let mut candidates = vec![Value::String(self.0.clone())];
        candidates.extend(self.scalar());
        candidates
    }

    /// Whether a scalar equals this value; objects, arrays and null never do.
    #[must_use]
    pub fn matches(&self, scalar: &Value) -> bool {
        match scalar {
            Value::String(text) => *text == self.0,
            Value::Bool(flag) => self.0 == if *flag { "true" } else { "false" },
            Value::Number(number) => self.equals_number(number),
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        }
    }

    /// The boolean or number the text spells, exactly and without blanks around it.
    fn scalar(&self) -> Option<Value> {
        if self.0.trim().len() != self.0.len() {
            return None;
        }
        serde_json::from_str(&self.0).ok().filter(|value: &Value| value.is_boolean() || value.is_number())
    }

    /// Numbers are equal as SQL has it: `1` equals `1.0`.
    fn equals_number(&self, number: &Number) -> bool {
        match self.scalar() {
            Some(Value::Number(asked)) if asked.is_f64() || number.is_f64() => asked.as_f64() == number.as_f64(),
            Some(Value::Number(asked)) => asked == *number,
            _ => false,
        }
    }
}

impl fmt::Display for FilterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Filter {
    /// The condition that the value at `path` equals `value`.
    #[must_use]
    pub fn new<P: Into<String>>(path: impl IntoIterator<Item = P>, value: &str) -> Self {
        Self { path: path.into_iter().map(Into::into).collect(), value: FilterValue::new(value) }
    }

    /// The condition that the resource has this id.
    #[must_use]
    pub fn id(value: &str) -> Self {
        Self::new(["id"], value)
    }

    /// The id asked for, when this filter is about the resource's id: a key column answers it.
    #[must_use]
    pub fn as_id(&self) -> Option<&str> {
        match self.path.as_slice() {
            [only] if only == "id" => Some(self.value.as_str()),
            _ => None,
        }
    }

    /// Whether the condition holds for a resource.
    #[must_use]
    pub fn matches(&self, stored: &Stored) -> bool {
        match self.as_id() {
            Some(id) => stored.key.id.as_str() == id,
            None => self.holds_at(&self.path, &stored.resource),
        }
    }

    fn holds_at(&self, path: &[String], value: &Value) -> bool {
        if let Value::Array(elements) = value {
            return elements.iter().any(|element| self.holds_at(path, element));
        }
        match path.split_first() {
            None => self.value.matches(value),
            Some((key, rest)) => value.get(key).is_some_and(|inner| self.holds_at(rest, inner)),
        }
    }
}
