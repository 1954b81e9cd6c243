//! How a caller prefers to be answered.

use fhir_search::UnknownParameterHandling;

/// The preferences of a request (`Prefer` header); unknown ones are ignored.
///
/// # Source
/// RFC 7240; FHIR R4, `RESTful` API, create/update/patch/transaction and Search, Handling Errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestPreferences {
    /// `return`: the content of the response to a write.
    pub content: ReturnPreference,
    /// `handling`: how a search handles a parameter that is not supported.
    pub handling: UnknownParameterHandling,
    /// True with `respond-async`: the response may be asynchronous.
    pub responds_async: bool,
}

/// The preferred content of the response to a write: `minimal`, `representation` or `OperationOutcome`.
///
/// # Source
/// FHIR R4, `RESTful` API, create/update/patch/transaction, the `return` preference; RFC 7240, section 4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReturnPreference {
    /// The resource (`representation`); the default.
    #[default]
    Representation,
    /// No content (`minimal`).
    Minimal,
    /// An `OperationOutcome` (`OperationOutcome`).
    OperationOutcome,
}

impl RequestPreferences {
    /// Parses the values of the `Prefer` headers. The first known value of `return` counts.
    #[must_use]
    pub fn parse_prefer_headers<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut preferences, mut content) = (Self::default(), None);
        for preference in values.into_iter().flat_map(|value| value.split([',', ';'])) {
            let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            if name.eq_ignore_ascii_case("return") {
                content = content.or_else(|| ReturnPreference::read(value));
            } else if name.eq_ignore_ascii_case("handling") && value == "strict" {
                preferences.handling = UnknownParameterHandling::Strict;
            } else if preference.trim().eq_ignore_ascii_case("respond-async") {
                preferences.responds_async = true;
            }
        }
        Self { content: content.unwrap_or_default(), ..preferences }
    }
}

impl ReturnPreference {
    fn read(value: &str) -> Option<Self> {
        match value {
            "representation" => Some(Self::Representation),
            "minimal" => Some(Self::Minimal),
            "OperationOutcome" => Some(Self::OperationOutcome),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(values: &[&str]) -> ReturnPreference {
        RequestPreferences::parse_prefer_headers(values.iter().copied()).content
    }

    #[test]
    fn the_preference_is_found_among_others() {
        assert_eq!(content(&["return=minimal"]), ReturnPreference::Minimal);
        assert_eq!(content(&["respond-async, Return = \"OperationOutcome\""]), ReturnPreference::OperationOutcome);
        assert_eq!(content(&["handling=strict", "return=minimal; x=y"]), ReturnPreference::Minimal);
        assert_eq!(content(&["return=representation, return=minimal"]), ReturnPreference::Representation);
        assert_eq!(content(&["return=everything, return=minimal"]), ReturnPreference::Minimal);
    }

    #[test]
    fn what_is_not_understood_is_no_preference() {
        for value in ["", "return", "return=", "return=everything", "minimal", "handling", "respond-async=x"] {
            assert_eq!(RequestPreferences::parse_prefer_headers([value]), RequestPreferences::default(), "{value}");
        }
    }

    #[test]
    fn a_search_is_strict_and_an_answer_comes_later_where_the_caller_says_so() {
        let asked = RequestPreferences::parse_prefer_headers(["Respond-Async; Handling = \"strict\""]);
        assert_eq!((asked.handling, asked.responds_async), (UnknownParameterHandling::Strict, true));
        assert_eq!(RequestPreferences::parse_prefer_headers(["handling=lenient"]), RequestPreferences::default());
    }
}
