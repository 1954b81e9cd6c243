//! One search parameter as a condition on a resource: what the query of a granular scope asks for.

use fhir_resource::patient_compartment::{ElementPath, any_object_at_path};
use fhir_resource::{ResourceKey, ResourceType};
use fhir_search::search_value_escaping::{split_at_unescaped_separator, unescape};
use serde_json::Value;

use super::ownership::GroupOwnershipFilter;
use super::scoped::GranularScopeSearch;
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
pub enum AccessFilterCriterion {
    /// A condition on the codings of one element, which every engine decides without an index.
    Coded(CodingCriterion),
    /// A condition by a search parameter.
    Search(GranularScopeSearch),
    /// The resource is not a Group that a match made for another organization.
    Ownership(GroupOwnershipFilter),
}

/// A condition on the codings of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingCriterion {
    path: ElementPath,
    any_of: Vec<ExactCodingMatch>,
}

/// A case-sensitive condition on a coding: its system, its code or both.
///
/// # Source
/// FHIR R4, Search, token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExactCodingMatch {
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

/// A search parameter that cannot be used as a condition of an access filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the parameter {name} of {resource_type} is not applied by this server")]
pub struct UnsupportedCriterionError {
    /// The resource type.
    pub resource_type: ResourceType,
    /// The name of the parameter, with its modifier.
    pub name: String,
}

impl AccessFilterCriterion {
    /// Parses a decoded `name=value` pair of a scope query.
    ///
    /// # Errors
    /// [`UnsupportedCriterionError`]; also for a value that by its form selects nothing, and for more than
    /// [`limits::MAX_TOKEN_ALTERNATIVES`] alternatives.
    pub fn parse(resource_type: &ResourceType, name: &str, value: &str) -> Result<Self, UnsupportedCriterionError> {
        let known = CODED.iter().find(|(kinds, known, _)| *known == name && kinds.contains(&resource_type.as_str()));
        let unsupported = || UnsupportedCriterionError { resource_type: resource_type.clone(), name: name.to_owned() };
        let (.., path) = known.ok_or_else(unsupported)?;
        let alternatives = split_at_unescaped_separator(value, ',');
        if alternatives.len() > limits::MAX_TOKEN_ALTERNATIVES {
            return Err(unsupported());
        }
        let any_of: Vec<ExactCodingMatch> =
            alternatives.iter().filter_map(|text| ExactCodingMatch::read(text)).collect();
        if any_of.is_empty() { Err(unsupported()) } else { Ok(Self::Coded(CodingCriterion { path, any_of })) }
    }

    /// Returns whether a resource meets the criterion.
    #[must_use]
    pub fn matches_resource(&self, key: &ResourceKey, resource: &Value) -> bool {
        match self {
            Self::Coded(coded) => coded.matches_resource(resource),
            Self::Search(scoped) => scoped.matches_resource(key, resource),
            Self::Ownership(ownership) => ownership.includes_group(resource),
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
    /// Returns the path of the element that has the codings.
    #[must_use]
    pub const fn coding_path(&self) -> ElementPath {
        self.path
    }

    /// Returns the alternatives, of which a coding must meet one.
    #[must_use]
    pub fn accepted_codings(&self) -> &[ExactCodingMatch] {
        &self.any_of
    }

    /// Returns whether a resource meets the criterion.
    #[must_use]
    pub fn matches_resource(&self, resource: &Value) -> bool {
        any_object_at_path(self.path, resource, &mut |coding| {
            self.any_of.iter().any(|token| token.matches_coding(coding))
        })
    }
}

impl ExactCodingMatch {
    fn read(text: &str) -> Option<Self> {
        let parts = split_at_unescaped_separator(text, '|');
        let parts: Vec<String> = parts.iter().map(|part| unescape(part)).collect();
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

    /// Returns the required system and the required code, where there are any.
    #[must_use]
    pub fn system_and_code(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Code(code) | Self::NoSystem(code) => (None, Some(code)),
            Self::Coding { system, code } => (Some(system), Some(code)),
            Self::System(system) => (Some(system), None),
        }
    }

    /// Returns whether a coding meets the condition.
    #[must_use]
    pub fn matches_coding(&self, coding: &Value) -> bool {
        let equals = |name: &str, asked: Option<&str>| {
            asked.is_none_or(|asked| coding.get(name).and_then(Value::as_str) == Some(asked))
        };
        let (system, code) = self.system_and_code();
        let bare = !matches!(self, Self::NoSystem(_)) || coding.get("system").is_none();
        bare && equals("system", system) && equals("code", code)
    }
}
