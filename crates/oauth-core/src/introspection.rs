//! Token introspection.
//!
//! # Source
//! RFC 7662; SMART App Launch 2.2.0, token introspection.

use serde_json::{Value, json};

use crate::access::{AccessRequest, Denied, authorize};
use crate::authenticate::{ClientFault, Credentials, authenticate_and_claim};
use crate::authority::Authority;
use crate::bearer::{self, TokenFault, VerifiedToken};
use crate::caller::{Caller, CallerFault, Identity, identify};
use crate::client::Client;
use crate::env::Env;
use crate::limits::CLOCK_LEEWAY_S;
use crate::ports::{StandingQuery, StoreError};
use crate::token::{TokenError, TokenRequest};

/// Why introspection was not answered.
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

/// Answers `{"active": …}` for the token in the form.
///
/// A caller learns about its own tokens; about others' only when a policy allows it this endpoint
/// (resource servers), or it is an administrator. To everyone else a foreign token is inactive,
/// as RFC 7662, section 2.2 permits.
///
/// # Errors
/// [`IntrospectionError`].
pub async fn introspect(
    env: &Env<'_>,
    authority: &Authority,
    request: &TokenRequest<'_>,
    access: AccessRequest<'_>,
) -> Result<Value, IntrospectionError> {
    let caller = caller_of(env, authority, request).await?;
    let token = request.form.get("token").ok_or(TokenError::Missing("token"))?;
    let verified = match bearer::verify(env, authority, token).await {
        Ok(verified) => verified,
        Err(TokenFault::Store(error)) => return Err(error.into()),
        Err(_) => return Ok(inactive()),
    };
    let own = caller.client_id() == Some(verified.claims.client_id.as_str());
    let may = own
        || match authorize(authority, &caller, access).await {
            Ok(_) => true,
            Err(Denied::Store(error)) => return Err(error.into()),
            Err(_) => false,
        };
    Ok(if may { active(&verified) } else { inactive() })
}

async fn caller_of(
    env: &Env<'_>,
    authority: &Authority,
    request: &TokenRequest<'_>,
) -> Result<Caller, IntrospectionError> {
    if authority.is_root(request.authorization) || is_bearer(request.authorization) {
        return identify(env, authority, request.authorization).await.map_err(|fault| match fault {
            CallerFault::Store(error) => IntrospectionError::Store(error),
            _ => IntrospectionError::Unauthenticated,
        });
    }
    let credentials = Credentials::read(request.authorization, request.form).map_err(TokenError::from)?;
    let credentials = credentials.map_err(TokenError::from)?;
    if matches!(credentials, Credentials::None) {
        return Err(IntrospectionError::Unauthenticated);
    }
    let client = authenticate_and_claim(env, authority, &credentials).await.map_err(TokenError::from)?;
    let query = StandingQuery { client_id: Some(&client.id), ..StandingQuery::default() };
    let policy_revision = authority.directory.store().standing(&query).await?.policy_revision;
    Ok(Caller { identity: Identity::Client(client), policy_revision })
}

fn is_bearer(authorization: Option<&str>) -> bool {
    let scheme = authorization.and_then(|header| header.split_once(' ')).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("Bearer"))
}

fn inactive() -> Value {
    json!({ "active": false })
}

fn active(token: &VerifiedToken) -> Value {
    let mut answer = json!({ "active": true, "token_type": "Bearer" });
    let claims = json!(token.claims);
    if let (Some(answer), Some(claims)) = (answer.as_object_mut(), claims.as_object()) {
        let patient = claims.get("context").and_then(|context| context.get("patient"));
        answer.extend(patient.map(|patient| ("patient".to_owned(), patient.clone())));
        answer.extend(claims.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    answer
}

/// Revocation: the same authentication, and a silent answer.
///
/// # Errors
/// [`TokenError`] for the request and the credentials; an unknown or foreign token is no error
/// (RFC 7009, section 2.2).
pub async fn revoke(env: &Env<'_>, authority: &Authority, request: &TokenRequest<'_>) -> Result<(), TokenError> {
    let client = if authority.is_root(request.authorization) {
        None
    } else {
        let credentials = Credentials::read(request.authorization, request.form)??;
        Some(authenticate_and_claim(env, authority, &credentials).await?)
    };
    let token = request.form.get("token").ok_or(TokenError::Missing("token"))?;
    let claims = match bearer::read(env, authority, token).await {
        Ok(claims) => claims,
        Err(TokenFault::Store(error)) => return Err(error.into()),
        Err(_) => return Ok(()),
    };
    let own = |client: &Client| client.id == claims.client_id;
    if client.as_deref().is_none_or(own) {
        // Nodes' clocks differ: one that is behind must still find the token revoked.
        authority.tokens.revoke(&claims.jti, claims.exp + CLOCK_LEEWAY_S).await?;
    }
    Ok(())
}

impl From<ClientFault> for IntrospectionError {
    fn from(fault: ClientFault) -> Self {
        Self::Request(fault.into())
    }
}
