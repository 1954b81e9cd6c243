//! A list of scopes and what it permits.

use std::collections::HashSet;
use std::fmt;

use crate::{ClinicalScope, Context, Interaction, Scope, ScopeParseError, ScopeQuery, limits};

/// A set of scopes in the order given, each text once.
///
/// Together they grant the union of what each grants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScopeSet {
    scopes: Vec<Scope>,
}

/// The decision of a [`ScopeSet`] on one interaction with resources of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission<'a> {
    /// No scope grants it.
    Denied,
    /// A scope without a query grants it for every resource of the type.
    Allowed,
    /// Granted for the resources that meet at least one of these queries. Never empty, none twice.
    AllowedWithQueries(Vec<&'a ScopeQuery>),
}

impl ScopeSet {
    /// Parses a space-separated list, as it stands in a request or a token.
    ///
    /// Not specified; spaces at the ends and several in a row are taken as one separator, because
    /// clients that join lists send them and no meaning is lost. An empty list is an empty set.
    ///
    /// # Errors
    /// That of the first scope that cannot be read, [`ScopeParseError::ListTooLong`] and
    /// [`ScopeParseError::TooManyScopes`].
    pub fn parse(list: &str) -> Result<Self, ScopeParseError> {
        if list.len() > limits::MAX_LIST_BYTES {
            return Err(ScopeParseError::ListTooLong { bytes: list.len() });
        }
        Self::from_registered(list.split(' ').filter(|token| !token.is_empty()))
    }

    /// Parses scopes that are stored one by one, as in a Client's `scope`.
    ///
    /// # Errors
    /// That of the first scope that cannot be read, and [`ScopeParseError::TooManyScopes`].
    pub fn from_registered<I>(texts: I) -> Result<Self, ScopeParseError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        // Scopes are equal exactly when their formats are, so the set need not compare with itself.
        let mut seen = HashSet::new();
        let mut scopes = Vec::new();
        for text in texts {
            let scope: Scope = text.as_ref().parse()?;
            if seen.insert(scope.clone()) {
                if scopes.len() == limits::MAX_SCOPES {
                    return Err(ScopeParseError::TooManyScopes);
                }
                scopes.push(scope);
            }
        }
        Ok(Self { scopes })
    }

    /// Returns the scopes in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Scope> {
        self.scopes.iter()
    }

    /// Returns the clinical scopes in order.
    pub fn clinical(&self) -> impl Iterator<Item = &ClinicalScope> {
        self.scopes.iter().filter_map(Scope::as_clinical)
    }

    /// Returns the number of scopes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scopes.len()
    }

    /// Returns whether the set has no scope.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    /// Returns whether the set has `scope` in this very format. [`ScopeSet::covers`] compares by meaning.
    #[must_use]
    pub fn contains(&self, scope: &Scope) -> bool {
        self.scopes.contains(scope)
    }

    /// Returns whether the set has a clinical scope of this context.
    #[must_use]
    pub fn has_context(&self, context: Context) -> bool {
        self.clinical().any(|clinical| clinical.context() == context)
    }

    /// Returns whether the scopes together grant all that `scope` grants.
    ///
    /// `patient/Patient.r patient/*.s` covers `patient/Patient.read`. A list of types never covers `*`.
    #[must_use]
    pub fn covers(&self, scope: &Scope) -> bool {
        let Scope::Clinical(wanted) = scope else {
            return self.contains(scope);
        };
        wanted.permissions().interactions().all(|interaction| {
            self.clinical().any(|own| own.permissions().allows(interaction) && own.covers_target(wanted))
        })
    }

    /// Adds `scope` at the end unless the set has its text already; returns whether it was added.
    pub fn insert(&mut self, scope: Scope) -> bool {
        let is_new = !self.contains(&scope);
        if is_new {
            self.scopes.push(scope);
        }
        is_new
    }

    /// Returns the scopes of `self`, then those of `other` that `self` does not have.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other).cloned().collect()
    }

    /// Returns whether `interaction` on resources of `resource_type` is granted under `context`.
    ///
    /// Several scopes on one type are a union: a plain scope makes granular ones redundant, and the
    /// queries of granular ones are alternatives. The patient compartment of [`Context::Patient`] is the
    /// caller's to apply.
    #[must_use]
    pub fn permits(&self, context: Context, resource_type: &str, interaction: Interaction) -> Permission<'_> {
        let mut queries: Vec<&ScopeQuery> = Vec::new();
        for scope in self.clinical() {
            let matches = scope.context() == context
                && scope.permissions().allows(interaction)
                && scope.resource().selects(resource_type);
            match scope.query() {
                _ if !matches => {}
                None => return Permission::Allowed,
                Some(query) if queries.contains(&query) => {}
                Some(query) => queries.push(query),
            }
        }
        if queries.is_empty() { Permission::Denied } else { Permission::AllowedWithQueries(queries) }
    }
}

impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.scopes.iter().enumerate() {
            let separator = if index == 0 { "" } else { " " };
            write!(f, "{separator}{scope}")?;
        }
        Ok(())
    }
}

impl FromIterator<Scope> for ScopeSet {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        let mut set = Self::default();
        set.extend(scopes);
        set
    }
}

impl Extend<Scope> for ScopeSet {
    fn extend<I: IntoIterator<Item = Scope>>(&mut self, scopes: I) {
        for scope in scopes {
            self.insert(scope);
        }
    }
}

impl IntoIterator for ScopeSet {
    type Item = Scope;
    type IntoIter = std::vec::IntoIter<Scope>;

    fn into_iter(self) -> Self::IntoIter {
        self.scopes.into_iter()
    }
}

impl<'a> IntoIterator for &'a ScopeSet {
    type Item = &'a Scope;
    type IntoIter = std::slice::Iter<'a, Scope>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
