//! What a writer wants to be answered with.

use fhir_store::search::UnknownParameterHandling;
use http::{HeaderMap, HeaderName};

/// RFC 7240.
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// What stands in the answer to a write.
///
/// # Source
/// FHIR R4, `RESTful` API, create/update/patch/transaction, the `return` preference; RFC 7240, section 4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReturnPreference {
    /// The resource.
    #[default]
    Representation,
    /// Nothing.
    Minimal,
    /// An `OperationOutcome`.
    OperationOutcome,
}

impl ReturnPreference {
    /// Returns the first one asked for that is known; a preference that is not understood is none.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let sent = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
        let mut preferences = sent.flat_map(|text| text.split([',', ';']));
        preferences.find_map(Self::read).unwrap_or_default()
    }

    fn read(preference: &str) -> Option<Self> {
        let (name, value) = preference.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("return") {
            return None;
        }
        match value.trim().trim_matches('"') {
            "representation" => Some(Self::Representation),
            "minimal" => Some(Self::Minimal),
            "OperationOutcome" => Some(Self::OperationOutcome),
            _ => None,
        }
    }
}

/// Returns what a search does about a parameter that is not supported: it passes it over, unless it is to be strict.
///
/// # Source
/// FHIR R4, Search, Handling Errors; RFC 7240, section 4.4.
pub(crate) fn handling(headers: &HeaderMap) -> UnknownParameterHandling {
    let sent = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let mut preferences = sent.flat_map(|text| text.split([',', ';']));
    let is_strict = preferences.any(|preference| {
        let (name, value) = preference.split_once('=').unwrap_or_default();
        name.trim().eq_ignore_ascii_case("handling") && value.trim().trim_matches('"') == "strict"
    });
    if is_strict { UnknownParameterHandling::Strict } else { UnknownParameterHandling::Lenient }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(values: &[&'static str]) -> ReturnPreference {
        let headers = values.iter().map(|value| (PREFER, HeaderValue::from_static(value)));
        ReturnPreference::of(&headers.collect())
    }

    #[test]
    fn the_preference_is_found_among_others() {
        assert_eq!(of(&["return=minimal"]), ReturnPreference::Minimal);
        assert_eq!(of(&["respond-async, Return = \"OperationOutcome\""]), ReturnPreference::OperationOutcome);
        assert_eq!(of(&["handling=strict", "return=minimal; x=y"]), ReturnPreference::Minimal);
        assert_eq!(of(&["return=representation, return=minimal"]), ReturnPreference::Representation);
    }

    #[test]
    fn what_is_not_understood_is_no_preference() {
        for value in ["", "return", "return=", "return=everything", "minimal"] {
            assert_eq!(of(&[value]), ReturnPreference::Representation, "{value}");
        }
    }
}
