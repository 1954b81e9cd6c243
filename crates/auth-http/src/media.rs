//! Media types of bodies, and what a request accepts.

use fhir_service::resource_format::ResourceFormat;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

use crate::error::ApiError;

/// Natively written and answered.
pub(crate) const JSON: &str = "application/json";
/// Under `/fhir`.
pub(crate) const FHIR_JSON: &str = "application/fhir+json";
/// A file of an export.
pub(crate) const FHIR_NDJSON: &str = "application/fhir+ndjson";
/// Names of JSON that FHIR lets clients use for [`FHIR_JSON`]; the last one is from before R3.
const JSON_NAMES: [&str; 4] = [FHIR_JSON, JSON, "text/json", "application/json+fhir"];
/// Names of the files of an export.
const NDJSON_NAMES: [&str; 3] = [FHIR_NDJSON, "application/ndjson", "ndjson"];
/// Pages.
pub(crate) const HTML: &str = "text/html; charset=utf-8";
/// RFC 7396.
const MERGE_PATCH: &str = "application/merge-patch+json";
/// RFC 6902.
const JSON_PATCH: &str = "application/json-patch+json";
/// What forms are sent as.
const FORM: &str = "application/x-www-form-urlencoded";

/// Returns the media type of resources in a format.
pub(crate) fn of_resources(format: ResourceFormat) -> HeaderValue {
    HeaderValue::from_static(match format {
        ResourceFormat::Native => JSON,
        ResourceFormat::Fhir => FHIR_JSON,
    })
}

/// What a JSON body is meant as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonMediaType {
    /// A resource, a Bundle or, in a PATCH, whichever kind of patch its shape says.
    Plain,
    /// A JSON Merge Patch.
    MergePatch,
    /// A JSON Patch.
    JsonPatch,
}

/// Returns the kind of JSON that a body is, or the error of one that is not JSON.
///
/// Not specified; a request without `Content-Type` is read as JSON, because command-line clients
/// leave it out and nothing else is understood here anyway.
pub(crate) fn json_kind(headers: &HeaderMap) -> Result<JsonMediaType, ApiError> {
    let Some(sent) = headers.get(CONTENT_TYPE) else {
        return Ok(JsonMediaType::Plain);
    };
    let essence = essence(sent.as_bytes());
    let is = |known: &str| essence.eq_ignore_ascii_case(known.as_bytes());
    if is(JSON) || is(FHIR_JSON) {
        Ok(JsonMediaType::Plain)
    } else if is(MERGE_PATCH) {
        Ok(JsonMediaType::MergePatch)
    } else if is(JSON_PATCH) {
        Ok(JsonMediaType::JsonPatch)
    } else {
        Err(ApiError::MediaType)
    }
}

/// Returns whether a body is a form; its parameters (`charset`) are of no matter.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|sent| essence(sent.as_bytes()).eq_ignore_ascii_case(FORM.as_bytes()))
}

/// What the answers of an address are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NegotiatedFormat {
    /// JSON.
    Json,
    /// A file of an export, or JSON where there is none.
    Ndjson,
}

impl NegotiatedFormat {
    fn names(self) -> impl Iterator<Item = &'static str> {
        let files: &[&str] = match self {
            Self::Json => &[],
            Self::Ndjson => &NDJSON_NAMES,
        };
        JSON_NAMES.into_iter().chain(files.iter().copied())
    }
}

/// Returns whether the headers accept what an address produces.
///
/// Parameters other than `q` are passed over. Not specified; a word that is not a media range is passed over too, and
/// where nothing is left everything is accepted, as without the header.
///
/// # Source
/// RFC 9110, section 12.5.1: the most specific range decides, and `q=0` refuses.
pub(crate) fn accepts(headers: &HeaderMap, produced: NegotiatedFormat) -> bool {
    let sent = headers.get_all(ACCEPT).iter().flat_map(|header| header.as_bytes().split(|byte| *byte == b','));
    let ranges: Vec<Range> = sent.filter_map(Range::read).collect();
    ranges.is_empty() || produced.names().any(|name| is_accepted(&ranges, name))
}

/// Returns whether a type is accepted by the range that says most about it.
fn is_accepted(ranges: &[Range], name: &str) -> bool {
    let matching = ranges.iter().filter_map(|range| Some((range.precision(name)?, range.is_wanted)));
    matching.max_by_key(|(precision, is_wanted)| (*precision, *is_wanted)).is_some_and(|(_, is_wanted)| is_wanted)
}

/// One range of an `Accept`.
struct Range {
    /// In small letters.
    essence: String,
    is_wanted: bool,
}

impl Range {
    fn read(text: &[u8]) -> Option<Self> {
        let essence = std::str::from_utf8(essence(text)).ok()?.to_ascii_lowercase();
        let is_range = essence.split_once('/').is_some_and(|(kind, subtype)| !kind.is_empty() && !subtype.is_empty());
        let is_wanted = !text.split(|byte| *byte == b';').skip(1).any(is_zero);
        (is_range || essence == "*").then_some(Self { essence, is_wanted })
    }

    /// Returns how much the range says about a type: nothing, `*/*`, `type/*` or the type itself.
    fn precision(&self, name: &str) -> Option<u8> {
        match self.essence.as_str() {
            "*" | "*/*" => Some(0),
            essence if essence == name => Some(2),
            essence => name.starts_with(essence.strip_suffix('*')?).then_some(1),
        }
    }
}

/// Returns whether a parameter is a `q` of zero.
fn is_zero(parameter: &[u8]) -> bool {
    let text = std::str::from_utf8(parameter).unwrap_or_default().trim();
    let value = text.strip_prefix(['q', 'Q']).and_then(|rest| rest.trim_start().strip_prefix('='));
    value.and_then(|value| value.trim().parse::<f32>().ok()).is_some_and(|value| value <= 0.0)
}

/// Returns whether the parameter `_format` names what an address produces.
///
/// # Source
/// FHIR R4, `RESTful` API, content types and encodings. A `+` that was not encoded arrives as a blank.
pub(crate) fn is_format(value: &str, produced: NegotiatedFormat) -> bool {
    let value = value.replace(' ', "+");
    let name = std::str::from_utf8(essence(value.as_bytes())).unwrap_or_default();
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    is("json") || is("*/*") || produced.names().any(is)
}

/// Returns the type without its parameters.
fn essence(media_type: &[u8]) -> &[u8] {
    media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(media_type: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media_type))])
    }

    #[test]
    fn json_is_told_from_patches_whatever_its_parameters_and_case() {
        for (media_type, kind) in [
            ("application/json", JsonMediaType::Plain),
            ("Application/FHIR+JSON; charset=utf-8", JsonMediaType::Plain),
            ("application/fhir+json;fhirVersion=4.0", JsonMediaType::Plain),
            ("application/merge-patch+json", JsonMediaType::MergePatch),
            ("application/json-patch+json ; x=y", JsonMediaType::JsonPatch),
        ] {
            assert_eq!(json_kind(&sent(media_type)).unwrap(), kind, "{media_type}");
        }
        assert_eq!(json_kind(&HeaderMap::new()).unwrap(), JsonMediaType::Plain);
    }

    #[test]
    fn another_media_type_is_refused() {
        for media_type in ["text/plain", "application/xml", "", "json", "application/jsonx"] {
            assert!(json_kind(&sent(media_type)).is_err(), "{media_type}");
        }
    }

    #[test]
    fn json_is_accepted_where_a_range_allows_it() {
        let accept = |text: &'static str| HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(text))]);
        assert!(accepts(&HeaderMap::new(), NegotiatedFormat::Json));
        for text in [
            "application/fhir+json",
            "Application/JSON; charset=utf-8",
            "application/fhir+json;fhirVersion=4.0",
            "text/json",
            "application/json+fhir",
            "*/*",
            "application/*",
            "text/*;q=0.1",
            "text/html, image/gif, *; q=.2",
            "application/fhir+xml, application/fhir+json;q=0.5",
            "application/fhir+xml, */*;q=0.001",
            "application/json;q=0, application/fhir+json",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "",
            "json",
            "application/fhir+json; q=x",
        ] {
            assert!(accepts(&accept(text), NegotiatedFormat::Json), "{text}");
        }
        for text in [
            "application/fhir+xml",
            "text/xml",
            "application/xml, text/html",
            "image/*",
            "application/fhir+json;q=0",
            "application/fhir+xml, application/fhir+json; q=0.0, application/json;Q=0",
            "*/*;q=0",
            "application/fhir+ndjson",
            "application/fhir+jsonx",
        ] {
            assert!(!accepts(&accept(text), NegotiatedFormat::Json), "{text}");
        }
        assert!(accepts(&accept("application/fhir+ndjson"), NegotiatedFormat::Ndjson));
        assert!(accepts(&accept("application/fhir+json"), NegotiatedFormat::Ndjson));
        assert!(!accepts(&accept("text/csv"), NegotiatedFormat::Ndjson));
    }

    #[test]
    fn a_format_is_named_in_short_or_in_full() {
        for value in
            ["json", "JSON", "application/fhir+json", "application/fhir json", "application/json; x=y", "text/json"]
        {
            assert!(is_format(value, NegotiatedFormat::Json), "{value}");
        }
        for value in ["xml", "application/fhir+xml", "text/xml", "ttl", "html", "", "ndjson"] {
            assert!(!is_format(value, NegotiatedFormat::Json), "{value}");
        }
        assert!(is_format("ndjson", NegotiatedFormat::Ndjson));
    }

    #[test]
    fn a_form_is_a_form_with_a_charset_too() {
        assert!(is_form(&sent("application/x-www-form-urlencoded; charset=UTF-8")));
        assert!(!is_form(&sent("multipart/form-data")));
        assert!(!is_form(&HeaderMap::new()));
    }
}
