//! Who calls: e-mail address and API key of a Basic header, and whose they are.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chat_core::id::UserId;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::{ApiKey, BotKind, KeyHash, User, fold};
use chat_core::people::session::Session;
pub use chat_core::permission::entry::{AuthenticationError, may_enter};
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::limits::CREDENTIAL_MAX_BYTES;

/// The e-mail address and API key that a request shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The account's real address, as typed.
    pub email: String,
    /// Its key.
    pub api_key: ApiKey,
}

/// An authenticated account, person or bot, and the realm it was found in.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The account.
    pub user: Arc<User>,
    /// The realm at that moment. A decision that changes it is taken on the newest, by `AppState::commit`.
    pub realm: Arc<RealmSnapshot>,
    /// The secret that the request showed.
    pub secret: CallerSecret,
}

/// The secret that a caller showed, by the hash that the realm has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerSecret {
    /// An API key.
    ApiKey(KeyHash),
    /// The session of a browser.
    Session(KeyHash),
}

impl CallerSecret {
    /// Returns the hash of a browser's session; `None` for an API key.
    #[must_use]
    pub fn session(self) -> Option<KeyHash> {
        match self {
            Self::Session(hash) => Some(hash),
            Self::ApiKey(_) => None,
        }
    }
}

impl Caller {
    /// The caller by a newer realm: who sends slowly is who they are when the request is complete.
    ///
    /// # Errors
    /// As [`authenticate`], when they were let in and would not be now.
    pub fn renewed(self, realm: Arc<RealmSnapshot>) -> Result<Self, AuthenticationError> {
        let user = Arc::clone(self.account_in(&realm)?);
        may_enter(&realm, &user)?;
        Ok(Self { user, realm, secret: self.secret })
    }

    /// Returns the account's number.
    #[must_use]
    pub fn id(&self) -> UserId {
        self.user.id
    }

    /// Returns the account as it is in a newer realm, where it may have other rights, or none.
    ///
    /// # Errors
    /// When it is closed there, has another key, or the session has ended.
    pub fn account_in<'a>(&self, realm: &'a RealmSnapshot) -> Result<&'a Arc<User>, AuthenticationError> {
        holder(realm, self.id(), self.secret)
    }
}

/// Returns the account, when it is open and the secret still opens it. Whether a session has expired is checked where a
/// request arrives, and not again.
///
/// # Errors
/// When it is closed, has another key, or the session has ended.
pub(crate) fn holder(
    realm: &RealmSnapshot,
    id: UserId,
    secret: CallerSecret,
) -> Result<&Arc<User>, AuthenticationError> {
    let user = realm.user(id).filter(|user| user.is_active).ok_or(AuthenticationError::AccountDeactivated)?;
    match secret {
        CallerSecret::ApiKey(key) if realm.key_of(id) == Some(key) => Ok(user),
        CallerSecret::Session(hash) if Session::find(realm, id, hash).is_some() => Ok(user),
        CallerSecret::ApiKey(_) => Err(AuthenticationError::UnknownKey),
        CallerSecret::Session(_) => Err(AuthenticationError::SignedOut),
    }
}

/// Returns the account of `shown`, from memory, checked in this order: the key is known, the address is the key's
/// owner's (compared without case), the organization is active, the account is active, it is no incoming webhook.
///
/// # Errors
/// [`AuthenticationError`] names the first check that fails.
pub fn authenticate(realm: Arc<RealmSnapshot>, shown: &Credentials) -> Result<Caller, AuthenticationError> {
    let key = realm.key_hasher().hash(&shown.api_key);
    let user = realm.user_by_key(&key).ok_or(AuthenticationError::UnknownKey)?;
    // Most clients write it as the account has it.
    if user.email != shown.email && user.email_key() != fold(&shown.email) {
        return Err(AuthenticationError::UnknownKey);
    }
    may_enter(&realm, user)?;
    if user.bot.as_ref().is_some_and(|bot| bot.kind == BotKind::IncomingWebhook) {
        return Err(AuthenticationError::IncomingWebhook);
    }
    let user = Arc::clone(user);
    Ok(Caller { user, realm, secret: CallerSecret::ApiKey(key) })
}

/// The reason why a password is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// No account has that address and password. The text does not say which of the two is wrong.
    #[error("Your username or password is incorrect")]
    WrongPassword,
    /// The organization is closed.
    #[error("This organization has been deactivated")]
    RealmDeactivated,
    /// The account is closed.
    #[error("Account is deactivated")]
    AccountDeactivated,
}

/// The reason why a request has no credentials that can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// No `Authorization` header.
    #[error("Not logged in: API authentication or user session required")]
    Absent,
    /// Another scheme than Basic.
    #[error("This endpoint requires HTTP basic authentication.")]
    NotBasic,
    /// Not base64, not exactly one colon, or two headers.
    #[error("Invalid authorization header for basic auth")]
    Malformed,
    /// What should be the key is none.
    #[error("Malformed API key")]
    MalformedKey,
}

/// Returns the credentials a request shows.
///
/// # Errors
/// When there are none, or they have another form.
///
/// # Source
/// RFC 7617, section 2; texts as existing clients know them.
pub fn credentials(headers: &HeaderMap) -> Result<Credentials, CredentialsError> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let header = sent.next().ok_or(CredentialsError::Absent)?;
    if sent.next().is_some() {
        return Err(CredentialsError::Malformed);
    }
    let header = header.to_str().map_err(|_| CredentialsError::Malformed)?;
    let mut words = header.split_ascii_whitespace();
    let scheme = words.next().ok_or(CredentialsError::Malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(CredentialsError::NotBasic);
    }
    let (Some(encoded), None) = (words.next(), words.next()) else {
        return Err(CredentialsError::Malformed);
    };
    let (email, key) = decoded(encoded).ok_or(CredentialsError::Malformed)?;
    let api_key = ApiKey::parse(key.trim()).map_err(|_| CredentialsError::MalformedKey)?;
    Ok(Credentials { email, api_key })
}

/// Exactly one colon: neither an address that could be ours nor a key has one. No NUL: no account has one.
fn decoded(encoded: &str) -> Option<(String, String)> {
    if encoded.len() > CREDENTIAL_MAX_BYTES {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let (email, key) = text.split_once(':')?;
    (!key.contains(':') && !email.contains('\0')).then(|| (email.to_owned(), key.to_owned()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const KEY: &str = "abcdefghijklmnopqrstuvwxyz012345";

    fn shown(header: &str) -> Result<Credentials, CredentialsError> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(header).unwrap());
        credentials(&headers)
    }

    fn basic(pair: &str) -> String {
        format!("Basic {}", STANDARD.encode(pair))
    }

    #[test]
    fn address_and_key_are_read_whatever_the_case_of_the_scheme() {
        let header = basic(&format!("Iago@Example.com:{KEY}"));
        for header in [header.clone(), header.replace("Basic", "bASIC")] {
            let found = shown(&header).unwrap();
            assert_eq!((found.email.as_str(), found.api_key.expose()), ("Iago@Example.com", KEY));
        }
    }

    #[test]
    fn each_way_of_not_showing_credentials_is_told_apart() {
        assert_eq!(credentials(&HeaderMap::new()), Err(CredentialsError::Absent));
        assert_eq!(shown("Bearer abc"), Err(CredentialsError::NotBasic));
        let colons = basic(&format!("a:b:{KEY}"));
        let long = basic(&format!("{}:{KEY}", "a".repeat(CREDENTIAL_MAX_BYTES)));
        for header in ["", "Basic", "Basic %%%", "Basic a b", &basic("no colon"), &colons, &long, &basic("a\0:b")] {
            assert_eq!(shown(header), Err(CredentialsError::Malformed), "{header}");
        }
        for key in ["", "short", &KEY[1..], &format!("{KEY}x"), &KEY.replace('a', "-")] {
            assert_eq!(shown(&basic(&format!("a@b:{key}"))), Err(CredentialsError::MalformedKey), "{key}");
        }
    }

    #[test]
    fn two_headers_are_one_too_many() {
        let mut headers = HeaderMap::new();
        for _ in 0..2 {
            headers.append(AUTHORIZATION, HeaderValue::from_str(&basic(&format!("a@b:{KEY}"))).unwrap());
        }
        assert_eq!(credentials(&headers), Err(CredentialsError::Malformed));
    }

    #[test]
    fn a_key_does_not_print() {
        let found = shown(&basic(&format!("a@b:{KEY}"))).unwrap();
        assert!(!format!("{found:?}").contains(KEY));
    }
}
