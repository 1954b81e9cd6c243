//! Checking credentials against what is stored of the Client they name.

use std::sync::Arc;

use super::{
    AuthenticatedClient, ClientAuthenticationError, ClientAuthenticationMethod, ClientRejectionReason,
    PresentedClientSecret, PresentedCredentials,
};
use crate::bootstrap_admin::BootstrapAdministrator;
use crate::client::Client;
use crate::client_assertion::{ClientAssertionError, UnverifiedClientAssertion};
use crate::form_fields::sanitize_for_error_description;
use crate::jwks_cache::JwksCache;
use crate::ports::{ExpiringJti, JtiClaim, JtiClaimOutcome, JtiClaimResult, ReplayStore};
use crate::registration_cache::RegistrationCache;
use crate::secret_attempts::SecretAttempts;
use crate::secret_verifier::SecretVerifier;
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_issuer::TokenIssuer;

/// Authenticates Clients and the bootstrap administrator, and claims the nonces of assertions.
pub struct ClientAuthenticator {
    pub(crate) issuer: Arc<TokenIssuer>,
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) jwks: Arc<JwksCache>,
    pub(crate) replays: Arc<dyn ReplayStore>,
    pub(crate) secrets: Arc<SecretVerifier>,
    pub(crate) secret_attempts: SecretAttempts,
    pub(crate) root: Option<BootstrapAdministrator>,
}

impl ClientAuthenticator {
    /// Checks credentials against the Client they name.
    ///
    /// A refusal is never made from an old copy: when the Client changed since the copy was read, the
    /// check is made once more on what is stored now.
    ///
    /// # Errors
    /// [`ClientAuthenticationError`].
    pub async fn authenticate(
        &self,
        env: &TimeAndRandomness<'_>,
        credentials: &PresentedCredentials<'_>,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        let PresentedCredentials::Secret(secret) = credentials else { return self.proved(env, credentials).await };
        self.secret_attempts.check(env, secret)?;
        let outcome = self.proved(env, credentials).await;
        match &outcome {
            Ok(_) => self.secret_attempts.succeeded(secret),
            // The secret was right.
            Err(ClientAuthenticationError::Rejected { rejection: ClientRejectionReason::Inactive, .. }) => {}
            Err(ClientAuthenticationError::Rejected { .. }) => self.secret_attempts.failed(env, secret),
            Err(_) => {}
        }
        outcome
    }

    async fn proved(
        &self,
        env: &TimeAndRandomness<'_>,
        credentials: &PresentedCredentials<'_>,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        let mut refusal = ClientAuthenticationError::NoCredentials;
        for id in credentials.ids() {
            let known = self.directory.cached_or_loaded_client(id).await?;
            let held_version = known.as_ref().map(|client| client.version);
            match self.check(env, known, credentials).await {
                Ok(authenticated) => return Ok(authenticated),
                Err(fault) => refusal = fault,
            }
            // Most refusals are strangers': asking for the version is cheaper than reading the Client.
            if held_version.is_some() && self.directory.current_client_version(id).await? != held_version {
                let stored = self.directory.load_current_client(id).await?;
                match self.check(env, stored, credentials).await {
                    Ok(authenticated) => return Ok(authenticated),
                    Err(fault) => refusal = fault,
                }
            }
        }
        Err(refusal)
    }

    /// Authenticates a Client as [`Self::authenticate`] does, for the grants that public apps may use: the client id
    /// alone is enough for a Client that has no credentials. Whether its registration demands some for the grant is the
    /// caller's question ([`Client::is_public`]).
    ///
    /// # Errors
    /// [`ClientAuthenticationError`].
    ///
    /// # Source
    /// RFC 6749, sections 2.1 and 3.2.1; specification, POST /auth/token variants.
    pub async fn authenticate_allowing_public(
        &self,
        env: &TimeAndRandomness<'_>,
        credentials: &PresentedCredentials<'_>,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        let PresentedCredentials::Public(id) = credentials else { return self.authenticate(env, credentials).await };
        let known = self.directory.cached_or_loaded_client(id).await?;
        let held_version = known.as_ref().map(|client| client.version);
        let refusal = match check_public(id, known) {
            Ok(authenticated) => return Ok(authenticated),
            Err(refusal) => refusal,
        };
        if held_version.is_some() && self.directory.current_client_version(id).await? != held_version {
            return check_public(id, self.directory.load_current_client(id).await?);
        }
        Err(refusal)
    }

    /// Authenticates a Client and claims the `jti` of its assertion, for endpoints that issue no token. The answer
    /// holds for the Client as stored at the moment of the claim.
    ///
    /// # Errors
    /// [`ClientAuthenticationError`]; a replayed assertion is [`ClientAssertionError::Replayed`].
    pub async fn authenticate_and_claim_jti(
        &self,
        env: &TimeAndRandomness<'_>,
        credentials: &PresentedCredentials<'_>,
    ) -> Result<Arc<Client>, ClientAuthenticationError> {
        let authenticated = self.authenticate(env, credentials).await?;
        let admitted = self.claim_nonce(env, credentials, &authenticated).await?;
        self.confirm_version(env, credentials, authenticated.client, admitted.client_version).await
    }

    /// Returns the Client whose credentials were checked; when another version of it is stored by now, they are checked
    /// again on that one, because a proof holds for no other version.
    ///
    /// # Errors
    /// [`ClientAuthenticationError`].
    pub(crate) async fn confirm_version(
        &self,
        env: &TimeAndRandomness<'_>,
        credentials: &PresentedCredentials<'_>,
        client: Arc<Client>,
        stored_version: Option<i64>,
    ) -> Result<Arc<Client>, ClientAuthenticationError> {
        if stored_version == Some(client.version) {
            return Ok(client);
        }
        self.directory.load_current_client(&client.id).await?;
        self.authenticate(env, credentials).await.map(|authenticated| authenticated.client)
    }

    /// Claims the nonce of an assertion that was verified, if it is one.
    ///
    /// # Errors
    /// [`ClientAssertionError::Replayed`] as a [`ClientAuthenticationError`], and [`ClientAuthenticationError::Store`].
    pub(crate) async fn claim_nonce(
        &self,
        env: &TimeAndRandomness<'_>,
        credentials: &PresentedCredentials<'_>,
        who: &AuthenticatedClient,
    ) -> Result<JtiClaimResult, ClientAuthenticationError> {
        let admission = JtiClaim {
            client_id: Arc::from(who.client.id.as_str()),
            organization_id: None,
            nonce: who.nonce.clone(),
            now_s: env.now_s(),
        };
        let admitted = self.replays.claim_jti(admission).await?;
        match (admitted.claim, credentials) {
            (JtiClaimOutcome::Replayed, PresentedCredentials::Assertion(assertion)) => {
                Err(ClientAuthenticationError::Assertion {
                    fault: ClientAssertionError::Replayed,
                    seen: Box::new(assertion.log_details()),
                })
            }
            _ => Ok(admitted),
        }
    }

    async fn check(
        &self,
        env: &TimeAndRandomness<'_>,
        client: Option<Arc<Client>>,
        credentials: &PresentedCredentials<'_>,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        match credentials {
            PresentedCredentials::Assertion(assertion) => self.check_assertion(env, client, assertion).await,
            PresentedCredentials::Secret(secret) => self.check_secret(client, secret).await,
            PresentedCredentials::Public(id) => {
                let rejection = match client {
                    None => ClientRejectionReason::Unknown,
                    Some(client) if client.asserts => ClientRejectionReason::MustAssert,
                    Some(_) => ClientRejectionReason::NotPublic,
                };
                Err(ClientAuthenticationError::Rejected { client_id: sanitize_for_error_description(id), rejection })
            }
            PresentedCredentials::None => Err(ClientAuthenticationError::NoCredentials),
        }
    }

    async fn check_assertion(
        &self,
        env: &TimeAndRandomness<'_>,
        client: Option<Arc<Client>>,
        assertion: &UnverifiedClientAssertion<'_>,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        let usable = client.filter(|client| client.active && client.asserts);
        let unknown = || ClientAuthenticationError::UnknownSubject { seen: Box::new(assertion.log_details()) };
        let client = usable.ok_or_else(unknown)?;
        let nonce = self
            .verify_assertion(env, &client, assertion)
            .await
            .map_err(|fault| ClientAuthenticationError::Assertion { fault, seen: Box::new(assertion.log_details()) })?;
        Ok(AuthenticatedClient { client, nonce: Some(nonce), method: ClientAuthenticationMethod::Assertion })
    }

    async fn verify_assertion(
        &self,
        env: &TimeAndRandomness<'_>,
        client: &Client,
        assertion: &UnverifiedClientAssertion<'_>,
    ) -> Result<ExpiringJti, ClientAssertionError> {
        if client.refuses_all_client_assertions() {
            return Err(ClientAssertionError::TypeNotRegistered);
        }
        let nonce = assertion.check_claims(env, self.issuer.documents.token_endpoint_url())?;
        assertion.check_registered_jku(client.jwks_uri.as_deref())?;
        let fetched = match &client.jwks_uri {
            // Inline keys that know the key id spare the call.
            Some(uri) if assertion.has_jku_header() || !assertion.key_selector().is_in_key_set(&client.keys) => {
                Some(self.jwks.get_or_fetch(env, uri, assertion.key_selector()).await?)
            }
            _ => None,
        };
        let sets: Vec<_> = match &fetched {
            Some(fetched) if assertion.has_jku_header() => vec![fetched.as_ref()],
            Some(fetched) => vec![&client.keys, fetched.as_ref()],
            None => vec![&client.keys],
        };
        assertion.verify_signature(&sets)?;
        Ok(nonce)
    }

    async fn check_secret(
        &self,
        client: Option<Arc<Client>>,
        secret: &PresentedClientSecret,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        let outcome = match client {
            None => Err(ClientRejectionReason::Unknown),
            Some(client) => self.verify_secret(client, secret).await,
        };
        match outcome {
            Ok(client) => Ok(AuthenticatedClient { client, nonce: None, method: ClientAuthenticationMethod::Secret }),
            Err(rejection) => {
                let client_id = secret.claimed_client_id().map(sanitize_for_error_description).unwrap_or_default();
                Err(ClientAuthenticationError::Rejected { client_id, rejection })
            }
        }
    }

    async fn verify_secret(
        &self,
        client: Arc<Client>,
        secret: &PresentedClientSecret,
    ) -> Result<Arc<Client>, ClientRejectionReason> {
        if client.asserts {
            return Err(ClientRejectionReason::MustAssert);
        }
        let Some(Ok(stored)) = client.secret.as_ref() else { return Err(ClientRejectionReason::NoSecret) };
        let candidates: Vec<_> =
            secret.id_secret_candidates().filter(|(id, _)| *id == client.id).map(|(_, candidate)| candidate).collect();
        if self.secrets.verify_client_secret(stored, &candidates).await {
            return if client.active { Ok(client) } else { Err(ClientRejectionReason::Inactive) };
        }
        Err(ClientRejectionReason::WrongSecret)
    }

    /// Returns the id of the bootstrap administrator, when the operator set one.
    #[must_use]
    pub fn bootstrap_admin_id(&self) -> Option<&str> {
        self.root.as_ref().map(BootstrapAdministrator::id)
    }

    /// Returns whether an `Authorization` header that came from `address` is the bootstrap administrator's.
    ///
    /// # Errors
    /// [`ClientAuthenticationError::TooManyAttempts`] where wrong secrets of the administrator came from there too
    /// often.
    pub(crate) fn is_root(
        &self,
        env: &TimeAndRandomness<'_>,
        authorization: Option<&str>,
        address: Option<&str>,
    ) -> Result<bool, ClientAuthenticationError> {
        match authorization.and_then(|header| PresentedClientSecret::from_basic_header(header, None).ok()) {
            Some(secret) => self.is_roots(env, &secret.with_source_address(address)),
            None => Ok(false),
        }
    }

    /// Returns whether the secret is the bootstrap administrator's. One that is not is counted where the Client is
    /// looked up that it may be of.
    ///
    /// # Errors
    /// [`ClientAuthenticationError::TooManyAttempts`].
    pub(crate) fn is_roots(
        &self,
        env: &TimeAndRandomness<'_>,
        secret: &PresentedClientSecret,
    ) -> Result<bool, ClientAuthenticationError> {
        let Some(root) = &self.root else { return Ok(false) };
        if !secret.id_secret_candidates().any(|(id, _)| id == root.id()) {
            return Ok(false);
        }
        self.secret_attempts.check(env, secret)?;
        let is_root = secret.id_secret_candidates().any(|(id, secret)| root.matches_credentials(id, secret));
        if is_root {
            self.secret_attempts.succeeded(secret);
        }
        Ok(is_root)
    }
}

fn check_public(id: &str, client: Option<Arc<Client>>) -> Result<AuthenticatedClient, ClientAuthenticationError> {
    let rejection = match client {
        None => ClientRejectionReason::Unknown,
        Some(client) if client.asserts => ClientRejectionReason::MustAssert,
        Some(client) if client.secret.is_some() => ClientRejectionReason::NotPublic,
        Some(client) if !client.active => ClientRejectionReason::Inactive,
        Some(client) => {
            return Ok(AuthenticatedClient { client, nonce: None, method: ClientAuthenticationMethod::Public });
        }
    };
    Err(ClientAuthenticationError::Rejected { client_id: sanitize_for_error_description(id), rejection })
}
