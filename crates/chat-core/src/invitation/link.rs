//! The links that open invitations.

use std::fmt;

use async_trait::async_trait;

use crate::ports::StoreError;
use crate::user::{ApiKey, KeyHash, KeyHasher};

/// The secret part of an invitation link: 32 letters and digits, as in an API key.
///
/// Of a link that was sent to an address nothing but the hash is kept. One that anybody may use is shown again to those
/// who manage it, so the table of such links has it, encrypted.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(ApiKey);

impl Secret {
    /// A secret out of random letters.
    #[must_use]
    pub fn new(letters: ApiKey) -> Self {
        Self(letters)
    }

    /// Reads a secret.
    ///
    /// # Errors
    /// When it is not 32 ASCII letters and digits.
    pub fn parse(written: &str) -> Result<Self, MalformedLink> {
        ApiKey::parse(written).map(Self).map_err(|_| MalformedLink)
    }

    /// Returns the secret itself, for links and for who encrypts it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Its keyed hash, by which the realm of that hasher knows it.
    #[must_use]
    pub fn hash(&self, hasher: &KeyHasher) -> KeyHash {
        hasher.hash(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// The text is not an invitation link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no link of an invitation")]
pub struct MalformedLink;

/// A parsed invitation link: the id of the invitation, and its secret. The number is in it so that nothing has to be
/// looked for by a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The number of the invitation.
    pub number: i64,
    /// The secret.
    pub secret: Secret,
}

impl Link {
    /// Reads the end of a link: the number, a hyphen, the secret.
    ///
    /// # Errors
    /// When it has another form.
    pub fn parse(end: &str) -> Result<Self, MalformedLink> {
        let (number, secret) = end.split_once('-').ok_or(MalformedLink)?;
        let digits = number.len() <= 18 && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| number.parse().ok()).flatten().ok_or(MalformedLink)?;
        Ok(Self { number, secret: Secret::parse(secret)? })
    }

    /// What [`Link::parse`] reads.
    #[must_use]
    pub fn end(&self) -> String {
        format!("{}-{}", self.number, self.secret.expose())
    }

    /// Returns the link, on the server at that address.
    #[must_use]
    pub fn url(&self, base_url: &str) -> String {
        format!("{base_url}/join/{}", self.end())
    }
}

/// The store of invitation secrets that can be shown again.
#[async_trait]
pub trait LinkStore: Send + Sync {
    /// Returns the secrets of all links that anybody may use who has them, with the numbers of their invitations.
    async fn link_secrets(&self) -> Result<Vec<(i64, Secret)>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_as_it_was_written_and_does_not_print() {
        let link = Link { number: 12, secret: Secret::new(ApiKey::from_random(&[5; 64]).unwrap()) };
        let url = link.url("https://chat.example.org");
        let end = url.strip_prefix("https://chat.example.org/join/").unwrap();
        assert_eq!(Link::parse(end), Ok(link.clone()));
        assert!(!format!("{link:?}").contains(link.secret.expose()));
        let secret = link.secret.expose();
        for malformed in
            ["", "12", "12-", secret, &format!("-{secret}"), &format!("+1-{secret}"), &end[..end.len() - 1]]
        {
            assert_eq!(Link::parse(malformed), Err(MalformedLink), "{malformed}");
        }
    }
}
