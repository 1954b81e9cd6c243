//! One scope.

use std::fmt;
use std::str::FromStr;

use crate::characters::check_characters;
use crate::clinical::parse_after_context;
use crate::{ClinicalScope, Context, ScopeParseError, limits};

/// One scope of a request, a registration or a token.
///
/// `parse` then `to_string` gives the input byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Access to data: `patient/*.read`.
    Clinical(ClinicalScope),
    /// `openid`: an id token.
    OpenId,
    /// `fhirUser`: the claim that names the person's own resource.
    FhirUser,
    /// `profile`: the person's name.
    Profile,
    /// `email`: the person's e-mail address.
    Email,
    /// `offline_access`: a refresh token that outlives the session.
    OfflineAccess,
    /// `online_access`: a refresh token for as long as the person is there.
    OnlineAccess,
    /// `launch`: the context of the EHR launch.
    Launch,
    /// `launch/patient` and the like: a context to be established.
    LaunchContext(LaunchContext),
    /// Any other word or URI. It means nothing here and is only ever compared as text.
    Custom(String),
}

impl Scope {
    /// Returns the clinical scope; `None` for a scope of another kind.
    #[must_use]
    pub const fn as_clinical(&self) -> Option<&ClinicalScope> {
        match self {
            Self::Clinical(clinical) => Some(clinical),
            _ => None,
        }
    }

    /// Returns whether this scope alone grants all that `other` grants: by meaning for clinical scopes, by format for
    /// all others.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Clinical(own), Self::Clinical(others)) => own.covers(others),
            _ => self == other,
        }
    }
}

/// A launch context scope (`launch/patient`): a context that the server establishes before it issues the token.
///
/// # Source
/// SMART App Launch 2.2.0, "Scopes for requesting context data".
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LaunchContext {
    resource_type: String,
    role: Option<String>,
}

impl LaunchContext {
    /// Returns the resource type in lower case, as it stands in the scope: `patient`, `encounter`, `questionnaire`.
    #[must_use]
    pub fn resource_type(&self) -> &str {
        &self.resource_type
    }

    /// Returns the `role` of the resource, as it stands in the scope.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }

    /// Returns whether the scope is `launch/patient`, without a role.
    #[must_use]
    pub fn is_patient(&self) -> bool {
        self.resource_type == "patient" && self.role.is_none()
    }

    /// Returns whether the scope is `launch/encounter`, without a role.
    #[must_use]
    pub fn is_encounter(&self) -> bool {
        self.resource_type == "encounter" && self.role.is_none()
    }

    fn parse_after_slash(rest: &str) -> Option<Self> {
        let (resource_type, role) = match rest.split_once('?') {
            Some((resource_type, query)) => (resource_type, Some(query.strip_prefix("role=")?)),
            None => (rest, None),
        };
        let type_is_well_formed = !resource_type.is_empty() && resource_type.chars().all(|c| c.is_ascii_lowercase());
        // No server would read a second parameter, so it is refused instead of being part of the role.
        let role_is_well_formed = role.is_none_or(|role| !role.is_empty() && !role.contains('&'));
        (type_is_well_formed && role_is_well_formed)
            .then(|| Self { resource_type: resource_type.to_owned(), role: role.map(str::to_owned) })
    }
}

impl fmt::Display for LaunchContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch/{}", self.resource_type)?;
        match &self.role {
            Some(role) => write!(f, "?role={role}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Scope {
    type Err = ScopeParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(ScopeParseError::Empty);
        }
        if text.len() > limits::MAX_SCOPE_BYTES {
            return Err(ScopeParseError::TooLong { bytes: text.len() });
        }
        check_characters(text)?;
        match text {
            "openid" => Ok(Self::OpenId),
            "fhirUser" => Ok(Self::FhirUser),
            "profile" => Ok(Self::Profile),
            "email" => Ok(Self::Email),
            "offline_access" => Ok(Self::OfflineAccess),
            "online_access" => Ok(Self::OnlineAccess),
            "launch" => Ok(Self::Launch),
            _ => parse_prefixed(text),
        }
    }
}

fn parse_prefixed(text: &str) -> Result<Scope, ScopeParseError> {
    match text.split_once('/') {
        Some(("patient", rest)) => parse_after_context(Context::Patient, rest).map(Scope::Clinical),
        Some(("user", rest)) => parse_after_context(Context::User, rest).map(Scope::Clinical),
        Some(("system", rest)) => parse_after_context(Context::System, rest).map(Scope::Clinical),
        Some(("launch", rest)) => LaunchContext::parse_after_slash(rest)
            .map(Scope::LaunchContext)
            .ok_or_else(|| ScopeParseError::BadLaunchContext { scope: text.to_owned() }),
        _ => Ok(Scope::Custom(text.to_owned())),
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clinical(clinical) => clinical.fmt(f),
            Self::OpenId => f.write_str("openid"),
            Self::FhirUser => f.write_str("fhirUser"),
            Self::Profile => f.write_str("profile"),
            Self::Email => f.write_str("email"),
            Self::OfflineAccess => f.write_str("offline_access"),
            Self::OnlineAccess => f.write_str("online_access"),
            Self::Launch => f.write_str("launch"),
            Self::LaunchContext(context) => context.fmt(f),
            Self::Custom(text) => f.write_str(text),
        }
    }
}

impl From<ClinicalScope> for Scope {
    fn from(clinical: ClinicalScope) -> Self {
        Self::Clinical(clinical)
    }
}
