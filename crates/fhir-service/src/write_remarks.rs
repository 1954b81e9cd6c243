//! Remarks for the writer of a resource that was stored and will not do what the writer may expect.
//!
//! A policy that opens the server to everyone, a Client whose tokens will carry no B2B claim: the writer may see it in
//! the answer, and not only the operator in the log. The answer to a write shows the resource, so remarks stand in
//! `Warning` headers, in the `OperationOutcome` where one is preferred, and in the response of a Bundle's entry.
//!
//! # Source
//! FHIR R4, Bundle, `entry.response.outcome`.

use fhir_resource::StoredResource;
use fhir_store::history::HistoryPosition;
use fhir_store::operation_outcome::{self, IssueSeverity};
use fhir_store::{AccessFilter, HistoryPageRange, HistoryQuery, StoreError, WriteOutcome};
use oauth_core::security_resource_rules::{self, ResourceIssue};

use crate::access;
use crate::request_context::RequestContext;
use crate::security_resources;
use crate::service_state::FhirService;

/// Most remarks in one answer.
pub(crate) const REMARKS_MAX: usize = 10;

/// Returns the remarks about a write, for a caller who may read what it wrote. The write is done, so a store that fails
/// here is logged and costs the remarks alone.
pub(crate) async fn of(service: &FhirService, context: &RequestContext, written: &WriteOutcome) -> Vec<ResourceIssue> {
    let (WriteOutcome::Created(stored) | WriteOutcome::Updated(stored) | WriteOutcome::Unchanged(stored)) = written
    else {
        return Vec::new();
    };
    if !security_resources::is_ruled(&stored.key.resource_type) {
        return Vec::new();
    }
    let kind = stored.key.resource_type.as_str();
    let mut remarks =
        security_resource_rules::find_write_warnings(kind, &stored.resource, service.oauth_settings.b2b_deployment());
    if kind == "Client" && matches!(written, WriteOutcome::Updated(_)) {
        match lost_claim(service, stored).await {
            Ok(lost) => remarks.extend(lost),
            Err(failed) => {
                let cause: &dyn std::error::Error = &failed;
                tracing::error!(cause, key = %stored.key, "the version before a write was not read");
            }
        }
    }
    remarks.truncate(REMARKS_MAX);
    if remarks.is_empty() || !access::may_read(service, context, stored).await { Vec::new() } else { remarks }
}

async fn lost_claim(service: &FhirService, stored: &StoredResource) -> Result<Option<ResourceIssue>, StoreError> {
    let before = HistoryQuery {
        kinds: vec![(stored.key.resource_type.clone(), AccessFilter::Everything)],
        id: Some(stored.key.id.clone()),
        window: HistoryPageRange { since_us: None, after: Some(HistoryPosition::of_version(stored)), count: 1 },
    };
    let before = service.resources.read_history(&before).await?.entries.into_iter().next();
    let settings = &service.oauth_settings;
    Ok(before.and_then(|before| {
        security_resource_rules::lost_b2b_claim(
            stored.key.resource_type.as_str(),
            &before.stored.resource,
            &stored.resource,
            settings,
        )
    }))
}

/// Returns remarks as issues of an `OperationOutcome`.
pub(crate) fn issues(remarks: Vec<ResourceIssue>) -> impl Iterator<Item = operation_outcome::OutcomeIssue> {
    remarks.into_iter().map(|ResourceIssue { expression, code, diagnostics }| operation_outcome::OutcomeIssue {
        severity: IssueSeverity::Warning,
        code: code.as_str(),
        diagnostics: Some(diagnostics),
        expression: vec![expression],
    })
}
