//! Who signed in, for the app that holds a token.
//!
//! # Source
//! OpenID Connect Core 1.0, section 5.3.

use serde::Serialize;

use crate::access::AccessError;
use crate::caller::{Caller, CallerIdentity};
use crate::discovery::Documents;
use crate::identity::PersonClaims;

/// The response of the user-info endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserInfo {
    /// The same as in the id token.
    pub sub: String,
    /// What else the token's scopes open.
    #[serde(flatten)]
    pub identity: PersonClaims,
}

/// The reason why nothing is told.
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

/// Tells who the caller acts for.
///
/// A token of the Client itself has no person behind it and is answered like one without the scope.
///
/// # Errors
/// [`UserInfoError`].
pub fn userinfo(documents: &Documents, caller: &Caller) -> Result<UserInfo, UserInfoError> {
    let CallerIdentity::Token(bearer) = &caller.identity else { return Err(UserInfoError::NoToken) };
    let scope = bearer.token.claims.scope.as_deref().unwrap_or_default();
    let person = bearer.token.person.as_ref().filter(|_| scope.split(' ').any(|granted| granted == "openid"));
    let person = person.ok_or(UserInfoError::NotOpenId)?;
    let identity = PersonClaims::of(person, scope, documents.fhir_base());
    Ok(UserInfo { sub: person.id.clone(), identity })
}
