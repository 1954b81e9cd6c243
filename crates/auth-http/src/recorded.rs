//! What an auditor is told when an operation of payers is asked for: by whom, for which organization, and what came of
//! it. What the job made is told when it ends, by whoever works on it.
//!
//! # Source
//! `docs/decisions.md`, "Member match".

use fhir_store::ResourceId;
use oauth_core::caller::CallerIdentity;
use oauth_core::ports::{AuditAction, AuditRecord, AuditedOperation};

use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::payer::{OperationCall, PayerError};
use crate::state::App;

/// Who asks for what; made before the request is read, because one that is refused is told as well.
pub(crate) struct AuditedRequest {
    record: AuditRecord,
    operation: AuditedOperation,
}

impl AuditedRequest {
    /// A call of an operation, on a Group where it names one.
    pub(crate) fn of(app: &App, call: &ResourceRequest, operation: &OperationCall<'_>, group_id: Option<&str>) -> Self {
        let action = if operation.name.ends_with("Match") { AuditAction::Match } else { AuditAction::Export };
        let id = call.caller.id(&app.authority).map(str::to_owned);
        let (client_id, asked_by) = match &call.caller.identity {
            CallerIdentity::Root => (None, id),
            _ => (id, None),
        };
        let claim = match &call.caller.identity {
            CallerIdentity::Token(bearer) => {
                bearer.token.claims.extensions.as_ref().map(|extensions| &extensions.hl7_b2b)
            }
            _ => None,
        };
        let organization = claim.map(|claim| &claim.organization_id);
        let operation = AuditedOperation {
            name: operation.name.to_owned(),
            organization: organization.map(|id| (id.system().to_owned(), id.value().to_owned())),
            purposes: claim.map(|claim| claim.purpose_of_use.clone()).unwrap_or_default(),
            group_id: group_id.map(str::to_owned),
            ..AuditedOperation::default()
        };
        let address = call.address.map(|address| address.to_string());
        let record = AuditRecord {
            client_id,
            asked_by,
            user_id: call.caller.user_id().map(str::to_owned),
            address,
            ..AuditRecord::new(app.now_us(), action)
        };
        Self { record, operation }
    }

    /// Tells that a job was begun, or why not.
    pub(crate) fn begun(mut self, app: &App, outcome: Result<&ResourceId, &ApiError>) {
        self.operation.job_id = outcome.ok().map(ToString::to_string);
        self.tell(app, outcome.err());
    }

    /// Tells of one member who was found, or that none was.
    pub(crate) fn answered(mut self, app: &App, outcome: Result<&str, &ApiError>) {
        self.record.patient_id = outcome.ok().map(str::to_owned);
        self.tell(app, outcome.err());
    }

    fn tell(self, app: &App, refused: Option<&ApiError>) {
        let refused = match refused.map(why) {
            Some(None) => return,
            Some(Some(why)) => Some(why.to_owned()),
            None => None,
        };
        let operation = Some(Box::new(self.operation));
        app.authority.audit.record(AuditRecord { refused, operation, ..self.record });
    }
}

/// The reason why something was refused, in words that hold nothing of the request; `None` where nobody was refused:
/// the server failed, or the request had not the form that is asked for.
fn why(fault: &ApiError) -> Option<&'static str> {
    match fault {
        ApiError::Denied { .. } => Some("not permitted"),
        ApiError::NotFound(_) | ApiError::Gone(_) => Some("no such Group, or another organization's"),
        ApiError::Throttled { .. } => Some("too many requests"),
        ApiError::Payer(fault) => match &**fault {
            PayerError::NoClaim | PayerError::NoClaimForExport => Some("no hl7-b2b claim"),
            PayerError::NoMatch => Some("no single member with an acceptable consent"),
            PayerError::TooManyJobs(_) => Some("too many open jobs"),
            PayerError::MatchedGroup => Some("consent is not gone round"),
            PayerError::UnresolvedPayor | PayerError::SeveralOrganizations { .. } => Some("no single organization"),
            PayerError::Davinci(_) => Some("the Group is not for this export"),
            PayerError::Prefer
            | PayerError::Export(_)
            | PayerError::NotExported(_)
            | PayerError::Sent(_)
            | PayerError::NoJob
            | PayerError::JobFailed => None,
        },
        _ => None,
    }
}
