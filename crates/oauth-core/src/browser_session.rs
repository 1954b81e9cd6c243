//! Browser sessions of signed-in users, and ending the sessions of tokens.

use std::sync::Arc;

use secrecy::SecretString;

use crate::access_token_verification::VerifiedAccessToken;
use crate::audit::{AuditTrail, RevocationAudit};
use crate::authorization_endpoint::BrowserSessionContext;
use crate::end_user::EndUser;
use crate::jose::{encode_base64url, sha256};
use crate::limits::ASSERTION_CLOCK_LEEWAY_S;
use crate::ports::{
    AccessTokenStore, AuditAction, AuditRecord, AuthorizationState, AuthorizationStateQuery, SecretSha256,
    SessionStore, StoreError, TokenFamilyStore,
};
use crate::registration_cache::RegistrationCache;
use crate::time_and_randomness::TimeAndRandomness;

/// How long a session lasts unless the operator says otherwise, in seconds, and so `Max-Age` of its cookie: five days,
/// as the platform does.
pub const SESSION_LIFETIME_S: i64 = 432_000;

/// Longest cookie value that is looked up, in bytes.
const COOKIE_MAX_BYTES: usize = 128;

/// Generates a session cookie value: 256 random bits as base64url.
#[must_use]
pub fn generate_session_cookie(env: &TimeAndRandomness<'_>) -> SecretString {
    encode_base64url(&env.random_bytes::<32>()).into()
}

/// Looks up and ends the sessions of browsers and of tokens.
pub struct SessionService {
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) tokens: Arc<dyn AccessTokenStore>,
    pub(crate) families: Arc<dyn TokenFamilyStore>,
    pub(crate) audit: AuditTrail,
}

impl SessionService {
    /// Returns the user who is signed in with this browser; `None` when nobody is.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn signed_in_user(
        &self,
        env: &TimeAndRandomness<'_>,
        browser: BrowserSessionContext<'_>,
    ) -> Result<Option<Arc<EndUser>>, StoreError> {
        let Some(hash) = cookie_hash(browser.session) else { return Ok(None) };
        let query = AuthorizationStateQuery { session: Some(&hash), client_id: "", now_s: env.now_s() };
        let visit = self.sessions.load_authorization_state(&query).await?;
        visitor(&self.directory, &visit).await
    }

    /// Ends the browser's session. Access that was given to apps is not touched. Returns whether there was a session.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_browser_session(
        &self,
        env: &TimeAndRandomness<'_>,
        browser: BrowserSessionContext<'_>,
    ) -> Result<bool, StoreError> {
        let Some(hash) = cookie_hash(browser.session) else { return Ok(false) };
        let query = AuthorizationStateQuery { session: Some(&hash), client_id: "", now_s: env.now_s() };
        let ended = self.sessions.load_authorization_state(&query).await?.session;
        self.sessions.end_session(&hash).await?;
        let had = ended.is_some();
        if let Some(session) = ended {
            self.audit.record(AuditRecord {
                user_id: Some(session.user_id),
                address: browser.address.map(str::to_owned),
                ..AuditRecord::new(env.now_us, AuditAction::SignOut)
            });
        }
        Ok(had)
    }

    /// Revokes a user's token with its family, that is all tokens of the same authorization, the refresh token among
    /// them; a Client's own token is revoked alone.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// # Source
    /// `docs/decisions.md`, "Callers": the platform closes the session of the presented token.
    pub async fn revoke_token_or_family(
        &self,
        env: &TimeAndRandomness<'_>,
        (token, address): (&VerifiedAccessToken, Option<&str>),
    ) -> Result<(), StoreError> {
        let claims = &token.claims;
        let Some(family_id) = &claims.sid else {
            // Nodes' clocks differ: one that is behind must still find the token revoked.
            return self.tokens.revoke_token_id(&claims.jti, claims.exp + ASSERTION_CLOCK_LEEWAY_S).await;
        };
        if self.families.revoke_family(family_id, env.now_s()).await? {
            let (client_id, user_id) = (claims.client_id.as_str(), claims.sub.as_str());
            let revoked = RevocationAudit { client_id, user_id, grant_id: None, asked_by: None, address };
            self.audit.revocation(env, &revoked);
        }
        Ok(())
    }
}

/// Returns the person of a visit's session: active, and with the password it signed in with.
pub(crate) async fn visitor(
    directory: &RegistrationCache,
    visit: &AuthorizationState,
) -> Result<Option<Arc<EndUser>>, StoreError> {
    let Some((session, version)) = visit.session.as_ref().zip(visit.user_version) else { return Ok(None) };
    let person = directory.end_user_at_version(&session.user_id, version).await?;
    Ok(person.filter(|person| person.active && person.credential == session.credential))
}

/// Returns what is stored and looked up for a cookie value; `None` for what cannot be one of ours.
pub(crate) fn cookie_hash(cookie: Option<&str>) -> Option<SecretSha256> {
    let cookie = cookie.filter(|cookie| !cookie.is_empty() && cookie.len() <= COOKIE_MAX_BYTES);
    cookie.map(|cookie| sha256(cookie.as_bytes()))
}
