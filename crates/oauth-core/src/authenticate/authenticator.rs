//! Checking credentials against what is stored of the Client they name.

use std::sync::Arc;

use super::{
    AuthenticatedClient, AuthenticationMethod, AuthenticationRejection, ClientAuthenticationError, Credentials,
    PresentedSecret,
};
use crate::assertion::{AssertionError, ClientAssertion};
use crate::client::Client;
use crate::directory::RegistrationCache;
use crate::env::Env;
use crate::form::printable;
use crate::issuer::Issuer;
use crate::jwks::JwksCache;
use crate::ports::{JtiClaim, JtiClaimed, JtiNonce, JtiOutcome, ReplayStore};
use crate::root::RootClient;
use crate::secret_attempts::SecretAttempts;
use crate::verifier::SecretVerifier;

/// Authenticates Clients and the bootstrap administrator, and claims the nonces of assertions.
pub struct ClientAuthenticator {
    pub(crate) issuer: Arc<Issuer>,
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) jwks: Arc<JwksCache>,
    pub(crate) replays: Arc<dyn ReplayStore>,
    pub(crate) secrets: Arc<SecretVerifier>,
    pub(crate) secret_attempts: SecretAttempts,
    pub(crate) root: Option<RootClient>,
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
        env: &Env<'_>,
        credentials: &Credentials<'_>,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        let Credentials::Secret(secret) = credentials else { return self.proved(env, credentials).await };
        self.secret_attempts.check(env, secret)?;
        let outcome = self.proved(env, credentials).await;
        match &outcome {
            Ok(_) => self.secret_attempts.succeeded(secret),
            // The secret was right.
            Err(ClientAuthenticationError::Rejected { rejection: AuthenticationRejection::Inactive, .. }) => {}
            Err(ClientAuthenticationError::Rejected { .. }) => self.secret_attempts.failed(env, secret),
            Err(_) => {}
        }
        outcome
    }

    async fn proved(
        &self,
        env: &Env<'_>,
        credentials: &Credentials<'_>,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        let mut refusal = ClientAuthenticationError::NoCredentials;
        for id in credentials.ids() {
            let known = self.directory.client(id).await?;
            let held_version = known.as_ref().map(|client| client.version);
            match self.check(env, known, credentials).await {
                Ok(authenticated) => return Ok(authenticated),
                Err(fault) => refusal = fault,
            }
            // Most refusals are strangers': asking for the version is cheaper than reading the Client.
            if held_version.is_some() && self.directory.version_of(id).await? != held_version {
                let stored = self.directory.read_client(id).await?;
                match self.check(env, stored, credentials).await {
                    Ok(authenticated) => return Ok(authenticated),
                    Err(fault) => refusal = fault,
                }
            }
        }
        Err(refusal)
    }

    /// Like [`Self::authenticate`], for the grants that public apps may use: the id alone is enough for a Client that
    /// holds no credentials. Whether its registration demands some for the grant is the caller's question
    /// ([`Client::is_public`]).
    ///
    /// # Errors
    /// [`ClientAuthenticationError`].
    ///
    /// # Source
    /// RFC 6749, sections 2.1 and 3.2.1; specification, POST /auth/token variants.
    pub async fn authenticate_app(
        &self,
        env: &Env<'_>,
        credentials: &Credentials<'_>,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        let Credentials::Public(id) = credentials else { return self.authenticate(env, credentials).await };
        let known = self.directory.client(id).await?;
        let held_version = known.as_ref().map(|client| client.version);
        let refusal = match check_public(id, known) {
            Ok(authenticated) => return Ok(authenticated),
            Err(refusal) => refusal,
        };
        if held_version.is_some() && self.directory.version_of(id).await? != held_version {
            return check_public(id, self.directory.read_client(id).await?);
        }
        Err(refusal)
    }

    /// Authenticates and claims the assertion's nonce: for the endpoints that ask who calls and issue
    /// nothing. The answer holds for the Client as stored at the moment of the claim.
    ///
    /// # Errors
    /// [`ClientAuthenticationError`]; a replayed assertion is [`AssertionError::Replayed`].
    pub async fn authenticate_and_claim(
        &self,
        env: &Env<'_>,
        credentials: &Credentials<'_>,
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
        env: &Env<'_>,
        credentials: &Credentials<'_>,
        client: Arc<Client>,
        stored_version: Option<i64>,
    ) -> Result<Arc<Client>, ClientAuthenticationError> {
        if stored_version == Some(client.version) {
            return Ok(client);
        }
        self.directory.read_client(&client.id).await?;
        self.authenticate(env, credentials).await.map(|authenticated| authenticated.client)
    }

    /// Claims the nonce of an assertion that was verified, if it is one.
    ///
    /// # Errors
    /// [`AssertionError::Replayed`] as a [`ClientAuthenticationError`], and [`ClientAuthenticationError::Store`].
    pub(crate) async fn claim_nonce(
        &self,
        env: &Env<'_>,
        credentials: &Credentials<'_>,
        who: &AuthenticatedClient,
    ) -> Result<JtiClaimed, ClientAuthenticationError> {
        let admission = JtiClaim {
            client_id: Arc::from(who.client.id.as_str()),
            organization_id: None,
            nonce: who.nonce.clone(),
            now_s: env.now_s(),
        };
        let admitted = self.replays.claim_jti(admission).await?;
        match (admitted.claim, credentials) {
            (JtiOutcome::Replayed, Credentials::Assertion(assertion)) => Err(ClientAuthenticationError::Assertion {
                fault: AssertionError::Replayed,
                seen: Box::new(assertion.seen()),
            }),
            _ => Ok(admitted),
        }
    }

    async fn check(
        &self,
        env: &Env<'_>,
        client: Option<Arc<Client>>,
        credentials: &Credentials<'_>,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        match credentials {
            Credentials::Assertion(assertion) => self.check_assertion(env, client, assertion).await,
            Credentials::Secret(secret) => self.check_secret(client, secret).await,
            Credentials::Public(id) => {
                let rejection = match client {
                    None => AuthenticationRejection::Unknown,
                    Some(client) if client.asserts => AuthenticationRejection::MustAssert,
                    Some(_) => AuthenticationRejection::NotPublic,
                };
                Err(ClientAuthenticationError::Rejected { client_id: printable(id), rejection })
            }
            Credentials::None => Err(ClientAuthenticationError::NoCredentials),
        }
    }

    async fn check_assertion(
        &self,
        env: &Env<'_>,
        client: Option<Arc<Client>>,
        assertion: &ClientAssertion<'_>,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        let usable = client.filter(|client| client.active && client.asserts);
        let unknown = || ClientAuthenticationError::UnknownSubject { seen: Box::new(assertion.seen()) };
        let client = usable.ok_or_else(unknown)?;
        let nonce = self
            .verify_assertion(env, &client, assertion)
            .await
            .map_err(|fault| ClientAuthenticationError::Assertion { fault, seen: Box::new(assertion.seen()) })?;
        Ok(AuthenticatedClient { client, nonce: Some(nonce), method: AuthenticationMethod::Assertion })
    }

    async fn verify_assertion(
        &self,
        env: &Env<'_>,
        client: &Client,
        assertion: &ClientAssertion<'_>,
    ) -> Result<JtiNonce, AssertionError> {
        if client.refuses_assertions() {
            return Err(AssertionError::TypeNotRegistered);
        }
        let nonce = assertion.check_claims(env, self.issuer.documents.token_endpoint())?;
        assertion.check_jku(client.jwks_uri.as_deref())?;
        let fetched = match &client.jwks_uri {
            // Inline keys that know the key id spare the call.
            Some(uri) if assertion.names_jku() || !assertion.key().is_in(&client.keys) => {
                Some(self.jwks.keys(env, uri, assertion.key()).await?)
            }
            _ => None,
        };
        let sets: Vec<_> = match &fetched {
            Some(fetched) if assertion.names_jku() => vec![fetched.as_ref()],
            Some(fetched) => vec![&client.keys, fetched.as_ref()],
            None => vec![&client.keys],
        };
        assertion.check_signature(&sets)?;
        Ok(nonce)
    }

    async fn check_secret(
        &self,
        client: Option<Arc<Client>>,
        secret: &PresentedSecret,
    ) -> Result<AuthenticatedClient, ClientAuthenticationError> {
        let outcome = match client {
            None => Err(AuthenticationRejection::Unknown),
            Some(client) => self.verify_secret(client, secret).await,
        };
        match outcome {
            Ok(client) => Ok(AuthenticatedClient { client, nonce: None, method: AuthenticationMethod::Secret }),
            Err(rejection) => {
                let client_id = secret.client_id().map(printable).unwrap_or_default();
                Err(ClientAuthenticationError::Rejected { client_id, rejection })
            }
        }
    }

    async fn verify_secret(
        &self,
        client: Arc<Client>,
        secret: &PresentedSecret,
    ) -> Result<Arc<Client>, AuthenticationRejection> {
        if client.asserts {
            return Err(AuthenticationRejection::MustAssert);
        }
        let Some(Ok(stored)) = client.secret.as_ref() else { return Err(AuthenticationRejection::NoSecret) };
        let candidates: Vec<_> =
            secret.candidates().filter(|(id, _)| *id == client.id).map(|(_, candidate)| candidate).collect();
        if self.secrets.verify(stored, &candidates).await {
            return if client.active { Ok(client) } else { Err(AuthenticationRejection::Inactive) };
        }
        Err(AuthenticationRejection::WrongSecret)
    }

    /// Returns the id of the bootstrap administrator, when the operator set one.
    #[must_use]
    pub fn root_id(&self) -> Option<&str> {
        self.root.as_ref().map(RootClient::id)
    }

    /// Returns whether an `Authorization` header that came from `address` is the bootstrap administrator's.
    ///
    /// # Errors
    /// [`ClientAuthenticationError::TooManyAttempts`] where wrong secrets of the administrator came from there too often.
    pub(crate) fn is_root(
        &self,
        env: &Env<'_>,
        authorization: Option<&str>,
        address: Option<&str>,
    ) -> Result<bool, ClientAuthenticationError> {
        match authorization.and_then(|header| PresentedSecret::from_header(header, None).ok()) {
            Some(secret) => self.is_roots(env, &secret.sent_from(address)),
            None => Ok(false),
        }
    }

    /// Returns whether the secret is the bootstrap administrator's. One that is not is counted where the Client is
    /// looked up that it may be of.
    ///
    /// # Errors
    /// [`ClientAuthenticationError::TooManyAttempts`].
    pub(crate) fn is_roots(&self, env: &Env<'_>, secret: &PresentedSecret) -> Result<bool, ClientAuthenticationError> {
        let Some(root) = &self.root else { return Ok(false) };
        if !secret.candidates().any(|(id, _)| id == root.id()) {
            return Ok(false);
        }
        self.secret_attempts.check(env, secret)?;
        let is_root = secret.candidates().any(|(id, secret)| root.is(id, secret));
        if is_root {
            self.secret_attempts.succeeded(secret);
        }
        Ok(is_root)
    }
}

fn check_public(id: &str, client: Option<Arc<Client>>) -> Result<AuthenticatedClient, ClientAuthenticationError> {
    let rejection = match client {
        None => AuthenticationRejection::Unknown,
        Some(client) if client.asserts => AuthenticationRejection::MustAssert,
        Some(client) if client.secret.is_some() => AuthenticationRejection::NotPublic,
        Some(client) if !client.active => AuthenticationRejection::Inactive,
        Some(client) => return Ok(AuthenticatedClient { client, nonce: None, method: AuthenticationMethod::Public }),
    };
    Err(ClientAuthenticationError::Rejected { client_id: printable(id), rejection })
}
