//! Media types of bodies.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

use crate::error::Fault;

/// Natively written and answered.
pub(crate) const JSON: &str = "application/json";
/// Under `/fhir`.
pub(crate) const FHIR_JSON: &str = "application/fhir+json";
/// Pages.
pub(crate) const HTML: &str = "text/html; charset=utf-8";
/// RFC 7396.
const MERGE_PATCH: &str = "application/merge-patch+json";
/// RFC 6902.
const JSON_PATCH: &str = "application/json-patch+json";
/// What forms are sent as.
const FORM: &str = "application/x-www-form-urlencoded";

/// What a JSON body is meant as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonKind {
    /// A resource, a Bundle or, in a PATCH, whichever kind of patch its shape says.
    Plain,
    /// A JSON Merge Patch.
    MergePatch,
    /// A JSON Patch.
    JsonPatch,
}

/// The kind of JSON a body is, or the fault of being something else.
///
/// Not specified; a request without `Content-Type` is read as JSON, because command-line clients
/// leave it out and nothing else is understood here anyway.
pub(crate) fn json_kind(headers: &HeaderMap) -> Result<JsonKind, Fault> {
    let Some(sent) = headers.get(CONTENT_TYPE) else {
        return Ok(JsonKind::Plain);
    };
    let essence = essence(sent.as_bytes());
    let is = |known: &str| essence.eq_ignore_ascii_case(known.as_bytes());
    if is(JSON) || is(FHIR_JSON) {
        Ok(JsonKind::Plain)
    } else if is(MERGE_PATCH) {
        Ok(JsonKind::MergePatch)
    } else if is(JSON_PATCH) {
        Ok(JsonKind::JsonPatch)
    } else {
        Err(Fault::MediaType)
    }
}

/// Whether a body is a form; its parameters (`charset`) are of no matter.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|sent| essence(sent.as_bytes()).eq_ignore_ascii_case(FORM.as_bytes()))
}

/// The type without its parameters.
fn essence(media_type: &[u8]) -> &[u8] {
    media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::*;

    fn sent(media_type: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media_type))])
    }

    #[test]
    fn json_is_told_from_patches_whatever_its_parameters_and_case() {
        for (media_type, kind) in [
            ("application/json", JsonKind::Plain),
            ("Application/FHIR+JSON; charset=utf-8", JsonKind::Plain),
            ("application/fhir+json;fhirVersion=4.0", JsonKind::Plain),
            ("application/merge-patch+json", JsonKind::MergePatch),
            ("application/json-patch+json ; x=y", JsonKind::JsonPatch),
        ] {
            assert_eq!(json_kind(&sent(media_type)).unwrap(), kind, "{media_type}");
        }
        assert_eq!(json_kind(&HeaderMap::new()).unwrap(), JsonKind::Plain);
    }

    #[test]
    fn another_media_type_is_refused() {
        for media_type in ["text/plain", "application/xml", "", "json", "application/jsonx"] {
            assert!(json_kind(&sent(media_type)).is_err(), "{media_type}");
        }
    }

    #[test]
    fn a_form_is_a_form_with_a_charset_too() {
        assert!(is_form(&sent("application/x-www-form-urlencoded; charset=UTF-8")));
        assert!(!is_form(&sent("multipart/form-data")));
        assert!(!is_form(&HeaderMap::new()));
    }
}
