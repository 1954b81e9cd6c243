//! A partner that asks for tokens by assertion.

use base64::Engine as _;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use oauth_core::jose::encode_base64url;
use p384::pkcs8::{EncodePrivateKey as _, LineEnding};
use serde_json::{Value, json};

use super::{BASE, EXT, JWT_BEARER};

/// A partner with a P-384 key.
pub(crate) struct Partner {
    pem: String,
    jwk: Value,
}

impl Partner {
    pub(crate) fn new() -> Self {
        let secret = p384::SecretKey::from_slice(&[3; 48]).unwrap();
        let point = secret.public_key().to_sec1_bytes();
        let (x, y) = point[1..].split_at(48);
        Self {
            pem: secret.to_pkcs8_pem(LineEnding::LF).unwrap().to_string(),
            jwk: json!({"kty": "EC", "kid": "k1", "crv": "P-384", "x": encode_base64url(x), "y": encode_base64url(y)}),
        }
    }

    /// The Client a payer registers, with the B2B extension that names `organization`.
    pub(crate) fn client(&self, organization: &str) -> Value {
        json!({
            "resourceType": "Client",
            "grant_types": ["client_credentials"],
            "scope": ["system/*.read"],
            "jwks": [self.jwk],
            "auth": {"client_credentials": {
                "client_assertion_types": [JWT_BEARER],
                "token_format": "jwt",
                "access_token_expiration": 300,
            }},
            "extension": [{"url": format!("{EXT}/StructureDefinition/client-hl7B2b"), "extension": [
                {"url": "organization", "valueReference": {"reference": organization}},
                {"url": "organizationIdentifierSystem", "valueUri": "http://hl7.org/fhir/sid/us-npi"},
                {"url": "purposeOfUse", "valueCoding": {
                    "system": "http://terminology.hl7.org/CodeSystem/v3-ActReason", "code": "HPAYMT",
                }},
            ]}],
        })
    }

    pub(crate) fn assertion(&self, client_id: &str, jti: &str, now_s: i64) -> String {
        let mut header = Header::new(Algorithm::ES384);
        header.kid = Some("k1".to_owned());
        let claims = json!({
            "iss": client_id, "sub": client_id, "aud": format!("{BASE}/auth/token"), "exp": now_s + 300, "jti": jti,
        });
        jsonwebtoken::encode(&header, &claims, &EncodingKey::from_ec_pem(self.pem.as_bytes()).unwrap()).unwrap()
    }
}

/// The token request of a partner.
pub(crate) fn assertion_form(assertion: &str) -> Vec<(&'static str, &str)> {
    vec![
        ("grant_type", "client_credentials"),
        ("scope", "system/*.read"),
        ("client_assertion_type", JWT_BEARER),
        ("client_assertion", assertion),
    ]
}

/// The claims of a JWT, its signature not looked at.
pub(crate) fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    let decoded = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).unwrap();
    serde_json::from_slice(&decoded).unwrap()
}
