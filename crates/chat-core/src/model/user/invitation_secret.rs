//! The secrets of invitation links, which are made and found as API keys are.

use std::fmt;

use super::{ApiKey, KeyHash, KeyHasher};

/// The secret part of an invitation link: 32 letters and digits, as in an API key.
///
/// Of a link that was sent to an address nothing but the hash is kept. One that anybody may use is shown again to those
/// who manage it, so the table of such links has it, encrypted.
#[derive(Clone, PartialEq, Eq)]
pub struct InvitationSecret(ApiKey);

impl InvitationSecret {
    /// Makes a secret from random letters and digits.
    #[must_use]
    pub fn new(letters: ApiKey) -> Self {
        Self(letters)
    }

    /// Parses the secret part of an invitation link.
    ///
    /// # Errors
    /// When it is not 32 ASCII letters and digits.
    pub fn parse(written: &str) -> Result<Self, MalformedInvitationLink> {
        ApiKey::parse(written).map(Self).map_err(|_| MalformedInvitationLink)
    }

    /// Returns the secret text, for links and for encryption.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Returns the keyed hash of the secret, by which the realm of that hasher knows it.
    #[must_use]
    pub fn hash(&self, hasher: &KeyHasher) -> KeyHash {
        hasher.hash(&self.0)
    }
}

impl fmt::Debug for InvitationSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// The text is not an invitation link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no link of an invitation")]
pub struct MalformedInvitationLink;
