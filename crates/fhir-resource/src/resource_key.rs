//! What names a resource: its type and its id.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// Longest resource type, in bytes.
const MAX_TYPE_BYTES: usize = 64;
/// Longest id, in bytes.
const MAX_ID_BYTES: usize = 64;

/// The name of a resource type: a capital letter, then letters and digits, 64 characters at most.
///
/// Any such name is a type: which types a deployment knows is not decided here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceType(String);

/// The error of a text that is not the name of a resource type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a resource type is a capital letter followed by letters and digits, 64 characters at most")]
pub struct ParseResourceTypeError;

impl ResourceType {
    /// Returns whether a text is a valid resource type name.
    #[must_use]
    pub fn is_valid(text: &str) -> bool {
        let capital = text.bytes().next().is_some_and(|first| first.is_ascii_uppercase());
        capital && text.len() <= MAX_TYPE_BYTES && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    }

    /// Returns the type name as in `resourceType`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the database table of the type: the type in lower case.
    ///
    /// Some are words SQL reserves (`user`), so it has to be quoted; nothing in it needs escaping.
    #[must_use]
    pub fn table_name(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl FromStr for ResourceType {
    type Err = ParseResourceTypeError;

    fn from_str(text: &str) -> Result<Self, ParseResourceTypeError> {
        if Self::is_valid(text) { Ok(Self(text.to_owned())) } else { Err(ParseResourceTypeError) }
    }
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a resource: letters, digits, `.`, `_` and `-`, 1 to 64 of them.
///
/// Not specified; the underscore, which FHIR does not have, is taken because client ids in the
/// field carry it. `.` and `..` are refused because a URL path swallows them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(String);

/// The error of a text that is not a resource id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id is 1 to 64 letters, digits, `.`, `_` or `-`, and neither `.` nor `..`")]
pub struct ParseResourceIdError;

impl ResourceId {
    /// Returns whether a text is a valid resource id.
    #[must_use]
    pub fn is_valid(text: &str) -> bool {
        let letters = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
        letters && (1..=MAX_ID_BYTES).contains(&text.len()) && text != "." && text != ".."
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Uuid> for ResourceId {
    /// Returns the id a server gives: the hyphenated lower-case form.
    fn from(uuid: Uuid) -> Self {
        Self(uuid.hyphenated().to_string())
    }
}

impl FromStr for ResourceId {
    type Err = ParseResourceIdError;

    fn from_str(text: &str) -> Result<Self, ParseResourceIdError> {
        if Self::is_valid(text) { Ok(Self(text.to_owned())) } else { Err(ParseResourceIdError) }
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The type and id that identify a resource in a store. Displayed as the relative reference `Type/id`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey {
    /// The resource type.
    pub resource_type: ResourceType,
    /// The id, unique within its type.
    pub id: ResourceId,
}

/// The error of a text that is not of the form `Type/id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a resource is named `Type/id`")]
pub struct ParseResourceKeyError;

impl FromStr for ResourceKey {
    type Err = ParseResourceKeyError;

    fn from_str(text: &str) -> Result<Self, ParseResourceKeyError> {
        let (resource_type, id) = text.split_once('/').ok_or(ParseResourceKeyError)?;
        Ok(Self {
            resource_type: resource_type.parse().map_err(|_| ParseResourceKeyError)?,
            id: id.parse().map_err(|_| ParseResourceKeyError)?,
        })
    }
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.resource_type, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_a_capital_then_letters_and_digits() {
        for text in ["Client", "PlatformMigration", "X", "A1b2"] {
            assert_eq!(text.parse::<ResourceType>().unwrap().as_str(), text);
        }
        let long = format!("A{}", "b".repeat(64));
        for text in ["", "client", "1A", "Cli-ent", "Cli ent", "Cliént", "A;drop", &long] {
            assert_eq!(text.parse::<ResourceType>(), Err(ParseResourceTypeError), "{text}");
        }
    }

    #[test]
    fn a_table_is_the_type_in_lower_case() {
        let resource_type: ResourceType = "PlatformMigration".parse().unwrap();
        assert_eq!(resource_type.table_name(), "platformmigration");
    }

    #[test]
    fn an_id_may_carry_an_underscore_but_nothing_a_path_would_swallow() {
        for text in ["a", "my_client", "A-1.b", "...", &"x".repeat(64)] {
            assert_eq!(text.parse::<ResourceId>().unwrap().as_str(), text);
        }
        for text in ["", ".", "..", "a/b", "a b", "é", "a\0", &"x".repeat(65)] {
            assert_eq!(text.parse::<ResourceId>(), Err(ParseResourceIdError), "{text}");
        }
    }

    #[test]
    fn a_key_reads_and_prints_as_a_relative_reference() {
        let key: ResourceKey = "Organization/payer-1".parse().unwrap();
        assert_eq!(key.resource_type.as_str(), "Organization");
        assert_eq!(key.id.as_str(), "payer-1");
        assert_eq!(key.to_string(), "Organization/payer-1");
        for text in ["Organization", "Organization/", "/x", "a/b", "A/b/c"] {
            assert_eq!(text.parse::<ResourceKey>(), Err(ParseResourceKeyError), "{text}");
        }
    }
}
