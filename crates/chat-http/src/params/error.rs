//! Why a parameter is refused.

use std::fmt;

/// The reason why a parameter is refused, with the text for the caller. Which code and further keys go with it is in
/// [`crate::error`].
///
/// # Source
/// Texts as existing clients know them; a path names an element as in `narrow[0]["operand"]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// A required parameter is in neither body nor query.
    #[error("Missing '{name}' argument")]
    Missing {
        /// The parameter.
        name: &'static str,
    },
    /// The value is not UTF-8, or holds a NUL where the kind takes none.
    #[error("Bad value for '{name}': {shown}")]
    Unreadable {
        /// The parameter.
        name: &'static str,
        /// The start of the value, with replacement characters for what is no UTF-8.
        shown: String,
    },
    /// A JSON-encoded value is no JSON, or is nested too deep.
    #[error("{name} is not valid JSON")]
    NotJson {
        /// The parameter.
        name: &'static str,
    },
    /// A JSON value of another type.
    #[error("{path} is not {expected}")]
    WrongType {
        /// Where.
        path: String,
        /// What it should be.
        expected: ExpectedJsonType,
    },
    /// None of the words the parameter knows.
    #[error("Invalid {path}")]
    NotAWord {
        /// Where.
        path: String,
    },
    /// None of the choices of a list.
    #[error("Invalid {path}: Value error, Not in the list of possible values")]
    NotListed {
        /// Where.
        path: String,
    },
    /// A value that is none, in words of its own.
    #[error("Invalid {path}: Value error, {what}")]
    Unfit {
        /// Where.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// A property that subscriptions do not have.
    #[error("Unknown subscription property: {property}")]
    UnknownProperty {
        /// As it was sent.
        property: String,
    },
    /// Nothing to add and nothing to delete.
    #[error("Nothing to do. Specify at least one of \"add\" or \"delete\".")]
    NothingToDo,
    /// Empty, or white space alone.
    #[error("{path} cannot be blank")]
    Blank {
        /// Where.
        path: String,
    },
    /// Too many characters.
    #[error("{path} is too long (limit: {limit} characters)")]
    TooLong {
        /// Where.
        path: String,
        /// Characters allowed.
        limit: usize,
    },
    /// A number under its least value.
    #[error("{path} is too small")]
    TooSmall {
        /// Where.
        path: String,
    },
    /// A number over its greatest value.
    #[error("{path} is too large")]
    TooLarge {
        /// Where.
        path: String,
    },
    /// An object lacks a key.
    #[error("{path} field is missing: Field required")]
    KeyMissing {
        /// Where the key should be.
        path: String,
    },
    /// An object has a key too many.
    #[error("Argument \"{key}\" at {path} is unexpected")]
    KeyUnexpected {
        /// The key.
        key: String,
        /// Where the key is.
        path: String,
    },
    /// A list that should have two elements has more or fewer.
    #[error("{path} should have exactly 2 items")]
    NotAPair {
        /// Where.
        path: String,
    },
    /// The operand of a narrow's term has not the type its operator takes.
    #[error("{0}")]
    Operand(String),
    /// A parameter and its older name are both given.
    #[error("Can't decide between '{first}' and '{second}' arguments")]
    Confusing {
        /// The name.
        first: &'static str,
        /// The older name.
        second: &'static str,
    },
    /// Parameters that exclude each other.
    #[error("Unsupported parameter combination: {}", .names.join(", "))]
    Incompatible {
        /// Those that were given, in the order the endpoint declares them.
        names: Vec<&'static str>,
    },
    /// `to` has none of its shapes.
    #[error(transparent)]
    Recipients(#[from] super::RecipientsError),
}

/// The type a JSON value should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedJsonType {
    /// `true` or `false`.
    Boolean,
    /// A number without fraction.
    Integer,
    /// A string.
    String,
    /// An array.
    List,
    /// An object.
    Dict,
}

impl fmt::Display for ExpectedJsonType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::String => "a string",
            Self::List => "a list",
            Self::Dict => "a dict",
        })
    }
}
