//! Responses with resources: bodies, entity tags, dates and locations.

use axum::body::Body;
use axum::response::Response;
use fhir_resource::{StoredResource, StoredResourceText};
use fhir_service::error::ServiceError;
use fhir_service::representation::{self, DOCUMENT_OVERHEAD_BYTES, WriteResponseContent};
use fhir_service::resource_format::ResourceFormat;
use fhir_service::summary_view::SummaryView;
use fhir_store::WriteOutcome;
use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION, PRAGMA, WARNING,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use oauth_core::security_resource_rules::ResourceIssue;
use serde::Serialize;
use serde_json::Value;

use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::state::App;
use crate::{document, media};

/// Longest remark in a header, in characters.
const REMARK_MAX_CHARS: usize = 500;

/// Returns a JSON response that no cache stores: with a date alone a browser would store a member's record, and show it
/// to the next person at the same computer, or to an app whose access was revoked.
pub(crate) fn json(status: StatusCode, format: ResourceFormat, body: &Value) -> Response {
    json_text(status, format, body.to_string().into_bytes())
}

/// As [`json`], of JSON that is text already.
pub(crate) fn json_text(status: StatusCode, format: ResourceFormat, body: Vec<u8>) -> Response {
    let mut response = empty(status);
    *response.body_mut() = Body::from(body);
    response.headers_mut().insert(CONTENT_TYPE, media::of_resources(format));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns JSON that no cache may store (RFC 6749, section 5.1).
pub(crate) fn private_json(body: &impl Serialize) -> Result<Response, ApiError> {
    let bytes = serde_json::to_vec(body).map_err(ServiceError::Unwritable)?;
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media::JSON));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Returns a response without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Answers with a version of a resource, or with 304 where the caller has it already.
///
/// # Source
/// FHIR R4, `RESTful` API, conditional read; RFC 9110, section 13.2.2: the date counts only where there is no tag.
pub(crate) fn found(app: &App, call: &ResourceRequest, found: &StoredResourceText) -> Result<Response, ApiError> {
    let view = SummaryView::for_resource_read(&call.context)?;
    let mut described = HeaderMap::new();
    describe_version(&mut described, (&found.etag(), found.updated_us));
    let mut response = if is_held(&call.headers, found) {
        let mut response = empty(StatusCode::NOT_MODIFIED);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    } else {
        let format = call.context.format;
        let mut shown = Vec::with_capacity(found.body.len() + DOCUMENT_OVERHEAD_BYTES);
        representation::render_resource_into(&app.fhir, (format, &view), found, &mut shown)?;
        json_text(StatusCode::OK, format, shown)
    };
    response.headers_mut().extend(described);
    Ok(response)
}

fn is_held(sent: &HeaderMap, found: &StoredResourceText) -> bool {
    if sent.contains_key(IF_NONE_MATCH) {
        let etag = found.etag();
        return sent.get_all(IF_NONE_MATCH).iter().any(|tags| document::lists(tags.as_bytes(), &etag));
    }
    let since = sent.get(IF_MODIFIED_SINCE).and_then(|date| date.to_str().ok());
    let since = since.and_then(|date| rfc2822::DateTimeParser::new().parse_timestamp(date).ok());
    // The header has whole seconds, and so had the date it was copied from.
    since.is_some_and(|since| found.updated_us.div_euclid(1_000_000) <= since.as_second())
}

/// Answers a write, with remarks for its writer in `Warning` headers.
///
/// # Source
/// FHIR R4, `RESTful` API, create, update and delete; the platform answers a deletion with what was
/// deleted.
pub(crate) async fn written(app: &App, call: &ResourceRequest, written: &WriteOutcome) -> Response {
    let WriteResponseContent { shown, remarks } =
        representation::write_response_content(&app.fhir, &call.context, written).await;
    let mut response = of_write(app, call, written, shown);
    append_remarks(response.headers_mut(), &remarks);
    response
}

fn of_write(app: &App, call: &ResourceRequest, written: &WriteOutcome, shown: Option<Value>) -> Response {
    let format = call.context.format;
    match (written, shown) {
        (WriteOutcome::Created(stored), shown) => created(app, format, stored, shown),
        (WriteOutcome::Updated(stored) | WriteOutcome::Unchanged(stored) | WriteOutcome::Existing(stored), shown) => {
            version(format, stored, shown)
        }
        (WriteOutcome::Deleted(_), Some(shown)) if !call.wants_no_content() => json(StatusCode::OK, format, &shown),
        (WriteOutcome::Deleted(_) | WriteOutcome::Absent, _) => empty(StatusCode::NO_CONTENT),
    }
}

fn created(app: &App, format: ResourceFormat, stored: &StoredResource, shown: Option<Value>) -> Response {
    let mut response = version(format, stored, shown);
    *response.status_mut() = StatusCode::CREATED;
    let location = format!("{}/{}", app.fhir.settings().format_base_url(format), stored.version_location());
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn version(format: ResourceFormat, stored: &StoredResource, shown: Option<Value>) -> Response {
    let mut response = match shown {
        Some(shown) => json(StatusCode::OK, format, &shown),
        None => empty(StatusCode::OK),
    };
    describe_version(response.headers_mut(), (&stored.etag(), stored.updated_us));
    response
}

fn describe_version(headers: &mut HeaderMap, (etag, updated_us): (&str, i64)) {
    if let Ok(etag) = HeaderValue::try_from(etag) {
        headers.insert(ETAG, etag);
    }
    if let Some(date) = http_date(updated_us) {
        headers.insert(LAST_MODIFIED, date);
    }
}

/// Adds remarks to the headers of an answer.
///
/// # Source
/// RFC 7234, section 5.5 (`Warning`, code 199, and the text in quotes).
pub(crate) fn append_remarks(headers: &mut HeaderMap, remarks: &[ResourceIssue]) {
    for ResourceIssue { expression, diagnostics, .. } in remarks {
        let text = format!("{expression} {diagnostics}");
        let text: String =
            text.chars().filter(|c| c.is_ascii() && !c.is_ascii_control()).take(REMARK_MAX_CHARS).collect();
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::try_from(format!("199 - \"{text}\"")) {
            headers.append(WARNING, value);
        }
    }
}

/// Returns a time as HTTP writes it (RFC 9110, section 5.6.7), in whole seconds.
fn http_date(unix_us: i64) -> Option<HeaderValue> {
    let at = Timestamp::from_microsecond(unix_us).ok()?;
    let text = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&at).ok()?;
    HeaderValue::try_from(text).ok()
}

#[cfg(test)]
mod tests {
    use oauth_core::security_resource_rules::ResourceIssueCode;

    use super::*;

    #[test]
    fn a_date_is_the_fixed_form_of_http() {
        assert_eq!(http_date(784_111_777_999_999).unwrap(), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(http_date(i64::MAX), None);
    }

    #[test]
    fn a_remark_never_leaves_its_quotes() {
        let mut headers = HeaderMap::new();
        let remark = ResourceIssue::new(ResourceIssueCode::Value, "Client.name", "a \"b\" \\ c\r\nX: y \u{e9}");
        append_remarks(&mut headers, &[remark]);
        assert_eq!(headers[WARNING], r#"199 - "Client.name a \"b\" \\ cX: y ""#);
    }
}
