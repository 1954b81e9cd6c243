//! Users: people and bots.

mod api_key;
mod common_passwords;
mod invitation_secret;

pub use api_key::{ApiKey, KeyHash, KeyHasher, MalformedApiKey};
pub use invitation_secret::{InvitationSecret, MalformedInvitationLink};

use std::fmt;

use serde::{Deserialize, Serialize};

use self::common_passwords::COMMON_PASSWORDS;
use crate::id::UserId;
use crate::limits::{MAX_EMAIL_CHARS, MAX_FULL_NAME_CHARS, MAX_TIMEZONE_CHARS, MIN_PASSWORD_CHARS};
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::role::Role;
use crate::text_processing::printable_names::find_unprintable_in_name;

/// A user account, human or bot, as the realm's members may see it. Secrets are elsewhere: see [`ApiKey`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Their number.
    pub id: UserId,
    /// The address they log in with, as written when the account was made. Others are shown [`User::public_email`].
    pub email: String,
    /// Their name.
    pub full_name: String,
    /// What they may do.
    pub role: Role,
    /// Whether the account is in use; a deactivated one keeps its name and its messages.
    pub is_active: bool,
    /// When the account was made, in unix seconds.
    pub joined_s: i64,
    /// Set for bots.
    pub bot: Option<BotProperties>,
    /// IANA name, empty when unknown.
    pub timezone: String,
    /// Where their picture is, when they uploaded one.
    pub avatar_url: Option<String>,
    /// Counts changes of the picture, from 1.
    pub avatar_version: i64,
    /// Who is shown [`User::email`]. It is one of the user's preferences, which the snapshot takes it from; it is not
    /// written with the account. Ask [`User::email_address_visibility`].
    #[serde(skip)]
    pub address_visibility: EmailAddressVisibility,
}

/// The properties of a bot account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BotProperties {
    /// Its kind.
    pub kind: BotKind,
    /// Who answers for it; `None` for the realm's own.
    pub owner_id: Option<UserId>,
}

/// The kind of a bot: generic, incoming webhook, outgoing webhook or the server's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BotKind {
    /// 1: does what a user does.
    Generic,
    /// 2: may only post what a webhook brings.
    IncomingWebhook,
    /// 3: is notified about mentions by HTTP.
    OutgoingWebhook,
    /// A bot of the server itself, which speaks for it: 1 on the wire, and `is_system_bot`. No one signs in as it, and
    /// no user manages it.
    System,
}

impl User {
    /// Returns the e-mail address in the case-folded form by which addresses are compared.
    #[must_use]
    pub fn email_key(&self) -> String {
        fold_case(&self.email)
    }

    /// Returns whether this is an administrator or owner.
    #[must_use]
    pub fn is_administrator(&self) -> bool {
        self.role <= Role::Administrator
    }

    /// Returns whether this is a bot of the server itself: see [`BotKind::System`].
    #[must_use]
    pub fn is_system_bot(&self) -> bool {
        self.bot.as_ref().is_some_and(|bot| bot.kind == BotKind::System)
    }

    /// Returns whether this is a guest.
    #[must_use]
    pub fn is_guest(&self) -> bool {
        self.role == Role::Guest
    }
}

/// Returns the text in Unicode lower case, by which names and addresses are compared on every database engine. It is
/// computed here and never by the database.
#[must_use]
pub fn fold_case(text: &str) -> String {
    text.to_lowercase()
}

/// The reason why a text is not a valid full name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FullNameError {
    /// Fewer than two characters.
    #[error("Name too short!")]
    TooShort,
    /// More than [`MAX_FULL_NAME_CHARS`].
    #[error("Name too long!")]
    TooLong,
    /// A character that mentions are written with, or one that no screen shows ([`find_unprintable_in_name`]).
    #[error("Invalid characters in name!")]
    InvalidCharacter,
    /// It ends as a mention by name and id does, or is what everybody is mentioned by.
    #[error("Invalid format!")]
    LooksLikeMention,
}

/// Parses a full name: trims and validates it.
///
/// # Errors
/// See [`FullNameError`].
pub fn parse_full_name(written: &str) -> Result<&str, FullNameError> {
    const MENTION: [char; 6] = ['*', '`', '\\', '>', '"', '@'];
    /// What `@**…**` mentions everybody by.
    const WILDCARDS: [&str; 5] = ["all", "everyone", "channel", "stream", "topic"];
    let name = written.trim();
    let count = name.chars().count();
    if count > MAX_FULL_NAME_CHARS {
        return Err(FullNameError::TooLong);
    }
    if count < 2 {
        return Err(FullNameError::TooShort);
    }
    if find_unprintable_in_name(name).is_some() || name.contains(MENTION) {
        return Err(FullNameError::InvalidCharacter);
    }
    if WILDCARDS.iter().any(|wildcard| name.eq_ignore_ascii_case(wildcard)) {
        return Err(FullNameError::LooksLikeMention);
    }
    match name.rsplit_once('|') {
        Some((_, id)) if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(FullNameError::LooksLikeMention)
        }
        _ => Ok(name),
    }
}

/// The text is not the name of a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Invalid timezone: Value error, Not a recognized time zone")]
pub struct UnknownTimezone;

/// Parses the name of a time zone: checks its form, not whether the zone exists.
///
/// Whether there is one of that name is not asked: which there are changes with the years, and only clients count with
/// them.
///
/// # Errors
/// When it has not the form of one: words of letters, digits, `_`, `+` and `-`, separated by slashes.
///
/// # Source
/// The IANA time zone database, "Theory and pragmatics", on names.
pub fn parse_timezone(written: &str) -> Result<&str, UnknownTimezone> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte);
    let word = |word: &str| !word.is_empty() && word.bytes().all(letter);
    let fits = written.len() <= MAX_TIMEZONE_CHARS && written.split('/').all(word);
    if fits { Ok(written) } else { Err(UnknownTimezone) }
}

/// The text is not an e-mail address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Enter a valid email address.")]
pub struct MalformedEmail;

/// Parses an e-mail address: trims and validates it.
///
/// # Errors
/// When it is none.
///
/// # Source
/// RFC 5321, section 4.1.2, without quoted names, comments and literal addresses: the address is the name in a Basic
/// header, where a colon would end it, and stands in HTML and in headers of mail.
pub fn parse_email(written: &str) -> Result<&str, MalformedEmail> {
    const SPECIAL: &str = "\"(),:;<>@[\\]";
    let address = written.trim();
    let (name, host) = address.rsplit_once('@').ok_or(MalformedEmail)?;
    let named = |character: char| !character.is_whitespace() && !SPECIAL.contains(character);
    let label = |label: &str| {
        let inside = label.chars().all(|character| character.is_alphanumeric() || character == '-');
        inside && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
    };
    let name_fits = !name.is_empty() && name.chars().all(named);
    let host_fits = host.split('.').all(label) && (host.contains('.') || host == "localhost");
    let fits = name_fits
        && host_fits
        && find_unprintable_in_name(address).is_none()
        && address.chars().count() <= MAX_EMAIL_CHARS;
    if fits { Ok(address) } else { Err(MalformedEmail) }
}

/// The password is too short or too common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The password is too weak.")]
pub struct WeakPassword;

/// Checks that a new password has the length that the API announces and is not a common one. Not specified; the limit
/// on attempts keeps out other guesses. The bound on attempts keeps out what else a person would guess.
///
/// # Errors
/// When it has less than [`MIN_PASSWORD_CHARS`], or is a common one in any case of its letters.
pub fn check_password_strength(password: &str) -> Result<(), WeakPassword> {
    let is_short = password.chars().count() < MIN_PASSWORD_CHARS;
    let is_common = COMMON_PASSWORDS.iter().any(|common| common.eq_ignore_ascii_case(password));
    if is_short || is_common { Err(WeakPassword) } else { Ok(()) }
}

/// The Argon2id hash of a password, in its text form. Made and compared where there is a pool for it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(pub String);

impl fmt::Debug for PasswordHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PasswordHash(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_has_bounds_and_no_mention_syntax() {
        assert_eq!(parse_full_name("  Ada Lovelace "), Ok("Ada Lovelace"));
        assert_eq!(parse_full_name("A"), Err(FullNameError::TooShort));
        assert_eq!(parse_full_name(&"a".repeat(101)), Err(FullNameError::TooLong));
        assert_eq!(parse_full_name("Ada*"), Err(FullNameError::InvalidCharacter));
        assert_eq!(parse_full_name("Ada|12"), Err(FullNameError::LooksLikeMention));
        assert_eq!(parse_full_name("Ada|x"), Ok("Ada|x"));
        for name in ["Ada\u{202e}", "A\u{200b}da", "\u{feff}Ada", "ada@home", "@all", "Ada\u{ad}"] {
            assert_eq!(parse_full_name(name), Err(FullNameError::InvalidCharacter), "{name:?}");
        }
        for name in ["all", "Everyone", "CHANNEL", "stream", "topic"] {
            assert_eq!(parse_full_name(name), Err(FullNameError::LooksLikeMention), "{name}");
        }
        assert_eq!(parse_full_name("Allan"), Ok("Allan"));
    }

    #[test]
    fn an_address_has_a_name_and_a_host_and_no_syntax() {
        for written in
            ["ada@example.org", " ada+x@mail.example.org ", "o'neil@example.org", "jörg@münchen.de", "a@localhost"]
        {
            assert_eq!(parse_email(written), Ok(written.trim()), "{written}");
        }
        let long = format!("{}@example.org", "a".repeat(MAX_EMAIL_CHARS));
        let malformed = [
            "",
            "ada",
            "@example.org",
            "ada@",
            "a@b",
            "a@.org",
            "a@b..org",
            "a@-b.org",
            "a b@example.org",
            "a:b@example.org",
            "<ada@example.org>",
            "a@b@example.org",
            "a\u{7}@example.org",
            "a\u{200b}@example.org",
            "a@exa_mple.org",
            &long,
        ];
        for written in malformed {
            assert_eq!(parse_email(written), Err(MalformedEmail), "{written}");
        }
    }

    #[test]
    fn a_time_zone_is_words_between_slashes() {
        for written in ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"] {
            assert_eq!(parse_timezone(written), Ok(written), "{written}");
        }
        for written in ["", "Europe/", "/UTC", "Europe//Berlin", "Europe Berlin", "a/../b", &"a".repeat(101)] {
            assert_eq!(parse_timezone(written), Err(UnknownTimezone), "{written}");
        }
    }

    #[test]
    fn a_password_has_six_characters() {
        assert_eq!(check_password_strength("12345"), Err(WeakPassword));
        for common in ["123456", "password", "PassWord123", "qwerty", "iloveyou"] {
            assert_eq!(check_password_strength(common), Err(WeakPassword), "{common}");
        }
        assert!(COMMON_PASSWORDS.is_sorted());
        assert_eq!(check_password_strength("äöüäöü"), Ok(()));
    }
}
