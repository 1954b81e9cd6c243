//! What auditors will ask about: tokens issued, refused and taken back for people.
//!
//! Not specified which tokens are recorded; we record those that a person authorized, because they open a
//! person's data. Backend tokens are counted and, when refused, logged; a record of each would cost more
//! than the token.

use crate::authority::Authority;
use crate::env::Env;
use crate::form::printable;
use crate::ports::{AuditAction, AuditRecord};
use crate::token::{TokenError, TokenResponse};

/// Records what became of a token request.
pub(crate) fn token(
    env: &Env<'_>,
    authority: &Authority,
    client_id: Option<&str>,
    outcome: &Result<TokenResponse, TokenError>,
) {
    let blank = blank(env, AuditAction::Token);
    authority.audit.record(match outcome {
        Ok(response) => AuditRecord {
            client_id: Some(response.client_id.clone()),
            user_id: response.user_id.clone(),
            patient_id: response.context.patient.clone(),
            scope: response.scope.clone(),
            ..blank
        },
        Err(refusal) => AuditRecord {
            refused: Some(format!("{}: {refusal}", refusal.code())),
            client_id: client_id.map(printable),
            ..blank
        },
    });
}

/// Who took a token back, and whose it was.
pub(crate) struct Revoked<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) user_id: &'a str,
}

/// Records that a person's token or family was taken back.
pub(crate) fn revocation(env: &Env<'_>, authority: &Authority, revoked: &Revoked<'_>) {
    authority.audit.record(AuditRecord {
        client_id: Some(revoked.client_id.to_owned()),
        user_id: Some(revoked.user_id.to_owned()),
        ..blank(env, AuditAction::Revocation)
    });
}

fn blank(env: &Env<'_>, action: AuditAction) -> AuditRecord {
    AuditRecord {
        at_us: env.now_us,
        action,
        refused: None,
        client_id: None,
        user_id: None,
        patient_id: None,
        address: None,
        scope: None,
    }
}
