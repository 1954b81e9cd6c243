//! One search parameter.

use std::fmt;

use fhir_resource::ResourceType;

use crate::expression::Expression;

/// The number of the rows that say in which patients' compartments a resource is: an
/// [`IndexEntry::Reference`](crate::IndexEntry::Reference) to each Patient.
pub const COMPARTMENT: i64 = 0;

/// The type of a search parameter: what its values look like and how they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParameterType {
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

impl ParameterType {
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

    /// Returns the type of this name in `SearchParameter.type`; `None` for `special`, which each have rules of their
    /// own.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find_map(|(known, parameter_type)| (*known == name).then_some(*parameter_type))
    }

    /// Its name in `SearchParameter.type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find_map(|(name, parameter_type)| (*parameter_type == self).then_some(*name))
            .unwrap_or_default()
    }

    /// Returns the modifiers a parameter of this type takes here, without those that every type takes.
    #[must_use]
    pub const fn modifiers(self) -> &'static [&'static str] {
        match self {
            Self::String => &["exact", "contains"],
            Self::Token => &["not", "text", "in", "not-in", "of-type"],
            Self::Reference => &["identifier", "[type]"],
            Self::Uri => &["above", "below"],
            Self::Number | Self::Date | Self::Quantity | Self::Composite => &[],
        }
    }
}

impl fmt::Display for ParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One search parameter of one resource type, its expression compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchParameter {
    /// The name it has in a query.
    pub code: String,
    /// What names it everywhere.
    pub url: String,
    /// The type of its values.
    pub parameter_type: ParameterType,
    /// The key of its rows: the same for all the types that share the definition, and for good.
    pub number: i64,
    /// The types a reference may be to; none when nothing says so.
    pub targets: Vec<ResourceType>,
    /// The parts of a composite, in their order; none for the others.
    pub components: Vec<CompositeComponent>,
    /// The numbers of other parameters of the type that together find the same: it has no rows then, and a
    /// search asks for theirs ([`SearchParameterCatalog::sources`](crate::SearchParameterCatalog::sources)). None for most.
    pub sources: Vec<i64>,
    /// The numbers of other parameters of the type, one for each part of a composite, where a resource is found by it
    /// that is found by all of them: it has no rows then, and a search asks for theirs
    /// ([`SearchParameterCatalog::parts`](crate::SearchParameterCatalog::parts)). None for most.
    pub parts: Vec<i64>,
    pub(super) expression: Expression,
}

/// The summary of a search parameter for the `CapabilityStatement`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSummary {
    /// See [`SearchParameter::code`].
    pub code: String,
    /// See [`SearchParameter::url`].
    pub url: String,
    /// See [`SearchParameter::parameter_type`].
    pub parameter_type: ParameterType,
    /// See [`SearchParameter::targets`].
    pub targets: Vec<ResourceType>,
}

impl From<&SearchParameter> for ParameterSummary {
    fn from(parameter: &SearchParameter) -> Self {
        let SearchParameter { code, url, parameter_type, targets, .. } = parameter;
        Self { code: code.clone(), url: url.clone(), parameter_type: *parameter_type, targets: targets.clone() }
    }
}

/// One part of a composite parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct CompositeComponent {
    /// The type of its values; never composite.
    pub parameter_type: ParameterType,
    pub(super) expression: Expression,
}

/// The column that an engine stores beside a resource, so that no index row repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexColumn {
    /// The id (`_id`).
    Id,
    /// When the version was written (`_lastUpdated`).
    LastUpdated,
}

impl SearchParameter {
    /// Returns whether its values are of the same type, and made of a value the same way.
    fn is_like(&self, other: &Self) -> bool {
        self.parameter_type == other.parameter_type && self.components == other.components
    }

    /// Those of `others` that together find what it finds, where there are such: the expression of each is a part of
    /// its own. Of two that find the same, the one with the smaller number is the source.
    ///
    /// What a reference is to is asked by more than its value, so references have rows of their own.
    pub(super) fn found_by<'a>(&self, others: &[&'a Self]) -> Vec<&'a Self> {
        if self.parameter_type == ParameterType::Reference || self.column().is_some() {
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
    /// whole: then the values of its parts belong together whenever the resource has them. None where a part is found by
    /// no other parameter alone.
    ///
    /// What a part that is a reference is to is asked by more than its value, so such composites have rows.
    pub(super) fn made_of<'a>(&self, others: &[&'a Self]) -> Vec<&'a Self> {
        if self.parameter_type != ParameterType::Composite || !self.expression.is_whole() {
            return Vec::new();
        }
        let found_by = |part: &CompositeComponent| {
            let likes = |other: &&&Self| {
                other.parameter_type == part.parameter_type && other.expression.is_like(&part.expression)
            };
            others.iter().filter(likes).min_by_key(|other| other.number).copied()
        };
        let parts =
            self.components.iter().filter(|part| part.parameter_type != ParameterType::Reference).map_while(found_by);
        let parts: Vec<&Self> = parts.collect();
        if parts.len() == self.components.len() { parts } else { Vec::new() }
    }

    /// Returns whether it has rows: neither columns nor other parameters have what it finds.
    #[must_use]
    pub fn has_rows(&self) -> bool {
        self.column().is_none() && self.sources.is_empty() && self.parts.is_empty()
    }

    /// Returns the column that answers this parameter; [`SearchParameterCatalog::entries`](crate::SearchParameterCatalog::entries) has nothing of
    /// these.
    #[must_use]
    pub fn column(&self) -> Option<IndexColumn> {
        match self.code.as_str() {
            "_id" => Some(IndexColumn::Id),
            "_lastUpdated" => Some(IndexColumn::LastUpdated),
            _ => None,
        }
    }
}
