//! Who notifies telephones.

use clap::Args;
use secrecy::{ExposeSecret as _, SecretString};

use super::{secret, together, value, word};

/// Who notifies telephones.
#[derive(Debug, Args)]
#[command(next_help_heading = "Mobile push")]
pub(crate) struct PushConfig {
    /// Address of the push bouncer, which notifies telephones; no trailing slash [default: none, nobody is
    /// notified]
    #[arg(id = "push-url", long = "push-url", env = "CHAT_PUSH_URL", value_name = "URL")]
    #[arg(value_parser = value::base_url)]
    url: Option<String>,
    /// What this server is called there
    #[arg(id = "push-id", long = "push-id", env = "CHAT_PUSH_ID", value_name = "NAME")]
    id: Option<String>,
    /// What it shows there
    #[arg(id = "push-key", long = "push-key", env = "CHAT_PUSH_KEY", value_name = "SECRET")]
    #[arg(value_parser = value::secret)]
    key: Option<SecretString>,
}

impl PushConfig {
    /// The bouncer's address, and name and key there.
    pub(crate) fn bouncer(&self) -> Option<(&str, &str, &str)> {
        let key = secret(self.key.as_ref())?.expose_secret();
        Some((word(self.url.as_ref())?, word(self.id.as_ref())?, key))
    }

    /// The three come together.
    pub(super) fn check(&self) -> Result<(), String> {
        let url = ("--push-url", word(self.url.as_ref()).is_some());
        let id = ("--push-id", word(self.id.as_ref()).is_some());
        let key = ("--push-key", secret(self.key.as_ref()).is_some());
        together(url, id)?;
        together(url, key)
    }
}
