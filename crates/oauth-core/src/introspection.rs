//! Token introspection and revocation.
//!
//! # Source
//! RFC 7662; SMART App Launch 2.2.0, token introspection.

use std::sync::Arc;

use futures_util::future::join;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::access::{AccessError, ResourceAccessRequest, authorize};
use crate::access_token_verification::{AccessTokenVerifier, InvalidBearerTokenError, VerifiedAccessToken};
use crate::audit::{AuditTrail, RevocationAudit};
use crate::client::Client;
use crate::client_authentication::{
    AuthenticatedClient, ClientAuthenticationError, ClientAuthenticator, PresentedCredentials,
};
use crate::end_user::EndUser;
use crate::end_user_claims::EndUserClaims;
use crate::granted_authorization::{GrantedAuthorization, LaunchContext};
use crate::jose::sha256;
use crate::limits::ASSERTION_CLOCK_LEEWAY_S;
use crate::ports::{AccessTokenStore, CallerStatusQuery, RefreshTokenRecord, StoreError, TokenFamilyStore};
use crate::registration_cache::RegistrationCache;
use crate::resource_caller::{CallerAuthenticationError, CallerAuthenticator, CallerIdentity, ResourceCaller};
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_endpoint::{TokenError, TokenRequest, with_style};
use crate::token_issuer::TokenIssuer;

/// The reason why an introspection request failed.
#[derive(Debug, thiserror::Error)]
pub enum IntrospectionError {
    /// Nobody authenticated, or with a bad token or wrong Basic credentials of the administrator:
    /// 401.
    #[error("introspection needs client authentication or an access token")]
    Unauthenticated,
    /// The request or the client's credentials are at fault.
    #[error(transparent)]
    Request(#[from] TokenError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The service of the introspection and revocation endpoints.
pub struct IntrospectionRevocationService {
    pub(crate) issuer: Arc<TokenIssuer>,
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) authenticator: Arc<ClientAuthenticator>,
    pub(crate) callers: Arc<CallerAuthenticator>,
    pub(crate) bearer: Arc<AccessTokenVerifier>,
    pub(crate) tokens: Arc<dyn AccessTokenStore>,
    pub(crate) families: Arc<dyn TokenFamilyStore>,
    pub(crate) audit: AuditTrail,
}

impl IntrospectionRevocationService {
    /// Answers `{"active": …}` for the token in the form, an access token or a refresh token.
    ///
    /// A caller learns about its own tokens; about others' only when a policy allows it this endpoint
    /// (resource servers), or it is an administrator. To everyone else a foreign token is inactive,
    /// as RFC 7662, section 2.2 permits.
    ///
    /// # Errors
    /// [`IntrospectionError`].
    pub async fn introspect(
        &self,
        env: &TimeAndRandomness<'_>,
        request: &TokenRequest<'_>,
        access: ResourceAccessRequest<'_>,
    ) -> Result<Value, IntrospectionError> {
        let claimed = self.claimed_caller(env, request).await?;
        // Both at once, so that they share a statement. What is wrong with the caller is said first.
        let token = request.form.get("token");
        let (caller, presented) = join(self.confirm(env, request, claimed), async {
            match token {
                Some(token) => self.presented(env, token).await,
                None => Ok(None),
            }
        })
        .await;
        let (caller, presented) = (caller?, presented?);
        if token.is_none() {
            return Err(TokenError::Missing("token").into());
        }
        let Some(presented) = presented else { return Ok(inactive()) };
        let own = caller.client_id() == Some(presented.client_id());
        let may = own
            || match authorize(&self.directory, &caller, access).await {
                Ok(_) => true,
                Err(AccessError::Store(error)) => return Err(error.into()),
                Err(_) => false,
            };
        Ok(if may { self.active(&presented) } else { inactive() })
    }

    async fn presented(&self, env: &TimeAndRandomness<'_>, token: &str) -> Result<Option<Presented>, StoreError> {
        match self.bearer.verify(env, token).await {
            Ok(verified) => return Ok(Some(Presented::Access(Box::new(verified)))),
            Err(InvalidBearerTokenError::Store(error)) => return Err(error),
            // Nothing with this text was issued as an access token; refresh tokens look like opaque ones.
            Err(InvalidBearerTokenError::Unknown) => {}
            Err(_) => return Ok(None),
        }
        let refresh = self.find_refresh_token(env, token).await?;
        Ok(refresh.map(|verified| Presented::Refresh(Box::new(verified))))
    }

    async fn claimed_caller<'a>(
        &self,
        env: &TimeAndRandomness<'_>,
        request: &'a TokenRequest<'_>,
    ) -> Result<ClaimedCaller<'a>, IntrospectionError> {
        let (authorization, address) = (request.authorization, request.address);
        if self.authenticator.is_root(env, authorization, address)? || is_bearer(authorization) {
            return Ok(ClaimedCaller::Identified);
        }
        let credentials =
            PresentedCredentials::from_header_and_form(authorization, request.form).map_err(TokenError::from)?;
        let credentials = credentials.map_err(TokenError::from)?.with_source_address(address);
        if matches!(credentials, PresentedCredentials::None) {
            return Err(IntrospectionError::Unauthenticated);
        }
        let authenticated = self.authenticator.authenticate(env, &credentials).await?;
        Ok(ClaimedCaller::Client(credentials, authenticated))
    }

    /// The caller as the database has it now. The nonce of an assertion is claimed.
    async fn confirm(
        &self,
        env: &TimeAndRandomness<'_>,
        request: &TokenRequest<'_>,
        claimed: ClaimedCaller<'_>,
    ) -> Result<ResourceCaller, IntrospectionError> {
        let ClaimedCaller::Client(credentials, authenticated) = claimed else {
            let identified =
                self.callers.authenticate_header_from_address(env, request.authorization, request.address).await;
            return identified.map_err(|fault| match fault {
                CallerAuthenticationError::Store(error) => IntrospectionError::Store(error),
                _ => IntrospectionError::Unauthenticated,
            });
        };
        if authenticated.nonce.is_some() {
            self.authenticator.claim_nonce(env, &credentials, &authenticated).await?;
        }
        let client = authenticated.client;
        let query = CallerStatusQuery { client_id: Some(&client.id), ..CallerStatusQuery::default() };
        let standing = self.directory.store().caller_status(&query).await?;
        let client = self.authenticator.confirm_version(env, &credentials, client, standing.client_version).await?;
        Ok(ResourceCaller { identity: CallerIdentity::Client(client), policy_revision: standing.policy_revision })
    }

    /// Returns a refresh token that is good now; `None` for one that is unknown, over, replaced, or whose app or person
    /// is no longer active.
    async fn find_refresh_token(
        &self,
        env: &TimeAndRandomness<'_>,
        token: &str,
    ) -> Result<Option<VerifiedRefresh>, StoreError> {
        let Some(found) = self.families.find_refresh_token(&sha256(token.as_bytes())).await? else { return Ok(None) };
        let (now_s, family) = (env.now_s(), found.family);
        let over = found.revoked || found.used_s.is_some() || found.token.expires_s.min(family.expires_s) <= now_s;
        let (Some(client_version), Some(user_version), false) = (found.client_version, found.user_version, over) else {
            return Ok(None);
        };
        let client = self.directory.client_at_version(&family.client_id, client_version).await?;
        let person = self.directory.end_user_at_version(&family.user_id, user_version).await?;
        let person = person.filter(|person| person.active && person.credential == family.credential);
        let authorization = GrantedAuthorization::from_stored(&family.authorization).ok();
        let (Some(_), Some(person), Some(authorization)) =
            (client.filter(|client| client.active), person, authorization)
        else {
            return Ok(None);
        };
        Ok(Some(VerifiedRefresh { client_id: family.client_id, token: found.token, authorization, person }))
    }

    fn active(&self, presented: &Presented) -> Value {
        match presented {
            Presented::Access(token) => self.active_access(token),
            Presented::Refresh(token) => self.active_refresh(token),
        }
    }

    fn active_refresh(&self, refresh: &VerifiedRefresh) -> Value {
        let mut answer = json!({
            "active": true,
            "iss": self.issuer.settings.base_url,
            "sub": refresh.person.id,
            "client_id": refresh.client_id,
            "iat": refresh.token.issued_s,
            "exp": refresh.token.expires_s,
            "scope": refresh.authorization.scope,
        });
        let authorization = &refresh.authorization;
        self.add_person(&mut answer, &refresh.person, (&authorization.scope, &authorization.context));
        answer
    }

    /// Returns what the token says, with the launch context under the names of the token response (SMART App Launch
    /// 2.2.0, token introspection) and who the person is.
    fn active_access(&self, token: &VerifiedAccessToken) -> Value {
        let mut answer = json!({ "active": true, "token_type": "Bearer" });
        let claims = json!(token.claims);
        if let (Some(answer), Some(claims)) = (answer.as_object_mut(), claims.as_object()) {
            answer.extend(claims.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        if let Some(person) = &token.person {
            let scope = token.claims.scope.as_deref().unwrap_or_default();
            let context = token.claims.context.as_ref().and_then(|context| LaunchContext::deserialize(context).ok());
            let context = context.unwrap_or_default();
            self.add_person(&mut answer, person, (scope, &context));
        }
        answer
    }

    /// Adds `username`, `fhirUser` when the scope allows it, and the launch context.
    fn add_person(&self, answer: &mut Value, person: &EndUser, (scope, context): (&str, &LaunchContext)) {
        let Some(answer) = answer.as_object_mut() else { return };
        if let Value::Object(context) = json!(with_style(&self.issuer.documents, context)) {
            answer.extend(context);
        }
        let fhir_user = EndUserClaims::for_scope(person, scope, self.issuer.documents.fhir_base_url()).fhir_user;
        answer.extend(fhir_user.map(|fhir_user| ("fhirUser".to_owned(), Value::from(fhir_user))));
        let username = person.user_name.clone().or_else(|| person.email.clone());
        answer.extend(username.map(|username| ("username".to_owned(), Value::from(username))));
    }

    /// Revokes an access token alone, or a refresh token with its family, that is with every token of that
    /// authorization. The client authenticates (a public app gives its id), and the response is empty.
    ///
    /// # Errors
    /// [`TokenError`] for the request and the credentials; an unknown or foreign token is no error
    /// (RFC 7009, section 2.2).
    pub async fn revoke_token(
        &self,
        env: &TimeAndRandomness<'_>,
        request: &TokenRequest<'_>,
    ) -> Result<(), TokenError> {
        let client = if self.authenticator.is_root(env, request.authorization, request.address)? {
            None
        } else {
            let credentials = PresentedCredentials::from_header_and_form(request.authorization, request.form)??
                .with_source_address(request.address);
            Some(self.authenticate_to_revoke(env, &credentials).await?)
        };
        let token = request.form.get("token").ok_or(TokenError::Missing("token"))?;
        let root_id = self.authenticator.bootstrap_admin_id();
        let who = Revoker { client: client.as_deref(), root_id, request };
        match self.bearer.verify_without_revocation(env, token).await {
            Ok(claims) if who.may_revoke(&claims.client_id) => {
                // Nodes' clocks differ: one that is behind must still find the token revoked.
                self.tokens.revoke_token_id(&claims.jti, claims.exp + ASSERTION_CLOCK_LEEWAY_S).await?;
                if claims.sid.is_some() {
                    self.audit.revocation(env, &who.of((&claims.client_id, &claims.sub)));
                }
            }
            Ok(_) => {}
            Err(InvalidBearerTokenError::Store(error)) => return Err(error.into()),
            Err(_) => self.revoke_refresh_token(env, token, &who).await?,
        }
        Ok(())
    }

    async fn authenticate_to_revoke(
        &self,
        env: &TimeAndRandomness<'_>,
        credentials: &PresentedCredentials<'_>,
    ) -> Result<Arc<Client>, TokenError> {
        if !matches!(credentials, PresentedCredentials::Public(_)) {
            return Ok(self.authenticator.authenticate_and_claim_jti(env, credentials).await?);
        }
        // The token itself is the proof: who holds a public app's token may end it. An app that has been given
        // a secret since the copy was read is public no longer.
        let client = self.authenticator.authenticate_allowing_public(env, credentials).await?.client;
        if self.directory.current_client_version(&client.id).await? == Some(client.version) {
            return Ok(client);
        }
        self.directory.load_current_client(&client.id).await?;
        Ok(self.authenticator.authenticate_allowing_public(env, credentials).await?.client)
    }

    async fn revoke_refresh_token(
        &self,
        env: &TimeAndRandomness<'_>,
        token: &str,
        who: &Revoker<'_>,
    ) -> Result<(), StoreError> {
        let Some(found) = self.families.find_refresh_token(&sha256(token.as_bytes())).await? else { return Ok(()) };
        let family = found.family;
        if who.may_revoke(&family.client_id) && self.families.revoke_family(&family.id, env.now_s()).await? {
            let revoked = who.of((&family.client_id, &family.user_id));
            self.audit.revocation(env, &RevocationAudit { grant_id: family.grant_id.as_deref(), ..revoked });
        }
        Ok(())
    }
}

/// A token that is good now.
enum Presented {
    Access(Box<VerifiedAccessToken>),
    Refresh(Box<VerifiedRefresh>),
}

impl Presented {
    fn client_id(&self) -> &str {
        match self {
            Self::Access(token) => &token.claims.client_id,
            Self::Refresh(token) => &token.client_id,
        }
    }
}

/// Who the caller is as far as a copy in memory shows.
enum ClaimedCaller<'a> {
    /// The administrator, or the bearer of a token.
    Identified,
    /// A Client that proved itself against a copy, which may be out of date.
    Client(PresentedCredentials<'a>, AuthenticatedClient),
}

fn is_bearer(authorization: Option<&str>) -> bool {
    let scheme = authorization.and_then(|header| header.split_once(' ')).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("Bearer"))
}

fn inactive() -> Value {
    json!({ "active": false })
}

/// A refresh token that is good now.
struct VerifiedRefresh {
    client_id: String,
    token: RefreshTokenRecord,
    authorization: GrantedAuthorization,
    person: Arc<EndUser>,
}

/// Who revokes: an app its own, the bootstrap administrator anybody's.
struct Revoker<'a> {
    /// `None` for the administrator.
    client: Option<&'a Client>,
    root_id: Option<&'a str>,
    request: &'a TokenRequest<'a>,
}

impl Revoker<'_> {
    fn may_revoke(&self, client_id: &str) -> bool {
        self.client.is_none_or(|client| client.id == client_id)
    }

    /// Returns what an auditor is told of it.
    fn of<'r>(&'r self, (client_id, user_id): (&'r str, &'r str)) -> RevocationAudit<'r> {
        let (asked_by, address) = (self.root_id.filter(|_| self.client.is_none()), self.request.address);
        RevocationAudit { client_id, user_id, grant_id: None, asked_by, address }
    }
}

impl From<ClientAuthenticationError> for IntrospectionError {
    fn from(fault: ClientAuthenticationError) -> Self {
        Self::Request(fault.into())
    }
}
