//! What auditors will ask about: who came in, what was let in, issued, refused and taken back for people.
//!
//! Not specified which events are recorded; we record those about a person's data. Backend tokens are
//! counted and, when refused, logged; a record of each would cost more than the token. What fails because the
//! server does is not recorded as a refusal: it is logged where it becomes an answer.

use std::sync::Arc;

use crate::authorization_endpoint::{AuthorizationRedirectError, AuthorizationRequestError};
use crate::client_authentication::{ClientAuthenticationError, ClientRejectionReason};
use crate::form_fields::sanitize_for_error_description;
use crate::launch::LaunchUriError;
use crate::ports::{AuditAction, AuditRecord, AuditSink, TokenFamily};
use crate::registration_cache::RegistrationCache;
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_endpoint::{TokenError, TokenResponse};

/// Who asks, as far as it is known: nothing here has to be proved.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AuditActor<'a> {
    /// The app it says to be.
    pub(crate) client_id: Option<&'a str>,
    /// The person of its session.
    pub(crate) user_id: Option<&'a str>,
    /// From where.
    pub(crate) address: Option<&'a str>,
}

/// Where the services record what they did and refused.
#[derive(Clone)]
pub(crate) struct AuditTrail {
    /// Which apps are registered.
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) sink: Arc<dyn AuditSink>,
}

impl AuditTrail {
    /// Takes a record.
    pub(crate) fn record(&self, record: AuditRecord) {
        self.sink.record(record);
    }

    /// Records what became of a token request.
    pub(crate) fn token(
        &self,
        env: &TimeAndRandomness<'_>,
        asking: AuditActor<'_>,
        outcome: &Result<TokenResponse, TokenError>,
    ) {
        let record = match outcome {
            Ok(response) => AuditRecord {
                client_id: Some(response.client_id.clone()),
                user_id: response.user_id.clone(),
                patient_id: response.context.patient.clone(),
                grant_id: response.grant_id.clone(),
                scope: response.scope.clone(),
                address: asking.address.map(str::to_owned),
                ..AuditRecord::new(env.now_us, AuditAction::Token)
            },
            Err(refusal) => match refused_token(refusal) {
                Some(reason) => self.refused(env, (AuditAction::Token, reason), asking),
                None => return,
            },
        };
        self.record(record);
    }

    /// Records an authorization that ended without a code, unless the person's own word ended it, which is
    /// recorded where it is given.
    pub(crate) fn not_authorized(
        &self,
        env: &TimeAndRandomness<'_>,
        asking: AuditActor<'_>,
        fault: &AuthorizationRequestError,
    ) {
        if let Some(reason) = refused_authorization(fault) {
            self.record(self.refused(env, (AuditAction::Authorization, reason), asking));
        }
    }

    /// Records that an EHR asked for a launch: with the id of the launch, or the reason why there is none. What it
    /// named counts as there when it got the launch; a refusal is answered to the app alone, if it is registered.
    pub(crate) fn launch(
        &self,
        env: &TimeAndRandomness<'_>,
        launching: LaunchAudit<'_>,
        outcome: Result<&str, &LaunchUriError>,
    ) {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let record = match outcome {
            Ok(launch_id) => AuditRecord {
                client_id: owned(launching.client_id),
                user_id: owned(launching.user_id),
                patient_id: owned(launching.patient_id),
                launch_id: Some(launch_id.to_owned()),
                address: owned(launching.address),
                ..AuditRecord::new(env.now_us, AuditAction::Launch)
            },
            Err(LaunchUriError::Store(_) | LaunchUriError::Sign(_)) => return,
            Err(fault) => {
                let asking = AuditActor { client_id: launching.client_id, user_id: None, address: launching.address };
                self.refused(env, (AuditAction::Launch, fault.to_string()), asking)
            }
        };
        self.record(AuditRecord { asked_by: owned(launching.asked_by), ..record });
    }

    /// Records that a person's token or family was taken back.
    pub(crate) fn revocation(&self, env: &TimeAndRandomness<'_>, revoked: &RevocationAudit<'_>) {
        self.record(AuditRecord {
            client_id: Some(revoked.client_id.to_owned()),
            user_id: Some(revoked.user_id.to_owned()),
            grant_id: revoked.grant_id.map(str::to_owned),
            asked_by: revoked.asked_by.map(str::to_owned),
            address: revoked.address.map(str::to_owned),
            ..AuditRecord::new(env.now_us, AuditAction::Revocation)
        });
    }

    /// A refusal. An app counts as registered when its copy is in memory, which it is when it was looked at just
    /// before: a record costs no statement.
    fn refused(
        &self,
        env: &TimeAndRandomness<'_>,
        (action, reason): (AuditAction, String),
        asking: AuditActor<'_>,
    ) -> AuditRecord {
        let (known, claimed) = match asking.client_id {
            Some(id) if self.directory.has_cached_client(id) => (Some(id.to_owned()), None),
            claimed => (None, claimed.map(sanitize_for_error_description)),
        };
        AuditRecord {
            refused: Some(reason),
            client_id: known,
            claimed_id: claimed,
            user_id: asking.user_id.map(str::to_owned),
            address: asking.address.map(str::to_owned),
            ..AuditRecord::new(env.now_us, action)
        }
    }
}

/// Who asks for the address of a launch, and for whom.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LaunchAudit<'a> {
    pub(crate) client_id: Option<&'a str>,
    pub(crate) user_id: Option<&'a str>,
    pub(crate) patient_id: Option<&'a str>,
    pub(crate) asked_by: Option<&'a str>,
    pub(crate) address: Option<&'a str>,
}

/// Whose tokens were taken back, and by whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RevocationAudit<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) user_id: &'a str,
    pub(crate) grant_id: Option<&'a str>,
    /// Somebody other than the app.
    pub(crate) asked_by: Option<&'a str>,
    pub(crate) address: Option<&'a str>,
}

impl<'a> RevocationAudit<'a> {
    /// A family that ends without anybody's word: because its tokens are in two hands, or whoever authorized them
    /// could not do so again.
    pub(crate) fn family(family: &'a TokenFamily) -> Self {
        Self {
            client_id: &family.client_id,
            user_id: &family.user_id,
            grant_id: family.grant_id.as_deref(),
            asked_by: None,
            address: None,
        }
    }
}

/// Returns the reason without what came from outside: the code alone where the text repeats some of the request, or a
/// time. `None` for a failure of the server.
fn refused_token(error: &TokenError) -> Option<String> {
    let reason = match error {
        TokenError::Store(_) | TokenError::Sign(_) | TokenError::Unsettled => return None,
        TokenError::Client(fault) => refused_client(fault)?,
        TokenError::Subject(_) => "the token to be exchanged fails a check".to_owned(),
        TokenError::TooManyAttempts { .. } => "too many attempts".to_owned(),
        TokenError::Missing(_)
        | TokenError::Parameter { .. }
        | TokenError::Credentials(_)
        | TokenError::Target { .. }
        | TokenError::UnauthorizedClient
        | TokenError::NoScope
        | TokenError::TooLong { .. }
        | TokenError::Grant(_) => return Some(format!("{}: {error}", error.error_code())),
        TokenError::Repeated(_)
        | TokenError::UnsupportedGrant(_)
        | TokenError::MalformedScope(_)
        | TokenError::ScopeNotAllowed(_)
        | TokenError::ScopeNeedsUser(_)
        | TokenError::ScopeNotGranted(_) => return Some(error.error_code().to_owned()),
    };
    Some(format!("{}: {reason}", error.error_code()))
}

fn refused_client(fault: &ClientAuthenticationError) -> Option<String> {
    Some(match fault {
        ClientAuthenticationError::Rejected { rejection, .. } => rejection.to_string(),
        ClientAuthenticationError::Assertion { .. } => "the client assertion fails a check".to_owned(),
        ClientAuthenticationError::UnknownSubject { .. } => ClientRejectionReason::Unknown.to_string(),
        ClientAuthenticationError::NoCredentials => fault.to_string(),
        ClientAuthenticationError::TooManyAttempts { .. } => "too many attempts".to_owned(),
        ClientAuthenticationError::Store(_) => return None,
    })
}

fn refused_authorization(fault: &AuthorizationRequestError) -> Option<String> {
    let cause = match fault {
        AuthorizationRequestError::Store(_) => return None,
        AuthorizationRequestError::Page(page) => return Some(page.to_string()),
        AuthorizationRequestError::Redirect { cause, .. } => cause,
    };
    match cause.as_ref() {
        AuthorizationRedirectError::Denied
        | AuthorizationRedirectError::Token(_)
        | AuthorizationRedirectError::Unsettled => None,
        failure if failure.is_server_failure() => None,
        AuthorizationRedirectError::Repeated(_) | AuthorizationRedirectError::MalformedScope(_) => {
            Some(cause.error_code().to_owned())
        }
        _ => Some(format!("{}: {cause}", cause.error_code())),
    }
}
