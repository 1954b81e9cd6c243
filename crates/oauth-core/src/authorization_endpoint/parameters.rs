//! The parameters of an authorization request.

use crate::form_fields::sanitize_for_error_description;

/// The parameters this server reads; every other one is ignored (RFC 6749, section 3.1).
const READ: [&str; 16] = [
    "client_id",
    "redirect_uri",
    "response_type",
    "response_mode",
    "state",
    "scope",
    "aud",
    "code_challenge",
    "code_challenge_method",
    "launch",
    "nonce",
    "prompt",
    "max_age",
    "login_hint",
    "request",
    "request_uri",
];

/// Decoded parameters of `GET` or `POST /auth/authorize`. A parameter without a value is one that was not
/// sent; one that was sent twice has no value, because nobody knows which was meant.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AuthorizationParameters {
    pairs: Vec<(&'static str, String)>,
    repeated: Vec<String>,
}

impl AuthorizationParameters {
    /// Takes decoded pairs in the order they were sent. Never fails: what a fault of these parameters is
    /// answered with depends on which one it is.
    #[must_use]
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut parameters = Self::default();
        let mut seen = std::collections::HashSet::new();
        for (name, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            let known = READ.iter().find(|read| **read == name);
            if !seen.insert(name.clone()) {
                parameters.pairs.retain(|(held, _)| *held != name);
                parameters.repeated.push(sanitize_for_error_description(&name));
            } else if let Some(known) = known {
                parameters.pairs.push((known, value));
            }
        }
        parameters
    }

    /// Returns the value of a parameter that was sent once.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(held, _)| *held == name).map(|(_, value)| value.as_str())
    }

    /// Returns the first parameter that was sent twice, known or not (RFC 6749, section 3.1 forbids it for any), fit to
    /// be repeated in an answer.
    pub(crate) fn repeated(&self) -> Option<&str> {
        self.repeated.first().map(String::as_str)
    }

    pub(super) fn pairs(&self) -> &[(&'static str, String)] {
        &self.pairs
    }
}

impl std::fmt::Debug for AuthorizationParameters {
    /// Names only: `state`, `launch` and the challenge are nobody's business.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.pairs.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(pairs: &[(&str, &str)]) -> AuthorizationParameters {
        AuthorizationParameters::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn a_parameter_that_is_repeated_has_no_value_and_is_told() {
        let read = parameters(&[("state", "a"), ("scope", "openid"), ("state", "b"), ("state", "c")]);
        assert_eq!((read.get("state"), read.repeated()), (None, Some("state")));
        assert_eq!(read.get("scope"), Some("openid"));
    }

    #[test]
    fn an_unknown_parameter_is_ignored_unless_it_is_repeated() {
        let read = parameters(&[("resource", "x"), ("audience", "y")]);
        assert_eq!((read.get("resource"), read.repeated()), (None, None));
        assert_eq!(parameters(&[("x\"y", "1"), ("x\"y", "2")]).repeated(), Some("x?y"));
    }

    #[test]
    fn a_parameter_without_a_value_was_not_sent() {
        let read = parameters(&[("state", ""), ("state", "a"), ("scope", "")]);
        assert_eq!((read.get("state"), read.get("scope"), read.repeated()), (Some("a"), None, None));
    }
}
