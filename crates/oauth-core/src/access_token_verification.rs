//! Verification of presented access tokens, at the moment of their use.

use std::sync::Arc;

use crate::client::Client;
use crate::end_user::EndUser;
use crate::jose::{CompactJws, sha256};
use crate::limits::ACCESS_TOKEN_MAX_BYTES;
use crate::ports::{AccessTokenStore, CallerStatus, CallerStatusQuery, StoreError};
use crate::registration_cache::RegistrationCache;
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_endpoint::access_token_claims::AccessTokenClaims;
use crate::token_issuer::TokenIssuer;

/// An access token that is valid now.
#[derive(Debug, Clone)]
pub struct VerifiedAccessToken {
    /// What it says.
    pub claims: AccessTokenClaims,
    /// The Client it was issued to, as stored now.
    pub client: Arc<Client>,
    /// The person who authorized it, as stored now; `None` for a token of the Client itself.
    pub person: Option<Arc<EndUser>>,
    /// What the database said about the caller.
    pub standing: CallerStatus,
}

/// The reason why a bearer token is invalid: `invalid_token`.
#[derive(Debug, thiserror::Error)]
pub enum InvalidBearerTokenError {
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
    pub(crate) issuer: Arc<TokenIssuer>,
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) tokens: Arc<dyn AccessTokenStore>,
}

impl AccessTokenVerifier {
    /// Verifies a presented token, cheapest checks first.
    ///
    /// # Errors
    /// [`InvalidBearerTokenError`].
    ///
    /// # Source
    /// Specification, OAuth errors (`invalid_token`); RFC 6750; RFC 9068, section 4.
    pub async fn verify(
        &self,
        env: &TimeAndRandomness<'_>,
        token: &str,
    ) -> Result<VerifiedAccessToken, InvalidBearerTokenError> {
        let (claims, standing) = self.presented(env, token).await?;
        let standing = match standing {
            Some(standing) => standing,
            None => self.standing_of(&claims).await?,
        };
        self.check_standing(claims, standing).await
    }

    /// Returns the claims of a token that this server issued and that has not expired. Whether it was revoked and
    /// whether its Client is still active is not checked: a token may be revoked whatever became of its Client.
    ///
    /// # Errors
    /// [`InvalidBearerTokenError`], but not [`InvalidBearerTokenError::Revoked`] and
    /// [`InvalidBearerTokenError::ClientGone`].
    pub async fn verify_without_revocation(
        &self,
        env: &TimeAndRandomness<'_>,
        token: &str,
    ) -> Result<AccessTokenClaims, InvalidBearerTokenError> {
        self.presented(env, token).await.map(|(claims, _)| claims)
    }

    /// Returns the claims as [`Self::verify_without_revocation`] returns them, and the standing of the caller where it
    /// was read with them: a JWT says by itself what an opaque token is looked up for.
    async fn presented(
        &self,
        env: &TimeAndRandomness<'_>,
        token: &str,
    ) -> Result<(AccessTokenClaims, Option<CallerStatus>), InvalidBearerTokenError> {
        if token.len() > ACCESS_TOKEN_MAX_BYTES {
            return Err(InvalidBearerTokenError::Unknown);
        }
        let (claims, standing) = if token.contains('.') {
            (self.verify_jwt(env, token).await?, None)
        } else {
            let found = self.tokens.find_opaque_token(&sha256(token.as_bytes())).await?;
            let (row, standing) = found.ok_or(InvalidBearerTokenError::Unknown)?;
            (serde_json::from_value(row.claims).map_err(|_| InvalidBearerTokenError::Unknown)?, Some(standing))
        };
        self.check_claims(env, &claims)?;
        Ok((claims, standing))
    }

    async fn verify_jwt(
        &self,
        env: &TimeAndRandomness<'_>,
        token: &str,
    ) -> Result<AccessTokenClaims, InvalidBearerTokenError> {
        let jws = CompactJws::parse(token, ACCESS_TOKEN_MAX_BYTES).map_err(|_| InvalidBearerTokenError::Unknown)?;
        let kid = jws.header.kid.as_deref().ok_or(InvalidBearerTokenError::Unknown)?;
        if jws.header.has_critical_extensions() {
            return Err(InvalidBearerTokenError::Unknown);
        }
        if self.issuer.keys.snapshot().published_key(kid).is_none() {
            // Another node may have begun to sign with a key this one has not read yet.
            if let Err(error) = self.issuer.keys.reload_for_unknown_kid(env).await {
                tracing::warn!(%error, "signing keys could not be read again");
            }
        }
        let keys = self.issuer.keys.snapshot();
        let key = keys.published_key(kid).ok_or(InvalidBearerTokenError::Signature)?;
        let same_alg = jws.header.alg == key.alg().name();
        if !same_alg || !key.verifies_signature(jws.signing_input(), jws.signature()) {
            return Err(InvalidBearerTokenError::Signature);
        }
        jws.parse_payload().map_err(|_| InvalidBearerTokenError::Unknown)
    }

    fn check_claims(
        &self,
        env: &TimeAndRandomness<'_>,
        claims: &AccessTokenClaims,
    ) -> Result<(), InvalidBearerTokenError> {
        if claims.iss != self.issuer.settings.base_url || claims.aud != self.issuer.documents.fhir_base_url() {
            return Err(InvalidBearerTokenError::Foreign);
        }
        // No leeway: issuer and verifier are one server.
        if claims.exp <= env.now_s() { Err(InvalidBearerTokenError::Expired) } else { Ok(()) }
    }

    async fn standing_of(&self, claims: &AccessTokenClaims) -> Result<CallerStatus, StoreError> {
        let query = CallerStatusQuery {
            client_id: Some(&claims.client_id),
            user_id: claims.authorizing_user_id(),
            token_id: Some(&claims.jti),
            family_id: claims.sid.as_deref(),
        };
        self.directory.store().caller_status(&query).await
    }

    async fn check_standing(
        &self,
        claims: AccessTokenClaims,
        standing: CallerStatus,
    ) -> Result<VerifiedAccessToken, InvalidBearerTokenError> {
        if standing.token_revoked {
            return Err(InvalidBearerTokenError::Revoked);
        }
        if standing.client_deleted_us.is_some_and(|at_us| claims.iat <= at_us.div_euclid(1_000_000)) {
            return Err(InvalidBearerTokenError::ClientGone);
        }
        let version = standing.client_version.ok_or(InvalidBearerTokenError::ClientGone)?;
        let client = self.directory.client_at_version(&claims.client_id, version).await?;
        let client = client.filter(|client| client.active).ok_or(InvalidBearerTokenError::ClientGone)?;
        let person = match claims.sid {
            Some(_) => Some(self.check_person(&claims.sub, &standing).await?),
            None => None,
        };
        Ok(VerifiedAccessToken { claims, client, person, standing })
    }

    /// A token that a person authorized is as good as its family, and that as good as the password it began
    /// with: a changed password ends what was begun with the old one.
    async fn check_person(
        &self,
        user_id: &str,
        standing: &CallerStatus,
    ) -> Result<Arc<EndUser>, InvalidBearerTokenError> {
        let credential = standing.family_credential.ok_or(InvalidBearerTokenError::Revoked)?;
        let version = standing.user_version.ok_or(InvalidBearerTokenError::PersonGone)?;
        let person = self.directory.end_user_at_version(user_id, version).await?;
        let good = person.filter(|person| person.active && person.credential == credential);
        good.ok_or(InvalidBearerTokenError::PersonGone)
    }
}
