//! The part of JOSE that this server uses: compact JWS (RFC 7515), JWK (RFC 7517) and four signature algorithms of RFC
//! 7518, over `aws-lc-rs` with keys parsed once.
//!
//! A general JWT library parses the private key at every signature, which costs more than the
//! signature itself; this layer exists for that reason alone, and the tests check it against one.

mod alg;
mod compact;
mod jwk;
mod shared;
mod sign;

pub use alg::SigningAlg;
pub use compact::{CompactJws, CompactJwsError, JwsHeader};
pub use jwk::{JwkError, JwkSetError, PublicKey, UsableJwkSet};
pub use shared::Hs256Key;
pub use sign::{GeneratedSigningKey, SigningError, SigningKey};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Encodes `bytes` as base64url without padding, the encoding of every JOSE part (RFC 7515, section 2).
#[must_use]
pub fn encode_base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes unpadded base64url; `None` when the text is not valid.
#[must_use]
pub fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Parses a `NumericDate`, which may have a fraction, into whole seconds, rounded down (RFC 7519, section 2).
#[must_use]
pub fn parse_numeric_date(value: &serde_json::Value) -> Option<i64> {
    match (value.as_i64(), value.as_f64()) {
        (Some(whole), _) => Some(whole),
        #[expect(clippy::cast_possible_truncation, reason = "bounded to years that exist in the line before")]
        (None, Some(fraction)) if fraction.abs() < 1e12 => Some(fraction.floor() as i64),
        _ => None,
    }
}

/// Returns the SHA-256 digest of `bytes`.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    let mut out = [0; 32];
    out.copy_from_slice(digest.as_ref());
    out
}
