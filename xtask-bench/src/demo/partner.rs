//! The partner of the demonstration: a P-384 key, its public JWK, and the assertions it signs.

use anyhow::{Context, Result, anyhow};
use aws_lc_rs::rand;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use p384::{SecretKey, elliptic_curve::sec1::ToSec1Point, pkcs8::EncodePrivateKey};
use serde_json::{Value, json};

const KEY_ID: &str = "demo-1";
/// Bytes of a P-384 coordinate and of its private scalar.
const FIELD_BYTES: usize = 48;
/// Below the 300 s that the server accepts at most.
pub(super) const ASSERTION_LIFETIME_S: u64 = 240;

/// A key pair made for one run.
pub(super) struct Partner {
    key: SecretKey,
}

impl Partner {
    /// A new key from the system's randomness.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn generate() -> Result<Self> {
        let mut scalar = [0; FIELD_BYTES];
        rand::fill(&mut scalar).map_err(|_| anyhow!("the system gives no randomness"))?;
        // Refused only for zero or above the group order: once in 2^190 draws.
        let key = SecretKey::from_slice(&scalar).context("an unlucky draw: run it again")?;
        Ok(Self { key })
    }

    /// The public key as the Client's inline `jwks` holds it.
    pub(super) fn jwk(&self) -> Result<Value> {
        let point = self.key.public_key().to_sec1_point(false);
        let coordinates = point.x().zip(point.y());
        let (x, y) = coordinates.context("an uncompressed point has two coordinates")?;
        Ok(json!({
            "kty": "EC",
            "crv": "P-384",
            "kid": KEY_ID,
            "alg": "ES384",
            "use": "sig",
            "x": BASE64_URL_SAFE_NO_PAD.encode(x),
            "y": BASE64_URL_SAFE_NO_PAD.encode(y),
        }))
    }

    /// A client assertion, good for one token request.
    ///
    /// # Errors
    /// When the key cannot be encoded or signed with.
    ///
    /// # Source
    /// The platform's specification, "Client assertion JWT".
    pub(super) fn assertion(&self, client: &str, audience: &str, now_s: u64) -> Result<String> {
        let mut header = Header::new(Algorithm::ES384);
        header.kid = Some(KEY_ID.to_owned());
        let claims = json!({
            "iss": client,
            "sub": client,
            "aud": audience,
            "exp": now_s + ASSERTION_LIFETIME_S,
            "jti": secret()?,
        });
        let der = self.key.to_pkcs8_der().map_err(|error| anyhow!("the key has no PKCS#8 form: {error}"))?;
        encode(&header, &claims, &EncodingKey::from_ec_der(der.as_bytes())).context("cannot sign")
    }
}

/// 192 random bits as text: a password or a nonce.
///
/// # Errors
/// When the system gives no randomness.
pub(super) fn secret() -> Result<String> {
    let mut bytes = [0; 24];
    rand::fill(&mut bytes).map_err(|_| anyhow!("the system gives no randomness"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// The claims of a JWT, unverified: the demonstration shows them, it does not trust them.
///
/// # Errors
/// When the token is no JWT.
pub(super) fn claims(token: &str) -> Result<Value> {
    let payload = token.split('.').nth(1).context("the access token is opaque, not a JWT")?;
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(payload).context("the payload is not base64url")?;
    serde_json::from_slice(&bytes).context("the payload is not JSON")
}

/// The B2B claim among a token's claims.
pub(super) fn b2b_claim(claims: &Value) -> Option<&Value> {
    claims.get("extensions")?.get("hl7-b2b")
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{DecodingKey, Validation, decode, jwk::Jwk};

    use super::*;

    #[test]
    fn an_assertion_verifies_against_the_published_key() {
        let partner = Partner::generate().unwrap();
        let signed = partner.assertion("partner", "http://h/auth/token", 4_000_000_000).unwrap();
        let jwk: Jwk = serde_json::from_value(partner.jwk().unwrap()).unwrap();
        let mut rules = Validation::new(Algorithm::ES384);
        rules.set_audience(&["http://h/auth/token"]);
        let decoded = decode::<Value>(&signed, &DecodingKey::from_jwk(&jwk).unwrap(), &rules).unwrap();
        assert_eq!(decoded.header.kid.as_deref(), Some(KEY_ID));
        assert_eq!(decoded.claims["iss"], decoded.claims["sub"]);
        assert_eq!(decoded.claims["exp"], 4_000_000_000_u64 + ASSERTION_LIFETIME_S);

        let stranger: Jwk = serde_json::from_value(Partner::generate().unwrap().jwk().unwrap()).unwrap();
        assert!(decode::<Value>(&signed, &DecodingKey::from_jwk(&stranger).unwrap(), &rules).is_err());
    }

    #[test]
    fn every_assertion_has_a_nonce_of_its_own() {
        let partner = Partner::generate().unwrap();
        let nonce = || claims(&partner.assertion("p", "a", 1).unwrap()).unwrap()["jti"].clone();
        assert_ne!(nonce(), nonce());
    }

    #[test]
    fn an_opaque_token_has_no_claims() {
        assert!(claims("0123456789abcdef").is_err());
    }

    #[test]
    fn the_claim_is_found_where_the_specification_puts_it() {
        assert!(b2b_claim(&json!({"extensions": {"hl7-b2b": {"version": "1"}}})).is_some());
        assert!(b2b_claim(&json!({"hl7-b2b": {"version": "1"}})).is_none());
        assert!(b2b_claim(&json!({"extensions": {}})).is_none());
    }
}
