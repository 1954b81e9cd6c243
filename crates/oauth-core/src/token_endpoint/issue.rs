//! Access tokens of every grant: what they are made of, and in which of two forms they go out.

use b2b_claim::{B2bClaim, ClientB2bExtension, Omission};

use super::TokenError;
use super::access_token_claims::AccessTokenClaims;
use crate::client::{AccessTokenFormat, AccessTokenProfile, Client};
use crate::jose::{SigningError, encode_base64url, sha256};
use crate::limits::ACCESS_TOKEN_MAX_BYTES;
use crate::ports::OpaqueTokenRecord;
use crate::registration_cache::{RegistrationCache, VersionedOrganization};
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_issuer::TokenIssuer;

/// An access token as it goes out, and the row it needs when it is opaque. Nothing is stored yet.
pub(super) struct SignedToken {
    pub(super) text: String,
    pub(super) row: Option<OpaqueTokenRecord>,
}

/// Signs `claims`, or draws an opaque token that stands for them.
///
/// # Errors
/// [`TokenError::TooLong`] for a token that this server, and most proxies before others, would refuse when it is
/// presented.
pub(super) fn mint(
    env: &TimeAndRandomness<'_>,
    issuer: &TokenIssuer,
    profile: AccessTokenProfile,
    claims: &AccessTokenClaims,
) -> Result<SignedToken, TokenError> {
    match profile.format {
        AccessTokenFormat::Jwt => {
            let text = issuer.sign_jwt(env, issuer.access_token_alg(profile.alg), claims)?;
            if text.len() > ACCESS_TOKEN_MAX_BYTES {
                return Err(TokenError::TooLong { size_bytes: text.len() });
            }
            Ok(SignedToken { text, row: None })
        }
        AccessTokenFormat::Opaque => {
            let text = random_token(env);
            let row = OpaqueTokenRecord {
                hash: sha256(text.as_bytes()),
                token_id: claims.jti.clone(),
                client_id: claims.client_id.clone(),
                claims: serde_json::to_value(claims).map_err(|_| SigningError::Claims)?,
                expires_s: claims.exp,
            };
            Ok(SignedToken { text, row: Some(row) })
        }
    }
}

/// 256 random bits as base64url; only the hash is ever stored.
pub(super) fn random_token(env: &TimeAndRandomness<'_>) -> String {
    encode_base64url(&env.random_bytes::<32>())
}

/// Returns the claim the Client's next token carries, or why it carries none.
pub(crate) fn b2b_of(client: &Client, organization: Option<&VersionedOrganization>) -> Result<B2bClaim, Omission> {
    match &client.b2b {
        Ok(registration) => registration.build_claim(organization.map(|organization| &organization.resource)),
        Err(omission) => Err(omission.clone()),
    }
}

/// Returns the claim of a token that a person authorized. The Organization is read from the store: apps with the
/// extension are few, and what their claim is made of must be what is stored now.
pub(super) async fn b2b_now(
    directory: &RegistrationCache,
    registration: &Result<ClientB2bExtension, Omission>,
) -> Result<Result<B2bClaim, Omission>, TokenError> {
    let registration = match registration {
        Ok(registration) => registration,
        Err(omission) => return Ok(Err(omission.clone())),
    };
    let organization = directory.store().organization(&registration.organization.id).await?;
    Ok(registration.build_claim(organization.as_ref().map(|stored| &stored.resource)))
}
