//! How letters go out, and what invitations may.

use clap::Args;
use lettre::message::Mailbox;
use secrecy::{ExposeSecret as _, SecretString};

use super::value::{self, DEFAULT_FROM};

/// How letters go out.
#[derive(Debug, Args)]
#[command(next_help_heading = "Mail")]
pub(crate) struct MailConfig {
    /// SMTP server that takes letters, as scheme://user:password@host:port, the last three as it needs
    /// them: scheme smtps is TLS from the start (port 465), smtp is STARTTLS (port 587) and to an address
    /// of this machine no TLS (port 25); ?tls=opportunistic takes what the server offers
    /// [default: none, each letter is a file in `mail` below --data-dir]
    #[arg(long, env = "CHAT_SMTP_URL", value_name = "URL", value_parser = value::parse_secret)]
    smtp_url: Option<SecretString>,
    /// Sender of letters: an address, or a name and an address: Acme chat <chat@example.org>. Needed with
    /// --smtp-url
    #[arg(id = "mail-from", long = "mail-from", env = "CHAT_MAIL_FROM", value_name = "ADDRESS", default_value = DEFAULT_FROM)]
    #[arg(value_parser = value::mailbox)]
    pub(crate) from: Mailbox,
}

impl MailConfig {
    /// Returns the SMTP server, when there is one. It may hold a password.
    pub(crate) fn smtp_url(&self) -> Option<&str> {
        self.smtp_url.as_ref().map(SecretString::expose_secret).filter(|url| !url.is_empty())
    }

    /// A server that takes letters refuses those of nobody.
    pub(super) fn check(&self) -> Result<(), String> {
        let Some(url) = self.smtp_url() else { return Ok(()) };
        value::smtp_url(url)?;
        if self.from.email.to_string() == DEFAULT_FROM {
            return Err("--smtp-url is set, and needs --mail-from with it".to_owned());
        }
        Ok(())
    }
}

/// What invitations may.
#[derive(Debug, Args)]
#[command(next_help_heading = "Invitations")]
pub(crate) struct InvitationConfig {
    /// Minutes for which an invitation holds when the inviter says nothing
    #[arg(long, env = "CHAT_INVITATION_VALIDITY", value_name = "MINUTES", default_value = "14400")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 5_256_000))]
    invitation_validity: u64,
    /// Letters of invitation that may be sent in 24 hours; further invitations are refused
    #[arg(long, env = "CHAT_INVITATIONS_PER_DAY", value_name = "COUNT", default_value = "1000")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 100_000))]
    invitations_per_day: u64,
}

impl InvitationConfig {
    pub(crate) fn validity_min(&self) -> i64 {
        i64::try_from(self.invitation_validity).unwrap_or(i64::MAX)
    }

    pub(crate) fn per_day(&self) -> usize {
        usize::try_from(self.invitations_per_day).unwrap_or(usize::MAX)
    }
}
