//! Parsers of one value each. Every refusal says what is allowed.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use tracing_subscriber::EnvFilter;
use url::Url;

use crate::trusted_proxies::{ParseTrustedProxiesError, TrustedProxies};

/// Longest brand word, in bytes.
const BRAND_MAX_BYTES: usize = 32;

/// Parses an IP address with a port; the refusal names `port` as an example.
///
/// # Errors
/// The text says what is allowed.
pub fn parse_socket_address(text: &str, port: u16) -> Result<SocketAddr, String> {
    let allowed = |_| format!("must be an IP address and a port, such as 127.0.0.1:{port} or [::]:{port}");
    text.parse().map_err(allowed)
}

/// Parses addresses and networks of proxies. Empty counts as absent.
///
/// # Errors
/// See [`ParseTrustedProxiesError`].
pub fn parse_trusted_proxies(text: &str) -> Result<TrustedProxies, ParseTrustedProxiesError> {
    text.parse()
}

/// Parses a whole number from `least` to `most`.
///
/// # Errors
/// The text says what is allowed.
pub fn parse_integer_in_range(text: &str, least: u64, most: u64) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from {least} to {most}")),
    }
}

/// Parses `true`, `1`, `false` or `0`.
///
/// # Errors
/// The text says what is allowed.
pub fn parse_boolean(text: &str) -> Result<bool, &'static str> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("must be true, false, 1 or 0"),
    }
}

/// Parses an absolute `http` or `https` URL that paths are appended to, without user, query, fragment or slash at the
/// end; the refusal names `example`. Empty counts as absent.
///
/// # Errors
/// The text says what is allowed.
pub fn parse_base_url(text: &str, example: &str) -> Result<String, String> {
    let fits = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    };
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    let ends_plainly = !text.ends_with(['/', '?', '#']);
    let fits = plain && ends_plainly && Url::parse(text).is_ok_and(|url| fits(&url));
    if text.is_empty() || fits {
        return Ok(text.to_owned());
    }
    Err(format!("must be an absolute http or https URL without a trailing slash, query or fragment, such as {example}"))
}

/// Returns whether `text` may be the brand word of a server: a lower-case ASCII letter, then lower-case letters and
/// digits, at most 32 characters.
#[must_use]
pub fn is_valid_brand_word(text: &str) -> bool {
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let goes_on = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    begins && goes_on && text.len() <= BRAND_MAX_BYTES
}

/// Parses a path from any text; an empty one counts as absent.
///
/// # Errors
/// None.
#[must_use]
pub fn parse_path(text: &str) -> Result<PathBuf, Infallible> {
    Ok(PathBuf::from(text))
}

/// Parses a secret from any text.
///
/// # Errors
/// None.
#[must_use]
pub fn parse_secret(text: &str) -> Result<SecretString, Infallible> {
    Ok(SecretString::from(text))
}

/// Validates the URL of a Postgres database by its scheme.
///
/// # Errors
/// The text names the scheme of an invalid URL alone, because the rest may contain a password.
pub fn validate_database_url(text: &str) -> Result<(), String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    if matches!(scheme, "postgres" | "postgresql") && !rest.is_empty() {
        return Ok(());
    }
    Err(format!(
        "invalid value '{scheme}…' for '--database-url <URL>': must be postgres://user@host:port/database, \
         or absent for the embedded database"
    ))
}

/// Validates a log filter: a level, or levels by module.
///
/// # Errors
/// The text says what is allowed.
pub fn validate_log_filter(text: &str) -> Result<String, &'static str> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("must be a level (error, warn, info, debug, trace, off) or module=level,…"),
    }
}
