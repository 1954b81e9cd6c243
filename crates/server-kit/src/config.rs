//! Configuration from flags and environment variables: what is the same for every server.
//!
//! An empty text counts as absent everywhere, because an environment file cannot unset a variable.

pub mod value_parsers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

/// The reason why the program ends before it has a configuration: help or version was requested, or a value is invalid.
#[derive(Debug, PartialEq, Eq)]
pub enum ConfigEarlyExit {
    /// Help or version was requested; the text is what to print.
    Help(String),
    /// A value is invalid; the text is one line.
    Invalid(String),
}

impl ConfigEarlyExit {
    /// Prints the text: help on stdout, an invalid value on stderr behind the name of the `program`, with status 2.
    #[must_use]
    pub fn print_and_exit_code(&self, program: &str) -> ExitCode {
        match self {
            Self::Help(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Self::Invalid(line) => {
                eprintln!("{program}: {line}");
                ExitCode::from(2)
            }
        }
    }
}

/// Folds the parser's paragraph into one line, without its hints on usage.
impl From<clap::Error> for ConfigEarlyExit {
    fn from(error: clap::Error) -> Self {
        let text = error.render().to_string();
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            return Self::Help(text);
        }
        let hint = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more");
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = lines.take_while(|line| !hint(line)).collect::<Vec<_>>().join(" ");
        Self::Invalid(line.trim_start_matches("error: ").to_owned())
    }
}

/// Applies the settings that every flag has: it is accepted after any subcommand, help hides the value of its variable,
/// and its value may begin with a minus sign.
#[must_use]
pub fn apply_common_flag_settings(arg: clap::Arg) -> clap::Arg {
    let takes_value = arg.get_action().takes_values();
    arg.global(true).hide_env_values(true).allow_negative_numbers(takes_value)
}

/// Hides every flag with an environment variable from the help of `command` and its subcommands, except those in
/// `flags`. Hidden flags are still accepted, because one environment file serves every command.
#[must_use]
pub fn hide_flags_except(command: clap::Command, flags: &[&str]) -> clap::Command {
    command
        .mut_args(|arg| {
            let hidden = arg.get_env().is_some() && !arg.get_long().is_some_and(|name| flags.contains(&name));
            arg.hide(hidden)
        })
        .mut_subcommands(|below| hide_flags_except(below, flags))
}

/// Returns an error unless both of two settings are set or neither.
///
/// # Errors
/// The text names the flag that is missing.
pub fn require_both_or_neither(
    (first, has_first): (&str, bool),
    (second, has_second): (&str, bool),
) -> Result<(), String> {
    match (has_first, has_second) {
        (true, false) => Err(format!("{first} is set, and needs {second} with it")),
        (false, true) => Err(format!("{second} is set, and needs {first} with it")),
        _ => Ok(()),
    }
}

/// Returns the path of a setting unless it is absent or empty.
#[must_use]
pub fn path_if_set(path: Option<&PathBuf>) -> Option<&Path> {
    path.map(PathBuf::as_path).filter(|path| !path.as_os_str().is_empty())
}

/// Returns the text of a setting unless it is absent or empty.
#[must_use]
pub fn non_empty_text(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

/// Returns the secret of a setting unless it is absent or empty.
#[must_use]
pub fn non_empty_secret(secret: Option<&SecretString>) -> Option<&SecretString> {
    secret.filter(|secret| !secret.expose_secret().is_empty())
}

/// Returns the text of a secret setting unless it is absent or empty.
#[must_use]
pub fn non_empty_secret_text(secret: Option<&SecretString>) -> Option<&str> {
    non_empty_secret(secret).map(SecretString::expose_secret)
}

/// Describes the engine and the location of a database for the log, without user and password: the Postgres database at
/// `url`, else the embedded one in `data_dir`.
#[must_use]
pub fn describe_database_for_log(url: Option<&str>, data_dir: &Path) -> String {
    match url.map(Url::parse) {
        None => format!("SQLite (embedded) in {}", data_dir.display()),
        Some(Ok(url)) => {
            let host = url.host_str().unwrap_or("the local socket");
            let port = url.port().unwrap_or(5432);
            format!("Postgres at {host}:{port}{}", url.path())
        }
        Some(Err(_)) => "Postgres".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_the_database_without_its_credentials() {
        let url = "postgres://box:hunter2@db.example:6432/auth?sslmode=require&password=hunter2";
        assert_eq!(describe_database_for_log(Some(url), Path::new("")), "Postgres at db.example:6432/auth");
        assert_eq!(
            describe_database_for_log(Some("postgres://box@db/auth"), Path::new("")),
            "Postgres at db:5432/auth"
        );
        assert_eq!(describe_database_for_log(None, Path::new("/srv/auth")), "SQLite (embedded) in /srv/auth");
    }

    #[test]
    fn one_of_two_settings_names_the_other() {
        assert_eq!(require_both_or_neither(("--a", true), ("--b", true)), Ok(()));
        assert_eq!(require_both_or_neither(("--a", false), ("--b", false)), Ok(()));
        assert_eq!(
            require_both_or_neither(("--a", true), ("--b", false)),
            Err("--a is set, and needs --b with it".to_owned())
        );
        assert_eq!(
            require_both_or_neither(("--a", false), ("--b", true)),
            Err("--b is set, and needs --a with it".to_owned())
        );
    }
}
