//! Configuration: flags, their environment variables, and one line for whoever gets one wrong.
//!
//! One struct per concern. What a single value must be is decided by its parser; rules across
//! values are in [`Config::check`].

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

const EXAMPLE: &str = "\
Every setting is a flag or an environment variable; the flag wins. No .env file is read.

Example:
  chat-server --listen 0.0.0.0:9991 --log-format json
  curl http://127.0.0.1:9991/health";

/// Team-chat server with the REST API existing clients speak.
///
/// This version serves /health alone; every path under /api/v1 answers 404.
#[derive(Debug, Parser)]
#[command(name = "chat-server", version, max_term_width = 100, after_help = EXAMPLE)]
pub(crate) struct Config {
    #[command(subcommand)]
    command: Option<Command>,
    /// Address and port to listen on; port 0 picks a free one
    #[arg(long, env = "CHAT_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:9991")]
    #[arg(value_parser = address, help_heading = "Listening")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) tls: TlsConfig,
    #[command(flatten)]
    pub(crate) limits: LimitConfig,
    #[command(flatten)]
    pub(crate) metrics: MetricsConfig,
    #[command(flatten)]
    pub(crate) log: LogConfig,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Command {
    /// Serve (what happens without a subcommand)
    Serve,
}

/// TLS served by this process instead of a proxy before it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Listening")]
pub(crate) struct TlsConfig {
    /// PEM file with the certificate chain, to serve TLS directly; read again at SIGHUP
    /// [default: off, a proxy does it]
    #[arg(long, env = "CHAT_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// PEM file with the private key of --tls-cert
    #[arg(long, env = "CHAT_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
}

impl TlsConfig {
    /// Certificate and key, when TLS is to be served.
    pub(crate) fn files(&self) -> Option<(&Path, &Path)> {
        Some((self.tls_cert.as_deref()?, self.tls_key.as_deref()?))
    }
}

/// What a stranger can make this process hold.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitConfig {
    /// Seconds a request head may take, and an idle connection stays open
    #[arg(long, env = "CHAT_HEADER_TIMEOUT", value_name = "SECONDS", default_value = "10")]
    #[arg(value_parser = |text: &str| whole(text, 1, 300))]
    header_timeout: u64,
    /// Connections open at the same time; over it the answer is 503
    #[arg(long, env = "CHAT_MAX_CONNECTIONS", value_name = "COUNT", default_value = "10000")]
    #[arg(value_parser = |text: &str| whole(text, 1, 1_000_000))]
    max_connections: u64,
    /// Connections of one address (of an IPv6 network, /64) open at the same time; one more is
    /// answered 503; 0 is no limit, as behind a proxy, where all come from its address
    #[arg(long, env = "CHAT_MAX_CONNECTIONS_PER_ADDRESS", value_name = "COUNT", default_value = "0")]
    #[arg(value_parser = |text: &str| whole(text, 0, 1_000_000))]
    max_connections_per_address: u64,
    /// Requests a minute of one address (of an IPv6 network, /64) that show no account; over it the
    /// answer is 429; 0 is no limit, as behind a proxy, where all come from its address
    #[arg(long, env = "CHAT_RATE_LIMIT_PER_IP", value_name = "COUNT", default_value = "300")]
    #[arg(value_parser = |text: &str| whole(text, 0, 1_000_000))]
    rate_limit_per_ip: u64,
}

impl LimitConfig {
    pub(crate) fn header_timeout(&self) -> Duration {
        Duration::from_secs(self.header_timeout)
    }

    pub(crate) fn connections_max(&self) -> usize {
        usize::try_from(self.max_connections).unwrap_or(usize::MAX)
    }

    /// 0 is no limit.
    pub(crate) fn rate_limit_per_ip(&self) -> u32 {
        u32::try_from(self.rate_limit_per_ip).unwrap_or(u32::MAX)
    }

    /// None is no limit.
    pub(crate) fn connections_per_address(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(usize::try_from(self.max_connections_per_address).unwrap_or(usize::MAX))
    }
}

/// Numbers for the operator.
#[derive(Debug, Args)]
#[command(next_help_heading = "Observing")]
pub(crate) struct MetricsConfig {
    /// Address and port of GET /metrics (Prometheus text) [default: off]
    #[arg(long, env = "CHAT_METRICS_LISTEN", value_name = "ADDRESS", value_parser = address)]
    pub(crate) metrics_listen: Option<SocketAddr>,
}

/// What is logged, and how. Logs go to stderr.
#[derive(Debug, Args)]
#[command(next_help_heading = "Observing")]
pub(crate) struct LogConfig {
    /// Form of the log lines
    #[arg(long, env = "CHAT_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// What is logged: a level, or levels by module (info,hyper=debug)
    #[arg(long, env = "RUST_LOG", value_name = "FILTER", default_value = "info")]
    #[arg(value_parser = filter)]
    log_filter: String,
}

impl LogConfig {
    /// The filter, as parsed once before.
    pub(crate) fn filter(&self) -> EnvFilter {
        EnvFilter::new(&self.log_filter)
    }
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Why there is no configuration to serve with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Help or version was asked for.
    Help(String),
    /// A value is wrong; the text is one line.
    Fault(String),
}

impl End {
    /// Prints what there is to say: help on stdout, a fault on stderr with status 2.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Help(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Self::Fault(line) => {
                eprintln!("chat-server: {line}");
                ExitCode::from(2)
            }
        }
    }
}

/// Reads `arguments` (the program's name first) and the environment.
///
/// # Errors
/// When help was asked for, or a value is wrong.
pub(crate) fn read<I>(arguments: I) -> Result<Config, End>
where
    I: IntoIterator<Item = OsString>,
{
    // Every flag may stand before or after the subcommand.
    let matches = Config::command().mut_args(settled).try_get_matches_from(arguments).map_err(|error| end(&error))?;
    let config = Config::from_arg_matches(&matches).map_err(|error| end(&error))?;
    config.check().map_err(End::Fault)?;
    Ok(config)
}

/// What holds for every flag: its variable's value is not shown, and a negative number is a value of
/// it, wrong as that may be, not a flag of its own.
fn settled(arg: clap::Arg) -> clap::Arg {
    let takes_value = arg.get_action().takes_values();
    arg.global(true).hide_env_values(true).allow_negative_numbers(takes_value)
}

impl Config {
    fn check(&self) -> Result<(), String> {
        match (&self.tls.tls_cert, &self.tls.tls_key) {
            (Some(_), None) => Err("--tls-cert is set, and needs --tls-key with it".to_owned()),
            (None, Some(_)) => Err("--tls-key is set, and needs --tls-cert with it".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Folds the parser's paragraph into one line, without its hints on usage.
fn end(error: &clap::Error) -> End {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return End::Help(text);
    }
    let hint = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.take_while(|line| !hint(line)).collect::<Vec<_>>().join(" ");
    End::Fault(line.trim_start_matches("error: ").to_owned())
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "must be an IP address and a port, such as 127.0.0.1:9991 or [::]:9991")
}

fn whole(text: &str, least: u64, most: u64) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from {least} to {most}")),
    }
}

fn filter(text: &str) -> Result<String, &'static str> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("must be a level (error, warn, info, debug, trace, off) or module=level,…"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(flags: &[&str]) -> Result<Config, End> {
        read(std::iter::once("chat-server").chain(flags.iter().copied()).map(OsString::from))
    }

    #[test]
    fn flags_may_stand_before_and_after_the_subcommand() {
        for flags in
            [&["--listen", "[::1]:0"][..], &["serve", "--listen", "[::1]:0"], &["--listen", "[::1]:0", "serve"]]
        {
            let config = given(flags).unwrap();
            assert_eq!(config.listen.to_string(), "[::1]:0", "{flags:?}");
            assert_eq!((config.limits.connections_max(), config.limits.rate_limit_per_ip()), (10_000, 300));
            assert_eq!(config.limits.connections_per_address(), None);
        }
    }

    #[test]
    fn a_wrong_value_is_one_line_with_the_flag_the_value_and_what_is_allowed() {
        for (flag, value, allowed) in [
            ("--listen", "localhost", "IP address and a port"),
            ("--metrics-listen", ":80", "IP address and a port"),
            ("--header-timeout", "0", "from 1 to 300"),
            ("--header-timeout", "ten", "from 1 to 300"),
            ("--max-connections", "1000001", "from 1 to 1000000"),
            ("--rate-limit-per-ip", "-1", "from 0 to 1000000"),
            ("--max-connections-per-address", "many", "from 0 to 1000000"),
            ("--log-format", "xml", "text, json"),
            ("--log-filter", "a=b=c", "module=level"),
        ] {
            let Err(End::Fault(line)) = given(&[flag, value]) else {
                panic!("{flag} {value} was accepted");
            };
            assert!(!line.contains('\n'), "{line}");
            for part in [flag, value, allowed] {
                assert!(line.contains(part), "{line} lacks {part}");
            }
        }
    }

    #[test]
    fn half_of_a_tls_pair_is_refused() {
        let only_key = given(&["--tls-key", "k.pem"]).unwrap_err();
        assert_eq!(only_key, End::Fault("--tls-key is set, and needs --tls-cert with it".to_owned()));
        assert!(given(&["--tls-cert", "c.pem"]).is_err());
        assert!(given(&["--tls-cert", "c.pem", "--tls-key", "k.pem"]).is_ok());
    }

    #[test]
    fn an_unknown_flag_is_named() {
        let Err(End::Fault(line)) = given(&["--lisen", "1"]) else {
            panic!("accepted");
        };
        assert!(line.contains("--lisen") && !line.contains('\n'), "{line}");
    }
}
