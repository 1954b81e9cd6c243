//! `organization_id`: an identifier as one string.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An identifier written `<system>#<value>` and read by splitting at the **last** `#`.
///
/// The system may contain `#` itself, the value may not. Both are compared byte for byte.
///
/// # Source
/// Specification "Access token claim `extensions.hl7-b2b`", row `organization_id`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OrganizationId {
    system: String,
    value: String,
}

/// The reason why a text or a pair is not an [`OrganizationId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrganizationIdError {
    /// There is no `#` at all.
    #[error("the organization id has no # between system and value")]
    NoSeparator,
    /// Nothing before the last `#`.
    #[error("the organization id has an empty system")]
    EmptySystem,
    /// Nothing after the last `#`.
    #[error("the organization id has an empty value")]
    EmptyValue,
    /// A value with `#` in it, which would be read back as a part of the system.
    #[error("the value of the organization id contains #")]
    SeparatorInValue,
}

impl OrganizationId {
    /// Joins the system and the value of an identifier.
    ///
    /// # Errors
    /// When a part is empty or the value contains `#`, since the string would be read back differently.
    pub fn new(system: &str, value: &str) -> Result<Self, OrganizationIdError> {
        if system.is_empty() {
            return Err(OrganizationIdError::EmptySystem);
        }
        if value.is_empty() {
            return Err(OrganizationIdError::EmptyValue);
        }
        if value.contains('#') {
            return Err(OrganizationIdError::SeparatorInValue);
        }
        Ok(Self { system: system.to_owned(), value: value.to_owned() })
    }

    /// Parses `<system>#<value>`, split at the last `#`.
    ///
    /// # Errors
    /// When there is no `#` or one side of the last one is empty.
    pub fn parse(text: &str) -> Result<Self, OrganizationIdError> {
        let (system, value) = text.rsplit_once('#').ok_or(OrganizationIdError::NoSeparator)?;
        Self::new(system, value)
    }

    /// Returns the identifier's system, as registered.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.system
    }

    /// Returns the identifier's value.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl FromStr for OrganizationId {
    type Err = OrganizationIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl TryFrom<String> for OrganizationId {
    type Error = OrganizationIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<OrganizationId> for String {
    fn from(id: OrganizationId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for OrganizationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.system, self.value)
    }
}
