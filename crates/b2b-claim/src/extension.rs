//! The stored shape of the extension: where its parts stand and in which form.

use std::fmt;

use serde_json::Value;

use crate::{extension_url, limits};

/// A sub-extension of the Client's `hl7-b2b` extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubExtension {
    /// `organization`, 1..1.
    Organization,
    /// `organizationIdentifierSystem`, 1..1.
    OrganizationIdentifierSystem,
    /// `purposeOfUse`, 0..*.
    PurposeOfUse,
}

impl SubExtension {
    /// All sub-extensions, in the order of the specification.
    pub const ALL: [Self; 3] = [Self::Organization, Self::OrganizationIdentifierSystem, Self::PurposeOfUse];

    /// Returns the `url` of the sub-extension.
    #[must_use]
    pub const fn url(self) -> &'static str {
        match self {
            Self::Organization => "organization",
            Self::OrganizationIdentifierSystem => "organizationIdentifierSystem",
            Self::PurposeOfUse => "purposeOfUse",
        }
    }

    /// Returns the name of the element that holds the value of the sub-extension.
    #[must_use]
    pub const fn value_element(self) -> &'static str {
        match self {
            Self::Organization => "valueReference",
            Self::OrganizationIdentifierSystem => "valueUri",
            Self::PurposeOfUse => "valueCoding",
        }
    }

    /// Returns whether the sub-extension must occur exactly once.
    #[must_use]
    pub const fn is_single(self) -> bool {
        !matches!(self, Self::PurposeOfUse)
    }
}

impl fmt::Display for SubExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url())
    }
}

/// In which form the value of a sub-extension is stored.
pub(crate) enum StoredValue<'a> {
    /// In its own element, as the native endpoint keeps it.
    Element(&'a Value),
    /// Under `value`, as `/fhir` rewrites it.
    Union,
    /// Neither; the names of the elements beside `url`.
    Other(Vec<String>),
}

/// Returns the members of an array field, or none when there is no such array.
pub(crate) fn members<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Text that says something.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// Returns the Client's `client-hl7B2b` extensions with their places.
pub(crate) fn of_client<'a>(client: &'a Value, ext_base: &str) -> Vec<(usize, &'a Value)> {
    let url = extension_url(ext_base);
    let is_ours = |extension: &Value| extension.get("url").and_then(Value::as_str) == Some(url.as_str());
    members(client, "extension").iter().enumerate().filter(|(_, extension)| is_ours(extension)).collect()
}

/// Returns the parts of one kind with their places.
pub(crate) fn parts(extension: &Value, kind: SubExtension) -> Vec<(usize, &Value)> {
    let is_kind = |part: &Value| part.get("url").and_then(Value::as_str) == Some(kind.url());
    members(extension, "extension").iter().enumerate().filter(|(_, part)| is_kind(part)).collect()
}

/// Returns the value of a part in the form it is stored in.
///
/// The own element wins when both forms are there: it is the one that can be read.
pub(crate) fn stored_value(part: &Value, kind: SubExtension) -> StoredValue<'_> {
    if let Some(value) = part.get(kind.value_element()) {
        return StoredValue::Element(value);
    }
    if part.get("value").is_some_and(Value::is_object) {
        return StoredValue::Union;
    }
    let names = part.as_object().into_iter().flat_map(|fields| fields.keys());
    let others = names.filter(|name| *name != "url").take(limits::MAX_QUOTED_VALUES);
    StoredValue::Other(others.map(|name| cut(name)).collect())
}

/// Returns the `url` of each member of `extension`, for an explanation.
pub(crate) fn stored_urls(value: &Value) -> Vec<String> {
    let urls = members(value, "extension").iter().map(|member| member.get("url").map_or_else(absent, quoted));
    urls.take(limits::MAX_QUOTED_VALUES).collect()
}

/// A stored value for an explanation: text as it is, all else as JSON, fit for one line of a log.
pub(crate) fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text),
        other => cut(&other.to_string()),
    }
}

/// Text of bounded length without control characters, which could forge a line of a log.
pub(crate) fn cut(text: &str) -> String {
    let mut characters = text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    let mut start: String = characters.by_ref().take(limits::MAX_QUOTED_CHARS).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    start
}

fn absent() -> String {
    "(no url)".to_owned()
}
