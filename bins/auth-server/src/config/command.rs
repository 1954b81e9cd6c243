//! The subcommands and their own arguments.

use clap::{Args, Subcommand};
use oauth_core::jose::SigningAlg;
use secrecy::{ExposeSecret as _, SecretString};

use super::value;

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

/// What the process is to do.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Command {
    /// Serve (what happens without a subcommand)
    Serve,
    /// Look at the signing keys, and replace them without a break
    #[command(subcommand, arg_required_else_help = false)]
    Keys(KeysCommand),
}

/// What to do with the signing keys of the database.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum KeysCommand {
    /// Print the published keys, oldest first
    List,
    /// Add new keys; the old ones stay published until they are retired
    Rotate(RotateArgs),
    /// Withdraw a key at once: tokens it signed are refused from now on
    Retire {
        /// Key identifier, as printed by `keys list`; after `--` when it begins with `-h`
        #[arg(allow_hyphen_values = true)]
        kid: String,
    },
    /// Encrypt the private keys under another secret, all in one transaction; also those stored in clear
    ///
    /// Their secret until now is --key-encryption-secret; leave it out when they are not encrypted.
    Reseal(ResealArgs),
}

/// What the private keys are encrypted under from now on.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResealArgs {
    /// The new secret, at least 16 characters; every node is started with it as --key-encryption-secret from then on
    #[arg(long, env = "BOX_NEW_KEY_ENCRYPTION_SECRET", value_name = "SECRET", hide_env_values = true)]
    #[arg(value_parser = value::parse_secret)]
    new_key_encryption_secret: SecretString,
}

impl ResealArgs {
    pub(crate) const fn secret(&self) -> &SecretString {
        &self.new_key_encryption_secret
    }

    #[cfg(test)]
    pub(crate) fn to(secret: &str) -> Self {
        Self { new_key_encryption_secret: secret.into() }
    }
}

impl PartialEq for ResealArgs {
    fn eq(&self, other: &Self) -> bool {
        self.secret().expose_secret() == other.secret().expose_secret()
    }
}

impl Eq for ResealArgs {}

/// How new keys take over.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct RotateArgs {
    /// Seconds for which the new key is published before it signs, so that every cache has it by
    /// then; 0 signs at once
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    #[arg(value_parser = |text: &str| value::whole(text, 0, 2_592_000))]
    pub(crate) activate_after: u64,
    /// Replace the key of this algorithm alone [default: all of them]
    #[arg(long, value_name = "ALG", value_parser = value::algorithm)]
    #[arg(help = format!("Replace the key of this algorithm alone: {} [default: all of them]", value::ALGORITHMS))]
    pub(crate) alg: Option<SigningAlg>,
}
