//! The links that open invitations.

use async_trait::async_trait;

use crate::StoreError;
use crate::model::user::{InvitationSecret, MalformedInvitationLink};

/// A parsed invitation link: the id of the invitation, and its secret. The number is in it so that nothing has to be
/// looked for by a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationLink {
    /// The number of the invitation.
    pub number: i64,
    /// The secret.
    pub secret: InvitationSecret,
}

impl InvitationLink {
    /// Parses the last part of a link: the id, a hyphen and the secret.
    ///
    /// # Errors
    /// When it has another form.
    pub fn parse(end: &str) -> Result<Self, MalformedInvitationLink> {
        let (number, secret) = end.split_once('-').ok_or(MalformedInvitationLink)?;
        let digits = number.len() <= 18 && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| number.parse().ok()).flatten().ok_or(MalformedInvitationLink)?;
        Ok(Self { number, secret: InvitationSecret::parse(secret)? })
    }

    /// Returns the last part of the link, which [`InvitationLink::parse`] reads.
    #[must_use]
    pub fn url_suffix(&self) -> String {
        format!("{}-{}", self.number, self.secret.expose())
    }

    /// Returns the full URL of the link at that base URL.
    #[must_use]
    pub fn url(&self, base_url: &str) -> String {
        format!("{base_url}/join/{}", self.url_suffix())
    }
}

/// The store of the secrets of reusable invitation links.
#[async_trait]
pub trait ReusableInvitationStore: Send + Sync {
    /// Returns the secrets of all reusable links, with the ids of their invitations.
    async fn reusable_link_secrets(&self) -> Result<Vec<(i64, InvitationSecret)>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::user::ApiKey;

    #[test]
    fn a_link_is_read_as_it_was_written_and_does_not_print() {
        let link = InvitationLink { number: 12, secret: InvitationSecret::new(ApiKey::from_random(&[5; 64]).unwrap()) };
        let url = link.url("https://chat.example.org");
        let end = url.strip_prefix("https://chat.example.org/join/").unwrap();
        assert_eq!(InvitationLink::parse(end), Ok(link.clone()));
        assert!(!format!("{link:?}").contains(link.secret.expose()));
        let secret = link.secret.expose();
        for malformed in
            ["", "12", "12-", secret, &format!("-{secret}"), &format!("+1-{secret}"), &end[..end.len() - 1]]
        {
            assert_eq!(InvitationLink::parse(malformed), Err(MalformedInvitationLink), "{malformed}");
        }
    }
}
