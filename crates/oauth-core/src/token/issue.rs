//! Access tokens of every grant: what they are made of, and in which of two forms they go out.

use b2b_claim::{Claim, Omission, Registration};

use super::TokenError;
use super::claims::AccessTokenClaims;
use crate::client::{Client, TokenFormat, TokenProfile};
use crate::directory::{Organization, RegistrationCache};
use crate::env::Env;
use crate::issuer::Issuer;
use crate::jose::{SignError, base64url, sha256};
use crate::limits::ACCESS_TOKEN_MAX_BYTES;
use crate::ports::OpaqueToken;

/// An access token as it goes out, and the row it needs when it is opaque. Nothing is stored yet.
pub(super) struct SignedToken {
    pub(super) text: String,
    pub(super) row: Option<OpaqueToken>,
}

/// Signs `claims`, or draws an opaque token that stands for them.
///
/// # Errors
/// [`TokenError::TooLong`] for a token that this server, and most proxies before others, would refuse when it is
/// presented.
pub(super) fn mint(
    env: &Env<'_>,
    issuer: &Issuer,
    profile: TokenProfile,
    claims: &AccessTokenClaims,
) -> Result<SignedToken, TokenError> {
    match profile.format {
        TokenFormat::Jwt => {
            let text = issuer.sign(env, issuer.access_token_alg(profile.alg), claims)?;
            if text.len() > ACCESS_TOKEN_MAX_BYTES {
                return Err(TokenError::TooLong { size_bytes: text.len() });
            }
            Ok(SignedToken { text, row: None })
        }
        TokenFormat::Opaque => {
            let text = random_token(env);
            let row = OpaqueToken {
                hash: sha256(text.as_bytes()),
                token_id: claims.jti.clone(),
                client_id: claims.client_id.clone(),
                claims: serde_json::to_value(claims).map_err(|_| SignError::Claims)?,
                expires_s: claims.exp,
            };
            Ok(SignedToken { text, row: Some(row) })
        }
    }
}

/// 256 random bits as base64url; only the hash is ever stored.
pub(super) fn random_token(env: &Env<'_>) -> String {
    base64url(&env.bytes::<32>())
}

/// Returns the claim the Client's next token carries, or why it carries none.
pub(crate) fn b2b_of(client: &Client, organization: Option<&Organization>) -> Result<Claim, Omission> {
    match &client.b2b {
        Ok(registration) => registration.claim(organization.map(|organization| &organization.resource)),
        Err(omission) => Err(omission.clone()),
    }
}

/// Returns the claim of a token that a person authorized. The Organization is read from the store: apps with the
/// extension are few, and what their claim is made of must be what is stored now.
pub(super) async fn b2b_now(
    directory: &RegistrationCache,
    registration: &Result<Registration, Omission>,
) -> Result<Result<Claim, Omission>, TokenError> {
    let registration = match registration {
        Ok(registration) => registration,
        Err(omission) => return Ok(Err(omission.clone())),
    };
    let organization = directory.store().organization(&registration.organization.id).await?;
    Ok(registration.claim(organization.as_ref().map(|stored| &stored.resource)))
}
