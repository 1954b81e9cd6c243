//! Sign-in with a user name and a password.
//!
//! A caller without the password does not learn whether there is such a person: the text is the same for an unknown
//! name and a wrong password, and so is the time, because a password is hashed in every case. The right password of a
//! person who may not sign in is answered with the reason, so that the person knows what to do. A caller who tries too
//! often is refused before anything is looked up.

use std::sync::Arc;

use attempt_limits::password_attempt_limits::{
    AdmitAttemptError, AttemptCounterKind, AttemptLimitExceeded, AttemptLimiter, AttemptOrigin, AttemptOutcome,
    AttemptRateLimit, FailuresAfterSuccess, ServerAttemptPolicy,
};
use secrecy::{ExposeSecret as _, SecretString};

use crate::audit::AuditTrail;
use crate::browser_session::{cookie_hash, generate_session_cookie};
use crate::end_user::EndUser;
use crate::jose::sha256;
use crate::ports::{AuditAction, AuditRecord, BrowserSession, SessionStore, StoreError};
use crate::secret_hash::SecretHash;
use crate::secret_verifier::SecretVerifier;
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_issuer::TokenIssuer;

/// The limits of wrong passwords. A right one gives none back: of guesses from the neighborhood of a member, no more
/// are answered because the member signs in.
pub(crate) const ATTEMPT_POLICY: ServerAttemptPolicy = ServerAttemptPolicy {
    account_nearby: AttemptRateLimit { at_once: 10, pause_us: 30_000_000 },
    after_success: FailuresAfterSuccess::KeepFailures,
};

/// Longest name that is looked up, in bytes: the longest e-mail address there is.
const LOGIN_MAX_BYTES: usize = 320;

/// One attempt to sign in.
pub struct SignInAttempt<'a> {
    /// `userName` or e-mail address, as typed.
    pub login: &'a str,
    /// As typed.
    pub password: &'a SecretString,
    /// The cookie value of the session that the new one replaces.
    pub session: Option<&'a str>,
    /// Where it comes from, as far as the wire knows.
    pub address: Option<&'a str>,
    /// The id of the app that asks for the person, if it proved who it is. Then attempts are counted for the
    /// account in that app: its people share the address of its server.
    pub app: Option<&'a str>,
}

/// A user who has signed in.
#[derive(Debug)]
pub struct SignedInUser {
    /// The value of the session cookie; only its hash is stored.
    pub cookie: SecretString,
    /// `Max-Age` of the cookie, in seconds.
    pub lifetime_s: i64,
    /// The id of the User.
    pub user_id: String,
}

/// The reason why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// No such person, or another password: only the log says which.
    #[error("the name or the password is wrong")]
    Wrong,
    /// The password is right, and the User is inactive.
    #[error("User is inactive")]
    Inactive,
    /// The password is right, and the User is registered with a second factor, which this server does not ask for.
    #[error("a second factor is required, and not supported")]
    SecondFactor,
    /// Too many attempts for this account or from this address.
    #[error("too many attempts; try again in {retry_after_s} s")]
    TooMany {
        /// Seconds.
        retry_after_s: u64,
    },
    /// More people sign in at this moment than the server can check.
    #[error("too many people sign in at this moment; try again in {retry_after_s} s")]
    Crowded {
        /// Seconds.
        retry_after_s: u64,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Signs people in with their names and passwords.
pub struct SignInService {
    pub(crate) issuer: Arc<TokenIssuer>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) secrets: Arc<SecretVerifier>,
    pub(crate) attempts: AttemptLimiter,
    pub(crate) audit: AuditTrail,
}

impl SignInService {
    /// Signs a user in: begins a new session under a new cookie, and ends the one before.
    ///
    /// # Errors
    /// [`SignInError`]; no session has begun then, and the one before goes on.
    pub async fn sign_in(
        &self,
        env: &TimeAndRandomness<'_>,
        attempt: &SignInAttempt<'_>,
    ) -> Result<SignedInUser, SignInError> {
        let outcome = self.checked(env, attempt).await;
        self.record(env, attempt, &outcome);
        let person = outcome.map_err(|refused| refused.fault)?;
        let (cookie, lifetime_s) = (generate_session_cookie(env), self.issuer.settings.session_lifetime_s);
        let session = BrowserSession {
            hash: sha256(cookie.expose_secret().as_bytes()),
            user_id: person.id.clone(),
            credential: person.credential,
            signed_in_s: env.now_s(),
            expires_s: env.now_s() + lifetime_s,
        };
        self.sessions.begin_session(session, cookie_hash(attempt.session).as_ref()).await?;
        Ok(SignedInUser { cookie, lifetime_s, user_id: person.id.clone() })
    }

    /// Checks a name and a password within the same limits, without beginning a session. What it opens is recorded by
    /// the caller that opens it; an attempt that fails is recorded here, because only here is it known whose account
    /// was tried.
    ///
    /// # Errors
    /// [`SignInError`].
    pub async fn check_password(
        &self,
        env: &TimeAndRandomness<'_>,
        attempt: &SignInAttempt<'_>,
    ) -> Result<Arc<EndUser>, SignInError> {
        let outcome = self.checked(env, attempt).await;
        if outcome.is_err() {
            self.record(env, attempt, &outcome);
        }
        outcome.map_err(|refused| refused.fault)
    }

    /// Tells the audit what became of an attempt, unless the server failed.
    fn record(
        &self,
        env: &TimeAndRandomness<'_>,
        attempt: &SignInAttempt<'_>,
        outcome: &Result<Arc<EndUser>, Refused>,
    ) {
        let (user_id, refused) = match outcome {
            Ok(person) => (Some(person.id.clone()), None),
            Err(Refused { fault: SignInError::Store(_), .. }) => return,
            Err(Refused { user_id, reason, .. }) => (user_id.clone(), Some((*reason).to_owned())),
        };
        self.audit.record(AuditRecord {
            refused,
            client_id: attempt.app.map(str::to_owned),
            user_id,
            address: attempt.address.map(str::to_owned),
            ..AuditRecord::new(env.now_us, AuditAction::SignIn)
        });
    }

    /// Checks, and counts what was wrong.
    async fn checked(&self, env: &TimeAndRandomness<'_>, attempt: &SignInAttempt<'_>) -> Result<Arc<EndUser>, Refused> {
        // In lower case, as the name is looked up, or each way to write it would have a limit for itself.
        let account = attempt.login.trim().to_ascii_lowercase();
        let admitted =
            self.attempts.admit_attempt(|| env.now_us, &account, origin(attempt)).await.map_err(refused_attempt)?;
        let verified = self.verified(attempt).await;
        admitted.record_outcome(match &verified {
            Ok(_) => AttemptOutcome::Right,
            Err(Refused { fault: SignInError::Wrong | SignInError::Inactive | SignInError::SecondFactor, .. }) => {
                AttemptOutcome::Wrong
            }
            Err(_) => AttemptOutcome::Unchecked,
        });
        verified
    }

    async fn verified(&self, attempt: &SignInAttempt<'_>) -> Result<Arc<EndUser>, Refused> {
        let refused = |user_id, reason, fault| Refused { user_id, reason, fault };
        // Keyboards add a blank after a name that they complete. A password is taken as it is typed.
        let person = self.find(attempt.login.trim()).await.map_err(|error| refused(None, "", error.into()))?;
        let user_id = person.as_ref().map(|person| person.id.clone());
        let stored = person.as_ref().and_then(|person| person.password.clone());
        let hash = stored.unwrap_or_else(SecretHash::dummy);
        let verified = self.secrets.verify_person(&hash, attempt.password.expose_secret()).await;
        let verified = verified.map_err(|_| {
            refused(user_id.clone(), "too many people sign in", SignInError::Crowded { retry_after_s: CROWDED_RETRY_S })
        })?;
        match person {
            Some(person) if verified && !person.active => {
                Err(refused(user_id, "the user is inactive", SignInError::Inactive))
            }
            Some(person) if verified && person.second_factor => {
                Err(refused(user_id, "a second factor is required, and not supported", SignInError::SecondFactor))
            }
            Some(person) if verified => Ok(person),
            Some(_) => Err(refused(user_id, "wrong password", SignInError::Wrong)),
            None => Err(refused(None, "unknown user", SignInError::Wrong)),
        }
    }

    /// Returns the person of this name; `None` when two have it, because guessing which one is meant could let one in
    /// as the other.
    async fn find(&self, login: &str) -> Result<Option<Arc<EndUser>>, StoreError> {
        if login.is_empty() || login.len() > LOGIN_MAX_BYTES {
            return Ok(None);
        }
        let found = self.sessions.users_by_login(login).await?;
        match found.as_slice() {
            [(id, stored)] => Ok(Some(Arc::new(EndUser::from_stored(id, stored, &self.issuer.settings.base_url)))),
            [] => Ok(None),
            [(one, _), (other, _), ..] => {
                tracing::warn!(one, other, "two users share a name to sign in with; neither can use it");
                Ok(None)
            }
        }
    }
}

/// A refusal and what only the audit learns of it.
struct Refused {
    user_id: Option<String>,
    reason: &'static str,
    fault: SignInError,
}

/// The app that has authenticated, else the device, as far as the wire knows its address.
fn origin<'a>(attempt: &SignInAttempt<'a>) -> AttemptOrigin<'a> {
    let device = || attempt.address.and_then(|address| address.parse().ok());
    match attempt.app {
        Some(app) => AttemptOrigin::App(app),
        None => device().map_or(AttemptOrigin::Unknown, AttemptOrigin::Device),
    }
}

fn refused_attempt(error: AdmitAttemptError) -> Refused {
    let (reason, retry_after_s) = match error {
        AdmitAttemptError::Held(AttemptLimitExceeded {
            by: AttemptCounterKind::AccountNearby | AttemptCounterKind::Account,
            wait_us,
            ..
        }) => ("too many attempts for this account", wait_us.div_ceil(1_000_000)),
        AdmitAttemptError::Held(AttemptLimitExceeded {
            by: AttemptCounterKind::Subscriber | AttemptCounterKind::Neighborhood,
            wait_us,
            ..
        }) => ("too many attempts from this address", wait_us.div_ceil(1_000_000)),
        AdmitAttemptError::Crowded => ("too many people sign in", 1),
    };
    Refused { user_id: None, reason, fault: SignInError::TooMany { retry_after_s } }
}

/// After how many seconds a person who found the lane full should try again.
const CROWDED_RETRY_S: u64 = 15;

impl std::fmt::Debug for SignInAttempt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt").finish_non_exhaustive()
    }
}
