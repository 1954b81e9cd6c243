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
use fhir_store::outcome::{self, IssueSeverity};
use fhir_store::{AccessFilter, HistoryQuery, HistoryRange, StoreError, WriteOutcome};
use oauth_core::registration::{self, PolicyIssue};

use crate::access;
use crate::request_context::RequestContext;
use crate::security_resources;
use crate::service::FhirService;

/// Most remarks in one answer.
pub(crate) const REMARKS_MAX: usize = 10;

/// Returns the remarks about a write, for a caller who may read what it wrote. The write is done, so a store that fails
/// here is logged and costs the remarks alone.
pub(crate) async fn of(service: &FhirService, context: &RequestContext, written: &WriteOutcome) -> Vec<PolicyIssue> {
    let (WriteOutcome::Created(stored) | WriteOutcome::Updated(stored) | WriteOutcome::Unchanged(stored)) = written
    else {
        return Vec::new();
    };
    if !security_resources::is_ruled(&stored.key.resource_type) {
        return Vec::new();
    }
    let kind = stored.key.resource_type.as_str();
    let mut remarks = registration::warnings(kind, &stored.resource, service.oauth_settings.deployment());
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

async fn lost_claim(service: &FhirService, stored: &StoredResource) -> Result<Option<PolicyIssue>, StoreError> {
    let before = HistoryQuery {
        kinds: vec![(stored.key.resource_type.clone(), AccessFilter::Everything)],
        id: Some(stored.key.id.clone()),
        window: HistoryRange { since_us: None, after: Some(HistoryPosition::of(stored)), count: 1 },
    };
    let before = service.resources.history(&before).await?.entries.into_iter().next();
    let settings = &service.oauth_settings;
    Ok(before.and_then(|before| {
        registration::lost_claim(stored.key.resource_type.as_str(), &before.stored.resource, &stored.resource, settings)
    }))
}

/// Returns remarks as issues of an `OperationOutcome`.
pub(crate) fn issues(remarks: Vec<PolicyIssue>) -> impl Iterator<Item = outcome::OutcomeIssue> {
    remarks.into_iter().map(|PolicyIssue { expression, code, diagnostics }| outcome::OutcomeIssue {
        severity: IssueSeverity::Warning,
        code: code.as_str(),
        diagnostics: Some(diagnostics),
        expression: vec![expression],
    })
}
