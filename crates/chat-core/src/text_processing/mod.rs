//! Texts that people type, before it is known what they are for.

pub mod alert_words;
pub mod form_errors;
pub mod printable_names;
pub mod search_words;
pub(crate) mod url_scheme;
pub mod url_template;
