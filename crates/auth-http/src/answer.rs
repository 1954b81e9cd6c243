//! Resources on their way out: without what nobody may see, in the caller's spelling.

use axum::body::Body;
use axum::response::Response;
use fhir_store::{Stored, Written, format};
use http::header::{CONTENT_TYPE, ETAG, LAST_MODIFIED, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;

use crate::call::Call;
use crate::guarded;
use crate::state::App;
use crate::surface::Dialect;

/// What a caller sees of a stored resource.
pub(crate) fn shown(app: &App, dialect: Dialect, stored: &Stored) -> Value {
    let document = guarded::redact(&stored.key.kind, stored.document());
    match dialect {
        Dialect::Fhir if app.settings.correct_format => format::to_fhir(document),
        Dialect::Fhir | Dialect::Native => document,
    }
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, dialect: Dialect, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, dialect.media_type());
    response
}

/// Answers the current version of a resource.
pub(crate) fn found(app: &App, call: &Call, stored: &Stored) -> Response {
    let mut response = json(StatusCode::OK, call.dialect, &shown(app, call.dialect, stored));
    describe_version(response.headers_mut(), stored);
    response
}

/// Answers what a write did.
///
/// # Source
/// FHIR R4, `RESTful` API, create, update and delete; the platform answers a deletion with what was
/// deleted.
pub(crate) fn written(app: &App, call: &Call, written: &Written) -> Response {
    match written {
        Written::Created(stored) => created(app, call, stored),
        Written::Updated(stored) | Written::Unchanged(stored) | Written::Existing(stored) => found(app, call, stored),
        Written::Deleted(_) if call.wants_no_content() => no_content(),
        Written::Deleted(stored) => json(StatusCode::OK, call.dialect, &shown(app, call.dialect, stored)),
        Written::Absent => no_content(),
    }
}

fn created(app: &App, call: &Call, stored: &Stored) -> Response {
    let mut response = found(app, call, stored);
    *response.status_mut() = StatusCode::CREATED;
    let location = format!("{}/{}", base(app, call.dialect), stored.location());
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn no_content() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// The address ids are relative to.
pub(crate) fn base(app: &App, dialect: Dialect) -> String {
    format!("{}{}", app.settings.base_url, dialect.prefix())
}

fn describe_version(headers: &mut HeaderMap, stored: &Stored) {
    if let Ok(etag) = HeaderValue::try_from(stored.etag()) {
        headers.insert(ETAG, etag);
    }
    if let Some(date) = http_date(stored.updated_us) {
        headers.insert(LAST_MODIFIED, date);
    }
}

/// A time as HTTP writes it (RFC 9110, section 5.6.7), in whole seconds.
fn http_date(unix_us: i64) -> Option<HeaderValue> {
    let at = Timestamp::from_microsecond(unix_us).ok()?;
    let text = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&at).ok()?;
    HeaderValue::try_from(text).ok()
}

#[cfg(test)]
mod tests {
    use super::http_date;

    #[test]
    fn a_date_is_the_fixed_form_of_http() {
        assert_eq!(http_date(784_111_777_999_999).unwrap(), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(http_date(i64::MAX), None);
    }
}
