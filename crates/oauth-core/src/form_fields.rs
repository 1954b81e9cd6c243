//! The fields of a form, read by the rules of RFC 6749, section 3.2: a field without a value is one that was not sent,
//! and none may be sent twice.

/// The decoded fields of a form in the order in which they were sent.
#[derive(Clone, Default)]
pub struct FormFields {
    pairs: Vec<(String, String)>,
}

/// A form field was sent twice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the parameter {0} is given more than once")]
pub struct RepeatedFieldError(pub String);

impl FormFields {
    /// Creates the fields from decoded pairs; empty values are dropped.
    ///
    /// # Errors
    /// [`RepeatedFieldError`] names the first parameter that is given twice. Unknown parameters count too:
    /// RFC 6749, section 3.2 forbids repeating any.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, RepeatedFieldError> {
        let mut form = Self::default();
        for (name, value) in pairs {
            if value.is_empty() {
                continue;
            }
            if form.get(&name).is_some() {
                return Err(RepeatedFieldError(sanitize_for_error_description(&name)));
            }
            form.pairs.push((name, value));
        }
        Ok(form)
    }

    /// Returns the value of the field `name`; `None` when it is absent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl std::fmt::Debug for FormFields {
    /// Names only: values are secrets, codes and assertions.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.pairs.iter().map(|(name, _)| name)).finish()
    }
}

/// Longest part of a request that an answer or a log line repeats, in characters.
const PRINTABLE_MAX: usize = 160;

/// Returns `text` sanitized for an `error_description`: printable ASCII without `"` and `\` (RFC 6749, section 5.2), at
/// most 160 characters. Other characters become `?`.
#[must_use]
pub fn sanitize_for_error_description(text: &str) -> String {
    let allowed = |c: char| (c == ' ' || c.is_ascii_graphic()) && c != '"' && c != '\\';
    text.chars().take(PRINTABLE_MAX).map(|c| if allowed(c) { c } else { '?' }).collect()
}
