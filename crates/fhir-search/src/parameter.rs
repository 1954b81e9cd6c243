//! One search parameter.

use std::fmt;

use fhir_resource::ResourceType;

use crate::expression::Expression;

/// The parameter number of the index rows that record the patient compartments of a resource.
pub const COMPARTMENT_PARAMETER_NUMBER: i64 = 0;

/// The type of a search parameter (`SearchParameter.type`), which decides how values are parsed and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SearchParameterType {
    /// A number.
    Number,
    /// A date, a time or a period.
    Date,
    /// Text compared by its beginning.
    String,
    /// A code of a system.
    Token,
    /// Another resource.
    Reference,
    /// Several values of one element.
    Composite,
    /// A number with a unit.
    Quantity,
    /// A URI.
    Uri,
}

impl SearchParameterType {
    const ALL: [(&'static str, Self); 8] = [
        ("number", Self::Number),
        ("date", Self::Date),
        ("string", Self::String),
        ("token", Self::Token),
        ("reference", Self::Reference),
        ("composite", Self::Composite),
        ("quantity", Self::Quantity),
        ("uri", Self::Uri),
    ];

    /// Returns the type with this code in `SearchParameter.type`; `None` for `special`.
    #[must_use]
    pub fn from_code(name: &str) -> Option<Self> {
        Self::ALL.iter().find_map(|(known, parameter_type)| (*known == name).then_some(*parameter_type))
    }

    /// Returns the code of the type in `SearchParameter.type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find_map(|(name, parameter_type)| (*parameter_type == self).then_some(*name))
            .unwrap_or_default()
    }

    /// Returns the modifiers that this server supports for parameters of the type, beside `:missing`, which every type
    /// has.
    #[must_use]
    pub const fn supported_modifiers(self) -> &'static [&'static str] {
        match self {
            Self::String => &["exact", "contains"],
            Self::Token => &["not", "text", "in", "not-in", "of-type"],
            Self::Reference => &["identifier", "[type]"],
            Self::Uri => &["above", "below"],
            Self::Number | Self::Date | Self::Quantity | Self::Composite => &[],
        }
    }
}

impl fmt::Display for SearchParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A search parameter of one resource type, with its expression compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct CompiledSearchParameter {
    /// The name of the parameter in a query.
    pub code: String,
    /// The canonical URL of the parameter.
    pub url: String,
    /// The type of its values.
    pub parameter_type: SearchParameterType,
    /// The number of the parameter in the index rows: one for all types that share the definition, and never changed.
    pub number: i64,
    /// The types that a reference may lead to; empty when the definition names none.
    pub targets: Vec<ResourceType>,
    /// The components of a composite, in their order; empty for other types.
    pub components: Vec<CompositeComponent>,
    /// The numbers of other parameters of the type that together find the same resources: this one has no index rows
    /// then, and a search uses theirs
    /// ([`parameters_sharing_rows`](crate::SearchParameterCatalog::parameters_sharing_rows)). Empty for most.
    pub sources: Vec<i64>,
    /// The numbers of other parameters of the type, one for each component of a composite that finds exactly the
    /// resources that all of them find: this one has no index rows then, and a search uses theirs
    /// ([`parameters_standing_in_for_composite`](crate::SearchParameterCatalog::parameters_standing_in_for_composite)). Empty for most.
    pub parts: Vec<i64>,
    pub(super) expression: Expression,
}

/// The summary of a search parameter for the `CapabilityStatement`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchParameterSummary {
    /// See [`CompiledSearchParameter::code`].
    pub code: String,
    /// See [`CompiledSearchParameter::url`].
    pub url: String,
    /// See [`CompiledSearchParameter::parameter_type`].
    pub parameter_type: SearchParameterType,
    /// See [`CompiledSearchParameter::targets`].
    pub targets: Vec<ResourceType>,
}

impl From<&CompiledSearchParameter> for SearchParameterSummary {
    fn from(parameter: &CompiledSearchParameter) -> Self {
        let CompiledSearchParameter { code, url, parameter_type, targets, .. } = parameter;
        Self { code: code.clone(), url: url.clone(), parameter_type: *parameter_type, targets: targets.clone() }
    }
}

/// One component of a composite search parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct CompositeComponent {
    /// The type of its values; never composite.
    pub parameter_type: SearchParameterType,
    pub(super) expression: Expression,
}

/// The column of a resource's table that answers a search parameter, so that the index needs no rows for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceColumn {
    /// The id (`_id`).
    Id,
    /// When the version was written (`_lastUpdated`).
    LastUpdated,
}

impl CompiledSearchParameter {
    /// Returns whether its values are of the same type, and made of a value the same way.
    fn is_like(&self, other: &Self) -> bool {
        self.parameter_type == other.parameter_type && self.components == other.components
    }

    /// Those of `others` that together find what it finds, where there are such: the expression of each is a part of
    /// its own. Of two that find the same, the one with the smaller number is the source.
    ///
    /// What a reference is to is asked by more than its value, so references have rows of their own.
    pub(super) fn found_by<'a>(&self, others: &[&'a Self]) -> Vec<&'a Self> {
        if self.parameter_type == SearchParameterType::Reference || self.resource_column().is_some() {
            return Vec::new();
        }
        let own = self.expression.alternatives();
        let parts = others.iter().copied().filter(|other| {
            let of = other.expression.alternatives();
            let is_smaller = (of.len(), other.number) < (own.len(), self.number);
            is_smaller && other.is_like(self) && of.iter().all(|part| own.contains(part))
        });
        let parts: Vec<&Self> = parts.collect();
        let found = |part: &_| parts.iter().any(|other| other.expression.alternatives().contains(part));
        if own.iter().all(found) { parts } else { Vec::new() }
    }

    /// Those of `others` that find what its parts find, in their order, where it is a composite about the resource as a
    /// whole: then the values of its parts belong together whenever the resource has them. None where a part is found
    /// by no other parameter alone.
    ///
    /// What a part that is a reference is to is asked by more than its value, so such composites have rows.
    pub(super) fn made_of<'a>(&self, others: &[&'a Self]) -> Vec<&'a Self> {
        if self.parameter_type != SearchParameterType::Composite || !self.expression.is_whole() {
            return Vec::new();
        }
        let found_by = |part: &CompositeComponent| {
            let likes = |other: &&&Self| {
                other.parameter_type == part.parameter_type && other.expression.is_like(&part.expression)
            };
            others.iter().filter(likes).min_by_key(|other| other.number).copied()
        };
        let parts = self
            .components
            .iter()
            .filter(|part| part.parameter_type != SearchParameterType::Reference)
            .map_while(found_by);
        let parts: Vec<&Self> = parts.collect();
        if parts.len() == self.components.len() { parts } else { Vec::new() }
    }

    /// Returns whether the parameter has index rows, because neither a column nor other parameters' rows answer it.
    #[must_use]
    pub fn has_index_rows(&self) -> bool {
        self.resource_column().is_none() && self.sources.is_empty() && self.parts.is_empty()
    }

    /// Returns the resource column that answers the parameter (`_id`, `_lastUpdated`), if any.
    #[must_use]
    pub fn resource_column(&self) -> Option<ResourceColumn> {
        match self.code.as_str() {
            "_id" => Some(ResourceColumn::Id),
            "_lastUpdated" => Some(ResourceColumn::LastUpdated),
            _ => None,
        }
    }
}
