//! Taking a compact JWS apart (RFC 7515, section 7.1) without believing any of it.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::decode_base64url;

/// The parts of a compact JWS, decoded but not verified.
#[derive(Debug)]
pub struct CompactJws<'a> {
    /// The decoded protected header.
    pub header: JwsHeader,
    payload: Vec<u8>,
    signing_input: &'a str,
    signature: Vec<u8>,
}

/// The header members this server reads. A member given twice makes the token malformed, as
/// RFC 7515, section 4 demands.
#[derive(Debug, Clone, Deserialize)]
pub struct JwsHeader {
    /// The algorithm as named by the sender; compared with an allow-list, never trusted.
    pub alg: String,
    /// The key's identifier.
    pub kid: Option<String>,
    /// The media type, `JWT`.
    pub typ: Option<String>,
    /// Where the sender says its keys are.
    pub jku: Option<String>,
    crit: Option<serde::de::IgnoredAny>,
}

impl JwsHeader {
    /// Returns whether the header lists critical extensions; this server understands none (RFC 7515, section 4.1.11).
    #[must_use]
    pub fn has_critical_extensions(&self) -> bool {
        self.crit.is_some()
    }
}

/// The reason why a text is not a compact JWS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompactJwsError {
    /// Longer than the caller allows.
    #[error("the token is longer than {0} bytes")]
    TooLong(usize),
    /// Not three parts.
    #[error("the token does not have three parts separated by dots")]
    NotThreeParts,
    /// A part is not base64url without padding.
    #[error("a part of the token is not unpadded base64url")]
    NotBase64Url,
    /// The header is not a JSON object with an `alg` string.
    #[error("the header is not a JSON object with an alg member")]
    BadHeader,
    /// The payload is not the JSON object expected.
    #[error("the payload is not a JSON object with members of the right types")]
    BadPayload,
}

impl<'a> CompactJws<'a> {
    /// Decodes `token`, at most `max_bytes` long. Cost: two small base64 decodings and one small
    /// JSON parse; no cryptography.
    ///
    /// # Errors
    /// Any [`CompactJwsError`] but [`CompactJwsError::BadPayload`].
    pub fn parse(token: &'a str, max_bytes: usize) -> Result<Self, CompactJwsError> {
        if token.len() > max_bytes {
            return Err(CompactJwsError::TooLong(max_bytes));
        }
        let (signing_input, signature) = token.rsplit_once('.').ok_or(CompactJwsError::NotThreeParts)?;
        let (header, payload) = signing_input.split_once('.').ok_or(CompactJwsError::NotThreeParts)?;
        if payload.contains('.') {
            return Err(CompactJwsError::NotThreeParts);
        }
        let decode = |part| decode_base64url(part).ok_or(CompactJwsError::NotBase64Url);
        let header = serde_json::from_slice(&decode(header)?).map_err(|_| CompactJwsError::BadHeader)?;
        Ok(Self { header, payload: decode(payload)?, signing_input, signature: decode(signature)? })
    }

    /// Returns the payload as `T`.
    ///
    /// # Errors
    /// [`CompactJwsError::BadPayload`].
    pub fn parse_payload<T: DeserializeOwned>(&self) -> Result<T, CompactJwsError> {
        serde_json::from_slice(&self.payload).map_err(|_| CompactJwsError::BadPayload)
    }

    /// Returns what was signed: the first two parts with the dot between them.
    #[must_use]
    pub fn signing_input(&self) -> &[u8] {
        self.signing_input.as_bytes()
    }

    /// Returns the signature as sent.
    #[must_use]
    pub fn signature(&self) -> &[u8] {
        &self.signature
    }
}
