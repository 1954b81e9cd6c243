//! What an auditor is told when a job ends: with its end, in the same transaction, so that it is told once.
//!
//! That the job was asked for, by whom and with which purpose, is told by whoever takes the request.

use oauth_core::ports::{AuditAction, AuditRecord, AuditedPayerOperation};
use payer_exchange::MatchRequesterKind;
use payer_exchange::consent::ExportConsentRule;
use payer_exchange::jobs::JobWork;
use payer_exchange::member_match::MemberMatchOutcome;

use super::rows::Held;
use crate::audit;
use crate::db::AuthDatabase;
use crate::engine::Tx;

/// How many of what a job made.
pub(super) type Counts = Vec<(&'static str, u64)>;

/// Tells that a job is complete, or has failed.
pub(super) async fn ended(
    db: &AuthDatabase,
    tx: &mut Tx,
    held: &Held,
    (counts, now_us): (Counts, i64),
    failed: bool,
) -> Result<(), sqlx::Error> {
    let (action, name, organization) = match &held.work {
        JobWork::Export(work) => {
            let organization = match &work.consent {
                Some(ExportConsentRule::OptIn(requester)) => Some(requester),
                Some(ExportConsentRule::OptOut) | None => None,
            };
            (AuditAction::Export, "export", organization)
        }
        JobWork::Match(work) => {
            let name = match work.kind {
                MatchRequesterKind::Payer => "bulk-member-match",
                MatchRequesterKind::Provider => "provider-member-match",
            };
            (AuditAction::Match, name, Some(&work.requester))
        }
    };
    let operation = AuditedPayerOperation {
        name: format!("{name}: end"),
        organization: organization.map(|one| (one.system.clone(), one.value.clone())),
        job_id: Some(held.id.to_string()),
        counts,
        ..AuditedPayerOperation::default()
    };
    let record = AuditRecord {
        refused: failed.then(|| "the job failed".to_owned()),
        client_id: Some(held.owner.clone()),
        operation: Some(Box::new(operation)),
        ..AuditRecord::new(now_us, action)
    };
    audit::tell(db, tx, (&held.id, record)).await
}

/// Returns how many members came into which Group.
pub(super) fn counted(verdicts: &[MemberMatchOutcome]) -> Counts {
    let (mut matched, mut not_matched, mut constrained) = (0, 0, 0);
    for verdict in verdicts {
        match verdict {
            MemberMatchOutcome::Matched { .. } => matched += 1,
            MemberMatchOutcome::NonMatched => not_matched += 1,
            MemberMatchOutcome::Constrained { .. } => constrained += 1,
        }
    }
    vec![("matched", matched), ("not matched", not_matched), ("constrained by consent", constrained)]
}
