//! Public keys of others: one JWK, and sets of them (RFC 7517).

use aws_lc_rs::signature::{ParsedPublicKey, RsaPublicKeyComponents};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject as _;
use serde::Deserialize;
use serde_json::Value;

use super::{SigningAlg, decode_base64url};
use crate::limits::{JWKS_MAX_KEYS, KID_MAX_BYTES};

/// A public key that verifies signatures of one algorithm, parsed once.
#[derive(Clone)]
pub struct PublicKey {
    kid: String,
    alg: SigningAlg,
    key: ParsedPublicKey,
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PublicKey").field("kid", &self.kid).field("alg", &self.alg).finish_non_exhaustive()
    }
}

/// The reason why a JWK is not a key this server verifies with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwkError {
    /// Not an object, or a member of the wrong type.
    #[error("the key is not a JSON object with members of the right types")]
    Malformed,
    /// `kid` is missing, empty or too long.
    #[error("the key has no usable kid")]
    NoKid,
    /// A member that RFC 7518 requires for the key type is missing or not base64url.
    #[error("the key's member {0} is missing or not base64url")]
    BadMember(&'static str),
    /// Only RSA and EC keys are used.
    #[error("the key type is not RSA or EC")]
    UnknownKeyType,
    /// An EC key on another curve than the algorithm needs.
    #[error("the key's curve does not fit: ES384 needs P-384, ES256 needs P-256")]
    UnknownCurve,
    /// The key may not be used for signatures (`use`, `key_ops`) or names another `alg`.
    #[error("the key is not for verifying signatures with an accepted algorithm")]
    OtherUse,
    /// The numbers are not a key: a point off the curve, a modulus under 2,048 bits.
    #[error("the key's numbers are not a valid public key of at least 2048 bits (RSA) or on the curve (EC)")]
    Invalid,
    /// The key carries private members.
    #[error("the key carries private members; publish the public key only")]
    Private,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    r#use: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

impl PublicKey {
    /// Reads a key a client signs assertions with: RSA for RS384, EC on P-384 for ES384.
    /// Members this server does not know are ignored.
    ///
    /// # Errors
    /// Any [`JwkError`].
    ///
    /// # Source
    /// Specification, Client JWKS; RFC 7517, section 4; RFC 7518, section 6.
    pub fn from_client_assertion_jwk(jwk: &Value) -> Result<Self, JwkError> {
        let alg = match jwk.get("kty").and_then(Value::as_str) {
            Some("RSA") => SigningAlg::RS384,
            Some("EC") => SigningAlg::ES384,
            Some(_) => return Err(JwkError::UnknownKeyType),
            None => return Err(JwkError::Malformed),
        };
        Self::from_jwk(jwk, alg)
    }

    /// Reads a key that verifies `alg`.
    ///
    /// # Errors
    /// Any [`JwkError`].
    pub fn from_jwk(jwk: &Value, alg: SigningAlg) -> Result<Self, JwkError> {
        if PRIVATE_MEMBERS.iter().any(|member| jwk.get(member).is_some()) {
            return Err(JwkError::Private);
        }
        let jwk = Jwk::deserialize(jwk).map_err(|_| JwkError::Malformed)?;
        let kid = jwk.kid.clone().filter(|kid| !kid.is_empty() && kid.len() <= KID_MAX_BYTES);
        let kid = kid.ok_or(JwkError::NoKid)?;
        jwk.check_use(alg)?;
        let key = match (jwk.kty.as_str(), alg.ecdsa(), alg.rsa()) {
            ("EC", Some(_), _) => jwk.ec_key(alg)?,
            ("RSA", _, Some(_)) => jwk.rsa_key(alg)?,
            _ => return Err(JwkError::UnknownKeyType),
        };
        Ok(Self { kid, alg, key })
    }

    /// Reads a key that verifies `alg` from PEM (RFC 7468, section 13). It has no identifier.
    ///
    /// # Errors
    /// [`JwkError::Private`] for a private key, and [`JwkError::Invalid`].
    pub fn from_pem(pem: &str, alg: SigningAlg) -> Result<Self, JwkError> {
        if pem.contains("PRIVATE KEY") {
            return Err(JwkError::Private);
        }
        let spki = SubjectPublicKeyInfoDer::from_pem_slice(pem.as_bytes()).map_err(|_| JwkError::Invalid)?;
        let key = match (alg.ecdsa(), alg.rsa()) {
            (Some(algorithm), _) => ParsedPublicKey::new(algorithm, spki.as_ref()),
            (None, Some(parameters)) => ParsedPublicKey::new(parameters, spki.as_ref()),
            (None, None) => return Err(JwkError::UnknownKeyType),
        };
        Ok(Self { kid: String::new(), alg, key: key.map_err(|_| JwkError::Invalid)? })
    }

    /// Returns the key's identifier.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the one algorithm this key verifies.
    #[must_use]
    pub const fn alg(&self) -> SigningAlg {
        self.alg
    }

    /// Returns whether `signature` over `message` is this key's. Cost: 145 µs for ES384, 13 µs for RS384.
    #[must_use]
    pub fn verifies_signature(&self, message: &[u8], signature: &[u8]) -> bool {
        self.key.verify_sig(message, signature).is_ok()
    }
}

impl Jwk {
    fn check_use(&self, alg: SigningAlg) -> Result<(), JwkError> {
        let for_signatures = self.r#use.as_deref().is_none_or(|usage| usage == "sig");
        let verifies = self.key_ops.as_ref().is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        let same_alg = self.alg.as_deref().is_none_or(|name| name == alg.name());
        if for_signatures && verifies && same_alg { Ok(()) } else { Err(JwkError::OtherUse) }
    }

    fn ec_key(&self, alg: SigningAlg) -> Result<ParsedPublicKey, JwkError> {
        let (curve, coordinate_bytes) = match alg {
            SigningAlg::ES256 => ("P-256", 32),
            _ => ("P-384", 48),
        };
        if self.crv.as_deref() != Some(curve) {
            return Err(JwkError::UnknownCurve);
        }
        let mut point = Vec::with_capacity(1 + 2 * coordinate_bytes);
        point.push(4); // uncompressed (SEC 1, section 2.3.3)
        for (name, member) in [("x", &self.x), ("y", &self.y)] {
            let coordinate = decode(name, member.as_deref())?;
            if coordinate.len() != coordinate_bytes {
                return Err(JwkError::BadMember(name));
            }
            point.extend_from_slice(&coordinate);
        }
        let algorithm = alg.ecdsa().ok_or(JwkError::UnknownKeyType)?;
        ParsedPublicKey::new(algorithm, &point).map_err(|_| JwkError::Invalid)
    }

    fn rsa_key(&self, alg: SigningAlg) -> Result<ParsedPublicKey, JwkError> {
        let n = unsigned(decode("n", self.n.as_deref())?);
        let e = unsigned(decode("e", self.e.as_deref())?);
        if n.len() < 256 || n.len() > 1024 || e.len() > 8 {
            return Err(JwkError::Invalid);
        }
        let parameters = alg.rsa().ok_or(JwkError::UnknownKeyType)?;
        RsaPublicKeyComponents { n, e }.to_parsed_public_key(parameters).map_err(|_| JwkError::Invalid)
    }
}

fn decode(name: &'static str, member: Option<&str>) -> Result<Vec<u8>, JwkError> {
    member.and_then(decode_base64url).filter(|bytes| !bytes.is_empty()).ok_or(JwkError::BadMember(name))
}

/// RFC 7518, section 6.3.1.1 forbids leading zero octets, but some libraries write one.
fn unsigned(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    bytes
}

/// The usable keys of a JWK Set.
#[derive(Debug, Clone, Default)]
pub struct UsableJwkSet {
    keys: Vec<PublicKey>,
}

/// The reason why a document is not a JWK Set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwkSetError {
    /// Not JSON with a `keys` array (RFC 7517, section 5).
    #[error("the document is not a JSON object with a keys array")]
    Malformed,
    /// More keys than the limit.
    #[error("the set holds more than {JWKS_MAX_KEYS} keys")]
    TooManyKeys,
}

impl UsableJwkSet {
    /// Reads a fetched set. A key is there once for each algorithm it verifies. Keys this server cannot use are
    /// skipped, as RFC 7517, section 5 asks.
    ///
    /// # Errors
    /// Any [`JwkSetError`].
    pub fn parse(document: &[u8]) -> Result<Self, JwkSetError> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }
        let document: Document = serde_json::from_slice(document).map_err(|_| JwkSetError::Malformed)?;
        Self::from_jwk_values(&document.keys)
    }

    /// Returns the usable keys among `jwks`.
    ///
    /// # Errors
    /// [`JwkSetError::TooManyKeys`].
    pub fn from_jwk_values(jwks: &[Value]) -> Result<Self, JwkSetError> {
        if jwks.len() > JWKS_MAX_KEYS {
            return Err(JwkSetError::TooManyKeys);
        }
        let readings = |jwk| SigningAlg::ALL.into_iter().filter_map(move |alg| PublicKey::from_jwk(jwk, alg).ok());
        Ok(Self { keys: jwks.iter().flat_map(readings).collect() })
    }

    /// Returns the keys with this identifier that verify `alg`.
    pub fn matching_keys<'a>(&'a self, kid: &'a str, alg: SigningAlg) -> impl Iterator<Item = &'a PublicKey> {
        self.keys.iter().filter(move |key| key.kid == kid && key.alg == alg)
    }

    /// Returns whether a key has this identifier and verifies `alg`. A `kid` may stand on keys of different types (RFC
    /// 7517, section 4.5).
    #[must_use]
    pub fn has_matching_key(&self, kid: &str, alg: SigningAlg) -> bool {
        self.keys.iter().any(|key| key.kid == kid && key.alg == alg)
    }

    /// Number of usable keys, each counted once for every algorithm it verifies.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether the set holds no usable key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}
