//! What one value must be. Every refusal says what is allowed.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;

use oauth_core::jose::SigningAlg;
use oauth_core::seal::SECRET_MIN_CHARS;
use secrecy::SecretString;
use tracing_subscriber::EnvFilter;
use url::Url;

use crate::listen::{NotProxies, TrustedProxies};

/// The algorithms the server signs with, for help texts.
pub(super) const ALGORITHMS: &str = "ES256, ES384, RS256 or RS384";
/// The registry FHIR packages are published in.
pub(super) const PACKAGE_REGISTRY: &str = "https://packages.fhir.org";
/// Longest id of a User or Client, in bytes.
const ID_MAX_BYTES: usize = 64;
/// Longest brand word, in bytes.
const BRAND_MAX_BYTES: usize = 32;

pub(super) fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "must be an IP address and a port, such as 127.0.0.1:8080 or [::]:8080")
}

/// Empty counts as absent.
pub(super) fn proxies(text: &str) -> Result<TrustedProxies, NotProxies> {
    text.parse()
}

/// Urls of resources, perhaps with a version behind `|`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Canonicals(pub(crate) Vec<String>);

/// Empty counts as absent.
pub(super) fn canonicals(text: &str) -> Result<Canonicals, &'static str> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let is_url = |part: &str| part.bytes().all(|byte| byte.is_ascii_graphic()) && Url::parse(part).is_ok();
    let read = parts.map(|part| is_url(part).then(|| part.to_owned()).ok_or("must be URLs with commas between them"));
    read.collect::<Result<_, _>>().map(Canonicals)
}

pub(super) fn whole(text: &str, least: u64, most: u64) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from {least} to {most}")),
    }
}

pub(super) fn boolean(text: &str) -> Result<bool, &'static str> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("must be true, false, 1 or 0"),
    }
}

/// An absolute address that paths are appended to. Empty counts as absent.
pub(super) fn base_url(text: &str) -> Result<String, &'static str> {
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
    Err(
        "must be an absolute http or https URL without a trailing slash, query or fragment, such as https://auth.example.org",
    )
}

pub(super) fn brand(text: &str) -> Result<String, &'static str> {
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let goes_on = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if begins && goes_on && text.len() <= BRAND_MAX_BYTES {
        return Ok(text.to_owned());
    }
    Err("must be a lower-case letter followed by lower-case letters and digits, 32 at most")
}

/// The id of a User or Client. Empty counts as absent.
pub(super) fn id(text: &str) -> Result<String, &'static str> {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if plain && text.len() <= ID_MAX_BYTES && !matches!(text, "." | "..") {
        return Ok(text.to_owned());
    }
    Err("must be letters, digits, '.', '_' and '-', 64 at most")
}

/// A file. Empty counts as absent, which the parser of the library refuses.
#[expect(clippy::unnecessary_wraps, reason = "the shape of a value parser")]
pub(super) fn path(text: &str) -> Result<PathBuf, Infallible> {
    Ok(PathBuf::from(text))
}

/// A file of this machine, as a URL. Empty counts as absent.
pub(super) fn file_location(text: &str) -> Result<PathBuf, &'static str> {
    if text.is_empty() {
        return Ok(PathBuf::new());
    }
    let location = Url::parse(text).ok().filter(|url| url.scheme() == "file" && url.query().is_none());
    location
        .and_then(|url| url.to_file_path().ok())
        .ok_or("must be a file:// location with an absolute path, such as file:///etc/auth/bundle.json")
}

/// A registry of packages. Empty counts as absent, which is the public one.
pub(super) fn package_registry(text: &str) -> Result<Url, &'static str> {
    let fits = |url: &Url| {
        let plain = url.query().is_none() && url.fragment().is_none();
        let open = url.username().is_empty() && url.password().is_none();
        let known = match url.scheme() {
            "http" | "https" => url.has_host(),
            "file" => url.to_file_path().is_ok(),
            _ => false,
        };
        plain && open && known
    };
    let text = if text.is_empty() { PACKAGE_REGISTRY } else { text };
    Url::parse(text).ok().filter(fits).ok_or(
        "must be an http or https URL, or file:// and the absolute path of a folder, without credentials, \
         query or fragment",
    )
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a value parser")]
pub(super) fn secret(text: &str) -> Result<SecretString, Infallible> {
    Ok(SecretString::from(text))
}

/// A secret that private keys are encrypted under.
pub(super) fn key_encryption_secret(text: &str) -> Result<(), String> {
    if text.chars().count() < SECRET_MIN_CHARS {
        return Err(format!("must be at least {SECRET_MIN_CHARS} characters long"));
    }
    Ok(())
}

/// Says of a wrong URL its scheme alone: the rest may hold a password.
pub(super) fn database_url(text: &str) -> Result<(), String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    if matches!(scheme, "postgres" | "postgresql") && !rest.is_empty() {
        return Ok(());
    }
    Err(format!(
        "invalid value '{scheme}…' for '--database-url <URL>': must be postgres://user@host:port/database, \
         or absent for the embedded database"
    ))
}

pub(super) fn algorithm(text: &str) -> Result<SigningAlg, String> {
    let known = SigningAlg::ALL.into_iter().find(|alg| alg.name() == text);
    known.ok_or_else(|| format!("must be {ALGORITHMS}"))
}

pub(super) fn log_filter(text: &str) -> Result<String, &'static str> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("must be a level (error, warn, info, debug, trace, off) or module=level,…"),
    }
}
