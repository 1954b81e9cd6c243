//! What one value must be. Every refusal says what is allowed.

use std::net::SocketAddr;

use chat_core::import_export::export::OriginalServerRelease;
use chat_core::limits::MIN_PASSWORD_CHARS;
use chat_core::model::role::Role;
use chat_core::model::user;
use chat_core::text_processing::printable_names::find_unprintable_in_name;
use lettre::message::Mailbox;
use server_kit::config::value_parsers;
use url::Url;

pub(super) use server_kit::config::value_parsers::{
    parse_boolean, parse_integer_in_range as whole, parse_path, parse_secret, parse_trusted_proxies as proxies,
    validate_database_url, validate_log_filter,
};

use crate::passwords::PASSWORD_MAX_BYTES;

/// The roles, for help texts.
pub(super) const ROLES: &str = "owner, administrator, moderator, member, guest, or the number of one (100 to 600)";
/// Longest name of an organization, in characters.
const REALM_NAME_MAX_CHARS: usize = 40;
/// The sender of letters when nobody said: nobody reads what is sent there.
pub(super) const DEFAULT_FROM: &str = "noreply@localhost";

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    value_parsers::parse_socket_address(text, 9991)
}

/// Returns the public address of the server.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    value_parsers::parse_base_url(text, "https://chat.example.org")
}

/// What an address of S3 begins with.
pub(super) const S3: &str = "s3://";

/// A bucket of S3, with or without a prefix. Empty counts as absent.
pub(super) fn bucket(text: &str) -> Result<String, &'static str> {
    let of_names = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let of_prefixes = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/');
    let fits = text.strip_prefix(S3).is_some_and(|place| {
        let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
        !name.is_empty() && name.bytes().all(of_names) && prefix.bytes().all(of_prefixes) && !prefix.contains("..")
    });
    if text.is_empty() || fits { Ok(text.to_owned()) } else { Err("must be s3://BUCKET or s3://BUCKET/PREFIX") }
}

/// A word, or nothing.
pub(super) fn brand(text: &str) -> Result<String, &'static str> {
    if text.is_empty() || value_parsers::is_valid_brand_word(text) {
        return Ok(text.to_owned());
    }
    Err("must be a lower-case letter followed by lower-case letters and digits, 32 at most, or empty")
}

/// Returns the name of the organization. Empty counts as absent.
pub(super) fn realm_name(text: &str) -> Result<String, &'static str> {
    if text.chars().count() <= REALM_NAME_MAX_CHARS && find_unprintable_in_name(text).is_none() {
        return Ok(text.trim().to_owned());
    }
    Err("must have 40 characters at most, and none that no screen shows")
}

/// An e-mail address. Empty counts as absent.
pub(super) fn email(text: &str) -> Result<String, &'static str> {
    if text.is_empty() || user::parse_email(text).is_ok() {
        return Ok(text.to_owned());
    }
    Err("must be an e-mail address, such as ada@example.org")
}

pub(super) fn role(text: &str) -> Result<Role, String> {
    let numbered = || text.parse().ok().and_then(|number: i64| Role::try_from(number).ok());
    let role = match text {
        "owner" => Some(Role::Owner),
        "administrator" => Some(Role::Administrator),
        "moderator" => Some(Role::Moderator),
        "member" => Some(Role::Member),
        "guest" => Some(Role::Guest),
        _ => numbered(),
    };
    role.ok_or_else(|| format!("must be {ROLES}"))
}

/// Returns the name of a person. Empty counts as absent.
pub(super) fn full_name(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    user::parse_full_name(text).map(str::to_owned).map_err(|why| format!("must be the full name of a person: {why}"))
}

/// Who letters come from. Empty counts as absent.
pub(super) fn mailbox(text: &str) -> Result<Mailbox, &'static str> {
    let text = if text.is_empty() { DEFAULT_FROM } else { text };
    text.parse().map_err(|_| "must be an address, or a name and an address: Acme chat <chat@example.org>")
}

/// Returns what Apple calls a key, a team or an app. Empty counts as absent.
pub(super) fn apple_id(text: &str) -> Result<String, &'static str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
    if text.bytes().all(allowed) { Ok(text.to_owned()) } else { Err("must be letters, digits, full stops and hyphens") }
}

pub(super) fn release(text: &str) -> Result<OriginalServerRelease, String> {
    let names = || OriginalServerRelease::ALL.map(OriginalServerRelease::release_number).join(" or ");
    OriginalServerRelease::from_release_number(text).ok_or_else(|| format!("must be {}", names()))
}

/// Says nothing of a wrong password but how long it may be. It is held to what everybody's passwords are.
pub(super) fn password(flag: &str, text: &str) -> Result<(), String> {
    if user::check_password_strength(text).is_ok() && text.len() <= PASSWORD_MAX_BYTES {
        return Ok(());
    }
    Err(format!(
        "invalid value '…' for '{flag} <SECRET>': must have {MIN_PASSWORD_CHARS} characters at least and \
         {PASSWORD_MAX_BYTES} bytes at most, and must not be one of the most common passwords"
    ))
}

/// Says of a wrong URL its scheme alone: the rest may hold a password.
pub(super) fn smtp_url(text: &str) -> Result<(), String> {
    let url = Url::parse(text).ok();
    let fits = |url: &Url| matches!(url.scheme(), "smtp" | "smtps") && url.has_host() && matches!(url.path(), "" | "/");
    if url.as_ref().is_some_and(fits) {
        return Ok(());
    }
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    Err(format!(
        "invalid value '{scheme}…' for '--smtp-url <URL>': must be smtps://user:password@host or smtp://host, or \
         absent for a folder of files"
    ))
}
