//! The search query at the end of a granular scope.

use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;

use crate::characters::check_characters;
use crate::{ScopeParseError, limits};

/// Parameters that reach beyond the resources of the scope's own type.
///
/// # Source
/// Specification "Limits", row "v2 search-parameter scopes".
const FORBIDDEN: [&str; 5] = ["_include", "_revinclude", "_has", "_assoc", "_with"];

/// One decoded `name=value` of a query.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueryParameter {
    /// The name with its modifier or chain, as in `code:in`.
    pub name: String,
    /// The value, decoded; a comma in it separates alternatives, as in any FHIR search.
    pub value: String,
}

/// The FHIR search that a granular scope applies to every read and search under it.
///
/// Keeps the text as sent beside the decoded parameters, which are all required (AND).
/// Equality is that of the text; meaning is compared with [`ScopeQuery::implies`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ScopeQuery {
    text: String,
    /// One for each part of `text` between ampersands, in that order. Never empty.
    parameters: Vec<QueryParameter>,
}

impl ScopeQuery {
    /// Returns the text as sent, without the question mark.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the decoded parameters, all of which a resource must meet; never empty.
    #[must_use]
    pub fn parameters(&self) -> &[QueryParameter] {
        &self.parameters
    }

    /// Returns whether every resource that meets `self` surely meets `other`.
    ///
    /// Decided on the form alone: `self` has all the parameters of `other`, whatever their order and
    /// encoding. `code=a` and `code=a,b` are taken as unrelated, which refuses rather than widens.
    #[must_use]
    pub fn implies(&self, other: &Self) -> bool {
        other.parameters.iter().all(|parameter| self.parameters.contains(parameter))
    }

    /// Returns the query that a resource meets when it meets both: `self` as written, then the parameters that only
    /// `other` has.
    ///
    /// `None` when that has more parameters than [`limits::MAX_QUERY_PARAMETERS`].
    #[must_use]
    pub fn and(&self, other: &Self) -> Option<Self> {
        let mut both = self.clone();
        for (part, parameter) in other.text.split('&').zip(&other.parameters) {
            if !both.parameters.contains(parameter) {
                both.text.push('&');
                both.text.push_str(part);
                both.parameters.push(parameter.clone());
            }
        }
        (both.parameters.len() <= limits::MAX_QUERY_PARAMETERS).then_some(both)
    }
}

impl FromStr for ScopeQuery {
    type Err = ScopeParseError;

    /// Reads the part after the question mark.
    ///
    /// The whole must consist of the characters of a scope, which [`crate::Scope`] has checked before it
    /// comes here; called directly, the check is made again, so that every error stays printable.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        check_characters(text)?;
        if text.is_empty() {
            return Err(ScopeParseError::EmptyQuery);
        }
        let parameters = text.split('&').map(parse_parameter).collect::<Result<Vec<_>, _>>()?;
        if parameters.len() > limits::MAX_QUERY_PARAMETERS {
            return Err(ScopeParseError::TooManyParameters);
        }
        Ok(Self { text: text.to_owned(), parameters })
    }
}

impl fmt::Display for ScopeQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn parse_parameter(part: &str) -> Result<QueryParameter, ScopeParseError> {
    let parameter = || part.to_owned();
    let (name, value) = match part.split_once('=') {
        Some((name, value)) if !name.is_empty() => (name, value),
        _ => {
            return Err(ScopeParseError::ParameterWithoutValue { parameter: parameter() });
        }
    };
    let (Some(name), Some(value)) = (decode(name), decode(value)) else {
        return Err(ScopeParseError::BadPercentEncoding { parameter: parameter() });
    };
    if !is_parameter_name(&name) {
        return Err(ScopeParseError::BadParameterName { parameter: parameter() });
    }
    if is_forbidden(&name) {
        return Err(ScopeParseError::ForbiddenParameter { parameter: parameter() });
    }
    // A search ignores a parameter without a value, so the scope would say less than it seems to.
    if value.split(',').all(|alternative| alternative.trim().is_empty()) {
        return Err(ScopeParseError::EmptyParameterValue { parameter: parameter() });
    }
    Ok(QueryParameter { name, value })
}

/// Decodes as a search URL is decoded: `+` is a space, `%xx` a byte of UTF-8.
fn decode(text: &str) -> Option<String> {
    let escapes_are_whole = text
        .split('%')
        .skip(1)
        .all(|after| after.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)));
    if !escapes_are_whole {
        return None;
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().ok()?.into_owned();
    (!decoded.chars().any(char::is_control)).then_some(decoded)
}

/// Names, modifiers and chains: `code`, `code:in`, `subject:Patient.birthdate`, `_lastUpdated`.
///
/// A percent sign left after decoding is refused here: a second decoding further on cannot turn an
/// allowed name into a forbidden one.
fn is_parameter_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'))
}

/// Looks at every step of a chain and every modifier, and at any case, because what a search makes of
/// `subject._has:…` or `_Include` is not for this check to know.
fn is_forbidden(name: &str) -> bool {
    name.split(['.', ':']).any(|step| FORBIDDEN.iter().any(|forbidden| step.eq_ignore_ascii_case(forbidden)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> ScopeQuery {
        text.parse().unwrap()
    }

    #[test]
    fn order_and_encoding_do_not_change_the_meaning() {
        let one = query("category=http://loinc.org|a%2Cb&status=final");
        let two = query("status=%66inal&category=http%3A%2F%2Floinc.org%7Ca,b");
        assert!(one.implies(&two) && two.implies(&one));
        assert_ne!(one, two, "equality is spelling");
    }

    #[test]
    fn the_conjunction_keeps_the_first_spelling_and_adds_only_what_is_new() {
        let both = query("b=2&a=%31").and(&query("a=1&c=3")).unwrap();
        assert_eq!(both.as_str(), "b=2&a=%31&c=3");
        assert_eq!(both, query("b=2&a=%31&c=3"), "its text parses to itself");
    }

    #[test]
    fn a_conjunction_beyond_the_limit_is_refused() {
        let many = |name: &str| {
            let parts: Vec<_> = (0..limits::MAX_QUERY_PARAMETERS).map(|n| format!("{name}{n}=1")).collect();
            query(&parts.join("&"))
        };
        assert_eq!(many("a").and(&many("b")), None);
        assert_eq!(many("a").and(&many("a")), Some(many("a")));
    }

    #[test]
    fn a_called_check_keeps_foreign_characters_out_of_the_message() {
        let refusal = "na\u{ef}ve".parse::<ScopeQuery>().unwrap_err();
        assert_eq!(refusal, ScopeParseError::IllegalCharacter { position: 2 });
    }
}
