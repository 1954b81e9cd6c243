//! Compiled patterns and what meets them.

use regex::Regex;
use serde_json::{Number, Value};

/// A matcho pattern, compiled so that matching cannot fail.
#[derive(Debug, Clone)]
pub struct CompiledPattern(pub(crate) Node);

#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// `{}`.
    Anything,
    /// A number, a boolean, null, or a string without a special meaning.
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

impl CompiledPattern {
    /// Returns whether `value` matches the pattern; `None` is a missing value, and paths in the pattern refer to
    /// `request`.
    #[must_use]
    pub fn matches(&self, value: Option<&Value>, request: &Value) -> bool {
        self.0.matches(value, request)
    }

    /// Returns whether the pattern is `{}`, which matches every value.
    #[must_use]
    pub fn matches_everything(&self) -> bool {
        matches!(self.0, Node::Anything)
    }
}

impl Node {
    pub(crate) fn matches(&self, value: Option<&Value>, request: &Value) -> bool {
        let any = |items: &[Value], node: &Self| items.iter().any(|item| node.matches(Some(item), request));
        match self {
            Self::Anything => true,
            Self::Literal(expected) => value.is_some_and(|value| is_equal(expected, value)),
            Self::Find(regex) => value.and_then(Value::as_str).is_some_and(|text| regex.is_match(text)),
            Self::SameAs(path) => is_same(value_at_path(request, path), value),
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

pub(crate) fn is_nil(value: Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}

pub(crate) fn member<'a>(value: Option<&'a Value>, key: &str) -> Option<&'a Value> {
    value?.get(key)
}

pub(crate) fn elements(value: Option<&Value>) -> Option<&[Value]> {
    value?.as_array().map(Vec::as_slice)
}

fn is_same(at_path: Option<&Value>, value: Option<&Value>) -> bool {
    match (at_path, value) {
        (None | Some(Value::Null), _) | (_, None) => false,
        (Some(expected), Some(value)) => is_equal(expected, value),
    }
}

/// Returns the value at a path of member names and array indexes in a request; `None` when a member is missing.
#[must_use]
pub fn value_at_path<'a>(request: &'a Value, path: &[String]) -> Option<&'a Value> {
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
    if let (Some(resource_type), Some(id)) = (text(value, "resourceType"), text(value, "id")) {
        return Some(serde_json::json!({"resourceType": resource_type, "id": id}));
    }
    let reference = value.as_str().or_else(|| text(value, "reference"))?;
    let mut segments = reference.split('/');
    let (resource_type, id) = (segments.next()?, segments.next()?);
    let is_version = match (segments.next(), segments.next(), segments.next()) {
        (None, None, None) => true,
        (Some("_history"), Some(version), None) => !version.is_empty(),
        _ => false,
    };
    let is_type = resource_type.starts_with(|c: char| c.is_ascii_uppercase())
        && resource_type.chars().all(|c| c.is_ascii_alphanumeric());
    (is_type && is_version && !id.is_empty()).then(|| serde_json::json!({"resourceType": resource_type, "id": id}))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}
