//! What browsers may.

use clap::Args;

use super::value;

/// What browsers may.
#[derive(Debug, Args)]
#[command(next_help_heading = "Browsers")]
pub(crate) struct BrowserConfig {
    /// Seconds without use after which a browser is signed out
    #[arg(long, env = "CHAT_SESSION_LIFETIME", value_name = "SECONDS", default_value = "2592000")]
    #[arg(value_parser = |text: &str| value::whole(text, 86_400, 34_560_000))]
    session_lifetime: u64,
}

impl BrowserConfig {
    pub(crate) fn session_lifetime_s(&self) -> i64 {
        i64::try_from(self.session_lifetime).unwrap_or(i64::MAX)
    }
}
