//! The server's own private keys: generating, loading, signing.

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RsaKeyPair,
};
use serde::Serialize;
use serde_json::json;

use super::{SigningAlg, encode_base64url, sha256};

/// A private signing key, parsed once, with its JOSE header ready.
pub struct SigningKey {
    kid: String,
    alg: SigningAlg,
    /// base64url of `{"alg","typ","kid"}` and the dot behind it.
    header: String,
    pair: Pair,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
}

/// A newly generated signing key: its public and private parts.
pub struct GeneratedSigningKey {
    /// RFC 7638 thumbprint.
    pub kid: String,
    /// The public JWK as JSON text.
    pub public_jwk: String,
    /// PKCS#8 DER of the private key.
    pub pkcs8: Vec<u8>,
}

/// The reason why the cryptographic library could not make or use a signing key: the key is damaged, or there is no
/// entropy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// A key could not be generated.
    #[error("a signing key could not be generated")]
    Generate,
    /// The stored private key is not one of its algorithm.
    #[error("the stored private key is damaged or of another algorithm")]
    BadKey,
    /// Signing failed.
    #[error("signing failed")]
    Sign,
    /// The claims could not be written as JSON.
    #[error("the claims could not be serialised")]
    Claims,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("kid", &self.kid).field("alg", &self.alg).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Generates a key for `alg`; RSA keys have 2,048 bits. Cost: under a millisecond for EC, some
    /// hundred milliseconds for RSA.
    ///
    /// # Errors
    /// [`SigningError::Generate`].
    pub fn generate(alg: SigningAlg) -> Result<GeneratedSigningKey, SigningError> {
        let pkcs8 = if let Some(ecdsa) = ecdsa_algorithm(alg) {
            let document = EcdsaKeyPair::generate_pkcs8(ecdsa, &SystemRandom::new());
            document.map_err(|_| SigningError::Generate)?.as_ref().to_vec()
        } else {
            let pair = RsaKeyPair::generate(KeySize::Rsa2048).map_err(|_| SigningError::Generate)?;
            let der: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| SigningError::Generate)?;
            der.as_ref().to_vec()
        };
        let (kid, public_jwk) = Pair::load(alg, &pkcs8)?.public_jwk(alg);
        Ok(GeneratedSigningKey { kid, public_jwk, pkcs8 })
    }

    /// Loads a key from PKCS#8 DER.
    ///
    /// # Errors
    /// [`SigningError::BadKey`].
    pub fn from_pkcs8(alg: SigningAlg, pkcs8: &[u8]) -> Result<Self, SigningError> {
        let pair = Pair::load(alg, pkcs8)?;
        let (kid, _) = pair.public_jwk(alg);
        let header = json!({ "alg": alg.name(), "typ": "JWT", "kid": kid }).to_string();
        let header = format!("{}.", encode_base64url(header.as_bytes()));
        Ok(Self { kid, alg, header, pair })
    }

    /// Returns the key's identifier.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the key's signature algorithm.
    #[must_use]
    pub const fn alg(&self) -> SigningAlg {
        self.alg
    }

    /// Signs `claims` as a compact JWS of type `JWT`. Cost: 13 µs for ES256, 63 µs for ES384,
    /// 220 µs for RSA.
    ///
    /// # Errors
    /// [`SigningError::Claims`] and [`SigningError::Sign`].
    pub fn sign_jwt<T: Serialize>(&self, claims: &T) -> Result<String, SigningError> {
        let payload = serde_json::to_vec(claims).map_err(|_| SigningError::Claims)?;
        let mut token = String::with_capacity(self.header.len() + payload.len() * 4 / 3 + 360);
        token.push_str(&self.header);
        append_base64url(&payload, &mut token);
        let signature = self.pair.sign(self.alg, token.as_bytes())?;
        token.push('.');
        append_base64url(&signature, &mut token);
        Ok(token)
    }
}

fn append_base64url(bytes: &[u8], out: &mut String) {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode_string(bytes, out);
}

fn ecdsa_algorithm(alg: SigningAlg) -> Option<&'static EcdsaSigningAlgorithm> {
    match alg {
        SigningAlg::ES256 => Some(&ECDSA_P256_SHA256_FIXED_SIGNING),
        SigningAlg::ES384 => Some(&ECDSA_P384_SHA384_FIXED_SIGNING),
        SigningAlg::RS256 | SigningAlg::RS384 => None,
    }
}

impl Pair {
    fn load(alg: SigningAlg, pkcs8: &[u8]) -> Result<Self, SigningError> {
        match ecdsa_algorithm(alg) {
            Some(ecdsa) => EcdsaKeyPair::from_pkcs8(ecdsa, pkcs8).map(Self::Ecdsa),
            None => RsaKeyPair::from_pkcs8(pkcs8).map(|pair| Self::Rsa(Box::new(pair))),
        }
        .map_err(|_| SigningError::BadKey)
    }

    fn sign(&self, alg: SigningAlg, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        let rng = SystemRandom::new();
        match self {
            Self::Ecdsa(pair) => {
                pair.sign(&rng, message).map(|signature| signature.as_ref().to_vec()).map_err(|_| SigningError::Sign)
            }
            Self::Rsa(pair) => {
                let padding = if alg == SigningAlg::RS256 { &RSA_PKCS1_SHA256 } else { &RSA_PKCS1_SHA384 };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &rng, message, &mut signature).map_err(|_| SigningError::Sign)?;
                Ok(signature)
            }
        }
    }

    /// Returns the thumbprint (RFC 7638) and the JWK as published. The members the thumbprint is made of come first and
    /// in the order section 3.2 asks for.
    fn public_jwk(&self, alg: SigningAlg) -> (String, String) {
        let required = match self {
            Self::Ecdsa(pair) => {
                let point = pair.public_key().as_ref().get(1..).unwrap_or_default();
                let (x, y) = point.split_at(point.len() / 2);
                let crv = if alg == SigningAlg::ES256 { "P-256" } else { "P-384" };
                json!({ "crv": crv, "kty": "EC", "x": encode_base64url(x), "y": encode_base64url(y) })
            }
            Self::Rsa(pair) => {
                let public = pair.public_key();
                let n = encode_base64url(public.modulus().big_endian_without_leading_zero());
                let e = encode_base64url(public.exponent().big_endian_without_leading_zero());
                json!({ "e": e, "kty": "RSA", "n": n })
            }
        };
        let kid = encode_base64url(&sha256(required.to_string().as_bytes()));
        let mut jwk = required;
        if let Some(members) = jwk.as_object_mut() {
            members.insert("use".to_owned(), json!("sig"));
            members.insert("alg".to_owned(), json!(alg.name()));
            members.insert("kid".to_owned(), json!(kid));
        }
        (kid, jwk.to_string())
    }
}
