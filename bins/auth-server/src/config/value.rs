//! What one value must be. Every refusal says what is allowed.

use std::net::SocketAddr;
use std::path::PathBuf;

use oauth_core::jose::SigningAlg;
use oauth_core::signing_key_encryption::ENCRYPTION_SECRET_MIN_CHARS;
use server_kit::config::value_parsers;
use url::Url;

pub(super) use server_kit::config::value_parsers::{
    parse_boolean, parse_integer_in_range as whole, parse_path, parse_secret, parse_trusted_proxies as proxies,
    validate_database_url, validate_log_filter,
};

/// The algorithms the server signs with, for help texts.
pub(super) const ALGORITHMS: &str = "ES256, ES384, RS256 or RS384";
/// The registry FHIR packages are published in.
pub(super) const PACKAGE_REGISTRY: &str = "https://packages.fhir.org";
/// Longest id of a User or Client, in bytes.
const ID_MAX_BYTES: usize = 64;

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    value_parsers::parse_socket_address(text, 8080)
}

/// Returns the public address of the server.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    value_parsers::parse_base_url(text, "https://auth.example.org")
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

pub(super) fn brand(text: &str) -> Result<String, &'static str> {
    if value_parsers::is_valid_brand_word(text) {
        return Ok(text.to_owned());
    }
    Err("must be a lower-case letter followed by lower-case letters and digits, 32 at most")
}

/// Returns the id of a User or Client. Empty counts as absent.
pub(super) fn id(text: &str) -> Result<String, &'static str> {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if plain && text.len() <= ID_MAX_BYTES && !matches!(text, "." | "..") {
        return Ok(text.to_owned());
    }
    Err("must be letters, digits, '.', '_' and '-', 64 at most")
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

/// A secret that private keys are encrypted under.
pub(super) fn key_encryption_secret(text: &str) -> Result<(), String> {
    if text.chars().count() < ENCRYPTION_SECRET_MIN_CHARS {
        return Err(format!("must be at least {ENCRYPTION_SECRET_MIN_CHARS} characters long"));
    }
    Ok(())
}

pub(super) fn algorithm(text: &str) -> Result<SigningAlg, String> {
    let known = SigningAlg::ALL.into_iter().find(|alg| alg.name() == text);
    known.ok_or_else(|| format!("must be {ALGORITHMS}"))
}
