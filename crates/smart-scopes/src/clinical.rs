//! Clinical scopes: `context/Type.permissions?query`.

use std::fmt;
use std::str::FromStr;

use crate::characters::check_characters;
use crate::{Permissions, ScopeParseError, ScopeQuery, Syntax, limits};

/// The context of a clinical scope: on whose behalf it gives access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// `patient/`: the one patient of the launch.
    Patient,
    /// `user/`: what the logged-in person may see.
    User,
    /// `system/`: no person at all.
    System,
}

impl Context {
    /// Every context.
    pub const ALL: [Self; 3] = [Self::Patient, Self::User, Self::System];

    /// Returns the word before the slash: `patient`, `user` or `system`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Patient => "patient",
            Self::User => "user",
            Self::System => "system",
        }
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A well-formed resource type name: an upper-case ASCII letter, then letters and digits.
///
/// Not checked against a list of FHIR types: the platform has further types, and a scope on a type
/// that does not exist gives access to nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeName(String);

impl TypeName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TypeName {
    type Err = ScopeParseError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        check_characters(name)?;
        let well_formed = name.len() <= limits::MAX_TYPE_NAME_BYTES
            && name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric());
        if well_formed {
            Ok(Self(name.to_owned()))
        } else {
            Err(ScopeParseError::BadResourceType { name: name.to_owned() })
        }
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The resource types that a clinical scope is about: one, or all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceSelector {
    /// `*`: every type.
    Any,
    /// One type.
    Type(TypeName),
}

impl ResourceSelector {
    /// Returns whether resources of `resource_type` are selected; names are case-sensitive.
    #[must_use]
    pub fn selects(&self, resource_type: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Type(name) => name.as_str() == resource_type,
        }
    }

    /// Returns whether `self` selects every type that `other` selects.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        *self == Self::Any || self == other
    }

    fn intersection<'a>(&'a self, other: &'a Self) -> Option<&'a Self> {
        if self.covers(other) { Some(other) } else { other.covers(self).then_some(self) }
    }
}

impl FromStr for ResourceSelector {
    type Err = ScopeParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "*" { Ok(Self::Any) } else { text.parse().map(Self::Type) }
    }
}

impl fmt::Display for ResourceSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Type(name) => name.fmt(f),
        }
    }
}

/// Access to clinical data: `patient/Observation.rs?category=laboratory`.
///
/// Two values are equal when they print the same; what they grant is compared with
/// [`ClinicalScope::covers`].
///
/// # Source
/// Specification "Scopes".
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClinicalScope {
    context: Context,
    resource: ResourceSelector,
    permissions: Permissions,
    /// Only beside one type and v2 permissions made of `r` and `s`.
    query: Option<ScopeQuery>,
}

impl ClinicalScope {
    /// Creates a scope from its parts.
    ///
    /// # Errors
    /// [`ScopeParseError::QueryOnWrite`], [`ScopeParseError::QueryOnV1`] and
    /// [`ScopeParseError::QueryOnAnyType`] when the query may not stand there, and
    /// [`ScopeParseError::TooLong`] when the scope would print longer than [`limits::MAX_SCOPE_BYTES`].
    pub fn new(
        context: Context,
        resource: ResourceSelector,
        permissions: Permissions,
        query: Option<ScopeQuery>,
    ) -> Result<Self, ScopeParseError> {
        if query.is_some() {
            if !permissions.is_read_only() {
                return Err(ScopeParseError::QueryOnWrite { permissions: permissions.to_string() });
            }
            if permissions.syntax() == Syntax::V1 {
                return Err(ScopeParseError::QueryOnV1 { permissions: permissions.to_string() });
            }
            if resource == ResourceSelector::Any {
                return Err(ScopeParseError::QueryOnAnyType);
            }
        }
        let scope = Self { context, resource, permissions, query };
        let bytes = scope.to_string().len();
        if bytes > limits::MAX_SCOPE_BYTES { Err(ScopeParseError::TooLong { bytes }) } else { Ok(scope) }
    }

    /// Returns the context: on whose behalf the scope gives access.
    #[must_use]
    pub const fn context(&self) -> Context {
        self.context
    }

    /// Returns the resource types that the scope is about.
    #[must_use]
    pub const fn resource(&self) -> &ResourceSelector {
        &self.resource
    }

    /// Returns the interactions that the scope allows.
    #[must_use]
    pub const fn permissions(&self) -> Permissions {
        self.permissions
    }

    /// Returns the query that limits the scope to some resources of its type; `None` without a limit.
    #[must_use]
    pub const fn query(&self) -> Option<&ScopeQuery> {
        self.query.as_ref()
    }

    /// Returns whether this scope alone grants all that `other` grants.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.covers_target(other) && self.permissions.covers(other.permissions)
    }

    /// Returns what both scopes grant, in the format of `self` where it can be.
    ///
    /// `None` when they have no access in common, and also when their two queries together pass a limit of [`limits`]:
    /// the combination is then refused, never widened.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        if self.context != other.context {
            return None;
        }
        let resource = self.resource.intersection(&other.resource)?.clone();
        let permissions = self.permissions.intersection(other.permissions)?;
        let query = match (&self.query, &other.query) {
            (Some(one), Some(two)) => Some(one.and(two)?),
            (one, two) => one.as_ref().or(two.as_ref()).cloned(),
        };
        let permissions = if query.is_some() { permissions.spelled(Syntax::V2) } else { permissions };
        Self::new(self.context, resource, permissions, query).ok()
    }

    /// Returns whether this scope reaches every resource that `other` reaches, whatever may be done with it.
    pub(crate) fn covers_target(&self, other: &Self) -> bool {
        self.context == other.context && self.resource.covers(&other.resource) && self.covers_query(other)
    }

    /// The same scope with what `permissions` allows beside its own, spelled in `syntax` where it can
    /// be; nothing when that would print too long.
    pub(crate) fn joined(&self, permissions: Permissions, syntax: Syntax) -> Option<Self> {
        let syntax = if self.query.is_some() { Syntax::V2 } else { syntax };
        let permissions = self.permissions.union(permissions).spelled(syntax);
        Self::new(self.context, self.resource.clone(), permissions, self.query.clone()).ok()
    }

    fn covers_query(&self, other: &Self) -> bool {
        match (&self.query, &other.query) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(others)) => others.implies(own),
        }
    }
}

/// `context/Type.permissions`, the context already taken off.
pub(crate) fn parse_after_context(context: Context, rest: &str) -> Result<ClinicalScope, ScopeParseError> {
    let (target, query) = match rest.split_once('?') {
        Some((target, query)) => (target, Some(query)),
        None => (rest, None),
    };
    let Some((resource, permissions)) = target.split_once('.') else {
        return Err(ScopeParseError::MissingPermissions { scope: format!("{context}/{rest}") });
    };
    let resource = resource.parse()?;
    let permissions = permissions.parse()?;
    let query = query.map(str::parse).transpose()?;
    ClinicalScope::new(context, resource, permissions, query)
}

impl fmt::Display for ClinicalScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}.{}", self.context, self.resource, self.permissions)?;
        match &self.query {
            Some(query) => write!(f, "?{query}"),
            None => Ok(()),
        }
    }
}
