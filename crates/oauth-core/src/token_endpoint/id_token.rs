//! Id tokens: who signed in, for the app alone.

use serde::Serialize;

use super::member::MemberTokenRequest;
use crate::end_user_claims::EndUserClaims;
use crate::jose::{SigningAlg, SigningError, encode_base64url, sha256};
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_issuer::TokenIssuer;

/// The claims of an id token.
///
/// # Source
/// OpenID Connect Core 1.0, sections 2 and 3.1.3.6; SMART App Launch 2.2.0, "Scopes for requesting
/// identity data".
#[derive(Debug, Serialize)]
struct IdClaims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    auth_time: i64,
    jti: String,
    at_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    #[serde(flatten)]
    identity: EndUserClaims,
}

/// Signs the id token that goes out with `access_token`; it ends with it, at `exp` in seconds since the
/// UNIX epoch. RS256 is the algorithm every client has (section 15.1).
pub(super) fn id_token(
    env: &TimeAndRandomness<'_>,
    issuer: &TokenIssuer,
    member: &MemberTokenRequest<'_>,
    access_token: &str,
    exp: i64,
) -> Result<String, SigningError> {
    let authorization = member.authorization;
    let claims = IdClaims {
        iss: &issuer.settings.base_url,
        sub: &member.person.id,
        aud: &member.client.id,
        iat: env.now_s(),
        exp,
        auth_time: authorization.auth_time_s,
        jti: env.random_identifier(),
        at_hash: at_hash(access_token),
        nonce: authorization.nonce.as_deref(),
        identity: EndUserClaims::for_scope(member.person, &authorization.scope, issuer.documents.fhir_base_url()),
    };
    issuer.sign_jwt(env, SigningAlg::RS256, &claims)
}

/// Returns the left half of the access token's hash: it ties the two tokens of one answer together.
fn at_hash(access_token: &str) -> String {
    let digest = sha256(access_token.as_bytes());
    encode_base64url(digest.get(..digest.len() / 2).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_the_access_token_is_that_of_the_specification() {
        // OpenID Connect Core 1.0, appendix A.3.
        assert_eq!(at_hash("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"), "77QmUPtjPfzWtF2AnpK9RQ");
    }
}
