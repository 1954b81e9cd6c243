//! The OpenID Connect userinfo endpoint: who signed in, for the app that holds a token.
//!
//! # Source
//! OpenID Connect Core 1.0, section 5.3.

use serde::Serialize;

use crate::access::AccessError;
use crate::discovery::DiscoveryDocuments;
use crate::end_user_claims::EndUserClaims;
use crate::resource_caller::{CallerIdentity, ResourceCaller};

/// The response of the user-info endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserInfoResponse {
    /// The same as in the id token.
    pub sub: String,
    /// What else the token's scopes open.
    #[serde(flatten)]
    pub identity: EndUserClaims,
}

/// The reason why the userinfo endpoint refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UserInfoError {
    /// No access token was sent: 401.
    #[error("userinfo needs an access token")]
    NoToken,
    /// The token is no person's, or lacks the scope: 403 `insufficient_scope`.
    #[error("the access token lacks the scope openid")]
    NotOpenId,
}

impl From<UserInfoError> for AccessError {
    fn from(fault: UserInfoError) -> Self {
        match fault {
            UserInfoError::NoToken => Self::Unauthenticated,
            UserInfoError::NotOpenId => Self::InsufficientScope { needed: "openid".to_owned() },
        }
    }
}

/// Returns the userinfo response for the user behind the caller's token.
///
/// A token of the Client itself has no person behind it and is answered like one without the scope.
///
/// # Errors
/// [`UserInfoError`].
pub fn userinfo_response(
    documents: &DiscoveryDocuments,
    caller: &ResourceCaller,
) -> Result<UserInfoResponse, UserInfoError> {
    let CallerIdentity::Token(bearer) = &caller.identity else { return Err(UserInfoError::NoToken) };
    let scope = bearer.token.claims.scope.as_deref().unwrap_or_default();
    let person = bearer.token.person.as_ref().filter(|_| scope.split(' ').any(|granted| granted == "openid"));
    let person = person.ok_or(UserInfoError::NotOpenId)?;
    let identity = EndUserClaims::for_scope(person, scope, documents.fhir_base_url());
    Ok(UserInfoResponse { sub: person.id.clone(), identity })
}
