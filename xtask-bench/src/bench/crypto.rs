//! Keys of the benches: what partners sign assertions with, and what the limits are measured on.

use anyhow::{Context, Result};
use aws_lc_rs::{
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED,
        ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA384,
        RSA_PKCS1_SHA384, RsaKeyPair,
    },
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// What signs, by its name in a JOSE header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Es256,
    Es384,
    Rs384,
}

/// A key pair made for one run, parsed once on both sides.
#[derive(Debug)]
pub(super) struct Key {
    pair: Pair,
    public: ParsedPublicKey,
    algorithm: Algorithm,
}

#[derive(Debug)]
enum Pair {
    Ecdsa(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl Algorithm {
    /// Its name in a JOSE header (RFC 7518, section 3.1).
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs384 => "RS384",
        }
    }
}

impl Key {
    /// A new key; RSA has 2,048 bits, as most partners use.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub(super) fn generate(algorithm: Algorithm) -> Result<Self> {
        let (pair, public) = match algorithm {
            Algorithm::Es256 => {
                let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)?;
                let public = ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref())?;
                (Pair::Ecdsa(pair), public)
            }
            Algorithm::Es384 => {
                let pair = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING)?;
                let public = ParsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, pair.public_key().as_ref())?;
                (Pair::Ecdsa(pair), public)
            }
            Algorithm::Rs384 => {
                let pair = RsaKeyPair::generate(KeySize::Rsa2048)?;
                let public = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA384, pair.public_key().as_ref())?;
                (Pair::Rsa(pair), public)
            }
        };
        Ok(Self { pair, public, algorithm })
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Signs as JOSE wants it.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub(super) fn sign(&self, random: &SystemRandom, message: &[u8]) -> Result<Vec<u8>> {
        match &self.pair {
            Pair::Ecdsa(pair) => Ok(pair.sign(random, message).context("cannot sign")?.as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA384, random, message, &mut signature).context("cannot sign")?;
                Ok(signature)
            }
        }
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.public.verify_sig(message, signature).is_ok()
    }

    /// The public key as a Client registers it.
    ///
    /// # Source
    /// RFC 7518, sections 6.2.1 and 6.3.1.
    pub(super) fn jwk(&self, id: &str) -> Value {
        let mut jwk = match &self.pair {
            Pair::Ecdsa(pair) => {
                // One byte says that the point is not compressed; two coordinates of equal length follow.
                let point = pair.public_key().as_ref().get(1..).unwrap_or_default();
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if self.algorithm == Algorithm::Es256 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": curve, "x": encoded(x), "y": encoded(y)})
            }
            Pair::Rsa(pair) => {
                let public = pair.public_key();
                let modulus = encoded(public.modulus().big_endian_without_leading_zero());
                let exponent = encoded(public.exponent().big_endian_without_leading_zero());
                json!({"kty": "RSA", "n": modulus, "e": exponent})
            }
        };
        if let Some(members) = jwk.as_object_mut() {
            members.insert("use".into(), "sig".into());
            members.insert("alg".into(), self.algorithm.name().into());
            members.insert("kid".into(), id.into());
        }
        jwk
    }
}

/// base64url without padding, the encoding of all JOSE.
pub(super) fn encoded(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_verifies_with_its_own_key_and_message_alone() {
        let random = SystemRandom::new();
        for algorithm in [Algorithm::Es256, Algorithm::Es384, Algorithm::Rs384] {
            let (key, other) = (Key::generate(algorithm).unwrap(), Key::generate(algorithm).unwrap());
            let signature = key.sign(&random, b"message").unwrap();
            assert!(key.verifies(b"message", &signature), "{algorithm:?}");
            assert!(!key.verifies(b"massage", &signature), "{algorithm:?}");
            assert!(!other.verifies(b"message", &signature), "{algorithm:?}");
        }
    }

    #[test]
    fn a_published_key_verifies_for_others() {
        let random = SystemRandom::new();
        for algorithm in [Algorithm::Es384, Algorithm::Rs384] {
            let key = Key::generate(algorithm).unwrap();
            let jwk = serde_json::from_value(key.jwk("k")).unwrap();
            let signature = encoded(&key.sign(&random, b"message").unwrap());
            let read = jsonwebtoken::DecodingKey::from_jwk(&jwk).unwrap();
            let named = algorithm.name().parse().unwrap();
            assert!(jsonwebtoken::crypto::verify(&signature, b"message", &read, named).unwrap(), "{algorithm:?}");
        }
    }
}
