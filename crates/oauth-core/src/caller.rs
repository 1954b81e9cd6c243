//! Who calls a resource endpoint.

use std::sync::Arc;

use serde_json::{Value, json};
use smart_scopes::ScopeSet;

use crate::authenticate::{
    AuthenticationRejection, ClientAuthenticationError, ClientAuthenticator, Credentials, CredentialsError,
    PresentedSecret,
};
use crate::bearer::{AccessTokenVerifier, BearerTokenError, VerifiedToken};
use crate::client::{Client, GrantType};
use crate::directory::RegistrationCache;
use crate::env::Env;
use crate::person::Person;
use crate::ports::{CallerStatusQuery, StoreError};
use crate::reach::{ScopeHolder, SubjectKind};
use crate::token::claims::AccessTokenClaims;

/// A caller of the resource endpoints, identified but not yet authorized.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who it is.
    pub identity: CallerIdentity,
    /// The revision of the access policies at the moment of identification.
    pub policy_revision: i64,
}

/// The kinds of callers.
#[derive(Debug, Clone)]
pub enum CallerIdentity {
    /// No credentials.
    Anonymous,
    /// The bootstrap administrator.
    Root,
    /// A Client by HTTP Basic.
    Client(Arc<Client>),
    /// The bearer of an access token.
    Token(Box<TokenBearer>),
}

/// A caller with an access token.
#[derive(Debug, Clone)]
pub struct TokenBearer {
    /// The token.
    pub token: VerifiedToken,
    /// Its scopes; `None` when the token carries no scope claim, then policies alone decide.
    pub scopes: Option<ScopeSet>,
}

/// The reason why a caller with credentials is not let in: 401, unless said otherwise.
#[derive(Debug, thiserror::Error)]
pub enum CallerError {
    /// The `Authorization` header is of no known scheme or malformed.
    #[error("the Authorization header must be Basic or Bearer")]
    Header,
    /// HTTP Basic with an unknown id, a wrong secret, or a Client without the grant `basic`.
    #[error("unknown or inactive client, wrong secret, or a client that may not use HTTP Basic")]
    Basic(AuthenticationRejection),
    /// Wrong secrets of this client came from this address too often: 429.
    #[error("too many wrong secrets of this client from this address; try again in {retry_after_s} s")]
    TooManyAttempts {
        /// Seconds.
        retry_after_s: u64,
    },
    /// The access token is good for nothing.
    #[error("{0}")]
    Token(BearerTokenError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Identifies who calls a resource endpoint.
pub struct CallerIdentifier {
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) authenticator: Arc<ClientAuthenticator>,
    pub(crate) bearer: Arc<AccessTokenVerifier>,
}

impl CallerIdentifier {
    /// Identifies a caller whose address the wire does not know, as [`Self::identify_from`] does.
    ///
    /// # Errors
    /// [`CallerError`].
    pub async fn identify(&self, env: &Env<'_>, authorization: Option<&str>) -> Result<Caller, CallerError> {
        self.identify_from(env, authorization, None).await
    }

    /// Identifies the caller at `address` from its `Authorization` header. Credentials that are there and wrong are
    /// refused; they never count as absent.
    ///
    /// # Errors
    /// [`CallerError`].
    ///
    /// # Source
    /// RFC 6750, section 2.1; RFC 7617; `docs/decisions.md`, "Callers".
    pub async fn identify_from(
        &self,
        env: &Env<'_>,
        authorization: Option<&str>,
        address: Option<&str>,
    ) -> Result<Caller, CallerError> {
        let Some(header) = authorization else {
            return Ok(Caller {
                identity: CallerIdentity::Anonymous,
                policy_revision: self.policy_revision(None).await?,
            });
        };
        let (scheme, rest) = header.split_once(' ').ok_or(CallerError::Header)?;
        if scheme.eq_ignore_ascii_case("Bearer") {
            return self.identify_bearer(env, rest.trim()).await;
        }
        if scheme.eq_ignore_ascii_case("Basic") {
            return self.identify_basic(env, header, address).await;
        }
        Err(CallerError::Header)
    }

    async fn policy_revision(&self, client_id: Option<&str>) -> Result<i64, StoreError> {
        let query = CallerStatusQuery { client_id, ..CallerStatusQuery::default() };
        Ok(self.directory.store().caller_status(&query).await?.policy_revision)
    }

    async fn identify_bearer(&self, env: &Env<'_>, token: &str) -> Result<Caller, CallerError> {
        let token = self.bearer.verify(env, token).await.map_err(|fault| match fault {
            BearerTokenError::Store(error) => CallerError::Store(error),
            other => CallerError::Token(other),
        })?;
        let policy_revision = token.standing.policy_revision;
        // Scopes were parsed when the token was issued; what no longer parses grants nothing.
        let scopes = token.claims.scope.as_deref().map(|scope| ScopeSet::parse(scope).unwrap_or_default());
        // A person's token without scopes opens nothing: policies alone decide for clients, not for people.
        let scopes = scopes.or_else(|| token.claims.user_id().map(|_| ScopeSet::default()));
        Ok(Caller { identity: CallerIdentity::Token(Box::new(TokenBearer { token, scopes })), policy_revision })
    }

    async fn identify_basic(&self, env: &Env<'_>, header: &str, address: Option<&str>) -> Result<Caller, CallerError> {
        let secret = PresentedSecret::from_header(header, None).map_err(|_: CredentialsError| CallerError::Header)?;
        let secret = secret.sent_from(address);
        if self.authenticator.is_roots(env, &secret).map_err(unidentified)? {
            return Ok(Caller { identity: CallerIdentity::Root, policy_revision: 0 });
        }
        let credentials = Credentials::Secret(secret);
        let client = self.authenticator.authenticate(env, &credentials).await.map_err(unidentified)?.client;
        let query = CallerStatusQuery { client_id: Some(&client.id), ..CallerStatusQuery::default() };
        let standing = self.directory.store().caller_status(&query).await?;
        let confirmed = self.authenticator.confirm_version(env, &credentials, client, standing.client_version).await;
        let client = confirmed.map_err(unidentified)?;
        if !client.may_use(GrantType::Basic) {
            return Err(CallerError::Basic(AuthenticationRejection::NotBasic));
        }
        Ok(Caller { identity: CallerIdentity::Client(client), policy_revision: standing.policy_revision })
    }
}

fn unidentified(fault: ClientAuthenticationError) -> CallerError {
    match fault {
        ClientAuthenticationError::Store(error) => CallerError::Store(error),
        ClientAuthenticationError::Rejected { rejection, .. } => CallerError::Basic(rejection),
        ClientAuthenticationError::TooManyAttempts { retry_after_s } => CallerError::TooManyAttempts { retry_after_s },
        ClientAuthenticationError::NoCredentials
        | ClientAuthenticationError::Assertion { .. }
        | ClientAuthenticationError::UnknownSubject { .. } => CallerError::Header,
    }
}

impl Caller {
    /// Returns the calling Client's id.
    #[must_use]
    pub fn client_id(&self) -> Option<&str> {
        self.client().map(|client| client.id.as_str())
    }

    /// Returns what an auditor is told of the caller: the id of the Client, or of the bootstrap administrator.
    #[must_use]
    pub fn id<'a>(&'a self, root_id: Option<&'a str>) -> Option<&'a str> {
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

    /// Returns the person the caller acts for; `None` for whoever acts for itself.
    #[must_use]
    pub fn person(&self) -> Option<&Arc<Person>> {
        match &self.identity {
            CallerIdentity::Token(bearer) => bearer.token.person.as_ref(),
            CallerIdentity::Anonymous | CallerIdentity::Root | CallerIdentity::Client(_) => None,
        }
    }

    /// Returns the id of the person behind the caller's token.
    #[must_use]
    pub fn user_id(&self) -> Option<&str> {
        match &self.identity {
            CallerIdentity::Token(bearer) => bearer.token.claims.user_id(),
            CallerIdentity::Anonymous | CallerIdentity::Root | CallerIdentity::Client(_) => None,
        }
    }

    /// Returns the system and the value of the identifier of the organization that the caller's token proves.
    #[must_use]
    pub fn organization(&self) -> Option<(&str, &str)> {
        let CallerIdentity::Token(bearer) = &self.identity else { return None };
        let id = &bearer.token.claims.extensions.as_ref()?.hl7_b2b.organization_id;
        Some((id.system(), id.value()))
    }

    /// Returns the scopes that bind the caller, and what decides which of them speak; `None` where policies alone
    /// decide.
    pub(crate) fn scopes(&self) -> Option<(ScopeHolder<'_>, &ScopeSet)> {
        let CallerIdentity::Token(bearer) = &self.identity else { return None };
        let claims = &bearer.token.claims;
        let speaker = match (claims.user_id(), &bearer.token.person) {
            (None, _) => SubjectKind::Client,
            (Some(_), Some(person)) if person.is_staff() => SubjectKind::Staff,
            (Some(_), person) => SubjectKind::Member(person.as_ref().and_then(|person| person.own_patient())),
        };
        Some((ScopeHolder { patient: claims.patient(), speaker }, bearer.scopes.as_ref()?))
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
        if let Some(person) = self.person() {
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
        members.extend(claims.user_id().map(|id| ("user".to_owned(), reference("User", id))));
        members.extend(claims.patient().map(|id| ("patient".to_owned(), reference("Patient", id))));
    }
    session
}
