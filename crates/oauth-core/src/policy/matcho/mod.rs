//! The matcho pattern language: a JSON pattern that a JSON value meets or does not meet.
//!
//! A pattern is compiled once; meeting it is then total: it never fails, allocates almost nothing
//! and takes time linear in pattern and value. A value of another type than the pattern asks for
//! does not match; that is never an error.
//!
//! Where the language leaves something open:
//! - A path (`.user.id`) that leads nowhere or to null matches nothing, also when the value is
//!   missing too. Not specified; we refuse it, because a policy that compares the id of a record
//!   with the id of an absent user must not pass for records without an id.
//! - Under `$not` such a path therefore passes: `$not` is the complement, without exceptions.
//! - `null` matches a null that is there; `nil?` matches a missing value as well.
//! - A pattern array asks its elements one by one; one that the value lacks is missing, so a
//!   shorter array fails unless the patterns beyond its end accept a missing value.
//! - An object with several `$` operators, or with operators and plain keys, asks for all of them.
//! - Numbers are equal by value: `1` is `1.0`.
//! - `$reference` takes relative references only, with or without a version. An absolute one may
//!   name a record of another server, so it matches nothing.

mod compile;
mod explain;
#[cfg(test)]
mod tests;

pub use compile::{PatternError, PatternErrorKind};
pub use explain::Mismatch;

use regex::Regex;
use serde_json::{Number, Value};

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern(Node);

#[derive(Debug, Clone)]
enum Node {
    /// `{}`.
    Anything,
    /// A number, a boolean, null, or a string without a meaning of its own.
    Literal(Value),
    /// `#…`: the regex is found somewhere in the string.
    Find(Regex),
    /// `.…`: equal to what stands at this path of the request.
    SameAs(Vec<String>),
    /// `present?`.
    Present,
    /// `nil?`.
    Nil,
    /// `not-blank?`.
    NotBlank,
    /// An object without operators.
    Members(Vec<(String, Node)>),
    /// An array.
    Elements(Vec<Node>),
    /// Several conditions on one value.
    All(Vec<Node>),
    /// `$enum`.
    Enum(Vec<Value>),
    /// `$one-of`.
    OneOf(Vec<Node>),
    /// `$not`.
    Not(Box<Node>),
    /// `$contains`.
    Contains(Box<Node>),
    /// `$every`.
    Every(Box<Node>),
    /// `$present-all`.
    PresentAll(Vec<Node>),
    /// `$length`.
    Length(u64),
    /// `$reference`.
    Reference(Box<Node>),
}

impl Pattern {
    /// Returns whether `value` (`None`: missing) meets the pattern. Paths in the pattern are looked up in `request`.
    #[must_use]
    pub fn matches(&self, value: Option<&Value>, request: &Value) -> bool {
        self.0.matches(value, request)
    }

    /// Returns whether the pattern is `{}`, which everything meets.
    #[must_use]
    pub fn is_anything(&self) -> bool {
        matches!(self.0, Node::Anything)
    }
}

impl Node {
    fn matches(&self, value: Option<&Value>, request: &Value) -> bool {
        let any = |items: &[Value], node: &Self| items.iter().any(|item| node.matches(Some(item), request));
        match self {
            Self::Anything => true,
            Self::Literal(expected) => value.is_some_and(|value| is_equal(expected, value)),
            Self::Find(regex) => value.and_then(Value::as_str).is_some_and(|text| regex.is_match(text)),
            Self::SameAs(path) => is_same(at_path(request, path), value),
            Self::Present => !is_nil(value),
            Self::Nil => is_nil(value),
            Self::NotBlank => value.and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty()),
            Self::Members(members) => {
                (is_nil(value) || value.is_some_and(Value::is_object))
                    && members.iter().all(|(key, node)| node.matches(member(value, key), request))
            }
            Self::Elements(nodes) => elements(value).is_some_and(|items| {
                nodes.iter().enumerate().all(|(index, node)| node.matches(items.get(index), request))
            }),
            Self::All(nodes) => nodes.iter().all(|node| node.matches(value, request)),
            Self::Enum(allowed) => value.is_some_and(|value| allowed.iter().any(|one| is_equal(one, value))),
            Self::OneOf(nodes) => nodes.iter().any(|node| node.matches(value, request)),
            Self::Not(node) => !node.matches(value, request),
            Self::Contains(node) => elements(value).is_some_and(|items| any(items, node)),
            Self::Every(node) => {
                elements(value).is_some_and(|items| items.iter().all(|item| node.matches(Some(item), request)))
            }
            Self::PresentAll(nodes) => elements(value).is_some_and(|items| nodes.iter().all(|node| any(items, node))),
            Self::Length(length) => elements(value).is_some_and(|items| u64::try_from(items.len()) == Ok(*length)),
            Self::Reference(node) => {
                value.and_then(normalized).is_some_and(|target| node.matches(Some(&target), request))
            }
        }
    }
}

fn is_nil(value: Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}

fn member<'a>(value: Option<&'a Value>, key: &str) -> Option<&'a Value> {
    value?.get(key)
}

fn elements(value: Option<&Value>) -> Option<&[Value]> {
    value?.as_array().map(Vec::as_slice)
}

fn is_same(at_path: Option<&Value>, value: Option<&Value>) -> bool {
    match (at_path, value) {
        (None | Some(Value::Null), _) | (_, None) => false,
        (Some(expected), Some(value)) => is_equal(expected, value),
    }
}

/// Returns the value at `path`; a segment of digits is an index where it meets an array.
pub(super) fn at_path<'a>(request: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(request, |at, segment| match at {
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => at.get(segment),
    })
}

/// Deep equality with numbers compared by value.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => is_equal_number(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_equal(a, b)))
        }
        _ => a == b,
    }
}

/// Whole numbers are compared as such, not through a float that would blur large ones.
fn is_equal_number(a: &Number, b: &Number) -> bool {
    a == b || ((a.is_f64() || b.is_f64()) && a.as_f64().is_some() && a.as_f64() == b.as_f64())
}

/// `{resourceType, id}` of a relative reference in any of its three forms.
fn normalized(value: &Value) -> Option<Value> {
    if let (Some(kind), Some(id)) = (text(value, "resourceType"), text(value, "id")) {
        return Some(serde_json::json!({"resourceType": kind, "id": id}));
    }
    let reference = value.as_str().or_else(|| text(value, "reference"))?;
    let mut segments = reference.split('/');
    let (kind, id) = (segments.next()?, segments.next()?);
    let is_version = match (segments.next(), segments.next(), segments.next()) {
        (None, None, None) => true,
        (Some("_history"), Some(version), None) => !version.is_empty(),
        _ => false,
    };
    let is_type = kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.chars().all(|c| c.is_ascii_alphanumeric());
    (is_type && is_version && !id.is_empty()).then(|| serde_json::json!({"resourceType": kind, "id": id}))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}
