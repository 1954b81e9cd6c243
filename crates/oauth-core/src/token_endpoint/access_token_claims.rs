//! The claims of an access token.

use b2b_claim::B2bClaim;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The claims of an access token, whether a JWT or the row of an opaque token.
///
/// # Source
/// Specification, Access token claim; RFC 7519, section 4; RFC 9068, section 2.2 for `client_id`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AccessTokenClaims {
    /// `{base_url}`.
    pub iss: String,
    /// The client id for client credentials, else the id of the User.
    pub sub: String,
    /// `{base_url}/fhir`.
    pub aud: String,
    /// Seconds since the UNIX epoch.
    pub iat: i64,
    /// Seconds since the UNIX epoch.
    pub exp: i64,
    /// The token's identifier.
    pub jti: String,
    /// The client it was issued to.
    pub client_id: String,
    /// The family of tokens it belongs to; only tokens that a person authorized have one. With the family
    /// the token ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<String>,
    /// The granted scopes, space-separated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// `2` for Clients of type `smart-app`: existing policies of the platform look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atv: Option<u8>,
    /// The launch context, `{"patient": …}` (a [`LaunchContext`](crate::granted_authorization::LaunchContext)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The place of the B2B claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<AccessTokenExtensions>,
}

impl AccessTokenClaims {
    /// Returns the id of the user who authorized the token, `None` for a Client's own token.
    #[must_use]
    pub fn authorizing_user_id(&self) -> Option<&str> {
        self.sid.as_ref().map(|_| self.sub.as_str())
    }

    /// Returns the id of the patient the token is for.
    #[must_use]
    pub fn patient_id(&self) -> Option<&str> {
        self.context.as_ref()?.get("patient")?.as_str()
    }
}

/// The `extensions` object (UDAP).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AccessTokenExtensions {
    /// The claim.
    #[serde(rename = "hl7-b2b")]
    pub hl7_b2b: B2bClaim,
}
