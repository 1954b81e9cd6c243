//! Token introspection.
//!
//! # Source
//! RFC 7662; SMART App Launch 2.2.0, token introspection.

use std::sync::Arc;

use futures_util::future::join;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::access::{AccessError, AccessRequest, authorize};
use crate::audit::{self, RevocationAudit};
use crate::authenticate::{
    AuthenticatedClient, ClientAuthenticationError, Credentials, authenticate, authenticate_and_claim,
    authenticate_app, claim_nonce,
};
use crate::authority::AuthorizationServer;
use crate::authorization::{Authorization, LaunchContext};
use crate::bearer::{self, BearerTokenError, VerifiedToken};
use crate::caller::{Caller, CallerError, CallerIdentity, identify_from};
use crate::client::Client;
use crate::env::Env;
use crate::identity::PersonClaims;
use crate::jose::sha256;
use crate::limits::CLOCK_LEEWAY_S;
use crate::person::Person;
use crate::ports::{CallerStatusQuery, RefreshToken, StoreError};
use crate::root::RootClient;
use crate::token::{TokenError, TokenRequest, told};

/// The reason why introspection was not answered.
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

/// Answers `{"active": …}` for the token in the form, an access token or a refresh token.
///
/// A caller learns about its own tokens; about others' only when a policy allows it this endpoint
/// (resource servers), or it is an administrator. To everyone else a foreign token is inactive,
/// as RFC 7662, section 2.2 permits.
///
/// # Errors
/// [`IntrospectionError`].
pub async fn introspect(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    request: &TokenRequest<'_>,
    access: AccessRequest<'_>,
) -> Result<Value, IntrospectionError> {
    let claimed = claimed_caller(env, authority, request).await?;
    // Both at once, so that they share a statement. What is wrong with the caller is said first.
    let token = request.form.get("token");
    let (caller, presented) = join(confirm(env, authority, request, claimed), async {
        match token {
            Some(token) => presented(env, authority, token).await,
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
        || match authorize(authority, &caller, access).await {
            Ok(_) => true,
            Err(AccessError::Store(error)) => return Err(error.into()),
            Err(_) => false,
        };
    Ok(if may { presented.active(authority) } else { inactive() })
}

/// A token that is good now.
enum Presented {
    Access(Box<VerifiedToken>),
    Refresh(Box<VerifiedRefresh>),
}

async fn presented(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    token: &str,
) -> Result<Option<Presented>, StoreError> {
    match bearer::verify(env, authority, token).await {
        Ok(verified) => return Ok(Some(Presented::Access(Box::new(verified)))),
        Err(BearerTokenError::Store(error)) => return Err(error),
        // Nothing with this text was issued as an access token; refresh tokens look like opaque ones.
        Err(BearerTokenError::Unknown) => {}
        Err(_) => return Ok(None),
    }
    let refresh = VerifiedRefresh::find(env, authority, token).await?;
    Ok(refresh.map(|verified| Presented::Refresh(Box::new(verified))))
}

impl Presented {
    fn client_id(&self) -> &str {
        match self {
            Self::Access(token) => &token.claims.client_id,
            Self::Refresh(token) => &token.client_id,
        }
    }

    fn active(&self, authority: &AuthorizationServer) -> Value {
        match self {
            Self::Access(token) => active_access(authority, token),
            Self::Refresh(token) => token.active(authority),
        }
    }
}

/// Who the caller is as far as a copy in memory shows.
enum ClaimedCaller<'a> {
    /// The administrator, or the bearer of a token.
    Identified,
    /// A Client that proved itself against a copy, which may be out of date.
    Client(Credentials<'a>, AuthenticatedClient),
}

async fn claimed_caller<'a>(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    request: &'a TokenRequest<'_>,
) -> Result<ClaimedCaller<'a>, IntrospectionError> {
    let (authorization, address) = (request.authorization, request.address);
    if authority.is_root(env, authorization, address)? || is_bearer(authorization) {
        return Ok(ClaimedCaller::Identified);
    }
    let credentials = Credentials::read(authorization, request.form).map_err(TokenError::from)?;
    let credentials = credentials.map_err(TokenError::from)?.sent_from(address);
    if matches!(credentials, Credentials::None) {
        return Err(IntrospectionError::Unauthenticated);
    }
    let authenticated = authenticate(env, authority, &credentials).await?;
    Ok(ClaimedCaller::Client(credentials, authenticated))
}

/// The caller as the database has it now. The nonce of an assertion is claimed.
async fn confirm(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    request: &TokenRequest<'_>,
    claimed: ClaimedCaller<'_>,
) -> Result<Caller, IntrospectionError> {
    let ClaimedCaller::Client(credentials, authenticated) = claimed else {
        let identified = identify_from(env, authority, request.authorization, request.address).await;
        return identified.map_err(|fault| match fault {
            CallerError::Store(error) => IntrospectionError::Store(error),
            _ => IntrospectionError::Unauthenticated,
        });
    };
    if authenticated.nonce.is_some() {
        claim_nonce(env, authority, &credentials, &authenticated).await?;
    }
    let client = authenticated.client;
    let query = CallerStatusQuery { client_id: Some(&client.id), ..CallerStatusQuery::default() };
    let standing = authority.directory.store().caller_status(&query).await?;
    let client = if standing.client_version == Some(client.version) {
        client
    } else {
        // The proof holds for the version it was checked against and no other.
        authority.directory.read_client(&client.id).await?;
        authenticate(env, authority, &credentials).await?.client
    };
    Ok(Caller { identity: CallerIdentity::Client(client), policy_revision: standing.policy_revision })
}

fn is_bearer(authorization: Option<&str>) -> bool {
    let scheme = authorization.and_then(|header| header.split_once(' ')).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("Bearer"))
}

fn inactive() -> Value {
    json!({ "active": false })
}

/// Returns what the token says, with the launch context under the names of the token response (SMART App Launch
/// 2.2.0, token introspection) and who the person is.
fn active_access(authority: &AuthorizationServer, token: &VerifiedToken) -> Value {
    let mut answer = json!({ "active": true, "token_type": "Bearer" });
    let claims = json!(token.claims);
    if let (Some(answer), Some(claims)) = (answer.as_object_mut(), claims.as_object()) {
        answer.extend(claims.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    if let Some(person) = &token.person {
        let scope = token.claims.scope.as_deref().unwrap_or_default();
        let context = token.claims.context.as_ref().and_then(|context| LaunchContext::deserialize(context).ok());
        let context = context.unwrap_or_default();
        add_person(&mut answer, authority, person, (scope, &context));
    }
    answer
}

/// Adds `username`, `fhirUser` when the scope allows it, and the launch context.
fn add_person(
    answer: &mut Value,
    authority: &AuthorizationServer,
    person: &Person,
    (scope, context): (&str, &LaunchContext),
) {
    let Some(answer) = answer.as_object_mut() else { return };
    if let Value::Object(told) = json!(told(authority, context)) {
        answer.extend(told);
    }
    let fhir_user = PersonClaims::of(person, scope, authority.documents().fhir_base()).fhir_user;
    answer.extend(fhir_user.map(|fhir_user| ("fhirUser".to_owned(), Value::from(fhir_user))));
    let username = person.user_name.clone().or_else(|| person.email.clone());
    answer.extend(username.map(|username| ("username".to_owned(), Value::from(username))));
}

/// A refresh token that is good now.
struct VerifiedRefresh {
    client_id: String,
    token: RefreshToken,
    authorization: Authorization,
    person: Arc<Person>,
}

impl VerifiedRefresh {
    /// `None` for one that is unknown, over, replaced, or whose app or person is no longer active.
    async fn find(env: &Env<'_>, authority: &AuthorizationServer, token: &str) -> Result<Option<Self>, StoreError> {
        let Some(found) = authority.families.find_refresh_token(&sha256(token.as_bytes())).await? else {
            return Ok(None);
        };
        let (now_s, family) = (env.now_s(), found.family);
        let over = found.revoked || found.used_s.is_some() || found.token.expires_s.min(family.expires_s) <= now_s;
        let (Some(client_version), Some(user_version), false) = (found.client_version, found.user_version, over) else {
            return Ok(None);
        };
        let client = authority.directory.client_at(&family.client_id, client_version).await?;
        let person = authority.directory.person_at(&family.user_id, user_version).await?;
        let person = person.filter(|person| person.active && person.credential == family.credential);
        let authorization = Authorization::read(&family.authorization).ok();
        let (Some(_), Some(person), Some(authorization)) =
            (client.filter(|client| client.active), person, authorization)
        else {
            return Ok(None);
        };
        Ok(Some(Self { client_id: family.client_id, token: found.token, authorization, person }))
    }

    fn active(&self, authority: &AuthorizationServer) -> Value {
        let mut answer = json!({
            "active": true,
            "iss": authority.settings.base_url,
            "sub": self.person.id,
            "client_id": self.client_id,
            "iat": self.token.issued_s,
            "exp": self.token.expires_s,
            "scope": self.authorization.scope,
        });
        add_person(&mut answer, authority, &self.person, (&self.authorization.scope, &self.authorization.context));
        answer
    }
}

/// Revocation: the same authentication (a public app gives its id), and a silent answer. An access token
/// ends alone; a refresh token ends with its family, that is with every token of that authorization.
///
/// # Errors
/// [`TokenError`] for the request and the credentials; an unknown or foreign token is no error
/// (RFC 7009, section 2.2).
pub async fn revoke(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    request: &TokenRequest<'_>,
) -> Result<(), TokenError> {
    let client = if authority.is_root(env, request.authorization, request.address)? {
        None
    } else {
        let credentials = Credentials::read(request.authorization, request.form)??.sent_from(request.address);
        Some(authenticate_to_revoke(env, authority, &credentials).await?)
    };
    let token = request.form.get("token").ok_or(TokenError::Missing("token"))?;
    let who = Revoker { client: client.as_deref(), request };
    match bearer::read(env, authority, token).await {
        Ok(claims) if who.may_revoke(&claims.client_id) => {
            // Nodes' clocks differ: one that is behind must still find the token revoked.
            authority.tokens.revoke(&claims.jti, claims.exp + CLOCK_LEEWAY_S).await?;
            if claims.sid.is_some() {
                audit::revocation(env, authority, &who.of(authority, (&claims.client_id, &claims.sub)));
            }
        }
        Ok(_) => {}
        Err(BearerTokenError::Store(error)) => return Err(error.into()),
        Err(_) => revoke_refresh_token(env, authority, token, &who).await?,
    }
    Ok(())
}

/// Who revokes: an app its own, the bootstrap administrator anybody's.
struct Revoker<'a> {
    /// `None` for the administrator.
    client: Option<&'a Client>,
    request: &'a TokenRequest<'a>,
}

impl Revoker<'_> {
    fn may_revoke(&self, client_id: &str) -> bool {
        self.client.is_none_or(|client| client.id == client_id)
    }

    /// Returns what an auditor is told of it.
    fn of<'r>(
        &'r self,
        authority: &'r AuthorizationServer,
        (client_id, user_id): (&'r str, &'r str),
    ) -> RevocationAudit<'r> {
        let administrator = authority.root.as_ref().filter(|_| self.client.is_none());
        let (asked_by, address) = (administrator.map(RootClient::id), self.request.address);
        RevocationAudit { client_id, user_id, grant_id: None, asked_by, address }
    }
}

async fn authenticate_to_revoke(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    credentials: &Credentials<'_>,
) -> Result<Arc<Client>, TokenError> {
    if !matches!(credentials, Credentials::Public(_)) {
        return Ok(authenticate_and_claim(env, authority, credentials).await?);
    }
    // The token itself is the proof: who holds a public app's token may end it. An app that has been given
    // a secret since the copy was read is public no longer.
    let client = authenticate_app(env, authority, credentials).await?.client;
    if authority.directory.version_of(&client.id).await? == Some(client.version) {
        return Ok(client);
    }
    authority.directory.read_client(&client.id).await?;
    Ok(authenticate_app(env, authority, credentials).await?.client)
}

async fn revoke_refresh_token(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    token: &str,
    who: &Revoker<'_>,
) -> Result<(), StoreError> {
    let Some(found) = authority.families.find_refresh_token(&sha256(token.as_bytes())).await? else { return Ok(()) };
    let family = found.family;
    if who.may_revoke(&family.client_id) && authority.families.revoke_family(&family.id, env.now_s()).await? {
        let revoked = who.of(authority, (&family.client_id, &family.user_id));
        audit::revocation(env, authority, &RevocationAudit { grant_id: family.grant_id.as_deref(), ..revoked });
    }
    Ok(())
}

impl From<ClientAuthenticationError> for IntrospectionError {
    fn from(fault: ClientAuthenticationError) -> Self {
        Self::Request(fault.into())
    }
}
