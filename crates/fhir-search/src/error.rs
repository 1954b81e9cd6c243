//! The reasons why a search is not carried out, or not all of it.

use crate::limits;

/// The reason why a search cannot be carried out. The texts say what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The type has no parameter of this name.
    #[error("{resource_type} has no search parameter {name}; CapabilityStatement lists those it has")]
    UnknownParameter {
        /// The type that is searched.
        resource_type: String,
        /// The name as it stands in the query.
        name: String,
    },
    /// A parameter of FHIR that is not supported here.
    #[error("the search parameter {0} is not supported")]
    Unsupported(String),
    /// A parameter without a value.
    #[error("the search parameter {0} has no value")]
    NoValue(String),
    /// A modifier that this parameter does not take.
    #[error("{code} is a {parameter_type} parameter and takes no modifier :{modifier}; it takes {supported}")]
    Modifier {
        /// The parameter.
        code: String,
        /// Its type.
        parameter_type: &'static str,
        /// The modifier.
        modifier: String,
        /// The modifiers that the parameter takes, in words.
        supported: String,
    },
    /// A value that the parameter cannot be compared with.
    #[error("{value:?} is no value of {name}: {expected}")]
    Value {
        /// The parameter, as it stood in the query.
        name: String,
        /// The value.
        value: String,
        /// A description of the values that the parameter takes.
        expected: &'static str,
    },
    /// A chain behind a parameter that is not a reference.
    #[error("{0} is no reference, so nothing can be asked of what it refers to")]
    NotAReference(String),
    /// A chain or a reverse chain whose parts cannot be read.
    #[error("{name} is not well formed: {expected}")]
    Name {
        /// The parameter, as it stood in the query.
        name: String,
        /// A description of the form that the name should have.
        expected: &'static str,
    },
    /// More than [`limits::MAX_CHAIN_REFERENCES`] steps from resource to resource.
    #[error("{0} goes over more than {max} references", max = limits::MAX_CHAIN_REFERENCES)]
    LongChain(String),
    /// A value longer than [`limits::MAX_SEARCH_VALUE_BYTES`].
    #[error("the value of {0} is longer than {max} bytes", max = limits::MAX_SEARCH_VALUE_BYTES)]
    LongValue(String),
    /// More than [`limits::MAX_VALUES_PER_PARAMETER`] values for one parameter.
    #[error("{0} has more than {max} values", max = limits::MAX_VALUES_PER_PARAMETER)]
    TooManyValues(String),
    /// A chain that leads to more than [`limits::MAX_CHAIN_TARGET_TYPES`] types.
    #[error("{0} asks too much of too many types: name the type, as in subject:Patient.name, or fewer values")]
    TooManyTypes(String),
    /// More than [`limits::MAX_SEARCH_CONDITIONS`] values in all parameters of the search together.
    #[error(
        "with {0} the search has more than {max} values; a chain counts its values for each type it may lead to",
        max = limits::MAX_SEARCH_CONDITIONS
    )]
    TooManyTests(String),
    /// More than [`limits::MAX_SEARCH_PARAMETERS`] parameters.
    #[error("a search has at most {max} parameters", max = limits::MAX_SEARCH_PARAMETERS)]
    TooManyParameters,
    /// A value set that is not installed.
    #[error("the value set {0} is not installed")]
    UnknownValueSet(String),
}

/// A search parameter that was ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredSearchParameter {
    /// The name as it stands in the query.
    pub name: String,
    /// The reason; its text is for the outcome entry of the response.
    pub fault: SearchError,
}

impl SearchError {
    /// Returns whether a lenient search ignores the parameter: it is unknown, not supported or without a value. A known
    /// parameter with a wrong modifier or value is refused either way.
    ///
    /// # Source
    /// FHIR R4, Search, Handling Errors, and Modifiers: a modifier that is not supported is refused.
    #[must_use]
    pub const fn is_ignorable_when_lenient(&self) -> bool {
        matches!(self, Self::UnknownParameter { .. } | Self::Unsupported(_) | Self::NoValue(_))
    }
}
