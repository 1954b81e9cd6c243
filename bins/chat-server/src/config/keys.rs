//! The secret that API keys are encrypted under, and the commands that change it.

use clap::{Args, Subcommand};
use secrecy::{ExposeSecret as _, SecretString};
use server_kit::config::non_empty_secret;

use super::value;

/// Fewest characters of a key-encryption secret. Not specified; a shorter one can be guessed by those who have a copy
/// of the database, in spite of Argon2id.
const SECRET_MIN_CHARS: usize = 16;
/// What the `keys` commands read of the configuration.
pub(super) const KEYS_FLAGS: [&str; 7] = [
    "database-url",
    "data-dir",
    "database-connections",
    "key-encryption-secret",
    "new-key-encryption-secret",
    "log-format",
    "log-filter",
];

/// What the secrets in the database are encrypted under.
#[derive(Debug, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct KeyConfig {
    /// Encrypts the key that API keys, links of invitations and waiting letters are encrypted under in the database, at
    /// least 16 characters; the database needs it from its first start with it. `keys reseal` changes it
    /// [default: that key stands beside them]
    #[arg(long, env = "CHAT_KEY_ENCRYPTION_SECRET", value_name = "SECRET", value_parser = value::parse_secret)]
    key_encryption_secret: Option<SecretString>,
}

/// What to do with the key of the secrets in the database.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum KeysCommand {
    /// Encrypt the key of the secrets in the database under another secret
    ///
    /// Its secret until now is --key-encryption-secret; leave it out when there was none. Servers that run go on, and
    /// need the new secret at their next start.
    Reseal(ResealArgs),
    /// Give up every API key, open link and waiting letter, as when the secret is lost or has leaked
    ///
    /// No server may run on the database in the meantime. People get new API keys when they sign in with their
    /// passwords, bots when their owners make them new ones; links and invitations are made or sent again.
    /// --key-encryption-secret is the secret from now on.
    Discard,
}

/// What the key is encrypted under from now on.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResealArgs {
    /// The new secret, at least 16 characters; every server is started with it as --key-encryption-secret from then on
    #[arg(long, env = "CHAT_NEW_KEY_ENCRYPTION_SECRET", value_name = "SECRET", hide_env_values = true)]
    #[arg(value_parser = value::parse_secret)]
    pub(crate) new_key_encryption_secret: SecretString,
}

impl KeyConfig {
    /// Returns the secret, when the operator set one.
    pub(crate) fn secret(&self) -> Option<&SecretString> {
        non_empty_secret(self.key_encryption_secret.as_ref())
    }

    /// Not by the parsers of the values, which would print them.
    pub(super) fn check(&self, command: Option<&KeysCommand>) -> Result<(), String> {
        let new = match command {
            Some(KeysCommand::Reseal(how)) => Some(&how.new_key_encryption_secret),
            Some(KeysCommand::Discard) | None => None,
        };
        let given = [("--key-encryption-secret", self.secret()), ("--new-key-encryption-secret", new)];
        for (flag, secret) in given {
            if secret.is_some_and(|secret| secret.expose_secret().chars().count() < SECRET_MIN_CHARS) {
                return Err(format!(
                    "invalid value '…' for '{flag} <SECRET>': must be at least {SECRET_MIN_CHARS} characters long"
                ));
            }
        }
        Ok(())
    }
}
