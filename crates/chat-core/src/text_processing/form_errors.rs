//! What is wrong with a form, field by field.

use std::fmt;

use crate::text_processing::printable_names::find_unprintable_in_name;

/// The validation errors of a form: at least one, in the order of the fields.
///
/// It prints as its first problem, which is what a client shows that knows of no fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormErrors(Vec<FormError>);

/// A validation error of one form field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormError {
    /// The field; `None` where several do not go together.
    pub field: Option<&'static str>,
    /// What is wrong with it.
    pub text: String,
}

impl FormError {
    /// Returns what is wrong with a field.
    pub(crate) fn of(field: &'static str, text: impl fmt::Display) -> Self {
        Self { field: Some(field), text: text.to_string() }
    }

    /// Returns what does not go together.
    pub(crate) fn of_all(text: impl fmt::Display) -> Self {
        Self { field: None, text: text.to_string() }
    }
}

impl FormErrors {
    /// Returns the errors in the order of the fields.
    pub fn iter(&self) -> impl Iterator<Item = &FormError> {
        self.0.iter()
    }

    /// Says what is wrong, if anything is.
    ///
    /// # Errors
    /// When there is a problem.
    pub(crate) fn none(found: Vec<FormError>) -> Result<(), Self> {
        if found.is_empty() { Ok(()) } else { Err(Self(found)) }
    }
}

impl From<FormError> for FormErrors {
    fn from(problem: FormError) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for FormErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.first().map_or(Ok(()), |problem| formatter.write_str(&problem.text))
    }
}

impl std::error::Error for FormErrors {}

/// Returns the problem of a field that has to be filled in and is not.
pub(crate) fn blank(field: &'static str, text: &str) -> Option<FormError> {
    text.is_empty().then(|| FormError::of(field, "This field cannot be blank."))
}

/// Returns the problem of a text with a character that no screen shows.
pub(crate) fn unshown(field: &'static str, text: &str) -> Option<FormError> {
    find_unprintable_in_name(text).map(|_| FormError::of(field, format_args!("Invalid characters in {field}!")))
}

/// Returns the problem of a text of more than `limit` characters.
pub(crate) fn too_long(field: &'static str, text: &str, limit: usize) -> Option<FormError> {
    let is_long = text.chars().nth(limit).is_some();
    is_long.then(|| FormError::of(field, format_args!("{field} is too long (limit: {limit} characters)")))
}
