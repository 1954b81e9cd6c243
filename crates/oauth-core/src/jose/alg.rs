//! The signature algorithms in use.

use std::str::FromStr;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, EcdsaVerificationAlgorithm, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RsaParameters,
};
use serde::{Deserialize, Serialize};

/// A JWS signature algorithm that this server signs with. It accepts two of them from clients, and all from token
/// issuers (RFC 7518, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SigningAlg {
    /// ECDSA on P-256 with SHA-256: the default of access tokens.
    ES256,
    /// ECDSA on P-384 with SHA-384: client assertions (SMART Backend Services).
    ES384,
    /// RSASSA-PKCS1-v1_5 with SHA-256: id tokens (OpenID Connect Core, section 15.1).
    RS256,
    /// RSASSA-PKCS1-v1_5 with SHA-384: client assertions (SMART Backend Services).
    RS384,
}

impl SigningAlg {
    /// Every algorithm, in the order keys are generated.
    pub const ALL: [Self; 4] = [Self::ES256, Self::ES384, Self::RS256, Self::RS384];

    /// Returns the name in a JOSE header.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ES256 => "ES256",
            Self::ES384 => "ES384",
            Self::RS256 => "RS256",
            Self::RS384 => "RS384",
        }
    }

    /// Returns whether a client assertion may be signed with it (specification, Client assertion JWT).
    #[must_use]
    pub const fn allowed_for_client_assertions(self) -> bool {
        matches!(self, Self::ES384 | Self::RS384)
    }

    pub(super) fn ecdsa(self) -> Option<&'static EcdsaVerificationAlgorithm> {
        match self {
            Self::ES256 => Some(&ECDSA_P256_SHA256_FIXED),
            Self::ES384 => Some(&ECDSA_P384_SHA384_FIXED),
            Self::RS256 | Self::RS384 => None,
        }
    }

    pub(super) fn rsa(self) -> Option<&'static RsaParameters> {
        match self {
            Self::RS256 => Some(&RSA_PKCS1_2048_8192_SHA256),
            Self::RS384 => Some(&RSA_PKCS1_2048_8192_SHA384),
            Self::ES256 | Self::ES384 => None,
        }
    }
}

impl std::fmt::Display for SigningAlg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The error of parsing an algorithm name that is not one of ES256, ES384, RS256, RS384.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the algorithm must be one of ES256, ES384, RS256, RS384")]
pub struct UnknownAlgorithmError;

impl FromStr for SigningAlg {
    type Err = UnknownAlgorithmError;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithmError> {
        Self::ALL.into_iter().find(|alg| alg.name() == name).ok_or(UnknownAlgorithmError)
    }
}
