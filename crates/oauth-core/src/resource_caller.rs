//! The callers of the resource endpoints and their authentication.

use std::sync::Arc;

use serde_json::{Value, json};
use smart_scopes::ScopeSet;

use crate::access_token_verification::{AccessTokenVerifier, InvalidBearerTokenError, VerifiedAccessToken};
use crate::client::{Client, GrantType};
use crate::client_authentication::{
    AmbiguousCredentialsError, ClientAuthenticationError, ClientAuthenticator, ClientRejectionReason,
    PresentedClientSecret, PresentedCredentials,
};
use crate::end_user::EndUser;
use crate::ports::{CallerStatusQuery, StoreError};
use crate::registration_cache::RegistrationCache;
use crate::scope_access::{ScopeHolder, SubjectKind};
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_endpoint::access_token_claims::AccessTokenClaims;

/// A caller of the resource endpoints, identified but not yet authorized.
#[derive(Debug, Clone)]
pub struct ResourceCaller {
    /// Who it is.
    pub identity: CallerIdentity,
    /// The revision of the access policies at the moment of identification.
    pub policy_revision: i64,
}

/// The kind of a caller: anonymous, Client, token, or bootstrap administrator.
#[derive(Debug, Clone)]
pub enum CallerIdentity {
    /// No credentials.
    Anonymous,
    /// The bootstrap administrator.
    Root,
    /// A Client by HTTP Basic.
    Client(Arc<Client>),
    /// The bearer of an access token.
    Token(Box<AccessTokenCaller>),
}

/// A caller with an access token.
#[derive(Debug, Clone)]
pub struct AccessTokenCaller {
    /// The token.
    pub token: VerifiedAccessToken,
    /// Its scopes; `None` when the token carries no scope claim, then policies alone decide.
    pub scopes: Option<ScopeSet>,
}

/// The reason why a caller with credentials is not authenticated: 401, unless said otherwise.
#[derive(Debug, thiserror::Error)]
pub enum CallerAuthenticationError {
    /// The `Authorization` header is of no known scheme or malformed.
    #[error("the Authorization header must be Basic or Bearer")]
    Header,
    /// HTTP Basic with an unknown id, a wrong secret, or a Client without the grant `basic`.
    #[error("unknown or inactive client, wrong secret, or a client that may not use HTTP Basic")]
    Basic(ClientRejectionReason),
    /// Wrong secrets of this client came from this address too often: 429.
    #[error("too many wrong secrets of this client from this address; try again in {retry_after_s} s")]
    TooManyAttempts {
        /// Seconds.
        retry_after_s: u64,
    },
    /// The access token is good for nothing.
    #[error("{0}")]
    Token(InvalidBearerTokenError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Authenticates callers of the resource endpoints.
pub struct CallerAuthenticator {
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) authenticator: Arc<ClientAuthenticator>,
    pub(crate) bearer: Arc<AccessTokenVerifier>,
}

impl CallerAuthenticator {
    /// Identifies a caller whose address the wire does not know, as [`Self::authenticate_header_from_address`] does.
    ///
    /// # Errors
    /// [`CallerAuthenticationError`].
    pub async fn authenticate_without_address(
        &self,
        env: &TimeAndRandomness<'_>,
        authorization: Option<&str>,
    ) -> Result<ResourceCaller, CallerAuthenticationError> {
        self.authenticate_header_from_address(env, authorization, None).await
    }

    /// Identifies the caller at `address` from its `Authorization` header. Credentials that are there and wrong are
    /// refused; they never count as absent.
    ///
    /// # Errors
    /// [`CallerAuthenticationError`].
    ///
    /// # Source
    /// RFC 6750, section 2.1; RFC 7617; `docs/decisions.md`, "Callers".
    pub async fn authenticate_header_from_address(
        &self,
        env: &TimeAndRandomness<'_>,
        authorization: Option<&str>,
        address: Option<&str>,
    ) -> Result<ResourceCaller, CallerAuthenticationError> {
        let Some(header) = authorization else {
            return Ok(ResourceCaller {
                identity: CallerIdentity::Anonymous,
                policy_revision: self.policy_revision(None).await?,
            });
        };
        let (scheme, rest) = header.split_once(' ').ok_or(CallerAuthenticationError::Header)?;
        if scheme.eq_ignore_ascii_case("Bearer") {
            return self.identify_bearer(env, rest.trim()).await;
        }
        if scheme.eq_ignore_ascii_case("Basic") {
            return self.identify_basic(env, header, address).await;
        }
        Err(CallerAuthenticationError::Header)
    }

    async fn policy_revision(&self, client_id: Option<&str>) -> Result<i64, StoreError> {
        let query = CallerStatusQuery { client_id, ..CallerStatusQuery::default() };
        Ok(self.directory.store().caller_status(&query).await?.policy_revision)
    }

    async fn identify_bearer(
        &self,
        env: &TimeAndRandomness<'_>,
        token: &str,
    ) -> Result<ResourceCaller, CallerAuthenticationError> {
        let token = self.bearer.verify(env, token).await.map_err(|fault| match fault {
            InvalidBearerTokenError::Store(error) => CallerAuthenticationError::Store(error),
            other => CallerAuthenticationError::Token(other),
        })?;
        let policy_revision = token.standing.policy_revision;
        // Scopes were parsed when the token was issued; what no longer parses grants nothing.
        let scopes = token.claims.scope.as_deref().map(|scope| ScopeSet::parse(scope).unwrap_or_default());
        // A person's token without scopes opens nothing: policies alone decide for clients, not for people.
        let scopes = scopes.or_else(|| token.claims.authorizing_user_id().map(|_| ScopeSet::default()));
        Ok(ResourceCaller {
            identity: CallerIdentity::Token(Box::new(AccessTokenCaller { token, scopes })),
            policy_revision,
        })
    }

    async fn identify_basic(
        &self,
        env: &TimeAndRandomness<'_>,
        header: &str,
        address: Option<&str>,
    ) -> Result<ResourceCaller, CallerAuthenticationError> {
        let secret = PresentedClientSecret::from_basic_header(header, None)
            .map_err(|_: AmbiguousCredentialsError| CallerAuthenticationError::Header)?;
        let secret = secret.with_source_address(address);
        if self.authenticator.is_roots(env, &secret).map_err(unidentified)? {
            return Ok(ResourceCaller { identity: CallerIdentity::Root, policy_revision: 0 });
        }
        let credentials = PresentedCredentials::Secret(secret);
        let client = self.authenticator.authenticate(env, &credentials).await.map_err(unidentified)?.client;
        let query = CallerStatusQuery { client_id: Some(&client.id), ..CallerStatusQuery::default() };
        let standing = self.directory.store().caller_status(&query).await?;
        let confirmed = self.authenticator.confirm_version(env, &credentials, client, standing.client_version).await;
        let client = confirmed.map_err(unidentified)?;
        if !client.may_use_grant(GrantType::Basic) {
            return Err(CallerAuthenticationError::Basic(ClientRejectionReason::NotBasic));
        }
        Ok(ResourceCaller { identity: CallerIdentity::Client(client), policy_revision: standing.policy_revision })
    }
}

fn unidentified(fault: ClientAuthenticationError) -> CallerAuthenticationError {
    match fault {
        ClientAuthenticationError::Store(error) => CallerAuthenticationError::Store(error),
        ClientAuthenticationError::Rejected { rejection, .. } => CallerAuthenticationError::Basic(rejection),
        ClientAuthenticationError::TooManyAttempts { retry_after_s } => {
            CallerAuthenticationError::TooManyAttempts { retry_after_s }
        }
        ClientAuthenticationError::NoCredentials
        | ClientAuthenticationError::Assertion { .. }
        | ClientAuthenticationError::UnknownSubject { .. } => CallerAuthenticationError::Header,
    }
}

impl ResourceCaller {
    /// Returns the calling Client's id.
    #[must_use]
    pub fn client_id(&self) -> Option<&str> {
        self.client().map(|client| client.id.as_str())
    }

    /// Returns the caller's id for the audit log: that of the Client or of the bootstrap administrator.
    #[must_use]
    pub fn audit_id<'a>(&'a self, root_id: Option<&'a str>) -> Option<&'a str> {
        match &self.identity {
            CallerIdentity::Root => root_id,
            _ => self.client_id(),
        }
    }

    /// Returns the calling Client.
    #[must_use]
    pub fn client(&self) -> Option<&Arc<Client>> {
        match &self.identity {
            CallerIdentity::Anonymous | CallerIdentity::Root => None,
            CallerIdentity::Client(client) => Some(client),
            CallerIdentity::Token(bearer) => Some(&bearer.token.client),
        }
    }

    /// Returns the end user on whose behalf the caller acts; `None` when it acts for itself.
    #[must_use]
    pub fn represented_end_user(&self) -> Option<&Arc<EndUser>> {
        match &self.identity {
            CallerIdentity::Token(bearer) => bearer.token.person.as_ref(),
            CallerIdentity::Anonymous | CallerIdentity::Root | CallerIdentity::Client(_) => None,
        }
    }

    /// Returns the id of the person behind the caller's token.
    #[must_use]
    pub fn user_id(&self) -> Option<&str> {
        match &self.identity {
            CallerIdentity::Token(bearer) => bearer.token.claims.authorizing_user_id(),
            CallerIdentity::Anonymous | CallerIdentity::Root | CallerIdentity::Client(_) => None,
        }
    }

    /// Returns the system and the value of the identifier of the organization that the caller's token proves.
    #[must_use]
    pub fn organization_identifier(&self) -> Option<(&str, &str)> {
        let CallerIdentity::Token(bearer) = &self.identity else { return None };
        let id = &bearer.token.claims.extensions.as_ref()?.hl7_b2b.organization_id;
        Some((id.system(), id.value()))
    }

    /// Returns the scopes that bind the caller, and what decides which of them speak; `None` where policies alone
    /// decide.
    pub(crate) fn scopes(&self) -> Option<(ScopeHolder<'_>, &ScopeSet)> {
        let CallerIdentity::Token(bearer) = &self.identity else { return None };
        let claims = &bearer.token.claims;
        let speaker = match (claims.authorizing_user_id(), &bearer.token.person) {
            (None, _) => SubjectKind::Client,
            (Some(_), Some(person)) if person.is_staff() => SubjectKind::Staff,
            (Some(_), person) => SubjectKind::Member(person.as_ref().and_then(|person| person.own_patient_id())),
        };
        Some((ScopeHolder { patient: claims.patient_id(), speaker }, bearer.scopes.as_ref()?))
    }

    /// Adds to a policy's request object the `operation` that is asked for, and what policies may know of the
    /// caller: `client` and `user` (without secrets), `role`, the names of the user's roles, and of its token
    /// `jwt`, the claims, and `session`, the same as the platform's Session resource says them.
    pub(crate) fn describe(&self, request: &mut Value, operation: &str) {
        let Some(members) = request.as_object_mut() else { return };
        members.insert("operation".to_owned(), json!({ "id": operation }));
        if let Some(client) = self.client() {
            members.insert("client".to_owned(), client.document.clone());
        }
        if let Some(person) = self.represented_end_user() {
            members.insert("user".to_owned(), person.document.clone());
            members.insert("role".to_owned(), json!(person.roles));
        }
        if let CallerIdentity::Token(bearer) = &self.identity {
            members.insert("jwt".to_owned(), json!(bearer.token.claims));
            members.insert("session".to_owned(), session(&bearer.token.claims));
        }
    }
}

/// Returns the platform's view of a token: who is behind it, and for whom.
///
/// # Source
/// `docs/decisions.md`, "Callers".
fn session(claims: &AccessTokenClaims) -> Value {
    let reference = |kind: &str, id: &str| json!({ "resourceType": kind, "id": id });
    let mut session = json!({
        "id": claims.jti,
        "active": true,
        "client": reference("Client", &claims.client_id),
        "scope": claims.scope.as_deref().unwrap_or_default().split(' ').filter(|s| !s.is_empty()).collect::<Vec<_>>(),
    });
    if let Some(members) = session.as_object_mut() {
        members.extend(claims.authorizing_user_id().map(|id| ("user".to_owned(), reference("User", id))));
        members.extend(claims.patient_id().map(|id| ("patient".to_owned(), reference("Patient", id))));
    }
    session
}
