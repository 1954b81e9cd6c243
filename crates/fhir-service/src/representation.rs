//! Resources as a caller sees them: without what is never shown, in the form of the endpoint.

use fhir_resource::{ResourceType, StoredResource, StoredResourceText, format_conversion};
use fhir_store::WriteOutcome;
use fhir_store::operation_outcome::{IssueSeverity, OperationOutcome, OutcomeIssue};
use jiff::Timestamp;
use oauth_core::security_resource_rules::{self, ResourceIssue};
use serde_json::Value;

use crate::error::UnreadableResourceError;
use crate::prefer_header::ReturnPreference;
use crate::request_context::RequestContext;
use crate::resource_format::ResourceFormat;
use crate::service_state::FhirService;
use crate::summary_view::SummaryView;
use crate::{access, security_resources, write_remarks};

/// The expected size of what surrounds the body of a document, in bytes: type, id, version, time and address.
pub const DOCUMENT_OVERHEAD_BYTES: usize = 256;

/// Returns a stored resource as a caller sees it.
pub(crate) fn render(service: &FhirService, format: ResourceFormat, stored: &StoredResource) -> Value {
    render_document(service, format, &stored.key.resource_type, stored.to_document())
}

/// As [`render`], of a resource that is not needed any more, without copying it.
pub(crate) fn render_owned(service: &FhirService, format: ResourceFormat, stored: StoredResource) -> Value {
    let kind = stored.key.resource_type.clone();
    render_document(service, format, &kind, stored.into_document())
}

fn render_document(service: &FhirService, format: ResourceFormat, kind: &ResourceType, document: Value) -> Value {
    let document = security_resources::redact(kind, document);
    if service.settings.converts(format) { format_conversion::convert_to_fhir(document) } else { document }
}

/// Appends the JSON of a resource as the caller may see it. Its text is copied, and parsed only when a part is left
/// out.
///
/// # Errors
/// [`UnreadableResourceError`]; nothing is appended then.
pub fn render_resource_into(
    service: &FhirService,
    (format, view): (ResourceFormat, &SummaryView),
    found: &StoredResourceText,
    out: &mut Vec<u8>,
) -> Result<(), UnreadableResourceError> {
    let is_whole = view.is_whole() && !security_resource_rules::may_hold_secrets(found.key.resource_type.as_str());
    if is_whole && found.try_append_document_to(service.settings.converts(format), out) {
        return Ok(());
    }
    let stored = found.parse_body().ok_or(UnreadableResourceError)?;
    let shown = view.of_document(render_owned(service, format, stored));
    out.extend_from_slice(shown.to_string().as_bytes());
    Ok(())
}

/// The content of the response to a write.
#[derive(Debug)]
pub struct WriteResponseContent {
    /// The resource or an `OperationOutcome`; `None` when the caller may not read the resource or prefers `minimal`.
    pub shown: Option<Value>,
    /// Issues that the writer should know of, although the write succeeded.
    pub remarks: Vec<ResourceIssue>,
}

/// Returns the content of the response to a write. The resource is shown only to a caller who may read it, because
/// permission to change or delete a resource does not imply permission to see all of it.
pub async fn write_response_content(
    service: &FhirService,
    context: &RequestContext,
    written: &WriteOutcome,
) -> WriteResponseContent {
    let remarks = write_remarks::of(service, context, written).await;
    let shown = after_write(service, context, written, &remarks).await;
    WriteResponseContent { shown, remarks }
}

/// Returns what the answer to a write shows: the resource as the caller sees it, if it may read it, unless the caller
/// prefers less.
pub(crate) async fn after_write(
    service: &FhirService,
    context: &RequestContext,
    written: &WriteOutcome,
    remarks: &[ResourceIssue],
) -> Option<Value> {
    let stored = written.stored_resource()?;
    match context.preferences.content {
        ReturnPreference::Representation => {
            access::may_read(service, context, stored).await.then(|| render(service, context.format, stored))
        }
        ReturnPreference::Minimal => None,
        ReturnPreference::OperationOutcome => Some(describe_write(written, remarks)),
    }
}

/// Returns in words what a write did, with what its writer should know.
fn describe_write(written: &WriteOutcome, remarks: &[ResourceIssue]) -> Value {
    let text = match written {
        WriteOutcome::Created(stored) => format!("{} was created in version {}", stored.key, stored.version),
        WriteOutcome::Updated(stored) => format!("{} was changed to version {}", stored.key, stored.version),
        WriteOutcome::Unchanged(stored) => format!("{} is as it was, in version {}", stored.key, stored.version),
        WriteOutcome::Existing(stored) => format!("{} meets the condition already", stored.key),
        WriteOutcome::Deleted(stored) => format!("{} was deleted", stored.key),
        WriteOutcome::Absent => "there was nothing to delete".to_owned(),
    };
    let issue = OutcomeIssue {
        severity: IssueSeverity::Information,
        code: "informational",
        diagnostics: Some(text),
        expression: Vec::new(),
    };
    OperationOutcome::from_issues(std::iter::once(issue).chain(write_remarks::issues(remarks.to_vec())).collect())
        .to_value()
}

/// Returns a time as a FHIR `instant` in UTC with microseconds.
#[must_use]
pub fn format_instant(unix_us: i64) -> String {
    Timestamp::from_microsecond(unix_us).map(|at| format!("{at:.6}")).unwrap_or_default()
}
