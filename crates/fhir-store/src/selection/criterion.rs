//! One search parameter as a condition on a resource: what the query of a granular scope asks for.

use fhir_resource::compartment::{ElementPath, any_at};
use fhir_resource::{ResourceKey, ResourceType};
use fhir_search::escape::{split, unescaped};
use serde_json::Value;

use super::ownership::GroupOwnership;
use super::scoped::ScopeSearch;
use crate::limits;

/// Token parameters on a `CodeableConcept`: the types that have one, its name, and the path to its codings.
///
/// # Source
/// FHIR R4, search parameters `*-category` of these types; the granular scopes that certified servers
/// have to support are on Condition and Observation.
const CODED: &[(&[&str], &str, ElementPath)] = &[(
    &[
        "CarePlan",
        "CareTeam",
        "Communication",
        "CommunicationRequest",
        "Condition",
        "Consent",
        "DiagnosticReport",
        "DocumentReference",
        "Goal",
        "MedicationRequest",
        "Observation",
        "ServiceRequest",
    ],
    "category",
    &["category", "coding"],
)];

/// One condition of an access filter on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterCriterion {
    /// On the codings of one element, which every engine decides without an index.
    Coded(CodingCriterion),
    /// By a search parameter.
    Search(ScopeSearch),
    /// Not a Group that a match made for another organization.
    Ownership(GroupOwnership),
}

/// A condition on the codings of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingCriterion {
    path: ElementPath,
    any_of: Vec<ExactCoding>,
}

/// What a coding has to be, compared to the letter: a scope that decides on access must not select
/// what another code system distinguishes.
///
/// # Source
/// FHIR R4, Search, token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExactCoding {
    /// `code`: of any system, or none.
    Code(String),
    /// `system|code`.
    Coding {
        /// The system.
        system: String,
        /// The code.
        code: String,
    },
    /// `|code`: a coding without a system.
    NoSystem(String),
    /// `system|`: any code of the system.
    System(String),
}

/// A parameter that cannot be applied to a resource here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the parameter {name} of {resource_type} is not applied by this server")]
pub struct UnsupportedCriterionError {
    /// The type.
    pub resource_type: ResourceType,
    /// The name of the parameter, with its modifier.
    pub name: String,
}

impl FilterCriterion {
    /// Reads `name=value`, decoded; a comma in the value separates alternatives, and a backslash takes
    /// its meaning from a comma, a bar, a dollar sign and a backslash.
    ///
    /// # Errors
    /// [`UnsupportedCriterionError`]; also for a value that selects nothing by its form.
    pub fn read(resource_type: &ResourceType, name: &str, value: &str) -> Result<Self, UnsupportedCriterionError> {
        let known = CODED.iter().find(|(kinds, known, _)| *known == name && kinds.contains(&resource_type.as_str()));
        let unsupported = || UnsupportedCriterionError { resource_type: resource_type.clone(), name: name.to_owned() };
        let (.., path) = known.ok_or_else(unsupported)?;
        let alternatives = split(value, ',');
        if alternatives.len() > limits::MAX_TOKENS {
            return Err(unsupported());
        }
        let any_of: Vec<ExactCoding> = alternatives.iter().filter_map(|text| ExactCoding::read(text)).collect();
        if any_of.is_empty() { Err(unsupported()) } else { Ok(Self::Coded(CodingCriterion { path, any_of })) }
    }

    /// Returns whether it holds for a resource.
    #[must_use]
    pub fn holds(&self, key: &ResourceKey, resource: &Value) -> bool {
        match self {
            Self::Coded(coded) => coded.holds(resource),
            Self::Search(scoped) => scoped.holds(key, resource),
            Self::Ownership(ownership) => ownership.holds(resource),
        }
    }

    /// Returns whether a write may make `after` of `before`, apart from whether it holds for both.
    pub(super) fn admits(&self, before: Option<&Value>, after: &Value) -> bool {
        match self {
            Self::Coded(_) | Self::Search(_) => true,
            Self::Ownership(ownership) => ownership.admits(before, after),
        }
    }
}

impl CodingCriterion {
    /// Where the codings are.
    #[must_use]
    pub const fn path(&self) -> ElementPath {
        self.path
    }

    /// Returns what one of the codings has to be.
    #[must_use]
    pub fn tokens(&self) -> &[ExactCoding] {
        &self.any_of
    }

    /// Returns whether it holds for a resource.
    #[must_use]
    pub fn holds(&self, resource: &Value) -> bool {
        any_at(self.path, resource, &mut |coding| self.any_of.iter().any(|token| token.is(coding)))
    }
}

impl ExactCoding {
    fn read(text: &str) -> Option<Self> {
        let parts = split(text, '|');
        let parts: Vec<String> = parts.iter().map(|part| unescaped(part)).collect();
        match parts.as_slice() {
            [code] if !code.is_empty() => Some(Self::Code(code.clone())),
            [system, code] => match (system.is_empty(), code.is_empty()) {
                (true, true) => None,
                (true, false) => Some(Self::NoSystem(code.clone())),
                (false, true) => Some(Self::System(system.clone())),
                (false, false) => Some(Self::Coding { system: system.clone(), code: code.clone() }),
            },
            _ => None,
        }
    }

    /// Returns the system and the code it asks for, as far as it asks for one.
    #[must_use]
    pub fn parts(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Code(code) | Self::NoSystem(code) => (None, Some(code)),
            Self::Coding { system, code } => (Some(system), Some(code)),
            Self::System(system) => (Some(system), None),
        }
    }

    /// Returns whether a coding is what it asks for.
    #[must_use]
    pub fn is(&self, coding: &Value) -> bool {
        let equals = |name: &str, asked: Option<&str>| {
            asked.is_none_or(|asked| coding.get(name).and_then(Value::as_str) == Some(asked))
        };
        let (system, code) = self.parts();
        let bare = !matches!(self, Self::NoSystem(_)) || coding.get("system").is_none();
        bare && equals("system", system) && equals("code", code)
    }
}
