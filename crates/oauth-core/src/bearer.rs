//! What a presented access token is worth at this moment.

use std::sync::Arc;

use crate::client::Client;
use crate::directory::RegistrationCache;
use crate::env::Env;
use crate::issuer::Issuer;
use crate::jose::{CompactJws, sha256};
use crate::limits::ACCESS_TOKEN_MAX_BYTES;
use crate::person::Person;
use crate::ports::{CallerStatus, CallerStatusQuery, StoreError, TokenStore};
use crate::token::claims::AccessTokenClaims;

/// An access token that is valid now.
#[derive(Debug, Clone)]
pub struct VerifiedToken {
    /// What it says.
    pub claims: AccessTokenClaims,
    /// The Client it was issued to, as stored now.
    pub client: Arc<Client>,
    /// The person who authorized it, as stored now; `None` for a token of the Client itself.
    pub person: Option<Arc<Person>>,
    /// What the database said about the caller.
    pub standing: CallerStatus,
}

/// The reason why a token is good for nothing: `invalid_token`.
#[derive(Debug, thiserror::Error)]
pub enum BearerTokenError {
    /// Neither a JWT of this server nor a known opaque token.
    #[error("the access token is malformed or unknown")]
    Unknown,
    /// Signed by a key this server does not publish, or not signed by it.
    #[error("the access token's signature does not verify")]
    Signature,
    /// For another server.
    #[error("the access token was issued by or for another server")]
    Foreign,
    /// `exp` has passed.
    #[error("the access token expired")]
    Expired,
    /// Revoked.
    #[error("the access token was revoked")]
    Revoked,
    /// Its Client is gone or inactive.
    #[error("the client of the access token is no longer active")]
    ClientGone,
    /// Its User is gone or inactive, or has another password since.
    #[error("the user of the access token is no longer active, or changed the password")]
    PersonGone,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Verifies access tokens of this server.
pub struct AccessTokenVerifier {
    pub(crate) issuer: Arc<Issuer>,
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) tokens: Arc<dyn TokenStore>,
}

impl AccessTokenVerifier {
    /// Verifies a presented token, cheapest checks first.
    ///
    /// # Errors
    /// [`BearerTokenError`].
    ///
    /// # Source
    /// Specification, OAuth errors (`invalid_token`); RFC 6750; RFC 9068, section 4.
    pub async fn verify(&self, env: &Env<'_>, token: &str) -> Result<VerifiedToken, BearerTokenError> {
        let (claims, standing) = self.presented(env, token).await?;
        let standing = match standing {
            Some(standing) => standing,
            None => self.standing_of(&claims).await?,
        };
        self.check_standing(claims, standing).await
    }

    /// Returns the claims of a token that this server issued and that has not expired. Whether it was revoked and whether
    /// its Client is still active is not asked: a token may be revoked whatever became of its Client.
    ///
    /// # Errors
    /// [`BearerTokenError`], but not [`BearerTokenError::Revoked`] and [`BearerTokenError::ClientGone`].
    pub async fn read(&self, env: &Env<'_>, token: &str) -> Result<AccessTokenClaims, BearerTokenError> {
        self.presented(env, token).await.map(|(claims, _)| claims)
    }

    /// Returns the claims as [`Self::read`] returns them, and the standing of the caller where it was read with them: a JWT says
    /// by itself what an opaque token is looked up for.
    async fn presented(
        &self,
        env: &Env<'_>,
        token: &str,
    ) -> Result<(AccessTokenClaims, Option<CallerStatus>), BearerTokenError> {
        if token.len() > ACCESS_TOKEN_MAX_BYTES {
            return Err(BearerTokenError::Unknown);
        }
        let (claims, standing) = if token.contains('.') {
            (self.verify_jwt(env, token).await?, None)
        } else {
            let found = self.tokens.find_opaque(&sha256(token.as_bytes())).await?;
            let (row, standing) = found.ok_or(BearerTokenError::Unknown)?;
            (serde_json::from_value(row.claims).map_err(|_| BearerTokenError::Unknown)?, Some(standing))
        };
        self.check_claims(env, &claims)?;
        Ok((claims, standing))
    }

    async fn verify_jwt(&self, env: &Env<'_>, token: &str) -> Result<AccessTokenClaims, BearerTokenError> {
        let jws = CompactJws::parse(token, ACCESS_TOKEN_MAX_BYTES).map_err(|_| BearerTokenError::Unknown)?;
        let kid = jws.header.kid.as_deref().ok_or(BearerTokenError::Unknown)?;
        if jws.header.has_critical_extensions() {
            return Err(BearerTokenError::Unknown);
        }
        if self.issuer.keys.snapshot().verifier(kid).is_none() {
            // Another node may have begun to sign with a key this one has not read yet.
            if let Err(error) = self.issuer.keys.refresh_for_unknown_kid(env).await {
                tracing::warn!(%error, "signing keys could not be read again");
            }
        }
        let keys = self.issuer.keys.snapshot();
        let key = keys.verifier(kid).ok_or(BearerTokenError::Signature)?;
        let same_alg = jws.header.alg == key.alg().name();
        if !same_alg || !key.verifies(jws.signing_input(), jws.signature()) {
            return Err(BearerTokenError::Signature);
        }
        jws.payload().map_err(|_| BearerTokenError::Unknown)
    }

    fn check_claims(&self, env: &Env<'_>, claims: &AccessTokenClaims) -> Result<(), BearerTokenError> {
        if claims.iss != self.issuer.settings.base_url || claims.aud != self.issuer.documents.fhir_base() {
            return Err(BearerTokenError::Foreign);
        }
        // No leeway: issuer and verifier are one server.
        if claims.exp <= env.now_s() { Err(BearerTokenError::Expired) } else { Ok(()) }
    }

    async fn standing_of(&self, claims: &AccessTokenClaims) -> Result<CallerStatus, StoreError> {
        let query = CallerStatusQuery {
            client_id: Some(&claims.client_id),
            user_id: claims.user_id(),
            token_id: Some(&claims.jti),
            family_id: claims.sid.as_deref(),
        };
        self.directory.store().caller_status(&query).await
    }

    async fn check_standing(
        &self,
        claims: AccessTokenClaims,
        standing: CallerStatus,
    ) -> Result<VerifiedToken, BearerTokenError> {
        if standing.token_revoked {
            return Err(BearerTokenError::Revoked);
        }
        if standing.client_deleted_us.is_some_and(|at_us| claims.iat <= at_us.div_euclid(1_000_000)) {
            return Err(BearerTokenError::ClientGone);
        }
        let version = standing.client_version.ok_or(BearerTokenError::ClientGone)?;
        let client = self.directory.client_at(&claims.client_id, version).await?;
        let client = client.filter(|client| client.active).ok_or(BearerTokenError::ClientGone)?;
        let person = match claims.sid {
            Some(_) => Some(self.check_person(&claims.sub, &standing).await?),
            None => None,
        };
        Ok(VerifiedToken { claims, client, person, standing })
    }

    /// A token that a person authorized is as good as its family, and that as good as the password it began
    /// with: a changed password ends what was begun with the old one.
    async fn check_person(&self, user_id: &str, standing: &CallerStatus) -> Result<Arc<Person>, BearerTokenError> {
        let credential = standing.family_credential.ok_or(BearerTokenError::Revoked)?;
        let version = standing.user_version.ok_or(BearerTokenError::PersonGone)?;
        let person = self.directory.person_at(user_id, version).await?;
        let good = person.filter(|person| person.active && person.credential == credential);
        good.ok_or(BearerTokenError::PersonGone)
    }
}
