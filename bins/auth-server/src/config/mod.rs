//! Configuration: flags, their environment variables, and one line for whoever gets one wrong.
//!
//! One struct per concern. What a single value must be is decided by its parser ([`value`]); rules
//! across values are in [`Config::check`].

mod command;
mod page;
mod value;

use command::KEYS_FLAGS;
pub(crate) use command::{Command, KeysCommand, ResealArgs, RotateArgs};
pub(crate) use value::Canonicals;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use oauth_core::jose::SigningAlg;
use oauth_core::password_rules::check_new_password;
use payer_exchange::member_match::MemberIdentifierRule;
use secrecy::{ExposeSecret as _, SecretString};
use server_kit::config::{
    ConfigEarlyExit, apply_common_flag_settings, hide_flags_except, non_empty_secret, non_empty_secret_text,
    non_empty_text, path_if_set, require_both_or_neither,
};
use server_kit::logging::LogFormat;
use server_kit::trusted_proxies::TrustedProxies;
use tracing_subscriber::EnvFilter;
use url::Url;

const ABOUT: &str = "Authorization server of a FHIR data platform for health payers: OAuth 2.0, OpenID and SMART.";
const AFTER: &str = "\
Every setting is a flag or an environment variable; the flag wins. An empty text counts as absent.
No .env file is read.

Example, to try it out (then: curl http://127.0.0.1:8080/.well-known/smart-configuration):
  auth-server --root-client-id root --root-client-secret change-me

Example, behind a proxy that serves https://auth.example.org:
  DATABASE_URL=postgres://box@db/box BOX_KEY_ENCRYPTION_SECRET=... \\
  auth-server --listen 0.0.0.0:8080 --base-url https://auth.example.org --log-format json";

/// What the operator decided.
#[derive(Debug, Parser)]
#[command(name = "auth-server", version, about = ABOUT, max_term_width = 100, after_help = AFTER)]
pub(crate) struct Config {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    pub(crate) address: AddressConfig,
    #[command(flatten)]
    pub(crate) database: DatabaseConfig,
    #[command(flatten)]
    pub(crate) platform: PlatformConfig,
    #[command(flatten)]
    pub(crate) page: page::PageConfig,
    #[command(flatten)]
    pub(crate) trust: TrustConfig,
    #[command(flatten)]
    pub(crate) limits: LimitConfig,
    #[command(flatten)]
    pub(crate) jobs: JobConfig,
    #[command(flatten)]
    pub(crate) observing: ObservingConfig,
}

/// Where the server listens, and what it is called.
#[derive(Debug, Args)]
#[command(next_help_heading = "Address")]
pub(crate) struct AddressConfig {
    /// IP address and port to listen on; port 0 picks a free one
    #[arg(long, env = "BOX_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    #[arg(value_parser = value::address)]
    pub(crate) listen: SocketAddr,
    /// Public address of the server, the `iss` of its tokens; no trailing slash
    /// [default: http:// and the bound address]
    #[arg(long, env = "BOX_BASE_URL", value_name = "URL", value_parser = value::base_url)]
    base_url: Option<String>,
    /// PEM file with the certificate chain, to serve TLS directly; read again at SIGHUP
    /// [default: off, a proxy does it]
    #[arg(long, env = "BOX_TLS_CERT", value_name = "FILE", value_parser = value::parse_path)]
    tls_cert: Option<PathBuf>,
    /// PEM file with the private key of --tls-cert
    #[arg(long, env = "BOX_TLS_KEY", value_name = "FILE", value_parser = value::parse_path)]
    tls_key: Option<PathBuf>,
    /// IP addresses and networks of the proxies before this server, separated by commas. From them, and from
    /// nobody else, the header X-Forwarded-For is read: limits and access policies then see who asked the
    /// proxy, and connections of a proxy are counted for no address [default: none]
    #[arg(long, env = "BOX_TRUSTED_PROXIES", value_name = "ADDRESSES", default_value = "", hide_default_value = true)]
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
    /// Directory of the embedded database; created when it is not there
    #[arg(long, env = "BOX_DATA_DIR", value_name = "DIRECTORY", default_value = "./data/auth")]
    pub(crate) data_dir: PathBuf,
    /// Connections to Postgres, at most: a quarter of them and at least one for searches, one that cancels what callers
    /// gave up, the others and at least one for all else
    #[arg(long, env = "BOX_DATABASE_CONNECTIONS", value_name = "COUNT", default_value = "16")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 1000))]
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

/// What the deployment is called, and how it treats resources.
#[derive(Debug, Args)]
#[command(next_help_heading = "Platform")]
pub(crate) struct PlatformConfig {
    /// Base address under which the platform publishes its FHIR extensions; no trailing slash
    #[arg(long, env = "BOX_EXT_BASE", value_name = "URL", default_value = "http://platform.example/fhir")]
    #[arg(value_parser = value::base_url)]
    pub(crate) ext_base: String,
    /// Brand word, lower case: the names made of it, as acme.smart/get-launch-uri, are understood
    /// beside those made of `platform`
    #[arg(long, env = "BOX_PLATFORM_NAME", value_name = "WORD", default_value = "platform")]
    #[arg(value_parser = value::brand)]
    pub(crate) platform_name: String,
    /// Whether /fhir rewrites extension values into the internal union form: true or false
    #[arg(long, env = "BOX_FHIR_CORRECT_PLATFORM_FORMAT", value_name = "BOOL", default_value = "true")]
    #[arg(value_parser = value::parse_boolean, action = ArgAction::Set)]
    pub(crate) fhir_correct_format: bool,
    /// file:// location of a Bundle to execute at start, before anybody is served: migrations and other
    /// resources [default: none]
    #[arg(long, env = "BOX_INIT_BUNDLE", value_name = "URL", value_parser = value::file_location)]
    init_bundle: Option<PathBuf>,
    /// Whether ${NAME} in the texts of the init bundle stands for a variable of the environment: true or
    /// false; one that is not set stops the start, and $${NAME} stands for ${NAME}
    #[arg(long, env = "BOX_INIT_BUNDLE_ENV", value_name = "BOOL", default_value = "false")]
    #[arg(value_parser = value::parse_boolean, action = ArgAction::Set)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) init_bundle_env: bool,
    /// Registry FHIR packages are installed from: an http(s) URL of the npm protocol, or the file:// URL
    /// of a folder with <name>-<version>.tgz in it
    #[arg(long, env = "BOX_FHIR_PACKAGE_REGISTRY", value_name = "URL", default_value = value::PACKAGE_REGISTRY)]
    #[arg(value_parser = value::package_registry)]
    pub(crate) fhir_package_registry: Url,
    /// Urls of capability statements that the one of this server names in `instantiates`, with commas between
    /// them, beside those of installed packages [default: none]
    #[arg(long, env = "BOX_CAPABILITY_INSTANTIATES", value_name = "URLS", default_value = "")]
    #[arg(value_parser = value::canonicals)]
    pub(crate) capability_instantiates: Canonicals,
    /// Urls of guides that the capability statement names in `implementationGuide`, with commas between them,
    /// beside those of installed packages [default: none]
    #[arg(long, env = "BOX_CAPABILITY_GUIDES", value_name = "URLS", default_value = "")]
    #[arg(value_parser = value::canonicals)]
    pub(crate) capability_guides: Canonicals,
}

impl PlatformConfig {
    /// Returns the file of the init bundle, when there is one.
    pub(crate) fn init_bundle(&self) -> Option<&Path> {
        path_if_set(self.init_bundle.as_ref())
    }
}

/// Who is trusted from the start, and with what.
#[derive(Debug, Args)]
#[command(next_help_heading = "Trust")]
pub(crate) struct TrustConfig {
    /// Id of a client that may call everything (HTTP Basic), to register the first Client with
    #[arg(long, env = "BOX_ROOT_CLIENT_ID", value_name = "ID", value_parser = value::id)]
    root_client_id: Option<String>,
    /// Secret of --root-client-id
    #[arg(long, env = "BOX_ROOT_CLIENT_SECRET", value_name = "SECRET", value_parser = value::parse_secret)]
    root_client_secret: Option<SecretString>,
    /// Id of a User that exists at start and may do everything
    #[arg(long, env = "BOX_ADMIN_ID", value_name = "ID", value_parser = value::id)]
    admin_id: Option<String>,
    /// Password of --admin-id; it is set when the User is created, and not changed later
    #[arg(long, env = "BOX_ADMIN_PASSWORD", value_name = "SECRET", value_parser = value::parse_secret)]
    admin_password: Option<SecretString>,
    /// Encrypts private signing keys in the database, at least 16 characters; `keys reseal` changes it
    /// [default: they are stored as they are]
    #[arg(long, env = "BOX_KEY_ENCRYPTION_SECRET", value_name = "SECRET", value_parser = value::parse_secret)]
    key_encryption_secret: Option<SecretString>,
    /// Let `jwks_uri` be plain http and point into the inner network: true or false; for
    /// development and tests
    #[arg(long, env = "BOX_ALLOW_PRIVATE_JWKS", value_name = "BOOL", default_value = "false")]
    #[arg(value_parser = value::parse_boolean, action = ArgAction::Set)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) allow_private_jwks: bool,
    #[arg(long, env = "BOX_ACCESS_TOKEN_ALG", value_name = "ALG", default_value = "ES256")]
    #[arg(value_parser = value::algorithm)]
    #[arg(help = format!("What access tokens are signed with: {}", value::ALGORITHMS))]
    pub(crate) access_token_alg: SigningAlg,
    /// Seconds within which an app has to use what an EHR launched it with
    #[arg(long, env = "BOX_LAUNCH_LIFETIME", value_name = "SECONDS", default_value = "300")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 3600))]
    launch_lifetime: u64,
    /// Seconds for which a person stays signed in with a browser
    #[arg(long, env = "BOX_SESSION_LIFETIME", value_name = "SECONDS", default_value = "432000")]
    #[arg(value_parser = |text: &str| value::whole(text, 60, 31_536_000))]
    session_lifetime: u64,
    /// Fewest characters of a new password of a User; the most common passwords are refused whatever their length
    #[arg(long, env = "BOX_PASSWORD_MIN_LENGTH", value_name = "CHARACTERS", default_value = "8")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 128))]
    password_min_length: u64,
}

impl TrustConfig {
    /// Id and secret of the bootstrap administrator.
    pub(crate) fn root_client(&self) -> Option<(&str, &SecretString)> {
        Some((non_empty_text(self.root_client_id.as_ref())?, non_empty_secret(self.root_client_secret.as_ref())?))
    }

    /// Id and password of the User that is to exist.
    pub(crate) fn admin(&self) -> Option<(&str, &SecretString)> {
        Some((non_empty_text(self.admin_id.as_ref())?, non_empty_secret(self.admin_password.as_ref())?))
    }

    pub(crate) fn launch_lifetime_s(&self) -> i64 {
        i64::try_from(self.launch_lifetime).unwrap_or(i64::MAX)
    }

    pub(crate) fn session_lifetime_s(&self) -> i64 {
        i64::try_from(self.session_lifetime).unwrap_or(i64::MAX)
    }

    pub(crate) fn password_min_chars(&self) -> usize {
        usize::try_from(self.password_min_length).unwrap_or(usize::MAX)
    }

    pub(crate) fn key_encryption_secret(&self) -> Option<&SecretString> {
        non_empty_secret(self.key_encryption_secret.as_ref())
    }
}

/// What a stranger can make this process hold.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitConfig {
    /// Largest request body in bytes; a larger one is answered 413
    #[arg(long, env = "BOX_MAX_BODY_BYTES", value_name = "BYTES", default_value = "20971520")]
    #[arg(value_parser = |text: &str| value::whole(text, 1024, 1_073_741_824))]
    max_body_bytes: u64,
    /// Seconds a request head may take (408 then), and a new connection stays open without one
    #[arg(long, env = "BOX_HEADER_TIMEOUT", value_name = "SECONDS", default_value = "10")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 300))]
    header_timeout: u64,
    /// Seconds a connection stays open between two requests. A proxy in front should close its own connections to this
    /// server sooner
    #[arg(long, env = "BOX_KEEP_ALIVE_TIMEOUT", value_name = "SECONDS", default_value = "75")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 3600))]
    keep_alive_timeout: u64,
    /// Seconds the server may take to stop at SIGTERM or SIGINT, over everything: running requests have four fifths of
    /// it; what has not finished by then is cut off and named in the log
    #[arg(long, env = "BOX_SHUTDOWN_TIMEOUT", value_name = "SECONDS", default_value = "10")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 600))]
    shutdown_timeout: u64,
    /// Connections open at the same time; one more is answered 503
    #[arg(long, env = "BOX_MAX_CONNECTIONS", value_name = "COUNT", default_value = "10000")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 1_000_000))]
    max_connections: u64,
    /// Connections of one address (of an IPv6 network, /64) open at the same time; one more is
    /// answered 503; 0 is no limit, as behind a proxy that is not in --trusted-proxies
    #[arg(long, env = "BOX_MAX_CONNECTIONS_PER_ADDRESS", value_name = "COUNT", default_value = "0")]
    #[arg(value_parser = |text: &str| value::whole(text, 0, 1_000_000))]
    max_connections_per_address: u64,
    /// Requests per minute of one client at one address, over it the answer is 429; one address has ten
    /// times as many, which behind a proxy that is not in --trusted-proxies is all callers together; 0 is
    /// no limit
    #[arg(long, env = "BOX_RATE_LIMIT", value_name = "COUNT", default_value = "0")]
    #[arg(value_parser = |text: &str| value::whole(text, 0, 1_000_000))]
    rate_limit: u64,
    /// Wrong secrets of one client from one network that are answered at once, those of --root-client-id included; from
    /// then on one every 30 seconds, and 429 between; six times as many from one address, fifty times as many for one
    /// client; 0 is no limit
    #[arg(long, env = "BOX_SECRET_ATTEMPTS", value_name = "COUNT", default_value = "10")]
    #[arg(value_parser = |text: &str| value::whole(text, 0, 10_000))]
    secret_attempts: u64,
    /// Seconds one statement of a search may run; a longer search is answered 400 with the code too-costly. A whole
    /// search with what it includes, and all searches of a Bundle together, have twice as long
    #[arg(long, env = "BOX_SEARCH_TIMEOUT", value_name = "SECONDS", default_value = "5")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 3600))]
    search_timeout: u64,
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

    pub(crate) fn search_time(&self) -> Duration {
        Duration::from_secs(self.search_timeout)
    }

    /// None is no limit.
    pub(crate) fn connections_per_address(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(usize::try_from(self.max_connections_per_address).unwrap_or(usize::MAX))
    }

    pub(crate) fn secret_attempts(&self) -> u32 {
        u32::try_from(self.secret_attempts).unwrap_or(u32::MAX)
    }

    pub(crate) fn rate_per_minute(&self) -> u32 {
        u32::try_from(self.rate_limit).unwrap_or(u32::MAX)
    }
}

/// Exports and member matches, which are worked on in the background.
#[derive(Debug, Args)]
#[command(next_help_heading = "Jobs")]
pub(crate) struct JobConfig {
    /// Exports and member matches this node works on at the same time; 0 leaves them to other nodes
    #[arg(long, env = "BOX_JOBS_AT_ONCE", value_name = "COUNT", default_value = "2")]
    #[arg(value_parser = |text: &str| value::whole(text, 0, 64))]
    jobs_at_once: u64,
    /// Hours for which the files of an export or a match are kept after it is complete
    #[arg(long, env = "BOX_JOB_RETENTION_HOURS", value_name = "HOURS", default_value = "24")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 8_760))]
    job_retention_hours: u64,
    /// Whether a member match finds a member by name, birth date and gender alone: required, which wants an
    /// identifier or a subscriber's id as well, or optional
    #[arg(long, env = "BOX_MEMBER_MATCH_IDENTIFIER", value_name = "RULE", default_value = "required")]
    member_match_identifier: MemberMatchIdentifier,
}

/// Whether a match needs an identifier of the member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemberMatchIdentifier {
    Required,
    Optional,
}

impl JobConfig {
    pub(crate) fn identifier_rule(&self) -> MemberIdentifierRule {
        match self.member_match_identifier {
            MemberMatchIdentifier::Required => MemberIdentifierRule::Required,
            MemberMatchIdentifier::Optional => MemberIdentifierRule::Optional,
        }
    }

    pub(crate) fn at_once(&self) -> usize {
        usize::try_from(self.jobs_at_once).unwrap_or(usize::MAX)
    }

    pub(crate) fn retention(&self) -> Duration {
        Duration::from_hours(self.job_retention_hours)
    }
}

/// What the operator sees. Logs go to stderr.
#[derive(Debug, Args)]
#[command(next_help_heading = "Observing")]
pub(crate) struct ObservingConfig {
    /// IP address and port of GET /metrics (Prometheus text) [default: off]
    #[arg(long, env = "BOX_METRICS_LISTEN", value_name = "ADDRESS", value_parser = value::address)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Form of the log lines
    #[arg(long, env = "BOX_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// What is logged: a level, or levels by module (`info,auth_http=debug`)
    #[arg(long, env = "RUST_LOG", value_name = "FILTER", default_value = "info", value_parser = value::validate_log_filter)]
    log_filter: String,
    /// Days for which audit events are kept; 0 keeps them for good
    #[arg(long, env = "BOX_AUDIT_RETENTION_DAYS", value_name = "DAYS", default_value = "2192")]
    #[arg(value_parser = |text: &str| value::whole(text, 0, 36_500))]
    audit_retention_days: u64,
}

impl ObservingConfig {
    /// Returns how long audit events are kept, `None` for good. Not specified; six years unless the operator says
    /// otherwise, because that is how long United States law has records of health data protection kept (45 CFR
    /// 164.316).
    pub(crate) fn audit_retention(&self) -> Option<Duration> {
        (self.audit_retention_days > 0).then(|| Duration::from_hours(24 * self.audit_retention_days))
    }

    /// Returns the filter, as parsed once before.
    pub(crate) fn filter(&self) -> EnvFilter {
        EnvFilter::new(&self.log_filter)
    }
}

/// Reads `arguments` (the program's name first), the environment, and by `branded` the one
/// variable whose name depends on a value.
///
/// # Errors
/// When help was asked for, or a value is wrong.
pub(crate) fn read<I>(arguments: I, branded: impl Fn(&str) -> Option<OsString>) -> Result<Config, ConfigEarlyExit>
where
    I: IntoIterator<Item = OsString>,
{
    // Every flag may stand before or after the subcommand.
    let mut command = Config::command().mut_args(apply_common_flag_settings);
    // Only now does a subcommand have the flags of the whole.
    command.build();
    let command = command.mut_subcommand("keys", |keys| hide_flags_except(keys, &KEYS_FLAGS));
    let matches = command.try_get_matches_from(arguments)?;
    let mut config = Config::from_arg_matches(&matches)?;
    config.read_branded(&matches, branded).map_err(ConfigEarlyExit::Invalid)?;
    config.check().map_err(ConfigEarlyExit::Invalid)?;
    Ok(config)
}

impl Config {
    /// Returns what to do; serving when nothing else was said.
    pub(crate) fn task(&self) -> &Command {
        self.command.as_ref().unwrap_or(&Command::Serve)
    }

    /// Takes `BOX_FHIR_CORRECT_<BRAND>_FORMAT`, where it is set: after the flag, before the
    /// variable without the brand, being the more particular of the two.
    fn read_branded(&mut self, matches: &ArgMatches, branded: impl Fn(&str) -> Option<OsString>) -> Result<(), String> {
        let by_flag = matches.value_source("fhir_correct_format") == Some(ValueSource::CommandLine);
        let brand = self.platform.platform_name.to_ascii_uppercase();
        let name = format!("BOX_FHIR_CORRECT_{brand}_FORMAT");
        let set = branded(&name).filter(|set| !set.is_empty() && !by_flag);
        if let Some(set) = set {
            let set = set.to_string_lossy();
            self.platform.fhir_correct_format =
                value::parse_boolean(&set).map_err(|allowed| format!("invalid value '{set}' for {name}: {allowed}"))?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let (address, trust) = (&self.address, &self.trust);
        let cert = ("--tls-cert", path_if_set(address.tls_cert.as_ref()).is_some());
        let key = ("--tls-key", path_if_set(address.tls_key.as_ref()).is_some());
        require_both_or_neither(cert, key)?;
        let id = ("--root-client-id", non_empty_text(trust.root_client_id.as_ref()).is_some());
        let password = ("--root-client-secret", non_empty_secret(trust.root_client_secret.as_ref()).is_some());
        require_both_or_neither(id, password)?;
        let id = ("--admin-id", non_empty_text(trust.admin_id.as_ref()).is_some());
        let password = ("--admin-password", non_empty_secret(trust.admin_password.as_ref()).is_some());
        require_both_or_neither(id, password)?;
        self.check_key_encryption_secret()?;
        self.check_admin_password()?;
        self.database.url().map_or(Ok(()), value::validate_database_url)
    }

    fn check_admin_password(&self) -> Result<(), String> {
        let Some((_, password)) = self.trust.admin().filter(|_| matches!(self.task(), Command::Serve)) else {
            return Ok(());
        };
        let checked = check_new_password(password.expose_secret(), self.trust.password_min_chars());
        checked.map_err(|fault| format!("the value of '--admin-password <SECRET>' {fault}"))
    }

    /// A secret that encrypts something now has to be long enough; one that is to be given up is what it is.
    fn check_key_encryption_secret(&self) -> Result<(), String> {
        if let Command::Keys(KeysCommand::Reseal(how)) = self.task() {
            // Not by the parser of the value, which would print the secret.
            let checked = value::key_encryption_secret(how.secret().expose_secret());
            return checked.map_err(|allowed| format!("the value of '--new-key-encryption-secret <SECRET>' {allowed}"));
        }
        let encrypts = matches!(self.task(), Command::Serve | Command::Keys(KeysCommand::Rotate(_)));
        match non_empty_secret_text(self.trust.key_encryption_secret.as_ref()).filter(|_| encrypts) {
            None => Ok(()),
            Some(secret) => value::key_encryption_secret(secret).map_err(|allowed| {
                format!("the value of '--key-encryption-secret <SECRET>' {allowed}; `keys reseal` changes the secret")
            }),
        }
    }
}

#[cfg(test)]
mod tests;
