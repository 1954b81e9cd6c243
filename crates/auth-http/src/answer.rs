//! Resources on their way out: without what nobody may see, in the caller's spelling.

use axum::body::Body;
use axum::response::Response;
use fhir_store::outcome::{self, IssueSeverity, OperationOutcome};
use fhir_store::{ResourceType, StoreError, StoredResource, StoredText, WriteOutcome, format};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use oauth_core::registration::{self, PolicyIssue};
use serde_json::Value;

use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::prefer::ReturnPreference;
use crate::state::App;
use crate::surface::ResourceFormat;
use crate::view::SummaryView;
use crate::{document, gate, guarded, remarks};

/// Room for what stands around the body of a document: type, id, version and time, and its address in a Bundle.
pub(crate) const HEAD_BYTES: usize = 256;

/// Returns what a caller sees of a stored resource.
pub(crate) fn shown(app: &App, dialect: ResourceFormat, stored: &StoredResource) -> Value {
    as_seen(app, dialect, &stored.key.kind, stored.document())
}

/// The same of a resource that is not needed any more, without copying it.
pub(crate) fn shown_whole(app: &App, dialect: ResourceFormat, stored: StoredResource) -> Value {
    let kind = stored.key.kind.clone();
    as_seen(app, dialect, &kind, stored.into_document())
}

fn as_seen(app: &App, dialect: ResourceFormat, kind: &ResourceType, document: Value) -> Value {
    let document = guarded::redact(kind, document);
    if is_converted(app, dialect) { format::to_fhir(document) } else { document }
}

/// Returns whether what is stored natively is shown in FHIR's spelling.
fn is_converted(app: &App, dialect: ResourceFormat) -> bool {
    dialect == ResourceFormat::Fhir && app.settings.correct_format
}

/// Appends what a caller sees of a resource whose body is text. It is copied, and taken apart only where something
/// of it is left out.
///
/// # Errors
/// [`UnreadableResource`]; nothing is appended then.
pub(crate) fn write_shown(
    app: &App,
    (dialect, view): (ResourceFormat, &SummaryView),
    found: &StoredText,
    out: &mut Vec<u8>,
) -> Result<(), UnreadableResource> {
    let is_whole = view.is_whole() && !registration::has_secrets(found.key.kind.as_str());
    if is_whole && found.append_to(is_converted(app, dialect), out) {
        return Ok(());
    }
    let stored = found.read().ok_or(UnreadableResource)?;
    let shown = view.of_document(shown_whole(app, dialect, stored));
    out.extend_from_slice(shown.to_string().as_bytes());
    Ok(())
}

/// What is stored is no document: somebody wrote it past the rules.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("a stored resource cannot be read")]
pub(crate) struct UnreadableResource;

impl From<UnreadableResource> for ApiError {
    fn from(cause: UnreadableResource) -> Self {
        StoreError::Corrupt(Box::new(cause)).into()
    }
}

/// A JSON answer that no cache keeps: with a date alone a browser would keep a member's record, and show it to the
/// next person at the same computer, or to an app whose access was taken back.
pub(crate) fn json(status: StatusCode, dialect: ResourceFormat, body: &Value) -> Response {
    json_text(status, dialect, body.to_string().into_bytes())
}

/// The same of JSON that is text already.
pub(crate) fn json_text(status: StatusCode, dialect: ResourceFormat, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, dialect.media_type());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Answers a version of a resource, or 304 to who holds it already.
///
/// # Source
/// FHIR R4, `RESTful` API, conditional read; RFC 9110, section 13.2.2: the date is asked only where no tag is.
pub(crate) fn found(app: &App, call: &ResourceRequest, found: &StoredText) -> Result<Response, ApiError> {
    let view = match call.dialect {
        ResourceFormat::Fhir => SummaryView::of(&call.query)?,
        ResourceFormat::Native => SummaryView::default(),
    };
    let mut described = HeaderMap::new();
    describe_version(&mut described, (&found.etag(), found.updated_us));
    let mut response = if is_held(&call.headers, found) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    } else {
        let mut shown = Vec::with_capacity(found.body.len() + HEAD_BYTES);
        write_shown(app, (call.dialect, &view), found, &mut shown)?;
        json_text(StatusCode::OK, call.dialect, shown)
    };
    response.headers_mut().extend(described);
    Ok(response)
}

fn is_held(sent: &HeaderMap, found: &StoredText) -> bool {
    if sent.contains_key(IF_NONE_MATCH) {
        let etag = found.etag();
        return sent.get_all(IF_NONE_MATCH).iter().any(|tags| document::lists(tags.as_bytes(), &etag));
    }
    let since = sent.get(IF_MODIFIED_SINCE).and_then(|date| date.to_str().ok());
    let since = since.and_then(|date| rfc2822::DateTimeParser::new().parse_timestamp(date).ok());
    // The header has whole seconds, and so had the date it was copied from.
    since.is_some_and(|since| found.updated_us.div_euclid(1_000_000) <= since.as_second())
}

/// Answers what a write did; shows the resource only to who may read it, because whoever may change
/// or remove a resource may not therefore see all of it.
///
/// # Source
/// FHIR R4, `RESTful` API, create, update and delete; the platform answers a deletion with what was
/// deleted.
pub(crate) async fn written(app: &App, call: &ResourceRequest, written: &WriteOutcome) -> Response {
    let remarks = remarks::of(app, call, written).await;
    let mut response = told_of(app, call, written, readable(app, call, written, &remarks).await);
    remarks::append(response.headers_mut(), &remarks);
    response
}

fn told_of(app: &App, call: &ResourceRequest, written: &WriteOutcome, shown: Option<Value>) -> Response {
    match (written, shown) {
        (WriteOutcome::Created(stored), shown) => created(app, call, stored, shown),
        (WriteOutcome::Updated(stored) | WriteOutcome::Unchanged(stored) | WriteOutcome::Existing(stored), shown) => {
            version(call, stored, shown)
        }
        (WriteOutcome::Deleted(_), Some(shown)) if !call.wants_no_content() => {
            json(StatusCode::OK, call.dialect, &shown)
        }
        (WriteOutcome::Deleted(_) | WriteOutcome::Absent, _) => no_content(),
    }
}

/// Returns what the answer to a write shows: the resource as the caller sees it, if it may read it, unless the caller
/// prefers less.
pub(crate) async fn readable(
    app: &App,
    call: &ResourceRequest,
    written: &WriteOutcome,
    remarks: &[PolicyIssue],
) -> Option<Value> {
    let stored = written.stored()?;
    match ReturnPreference::of(&call.headers) {
        ReturnPreference::Representation => {
            gate::may_read(app, call, stored).await.then(|| shown(app, call.dialect, stored))
        }
        ReturnPreference::Minimal => None,
        ReturnPreference::OperationOutcome => Some(told(written, remarks)),
    }
}

/// Returns what a write did in words, with what its writer should know.
fn told(written: &WriteOutcome, remarks: &[PolicyIssue]) -> Value {
    let text = match written {
        WriteOutcome::Created(stored) => format!("{} was created in version {}", stored.key, stored.version),
        WriteOutcome::Updated(stored) => format!("{} was changed to version {}", stored.key, stored.version),
        WriteOutcome::Unchanged(stored) => format!("{} is as it was, in version {}", stored.key, stored.version),
        WriteOutcome::Existing(stored) => format!("{} meets the condition already", stored.key),
        WriteOutcome::Deleted(stored) => format!("{} was deleted", stored.key),
        WriteOutcome::Absent => "there was nothing to delete".to_owned(),
    };
    let issue = outcome::OutcomeIssue {
        severity: IssueSeverity::Information,
        code: "informational",
        diagnostics: Some(text),
        expression: Vec::new(),
    };
    OperationOutcome::of(std::iter::once(issue).chain(remarks::issues(remarks.to_vec())).collect()).to_value()
}

fn created(app: &App, call: &ResourceRequest, stored: &StoredResource, shown: Option<Value>) -> Response {
    let mut response = version(call, stored, shown);
    *response.status_mut() = StatusCode::CREATED;
    let location = format!("{}/{}", base(app, call.dialect), stored.location());
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn version(call: &ResourceRequest, stored: &StoredResource, shown: Option<Value>) -> Response {
    let mut response = match shown {
        Some(shown) => json(StatusCode::OK, call.dialect, &shown),
        None => Response::new(Body::empty()),
    };
    describe_version(response.headers_mut(), (&stored.etag(), stored.updated_us));
    response
}

fn no_content() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// Returns the address ids are relative to.
pub(crate) fn base(app: &App, dialect: ResourceFormat) -> String {
    format!("{}{}", app.settings.base_url, dialect.prefix())
}

fn describe_version(headers: &mut HeaderMap, (etag, updated_us): (&str, i64)) {
    if let Ok(etag) = HeaderValue::try_from(etag) {
        headers.insert(ETAG, etag);
    }
    if let Some(date) = http_date(updated_us) {
        headers.insert(LAST_MODIFIED, date);
    }
}

/// A time as a FHIR `instant` in UTC with microseconds.
pub(crate) fn instant(unix_us: i64) -> String {
    Timestamp::from_microsecond(unix_us).map(|at| format!("{at:.6}")).unwrap_or_default()
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
