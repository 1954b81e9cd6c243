//! What a query asks for.

use std::sync::Arc;

use fhir_resource::ResourceType;

use crate::entry::IndexEntry;
use crate::parameter::CompiledSearchParameter;
use crate::range::RangeComparison;

/// A search of one resource type, parsed and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// The resource type that is searched.
    pub resource_type: ResourceType,
    /// The clauses, all of which a match meets; none when every resource matches.
    pub clauses: Vec<SearchClause>,
    /// The sort criteria (`_sort`); the first one decides first.
    pub sort: Vec<SortCriterion>,
    /// Matches on a page (`_count`), at most [`MAX_PAGE_SIZE`](crate::limits::MAX_PAGE_SIZE); 0 requests the number of
    /// matches alone.
    pub count: Option<u32>,
    /// The position at which the page begins (`_cursor`), as a link of an earlier page carried it.
    pub cursor: Option<String>,
    /// Whether the number of matches is requested (`_total`).
    pub total: TotalMode,
    /// The part of each resource that is requested (`_summary`).
    pub summary: SummaryMode,
    /// The elements of each resource that are requested (`_elements`); all when empty.
    pub elements: Vec<String>,
    /// The references of matches to follow (`_include`).
    pub includes: Vec<IncludeClause>,
    /// The references to matches to follow backwards (`_revinclude`).
    pub revincludes: Vec<IncludeClause>,
}

/// One condition that a search puts on a resource.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchClause {
    /// Some entry of the parameter meets one of the tests.
    Any {
        /// The parameter.
        parameter: Arc<CompiledSearchParameter>,
        /// The predicates, at least one.
        tests: Vec<IndexEntryPredicate>,
    },
    /// No entry of the parameter meets any of the tests (`:not`, `:not-in`); holds where there is none.
    None {
        /// The parameter.
        parameter: Arc<CompiledSearchParameter>,
        /// The predicates, at least one.
        tests: Vec<IndexEntryPredicate>,
    },
    /// The parameter has no entry (`:missing=true`), or has one.
    Missing {
        /// The parameter.
        parameter: Arc<CompiledSearchParameter>,
        /// True when it must have no entry.
        missing: bool,
    },
    /// What the resource refers to meets a clause.
    Chain(ChainedClause),
    /// What refers to the resource meets a clause.
    Has(ReverseChainedClause),
}

/// A chained parameter (`subject:Patient.name=x`): a resource that this one refers to must meet a clause.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainedClause {
    /// The reference parameter.
    pub parameter: Arc<CompiledSearchParameter>,
    /// The clause for each type that the reference may lead to; one of them is enough.
    pub any_of: Vec<(ResourceType, SearchClause)>,
}

/// A reverse chained parameter (`_has:Observation:patient:code=x`): a resource that refers to this one must meet a
/// clause.
#[derive(Clone, Debug, PartialEq)]
pub struct ReverseChainedClause {
    /// The type of the referring resource.
    pub resource_type: ResourceType,
    /// Its reference parameter.
    pub parameter: Arc<CompiledSearchParameter>,
    /// The clause that it must meet.
    pub clause: Box<SearchClause>,
}

/// A condition on one entry of the search index.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexEntryPredicate {
    /// A code.
    Token {
        /// The condition on the code system.
        system: CodeSystemMatch,
        /// The required code; any when `None`.
        code: Option<String>,
    },
    /// The display text of a token begins with this folded text (`:text`).
    Display(String),
    /// An identifier with a type and a value (`:of-type`).
    OfType {
        /// The system of the type.
        system: Option<String>,
        /// The code of the type.
        code: String,
        /// The value.
        value: String,
    },
    /// A code of the value set of this URL; no entry meets it before [`SearchRequest::expand_value_sets`] put the codes
    /// in its place.
    In(String),
    /// A string.
    Text {
        /// How to compare.
        how: StringMatchMode,
        /// Folded, but for [`StringMatchMode::Exact`].
        text: String,
    },
    /// A reference to a resource of this server.
    Reference {
        /// The type of the target; any when `None`.
        resource_type: Option<ResourceType>,
        /// The id of the target.
        id: String,
    },
    /// A URI.
    Uri {
        /// How to compare.
        how: UriMatchMode,
        /// The URI.
        uri: String,
        /// The version; any when there is none.
        version: Option<String>,
    },
    /// A time.
    Period(RangeComparison<i64>),
    /// A number.
    Number(RangeComparison<f64>),
    /// A number with a unit.
    Quantity {
        /// The number.
        comparison: RangeComparison<f64>,
        /// The unit.
        unit: QuantityUnitMatch,
    },
    /// Values that belong together, one test for each part.
    Composite(Vec<IndexEntryPredicate>),
}

/// The condition on the code system of a token: any, none or a given one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeSystemMatch {
    /// Any system, or none.
    Any,
    /// No system (`|code`).
    None,
    /// This system (`system|code`).
    Is(String),
}

/// The comparison mode of a string parameter: prefix, `:exact` or `:contains`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringMatchMode {
    /// The value begins with the text, without case and accents.
    Starts,
    /// The value contains the text, without case and accents (`:contains`).
    Contains,
    /// The value equals the text, with case and accents (`:exact`).
    Exact,
}

/// The comparison mode of a URI parameter: exact, `:above` or `:below`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriMatchMode {
    /// The URIs are equal.
    Equals,
    /// The entry equals the URI or is below it (`:below`).
    Below,
    /// The entry equals the URI or is above it, up to a slash (`:above`).
    Above,
}

/// The condition on the unit of a quantity: any, a name, or a code of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityUnitMatch {
    /// Any unit, or none.
    Any,
    /// A unit with this code, or with this text as people read it (`5||mg`).
    Named(String),
    /// A unit with this code of this system (`5|system|code`).
    Coded {
        /// The system.
        system: String,
        /// The code.
        code: String,
    },
}

/// One criterion of the sort order (`_sort`): a parameter and a direction.
///
/// Not specified; of several values the least counts, when descending the greatest, and resources without
/// one come last, because a page then begins with what was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct SortCriterion {
    /// The parameter to sort by.
    pub parameter: Arc<CompiledSearchParameter>,
    /// True for descending order.
    pub descending: bool,
}

/// The value of `_total`: whether and how exactly the matches are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TotalMode {
    /// `_total` is absent.
    #[default]
    Unspecified,
    /// `none`: not counted.
    None,
    /// `estimate`: counted roughly.
    Estimate,
    /// `accurate`: counted exactly.
    Accurate,
}

/// The value of `_summary`: the part of each resource that a response has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryMode {
    /// `false`: the whole resource.
    #[default]
    False,
    /// `true`: the elements that are part of the summary.
    True,
    /// `text`: the narrative, `id`, `meta` and the mandatory elements.
    Text,
    /// `data`: all but the narrative.
    Data,
    /// `count`: the number of matches alone.
    Count,
}

/// An `_include` or `_revinclude` parameter: the references to follow from or to the matches.
#[derive(Clone, Debug, PartialEq)]
pub struct IncludeClause {
    /// The type of the referring resources; any for `*`.
    pub resource_type: Option<ResourceType>,
    /// The reference parameters to follow.
    pub by: IncludeReferences,
    /// The type of the targets to follow to; any when `None`.
    pub target: Option<ResourceType>,
    /// True when included resources are followed as well (`:iterate`).
    pub iterate: bool,
}

/// The reference parameters that an include follows: one or all.
#[derive(Clone, Debug, PartialEq)]
pub enum IncludeReferences {
    /// Every reference parameter (`*`).
    All,
    /// This reference parameter.
    Parameter(Arc<CompiledSearchParameter>),
}

impl SearchClause {
    /// Returns the search parameter that the clause tests.
    #[must_use]
    pub fn search_parameter(&self) -> &Arc<CompiledSearchParameter> {
        match self {
            Self::Any { parameter, .. } | Self::None { parameter, .. } | Self::Missing { parameter, .. } => parameter,
            Self::Chain(chain) => &chain.parameter,
            Self::Has(has) => &has.parameter,
        }
    }

    /// Returns the resource types that the chains and `_has` of the clause lead to.
    #[must_use]
    pub fn chained_resource_types(&self) -> Vec<&ResourceType> {
        match self {
            Self::Any { .. } | Self::None { .. } | Self::Missing { .. } => Vec::new(),
            Self::Chain(chain) => chain
                .any_of
                .iter()
                .flat_map(|(resource_type, clause)| clause.chained_resource_types().into_iter().chain([resource_type]))
                .collect(),
            Self::Has(has) => has.clause.chained_resource_types().into_iter().chain([&has.resource_type]).collect(),
        }
    }
}

impl IndexEntryPredicate {
    /// Returns whether an index entry meets the predicate; false for an entry of another kind and for
    /// [`IndexEntryPredicate::In`].
    #[must_use]
    pub fn matches_entry(&self, entry: &IndexEntry) -> bool {
        match (self, entry) {
            (Self::Token { system, code }, IndexEntry::Token { system: of, code: is }) => {
                system.matches_system(of.as_deref()) && code.as_ref().is_none_or(|code| is.as_ref() == Some(code))
            }
            (Self::Display(asked), IndexEntry::Display { folded }) => folded.starts_with(asked.as_str()),
            (Self::OfType { .. }, IndexEntry::TypedIdentifier { .. }) => self.is_of_type(entry),
            (Self::Text { how, text }, IndexEntry::Text { folded, exact }) => how.holds(text, folded, exact),
            (Self::Reference { resource_type, id }, IndexEntry::Reference { resource_type: of, id: is }) => {
                id == is && resource_type.as_ref().is_none_or(|resource_type| resource_type.as_str() == of)
            }
            (Self::Uri { how, uri, version }, IndexEntry::Uri { uri: is, version: of }) => {
                how.holds(uri, is) && version.as_ref().is_none_or(|version| of.as_ref() == Some(version))
            }
            (Self::Period(comparison), IndexEntry::Period { from_us, to_us }) => {
                comparison.matches_range(from_us, to_us)
            }
            (Self::Number(comparison), IndexEntry::Number { low, high }) => comparison.matches_range(low, high),
            (Self::Quantity { comparison, unit }, IndexEntry::Quantity { low, high, .. }) => {
                comparison.matches_range(low, high) && unit.holds(entry)
            }
            (Self::Composite(tests), IndexEntry::Composite(parts)) => {
                tests.len() == parts.len() && tests.iter().zip(parts).all(|(test, part)| test.matches_entry(part))
            }
            _ => false,
        }
    }

    fn is_of_type(&self, entry: &IndexEntry) -> bool {
        let Self::OfType { system, code, value } = self else { return false };
        let IndexEntry::TypedIdentifier { system: of, code: type_code, value: is } = entry else { return false };
        code == type_code && value == is && system.as_ref().is_none_or(|system| of.as_ref() == Some(system))
    }
}

impl CodeSystemMatch {
    /// Returns whether the system of an entry meets the condition.
    #[must_use]
    pub fn matches_system(&self, system: Option<&str>) -> bool {
        match self {
            Self::Any => true,
            Self::None => system.is_none(),
            Self::Is(asked) => system == Some(asked),
        }
    }
}

impl StringMatchMode {
    fn holds(self, asked: &str, folded: &str, exact: &str) -> bool {
        match self {
            Self::Starts => folded.starts_with(asked),
            Self::Contains => folded.contains(asked),
            Self::Exact => exact == asked,
        }
    }
}

impl UriMatchMode {
    /// Below and above go by whole segments: `http://a/b` is above `http://a/b/c` and not above
    /// `http://a/bc`.
    fn holds(self, asked: &str, is: &str) -> bool {
        match self {
            Self::Equals => asked == is,
            Self::Below => is_at_or_below(is, asked),
            Self::Above => is_at_or_below(asked, is),
        }
    }
}

fn is_at_or_below(uri: &str, root: &str) -> bool {
    uri.strip_prefix(root).is_some_and(|rest| rest.is_empty() || root.ends_with('/') || rest.starts_with('/'))
}

impl QuantityUnitMatch {
    fn holds(&self, entry: &IndexEntry) -> bool {
        let IndexEntry::Quantity { system, code, unit, .. } = entry else { return false };
        match self {
            Self::Any => true,
            Self::Named(asked) => code.as_ref() == Some(asked) || unit.as_ref() == Some(asked),
            Self::Coded { system: of, code: asked } => system.as_ref() == Some(of) && code.as_ref() == Some(asked),
        }
    }
}
