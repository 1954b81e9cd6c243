//! Configuration: flags, their environment variables, and one line for whoever gets one wrong.
//!
//! One struct per concern. What a single value must be is decided by its parser ([`value`]); rules
//! across values are in [`Config::check`].

mod browser;
mod development;
mod files;
mod keys;
mod mail;
mod push;
mod value;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chat_core::import_export::export::OriginalServerRelease;
use chat_core::model::role::Role;
use clap::{ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use secrecy::SecretString;
use server_kit::config::{
    ConfigEarlyExit, apply_common_flag_settings, hide_flags_except, non_empty_secret, non_empty_secret_text,
    non_empty_text, path_if_set, require_both_or_neither,
};
use server_kit::logging::LogFormat;
use server_kit::trusted_proxies::TrustedProxies;
use tracing_subscriber::EnvFilter;

pub(crate) use browser::BrowserConfig;
pub(crate) use development::DevelopmentConfig;
pub(crate) use files::{Bucket, FileConfig};
use keys::KEYS_FLAGS;
pub(crate) use keys::{KeyConfig, KeysCommand};
pub(crate) use mail::{InvitationConfig, MailConfig};
pub(crate) use push::{AppleConfig, PushConfig};

const ABOUT: &str = "Team-chat server with the REST API existing clients speak.";
const AFTER: &str = "\
Every setting is a flag or an environment variable; the flag wins. An empty text counts as absent.
No .env file is read.

Example, to try it out (then: curl http://127.0.0.1:9991/api/v1/server_settings):
  chat-server --realm-name Acme --owner-email ada@example.org --owner-password change-me

Example, behind a proxy that serves https://chat.example.org:
  DATABASE_URL=postgres://chat@db/chat \\
  chat-server --listen 0.0.0.0:9991 --base-url https://chat.example.org --log-format json";

/// What `import` reads of the configuration, and `export` but for the address.
const IMPORT_FLAGS: [&str; 12] = [
    "base-url",
    "database-url",
    "data-dir",
    "database-connections",
    "key-encryption-secret",
    "files-url",
    "s3-endpoint",
    "s3-region",
    "s3-access-key-id",
    "s3-secret-access-key",
    "log-format",
    "log-filter",
];
/// What the `user` commands read of the configuration.
const USER_FLAGS: [&str; 6] =
    ["database-url", "data-dir", "database-connections", "key-encryption-secret", "log-format", "log-filter"];

/// What the organization is called when nobody said.
const REALM_NAME: &str = "Chat";
/// What its owner is called when nobody said.
const OWNER_NAME: &str = "Owner";

/// What the operator decided.
#[derive(Debug, Parser)]
#[command(name = "chat-server", version, about = ABOUT, max_term_width = 100, after_help = AFTER)]
pub(crate) struct Config {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    pub(crate) address: AddressConfig,
    #[command(flatten)]
    pub(crate) database: DatabaseConfig,
    #[command(flatten)]
    pub(crate) keys: KeyConfig,
    #[command(flatten)]
    pub(crate) files: FileConfig,
    #[command(flatten)]
    pub(crate) realm: RealmConfig,
    #[command(flatten)]
    pub(crate) mail: MailConfig,
    #[command(flatten)]
    pub(crate) invitations: InvitationConfig,
    #[command(flatten)]
    pub(crate) browser: BrowserConfig,
    #[command(flatten)]
    pub(crate) push: PushConfig,
    #[command(flatten)]
    pub(crate) limits: LimitConfig,
    #[command(flatten)]
    pub(crate) observing: ObservingConfig,
    #[command(flatten)]
    pub(crate) development: DevelopmentConfig,
}

/// What the process is to do.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Serve (what happens without a subcommand)
    Serve,
    /// Make and change accounts, beside a running server too; prints JSON
    #[command(subcommand, arg_required_else_help = false)]
    User(UserCommand),
    /// Change what the secrets in the database are encrypted under, or give them up
    #[command(subcommand, arg_required_else_help = false)]
    Keys(KeysCommand),
    /// Take over an organization from the unpacked export of another server, into an empty database; prints as
    /// JSON what was taken over and what was not. After an import that broke off, the same command goes on.
    /// No server may run on the database in the meantime
    Import {
        /// Folder with realm.json, messages-000001.json, and files in uploads, avatars and emoji
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Import although the organization forbids something there that cannot be forbidden here; the refusal without
        /// it names what [default: false]
        #[arg(long, env = "CHAT_ACCEPT_LOST_RESTRICTIONS", value_name = "BOOL", default_value = "false")]
        #[arg(value_parser = value::parse_boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true)]
        #[arg(default_missing_value = "true", hide_default_value = true)]
        accept_lost_restrictions: bool,
    },
    /// Write the organization into a new folder, in the layout that `import` reads, as it is at the moment the command
    /// begins; prints as JSON what is in it and what is not. Servers may run on the database in the meantime
    Export {
        /// Folder that does not exist yet, or is empty
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Release of the original server that shall take it in: 9.2 or 11.0
        #[arg(long = "for", env = "CHAT_EXPORT_FOR", value_name = "RELEASE", default_value = "11.0")]
        #[arg(value_parser = value::release)]
        release: OriginalServerRelease,
    },
}

/// What to do with an account.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum UserCommand {
    /// Make an account and print its API key
    Create(CreateUser),
    /// Close an account and those of its bots; its messages stay
    Deactivate {
        /// Address of the account
        #[arg(long, value_name = "ADDRESS")]
        email: String,
    },
    /// Give an account another role
    SetRole {
        /// Address of the account
        #[arg(long, value_name = "ADDRESS")]
        email: String,
        #[arg(long, value_name = "ROLE", value_parser = value::role)]
        #[arg(help = format!("Its new role: {}", value::ROLES))]
        role: Role,
    },
    /// Give an account another password, as after an import, which brings none; its API key stays
    SetPassword(SetPassword),
    /// Print the path of a link that signs a browser in as the account, once and within 15 minutes
    SignInLink {
        /// Address of the account
        #[arg(long, value_name = "ADDRESS")]
        email: String,
    },
    /// Let an administrator give other users addresses over the API, without confirmation
    PermitEmailChanges {
        /// Address of the administrator's account
        #[arg(long, value_name = "ADDRESS")]
        email: String,
        /// No longer let them
        #[arg(long)]
        revoke: bool,
    },
    /// Give an account another API key and print it; the old one opens nothing from now on
    ResetApiKey {
        /// Address of the account
        #[arg(long, value_name = "ADDRESS")]
        email: String,
    },
}

/// The account to make.
#[derive(Debug, Clone, Args)]
pub(crate) struct CreateUser {
    /// Its address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) email: String,
    /// Its full name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    #[arg(long, value_name = "ROLE", default_value = "member", value_parser = value::role)]
    #[arg(help = format!("Its role: {}", value::ROLES))]
    pub(crate) role: Role,
    /// Its password, which other users of this machine may see while the command runs
    /// [default: none, the API key alone opens it]
    #[arg(long, value_name = "SECRET", value_parser = value::parse_secret, conflicts_with = "password_stdin")]
    pub(crate) password: Option<SecretString>,
    /// Read its password from stdin
    #[arg(long)]
    pub(crate) password_stdin: bool,
}

/// The account whose password is to be another.
#[derive(Debug, Clone, Args)]
pub(crate) struct SetPassword {
    /// Its address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) email: String,
    /// Its password, which other users of this machine may see while the command runs
    #[arg(long, value_name = "SECRET", value_parser = value::parse_secret)]
    #[arg(conflicts_with = "password_stdin", required_unless_present = "password_stdin")]
    pub(crate) password: Option<SecretString>,
    /// Read its password from stdin
    #[arg(long)]
    pub(crate) password_stdin: bool,
}

/// Where the server listens, and what it is called.
#[derive(Debug, Args)]
#[command(next_help_heading = "Address")]
pub(crate) struct AddressConfig {
    /// IP address and port to listen on; port 0 picks a free one
    #[arg(long, env = "CHAT_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:9991")]
    #[arg(value_parser = value::address)]
    pub(crate) listen: SocketAddr,
    /// Public address of the server, as clients are told it; no trailing slash
    /// [default: http:// and the bound address]
    #[arg(long, env = "CHAT_BASE_URL", value_name = "URL", value_parser = value::base_url)]
    base_url: Option<String>,
    /// Brand word, lower case: the fields that name version and feature level are sent with this prefix
    /// too, which existing clients look for; empty sends the `service_` names alone
    #[arg(long, env = "CHAT_BRAND", value_name = "WORD", default_value = "zulip", value_parser = value::brand)]
    pub(crate) brand: String,
    /// PEM file with the certificate chain, to serve TLS directly; read again at SIGHUP
    /// [default: off, a proxy does it]
    #[arg(long, env = "CHAT_TLS_CERT", value_name = "FILE", value_parser = value::parse_path)]
    tls_cert: Option<PathBuf>,
    /// PEM file with the private key of --tls-cert
    #[arg(long, env = "CHAT_TLS_KEY", value_name = "FILE", value_parser = value::parse_path)]
    tls_key: Option<PathBuf>,
    /// IP addresses and networks of the proxies before this server, separated by commas. From them, and from
    /// nobody else, the header X-Forwarded-For is read: limits then count who asked the proxy, and
    /// connections of a proxy are counted for no address [default: none]
    #[arg(long, env = "CHAT_TRUSTED_PROXIES", value_name = "ADDRESSES", default_value = "", hide_default_value = true)]
    #[arg(value_parser = value::proxies)]
    pub(crate) trusted_proxies: TrustedProxies,
}

impl AddressConfig {
    /// Returns the public address, when the operator gave one.
    pub(crate) fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref().filter(|url| !url.is_empty())
    }

    /// Certificate and key, when TLS is to be served.
    pub(crate) fn tls_files(&self) -> Option<(&Path, &Path)> {
        Some((path_if_set(self.tls_cert.as_ref())?, path_if_set(self.tls_key.as_ref())?))
    }
}

/// Where everything is kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Database")]
pub(crate) struct DatabaseConfig {
    /// postgres:// URL of the database [default: SQLite, embedded, in --data-dir]
    #[arg(long, env = "DATABASE_URL", value_name = "URL", value_parser = value::parse_secret)]
    database_url: Option<SecretString>,
    /// Directory of the embedded database and of uploaded files; created when it is not there
    #[arg(long, env = "CHAT_DATA_DIR", value_name = "DIRECTORY", default_value = "./data/chat")]
    pub(crate) data_dir: PathBuf,
    /// Connections to Postgres, at most
    #[arg(long, env = "CHAT_DATABASE_CONNECTIONS", value_name = "COUNT", default_value = "16")]
    #[arg(value_parser = |text: &str| value::whole(text, 4, 1000))]
    database_connections: u64,
}

impl DatabaseConfig {
    /// Returns the URL of the Postgres database, if that is the engine. It may hold a password.
    pub(crate) fn url(&self) -> Option<&str> {
        non_empty_secret_text(self.database_url.as_ref())
    }

    pub(crate) fn connections(&self) -> u32 {
        u32::try_from(self.database_connections).unwrap_or(u32::MAX)
    }
}

/// The organization, for a database that holds none yet.
#[derive(Debug, Args)]
#[command(next_help_heading = "Organization")]
pub(crate) struct RealmConfig {
    /// Name of the organization that is created at start when there is none and an owner is named
    /// [default: Chat]
    #[arg(long, env = "CHAT_REALM_NAME", value_name = "NAME", value_parser = value::realm_name)]
    realm_name: Option<String>,
    /// E-mail address of its owner. Of an organization that exists nothing is changed
    #[arg(long, env = "CHAT_OWNER_EMAIL", value_name = "ADDRESS", value_parser = value::email)]
    owner_email: Option<String>,
    /// Full name of its owner [default: Owner]
    #[arg(long, env = "CHAT_OWNER_NAME", value_name = "NAME", value_parser = value::full_name)]
    owner_name: Option<String>,
    /// Password of its owner, to get the API key with
    #[arg(long, env = "CHAT_OWNER_PASSWORD", value_name = "SECRET", value_parser = value::parse_secret)]
    owner_password: Option<SecretString>,
}

/// Who is to own the organization.
#[derive(Debug)]
pub(crate) struct Owner<'a> {
    pub(crate) email: &'a str,
    pub(crate) name: &'a str,
    pub(crate) password: &'a SecretString,
}

impl RealmConfig {
    /// Returns what a new organization is called.
    pub(crate) fn realm_name(&self) -> &str {
        non_empty_text(self.realm_name.as_ref()).unwrap_or(REALM_NAME)
    }

    /// Returns the owner of a new organization, when the operator named one.
    pub(crate) fn owner(&self) -> Option<Owner<'_>> {
        Some(Owner {
            email: non_empty_text(self.owner_email.as_ref())?,
            name: non_empty_text(self.owner_name.as_ref()).unwrap_or(OWNER_NAME),
            password: non_empty_secret(self.owner_password.as_ref())?,
        })
    }
}

/// What a stranger can make this process hold.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitConfig {
    /// Largest request body in bytes, with its files; a larger one is answered 413. Without files it is
    /// 1048576 at most
    #[arg(long, env = "CHAT_MAX_BODY_BYTES", value_name = "BYTES", default_value = "26214400")]
    #[arg(value_parser = |text: &str| value::whole(text, 1024, 1_073_741_824))]
    max_body_bytes: u64,
    /// Seconds a request head may take (408 then), and a new connection stays open without one
    #[arg(long, env = "CHAT_HEADER_TIMEOUT", value_name = "SECONDS", default_value = "10")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 300))]
    header_timeout: u64,
    /// Seconds a connection stays open between two requests. A proxy in front should close its own connections to this
    /// server sooner
    #[arg(long, env = "CHAT_KEEP_ALIVE_TIMEOUT", value_name = "SECONDS", default_value = "75")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 3600))]
    keep_alive_timeout: u64,
    /// Seconds the server may take to stop at SIGTERM or SIGINT, over everything: running requests have four fifths of
    /// it; what has not finished by then is cut off and named in the log
    #[arg(long, env = "CHAT_SHUTDOWN_TIMEOUT", value_name = "SECONDS", default_value = "10")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 600))]
    shutdown_timeout: u64,
    /// Connections open at the same time; one more is answered 503
    #[arg(long, env = "CHAT_MAX_CONNECTIONS", value_name = "COUNT", default_value = "10000")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 1_000_000))]
    max_connections: u64,
    /// Connections of one address (of an IPv6 network, /64) open at the same time; one more is
    /// answered 503; 0 is no limit, as behind a proxy that is not in --trusted-proxies
    #[arg(long, env = "CHAT_MAX_CONNECTIONS_PER_ADDRESS", value_name = "COUNT", default_value = "0")]
    #[arg(value_parser = |text: &str| value::whole(text, 0, 1_000_000))]
    max_connections_per_address: u64,
    /// Requests a minute of one account; over it the answer is 429; 0 is no limit
    #[arg(long, env = "CHAT_RATE_LIMIT_PER_USER", value_name = "COUNT", default_value = "600")]
    #[arg(value_parser = |text: &str| value::whole(text, 0, 1_000_000))]
    rate_limit_per_user: u64,
    /// Requests a minute of one address (of an IPv6 network, /64) that show no account; over it the
    /// answer is 429; 0 is no limit, as behind a proxy that is not in --trusted-proxies
    #[arg(long, env = "CHAT_RATE_LIMIT_PER_IP", value_name = "COUNT", default_value = "300")]
    #[arg(value_parser = |text: &str| value::whole(text, 0, 1_000_000))]
    rate_limit_per_ip: u64,
    /// Seconds after which an event queue whose client is not heard of is deleted; events are kept as
    /// long, and an hour
    #[arg(long, env = "CHAT_EVENT_QUEUE_TIMEOUT", value_name = "SECONDS", default_value = "86400")]
    #[arg(value_parser = |text: &str| value::whole(text, 60, 31_536_000))]
    event_queue_timeout: u64,
}

impl LimitConfig {
    pub(crate) fn body_max_bytes(&self) -> usize {
        usize::try_from(self.max_body_bytes).unwrap_or(usize::MAX)
    }

    pub(crate) fn header_timeout(&self) -> Duration {
        Duration::from_secs(self.header_timeout)
    }

    pub(crate) fn keep_alive_timeout(&self) -> Duration {
        Duration::from_secs(self.keep_alive_timeout)
    }

    pub(crate) fn shutdown_timeout(&self) -> Duration {
        Duration::from_secs(self.shutdown_timeout)
    }

    pub(crate) fn connections_max(&self) -> usize {
        usize::try_from(self.max_connections).unwrap_or(usize::MAX)
    }

    /// None is no limit.
    pub(crate) fn connections_per_address(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(usize::try_from(self.max_connections_per_address).unwrap_or(usize::MAX))
    }

    /// 0 is no limit.
    pub(crate) fn rate_limit_per_user(&self) -> u32 {
        u32::try_from(self.rate_limit_per_user).unwrap_or(u32::MAX)
    }

    /// 0 is no limit.
    pub(crate) fn rate_limit_per_ip(&self) -> u32 {
        u32::try_from(self.rate_limit_per_ip).unwrap_or(u32::MAX)
    }

    pub(crate) fn event_queue_timeout_s(&self) -> i64 {
        i64::try_from(self.event_queue_timeout).unwrap_or(i64::MAX)
    }
}

/// What the operator sees. Logs go to stderr.
#[derive(Debug, Args)]
#[command(next_help_heading = "Observing")]
pub(crate) struct ObservingConfig {
    /// IP address and port of GET /metrics (Prometheus text) [default: off]
    #[arg(long, env = "CHAT_METRICS_LISTEN", value_name = "ADDRESS", value_parser = value::address)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Form of the log lines
    #[arg(long, env = "CHAT_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// What is logged: a level, or levels by module (`info,chat_http=debug`)
    #[arg(long, env = "RUST_LOG", value_name = "FILTER", default_value = "info", value_parser = value::validate_log_filter)]
    log_filter: String,
}

impl ObservingConfig {
    /// Returns the filter, as parsed once before.
    pub(crate) fn filter(&self) -> EnvFilter {
        EnvFilter::new(&self.log_filter)
    }
}

/// Reads `arguments` (the program's name first) and the environment.
///
/// # Errors
/// When help was asked for, or a value is wrong.
pub(crate) fn read<I>(arguments: I) -> Result<Config, ConfigEarlyExit>
where
    I: IntoIterator<Item = OsString>,
{
    // Every flag may stand before or after the subcommand.
    let mut command = Config::command().mut_args(apply_common_flag_settings);
    // Only now does a subcommand have the flags of the whole.
    command.build();
    let command = command.mut_subcommand("user", |user| hide_flags_except(user, &USER_FLAGS));
    let command = command.mut_subcommand("keys", |keys| hide_flags_except(keys, &KEYS_FLAGS));
    let command = command.mut_subcommand("import", |import| hide_flags_except(import, &IMPORT_FLAGS));
    let command = command.mut_subcommand("export", |export| hide_flags_except(export, &IMPORT_FLAGS[1..]));
    let matches = command.try_get_matches_from(arguments)?;
    let config = Config::from_arg_matches(&matches)?;
    config.check().map_err(ConfigEarlyExit::Invalid)?;
    Ok(config)
}

impl Config {
    /// Returns what to do; serving when nothing else was said.
    pub(crate) fn task(&self) -> &Command {
        self.command.as_ref().unwrap_or(&Command::Serve)
    }

    fn check(&self) -> Result<(), String> {
        let (address, realm) = (&self.address, &self.realm);
        let cert = ("--tls-cert", path_if_set(address.tls_cert.as_ref()).is_some());
        let key = ("--tls-key", path_if_set(address.tls_key.as_ref()).is_some());
        require_both_or_neither(cert, key)?;
        let email = ("--owner-email", non_empty_text(realm.owner_email.as_ref()).is_some());
        let password = ("--owner-password", non_empty_secret(realm.owner_password.as_ref()).is_some());
        require_both_or_neither(email, password)?;
        let [id, secret] = self.files.key_halves();
        require_both_or_neither(id, secret)?;
        non_empty_secret_text(realm.owner_password.as_ref())
            .map_or(Ok(()), |text| value::password("--owner-password", text))?;
        self.mail.check()?;
        self.push.check()?;
        self.development.check(address)?;
        let keys = match self.task() {
            Command::Keys(command) => Some(command),
            _ => None,
        };
        self.keys.check(keys)?;
        self.database.url().map_or(Ok(()), value::validate_database_url)
    }
}

#[cfg(test)]
mod tests;
