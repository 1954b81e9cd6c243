//! What a described element looks like, as tables.

use serde_json::Value;
use url::Url;

use super::spelling::misspelt;
use super::{ResourceIssue, ResourceIssueCode};
use crate::limits::CLIENT_SECRET_MAX_BYTES;

/// The described members of an object and what each looks like.
pub(super) type MemberShapes = &'static [(&'static str, MemberShape)];

/// What one element looks like. A null is never right: a member without a value is left out.
#[derive(Clone, Copy)]
pub(super) enum MemberShape {
    Text,
    Flag,
    Object,
    Texts,
    Objects,
    /// A string or an array of strings.
    TextOrTexts,
    /// Whole seconds from 1 to this.
    Seconds(i64),
    /// A secret or its hash.
    Secret,
    /// An absolute http or https URL.
    WebUrl,
    /// An absolute URI without fragment.
    RedirectUri,
    /// An object with these members.
    Members(MemberShapes),
    /// Whatever this finds wrong with the value at the expression.
    By(fn(&str, &Value) -> Vec<ResourceIssue>),
    /// Anything: a name that is known, and looks like that of another member.
    Free,
}

/// Returns what is wrong with the described members of `object`, which stands at `at`, and which of the others are
/// described members misspelt.
pub(super) fn members(table: MemberShapes, at: &str, object: &Value) -> Vec<ResourceIssue> {
    let described = table.iter().filter_map(|(key, shape)| Some((key, shape, object.get(key)?)));
    let wrong = described.flat_map(|(key, shape, value)| shape.check(&format!("{at}.{key}"), value));
    let names: Vec<&str> = table.iter().map(|(key, _)| *key).collect();
    wrong.chain(misspelt(&names, at, object)).collect()
}

/// Returns what is wrong with each item of the array `value`, which stands at `at`.
pub(super) fn items(at: &str, value: &Value, check: impl Fn(&str, &Value) -> Vec<ResourceIssue>) -> Vec<ResourceIssue> {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(index, item)| check(&format!("{at}[{index}]"), item)).collect()
        }
        _ => structure(at, "an array"),
    }
}

/// One issue: `expected` is what the element has to be.
pub(super) fn structure(at: &str, expected: &str) -> Vec<ResourceIssue> {
    one(ResourceIssueCode::Structure, at, format!("must be {expected}"))
}

/// One issue.
pub(super) fn one(code: ResourceIssueCode, at: &str, diagnostics: impl Into<String>) -> Vec<ResourceIssue> {
    vec![ResourceIssue::new(code, at, diagnostics)]
}

impl MemberShape {
    pub(super) fn check(self, at: &str, value: &Value) -> Vec<ResourceIssue> {
        let is = |right: bool, expected: &str| if right { Vec::new() } else { structure(at, expected) };
        match self {
            Self::Text => is(value.is_string(), "a string"),
            Self::Flag => is(value.is_boolean(), "true or false"),
            Self::Object => is(value.is_object(), "an object"),
            Self::Texts => items(at, value, |at, item| Self::Text.check(at, item)),
            Self::Objects => items(at, value, |at, item| Self::Object.check(at, item)),
            Self::TextOrTexts if value.is_string() => Vec::new(),
            Self::TextOrTexts => Self::Texts.check(at, value),
            Self::Seconds(max) => seconds(at, value, max),
            Self::Secret => secret(at, value),
            Self::WebUrl => web_url(at, value),
            Self::RedirectUri => redirect_uri(at, value),
            Self::Members(table) if value.is_object() => members(table, at, value),
            Self::Members(_) => structure(at, "an object"),
            Self::By(check) => check(at, value),
            Self::Free => Vec::new(),
        }
    }
}

fn seconds(at: &str, value: &Value, max: i64) -> Vec<ResourceIssue> {
    let expected = format!("must be a whole number of seconds from 1 to {max}");
    match (value.as_i64(), value.is_number()) {
        (Some(seconds), _) if (1..=max).contains(&seconds) => Vec::new(),
        (_, true) => one(ResourceIssueCode::Value, at, expected),
        (_, false) => one(ResourceIssueCode::Structure, at, expected),
    }
}

fn secret(at: &str, value: &Value) -> Vec<ResourceIssue> {
    match value.as_str().map(str::len) {
        None => structure(at, "a string"),
        Some(0) => one(ResourceIssueCode::Value, at, "must not be empty"),
        Some(1..=CLIENT_SECRET_MAX_BYTES) => Vec::new(),
        Some(_) => one(ResourceIssueCode::TooLong, at, format!("must be at most {CLIENT_SECRET_MAX_BYTES} bytes long")),
    }
}

/// A URL exactly as it is written: the parser forgives spaces and line breaks, but the text is
/// compared and requested as it stands.
fn absolute(text: &str) -> Option<Url> {
    let is_clean = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    Url::parse(text).ok().filter(|_| is_clean)
}

fn web_url(at: &str, value: &Value) -> Vec<ResourceIssue> {
    match value.as_str() {
        None => structure(at, "a string: an absolute http or https URL"),
        Some(text) if is_web_address(text) => Vec::new(),
        Some(_) => one(ResourceIssueCode::Value, at, "must be an absolute http or https URL"),
    }
}

/// Returns whether the text is an absolute http or https URL.
pub(crate) fn is_web_address(text: &str) -> bool {
    absolute(text).is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn redirect_uri(at: &str, value: &Value) -> Vec<ResourceIssue> {
    let Some(text) = value.as_str() else { return structure(at, "a string: an absolute URI without fragment") };
    redirect_uri_fault(text).map(|(code, fault)| one(code, at, fault)).unwrap_or_default()
}

/// Returns whether registration takes the text as a redirect URI.
pub(crate) fn is_redirect_uri(text: &str) -> bool {
    redirect_uri_fault(text).is_none()
}

/// Returns what is wrong with a redirect URI. A private scheme is allowed, native apps use them (RFC 8252, section
/// 7.1); one that runs in the page that redirects is not.
fn redirect_uri_fault(text: &str) -> Option<(ResourceIssueCode, &'static str)> {
    match absolute(text) {
        None => Some((ResourceIssueCode::Value, "must be an absolute URI")),
        Some(url) if url.fragment().is_some() => {
            Some((ResourceIssueCode::Value, "must not have a fragment (RFC 6749, section 3.1.2)"))
        }
        Some(url) if matches!(url.scheme(), "javascript" | "data" | "vbscript" | "blob" | "file") => {
            Some((ResourceIssueCode::Security, "must not have a scheme that runs or shows content in the browser"))
        }
        Some(_) => None,
    }
}
