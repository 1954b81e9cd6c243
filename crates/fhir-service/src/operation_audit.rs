//! The audit record of a call of an operation of payers: by whom, for which organization, and with which result. What
//! the job made is recorded when the job ends, by its worker.
//!
//! # Source
//! `docs/decisions.md`, "Member match".

use fhir_resource::ResourceId;
use oauth_core::ports::{AuditAction, AuditRecord, AuditedPayerOperation};
use oauth_core::resource_caller::CallerIdentity;

use crate::access::OperationCall;
use crate::error::{PayerOperationError, ServiceError};
use crate::request_context::RequestContext;
use crate::service_state::FhirService;

/// The record of a call, made before the request is read, because a refused call is recorded as well.
pub(crate) struct OperationAudit {
    record: AuditRecord,
    operation: AuditedPayerOperation,
}

impl OperationAudit {
    /// Returns the record of a call, on a Group where it names one.
    pub(crate) fn of(
        service: &FhirService,
        context: &RequestContext,
        operation: &OperationCall<'_>,
        group_id: Option<&str>,
    ) -> Self {
        let action = if operation.name.ends_with("Match") { AuditAction::Match } else { AuditAction::Export };
        let id = context.caller.audit_id(service.root_id.as_deref()).map(str::to_owned);
        let (client_id, asked_by) = match &context.caller.identity {
            CallerIdentity::Root => (None, id),
            _ => (id, None),
        };
        let claim = match &context.caller.identity {
            CallerIdentity::Token(bearer) => {
                bearer.token.claims.extensions.as_ref().map(|extensions| &extensions.hl7_b2b)
            }
            _ => None,
        };
        let organization = claim.map(|claim| &claim.organization_id);
        let operation = AuditedPayerOperation {
            name: operation.name.to_owned(),
            organization: organization.map(|id| (id.system().to_owned(), id.value().to_owned())),
            purposes: claim.map(|claim| claim.purpose_of_use.clone()).unwrap_or_default(),
            group_id: group_id.map(str::to_owned),
            ..AuditedPayerOperation::default()
        };
        let address = context.address.map(|address| address.to_string());
        let record = AuditRecord {
            client_id,
            asked_by,
            user_id: context.caller.user_id().map(str::to_owned),
            address,
            ..AuditRecord::new(service.now_us(), action)
        };
        Self { record, operation }
    }

    /// Records that a job was begun, or why not.
    pub(crate) fn record_job(mut self, service: &FhirService, outcome: Result<&ResourceId, &ServiceError>) {
        self.operation.job_id = outcome.ok().map(ToString::to_string);
        self.record(service, outcome.err());
    }

    /// Records the member who was found, or why none was.
    pub(crate) fn record_member(mut self, service: &FhirService, outcome: Result<&str, &ServiceError>) {
        self.record.patient_id = outcome.ok().map(str::to_owned);
        self.record(service, outcome.err());
    }

    fn record(self, service: &FhirService, refused: Option<&ServiceError>) {
        let refused = match refused.map(why) {
            Some(None) => return,
            Some(Some(why)) => Some(why.to_owned()),
            None => None,
        };
        let operation = Some(Box::new(self.operation));
        service.audit.record(AuditRecord { refused, operation, ..self.record });
    }
}

/// Returns why a call was refused, in words that hold nothing of the request; `None` where it was not refused: the
/// server failed, or the request is malformed.
fn why(fault: &ServiceError) -> Option<&'static str> {
    match fault {
        ServiceError::Denied { .. } => Some("not permitted"),
        ServiceError::NotFound(_) | ServiceError::Gone(_) => Some("no such Group, or another organization's"),
        ServiceError::TooManyGuesses(_) => Some("too many requests"),
        ServiceError::Payer(fault) => match &**fault {
            PayerOperationError::NoClaim | PayerOperationError::NoClaimForExport => Some("no hl7-b2b claim"),
            PayerOperationError::NoMatch => Some("no single member with an acceptable consent"),
            PayerOperationError::TooManyJobs(_) => Some("too many open jobs"),
            PayerOperationError::MatchedGroup => Some("consent is not gone round"),
            PayerOperationError::UnresolvedPayor | PayerOperationError::SeveralOrganizations { .. } => {
                Some("no single organization")
            }
            PayerOperationError::Davinci(_) => Some("the Group is not for this export"),
            PayerOperationError::Prefer
            | PayerOperationError::Export(_)
            | PayerOperationError::NotExported(_)
            | PayerOperationError::Sent(_)
            | PayerOperationError::NoJob
            | PayerOperationError::JobFailed => None,
        },
        _ => None,
    }
}
