//! Who calls: e-mail address and API key of a Basic header, and whose they are.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chat_core::id::UserId;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::{ApiKey, BotKind, KeyHash, User, fold_case};
use chat_core::people::session::Session;
pub use chat_core::permission::authentication::{AuthenticationError, may_authenticate};
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::limits::AUTHORIZATION_CREDENTIAL_MAX_BYTES;

/// The e-mail address and API key of a request's `Authorization` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyCredentials {
    /// The account's real address, as typed.
    pub email: String,
    /// Its key.
    pub api_key: ApiKey,
}

/// An authenticated caller (user or bot) with the realm snapshot it was found in.
#[derive(Debug, Clone)]
pub struct AuthenticatedCaller {
    /// The account.
    pub user: Arc<User>,
    /// The realm at that moment. A decision that changes it is taken on the newest, by `AppState::commit`.
    pub realm: Arc<RealmSnapshot>,
    /// The secret that the request showed.
    pub secret: CallerSecretHash,
}

/// The hash of the secret that authenticated a caller: an API key or a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerSecretHash {
    /// An API key.
    ApiKey(KeyHash),
    /// The session of a browser.
    Session(KeyHash),
}

impl CallerSecretHash {
    /// Returns the hash of a browser's session; `None` for an API key.
    #[must_use]
    pub fn session_hash(self) -> Option<KeyHash> {
        match self {
            Self::Session(hash) => Some(hash),
            Self::ApiKey(_) => None,
        }
    }
}

impl AuthenticatedCaller {
    /// Returns the caller as it is in a newer realm snapshot, for when a slow request is complete.
    ///
    /// # Errors
    /// As [`authenticate_by_api_key`], when they were let in and would not be now.
    pub fn reload_from_realm(self, realm: Arc<RealmSnapshot>) -> Result<Self, AuthenticationError> {
        let user = Arc::clone(self.account_in_realm(&realm)?);
        may_authenticate(&realm, &user)?;
        Ok(Self { user, realm, secret: self.secret })
    }

    /// Returns the id of the caller's account.
    #[must_use]
    pub fn user_id(&self) -> UserId {
        self.user.id
    }

    /// Returns the account as it is in a newer realm, where it may have other rights, or none.
    ///
    /// # Errors
    /// When it is closed there, has another key, or the session has ended.
    pub fn account_in_realm<'a>(&self, realm: &'a RealmSnapshot) -> Result<&'a Arc<User>, AuthenticationError> {
        holder(realm, self.user_id(), self.secret)
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
    secret: CallerSecretHash,
) -> Result<&Arc<User>, AuthenticationError> {
    let user = realm.user(id).filter(|user| user.is_active).ok_or(AuthenticationError::AccountDeactivated)?;
    match secret {
        CallerSecretHash::ApiKey(key) if realm.key_hash_of_user(id) == Some(key) => Ok(user),
        CallerSecretHash::Session(hash) if Session::find_by_hash(realm, id, hash).is_some() => Ok(user),
        CallerSecretHash::ApiKey(_) => Err(AuthenticationError::UnknownKey),
        CallerSecretHash::Session(_) => Err(AuthenticationError::SignedOut),
    }
}

/// Authenticates `shown` against the realm in memory, checked in this order: the key is known, the address is the key's
/// owner's (compared without case), the organization is active, the account is active, it is no incoming webhook.
///
/// # Errors
/// [`AuthenticationError`] names the first check that fails.
pub fn authenticate_by_api_key(
    realm: Arc<RealmSnapshot>,
    shown: &ApiKeyCredentials,
) -> Result<AuthenticatedCaller, AuthenticationError> {
    let key = realm.key_hasher().hash(&shown.api_key);
    let user = realm.user_by_key_hash(&key).ok_or(AuthenticationError::UnknownKey)?;
    // Most clients write it as the account has it.
    if user.email != shown.email && user.email_key() != fold_case(&shown.email) {
        return Err(AuthenticationError::UnknownKey);
    }
    may_authenticate(&realm, user)?;
    if user.bot.as_ref().is_some_and(|bot| bot.kind == BotKind::IncomingWebhook) {
        return Err(AuthenticationError::IncomingWebhook);
    }
    let user = Arc::clone(user);
    Ok(AuthenticatedCaller { user, realm, secret: CallerSecretHash::ApiKey(key) })
}

/// The reason why a login with a password is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordLoginError {
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

/// The reason why the `Authorization` header has no usable credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizationHeaderError {
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

/// Parses the credentials of the request headers.
///
/// # Errors
/// When there are none, or they have another form.
///
/// # Source
/// RFC 7617, section 2; texts as existing clients know them.
pub fn credentials_from_headers(headers: &HeaderMap) -> Result<ApiKeyCredentials, AuthorizationHeaderError> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let header = sent.next().ok_or(AuthorizationHeaderError::Absent)?;
    if sent.next().is_some() {
        return Err(AuthorizationHeaderError::Malformed);
    }
    let header = header.to_str().map_err(|_| AuthorizationHeaderError::Malformed)?;
    let mut words = header.split_ascii_whitespace();
    let scheme = words.next().ok_or(AuthorizationHeaderError::Malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(AuthorizationHeaderError::NotBasic);
    }
    let (Some(encoded), None) = (words.next(), words.next()) else {
        return Err(AuthorizationHeaderError::Malformed);
    };
    let (email, key) = decoded(encoded).ok_or(AuthorizationHeaderError::Malformed)?;
    let api_key = ApiKey::parse(key.trim()).map_err(|_| AuthorizationHeaderError::MalformedKey)?;
    Ok(ApiKeyCredentials { email, api_key })
}

/// Exactly one colon: neither an address that could be ours nor a key has one. No NUL: no account has one.
fn decoded(encoded: &str) -> Option<(String, String)> {
    if encoded.len() > AUTHORIZATION_CREDENTIAL_MAX_BYTES {
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

    fn shown(header: &str) -> Result<ApiKeyCredentials, AuthorizationHeaderError> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(header).unwrap());
        credentials_from_headers(&headers)
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
        assert_eq!(credentials_from_headers(&HeaderMap::new()), Err(AuthorizationHeaderError::Absent));
        assert_eq!(shown("Bearer abc"), Err(AuthorizationHeaderError::NotBasic));
        let colons = basic(&format!("a:b:{KEY}"));
        let long = basic(&format!("{}:{KEY}", "a".repeat(AUTHORIZATION_CREDENTIAL_MAX_BYTES)));
        for header in ["", "Basic", "Basic %%%", "Basic a b", &basic("no colon"), &colons, &long, &basic("a\0:b")] {
            assert_eq!(shown(header), Err(AuthorizationHeaderError::Malformed), "{header}");
        }
        for key in ["", "short", &KEY[1..], &format!("{KEY}x"), &KEY.replace('a', "-")] {
            assert_eq!(shown(&basic(&format!("a@b:{key}"))), Err(AuthorizationHeaderError::MalformedKey), "{key}");
        }
    }

    #[test]
    fn two_headers_are_one_too_many() {
        let mut headers = HeaderMap::new();
        for _ in 0..2 {
            headers.append(AUTHORIZATION, HeaderValue::from_str(&basic(&format!("a@b:{KEY}"))).unwrap());
        }
        assert_eq!(credentials_from_headers(&headers), Err(AuthorizationHeaderError::Malformed));
    }

    #[test]
    fn a_key_does_not_print() {
        let found = shown(&basic(&format!("a@b:{KEY}"))).unwrap();
        assert!(!format!("{found:?}").contains(KEY));
    }
}
