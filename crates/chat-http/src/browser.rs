//! Browsers: the session in a cookie, and the CSRF token that a request proves to have read.
//!
//! Two cookies. The session ([`CookieKind::Session`]) is the secret of [`chat_core::people::session`]; script cannot
//! read it. The CSRF token ([`CookieKind::Csrf`]) is read by script and by pages of this server, and sent back with
//! every request that changes something: as the header `X-CSRFToken` under `/json/`, as a field of forms.
//!
//! **Why bound to the session, and not a double submit alone**: another host of the domain can plant cookies over
//! http, so a cookie and a header that agree prove little. The token of a session follows from its secret, which such a
//! host does not have. Before there is a session, on the page to sign in, there is nothing to bind it to: the random
//! cookie is compared with the field of the form. `Sec-Fetch-Site`, where the browser sends it, is checked besides, and
//! `SameSite=Lax` keeps the session out of requests that other sites cause.

use chat_core::id::UserId;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::ApiKey;
use chat_core::people::session::{self, Session, SessionToken};
use cookie::{Cookie, SameSite};
use http::header::{AUTHORIZATION, COOKIE, SET_COOKIE, USER_AGENT};
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method};
use subtle::ConstantTimeEq as _;

use crate::authentication::{
    AuthenticatedCaller, AuthenticationError, AuthorizationHeaderError, CallerSecretHash, holder, may_authenticate,
};
use crate::error::{ApiError, BrowserRequestError};
use crate::rate::address;
use crate::routes::JSON_API;
use crate::state::{App, AppState};

/// Where script sends the CSRF token.
const CSRF_HEADER: HeaderName = HeaderName::from_static("x-csrftoken");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Days for which a browser keeps the cookies: the longest that browsers allow. The server ends a session sooner.
const COOKIE_DAYS: i64 = 400;
/// Longest value that can be one of ours, in bytes.
const COOKIE_MAX_BYTES: usize = 128;

/// The cookies of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CookieKind {
    /// The secret of a session; script cannot read it.
    Session,
    /// The CSRF token, which script reads.
    Csrf,
}

/// The format of cookies: with https they have the prefix `__Host-`, so that no other host of the domain sets them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cookies {
    is_secure: bool,
}

impl Cookies {
    pub(crate) fn of(app: &AppState) -> Self {
        Self { is_secure: app.settings.base_url.starts_with("https:") }
    }

    const fn name(self, kind: CookieKind) -> &'static str {
        match (kind, self.is_secure) {
            (CookieKind::Session, true) => "__Host-sessionid",
            (CookieKind::Session, false) => "sessionid",
            (CookieKind::Csrf, true) => "__Host-csrftoken",
            (CookieKind::Csrf, false) => "csrftoken",
        }
    }

    fn read(self, headers: &HeaderMap, kind: CookieKind) -> Option<String> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut sent = lines.flat_map(Cookie::split_parse).filter_map(Result::ok);
        let cookie = sent.find(|cookie| cookie.name() == self.name(kind))?;
        (cookie.value().len() <= COOKIE_MAX_BYTES).then(|| cookie.value().to_owned())
    }

    fn set(self, headers: &mut HeaderMap, kind: CookieKind, value: &str, days: i64) {
        let cookie = Cookie::build((self.name(kind), value))
            .path("/")
            .http_only(kind == CookieKind::Session)
            .same_site(SameSite::Lax)
            .secure(self.is_secure)
            .max_age(cookie::time::Duration::days(days));
        if let Ok(value) = HeaderValue::try_from(cookie.to_string()) {
            headers.append(SET_COOKIE, value);
        }
    }

    fn session(self, headers: &HeaderMap) -> Option<SessionToken> {
        SessionToken::parse(&self.read(headers, CookieKind::Session)?).ok()
    }

    /// Makes the browser forget both cookies.
    pub(crate) fn forget(self, headers: &mut HeaderMap) {
        self.set(headers, CookieKind::Session, "", 0);
        self.set(headers, CookieKind::Csrf, "", 0);
    }
}

/// Returns whether a request is one of a browser's client.
fn is_json_api(head: &Parts) -> bool {
    head.uri.path().strip_prefix(JSON_API).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns whether the session decides who calls: always under `/json/`, never under `/api/`, and for files where the
/// request shows nothing else.
pub(crate) fn is_by_session(app: &AppState, head: &Parts) -> bool {
    let is_api = head.uri.path().starts_with("/api/");
    is_json_api(head)
        || (!is_api
            && !head.headers.contains_key(AUTHORIZATION)
            && Cookies::of(app).read(&head.headers, CookieKind::Session).is_some())
}

/// Returns the caller by the session of the request, which is checked for a CSRF token where it changes something.
///
/// # Errors
/// When there is no session, it has ended, or the token is not the session's.
pub(crate) fn caller(app: &AppState, head: &Parts) -> Result<AuthenticatedCaller, ApiError> {
    let token = Cookies::of(app).session(&head.headers).ok_or(AuthorizationHeaderError::Absent)?;
    let caller = signed_in(app, &token)?;
    check_json(app, head)?;
    Ok(caller)
}

/// Returns the account that a browser is signed in with; `None` where it is not. Another node may have signed it in a
/// moment ago, so a session that is not known here is looked up once more on the newest realm.
///
/// # Errors
/// When too many unknown sessions came from there, or storage fails.
pub(crate) async fn account(
    app: &AppState,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<Option<AuthenticatedCaller>, ApiError> {
    let Some(token) = Cookies::of(app).session(headers) else { return Ok(None) };
    app.ensure_current().await?;
    if let Ok(caller) = signed_in(app, &token) {
        return Ok(Some(caller));
    }
    app.server.by_address.check(&address(extensions))?;
    app.realm.refresh_realm().await?;
    Ok(signed_in(app, &token).ok())
}

fn signed_in(app: &AppState, token: &SessionToken) -> Result<AuthenticatedCaller, AuthenticationError> {
    let realm = app.realm();
    let hash = token.hash(realm.key_hasher());
    let session = Session::find_by_hash(&realm, token.user_id, hash).ok_or(AuthenticationError::SignedOut)?;
    if session.is_expired(app.now_s(), app.browser.session_lifetime_s) {
        return Err(AuthenticationError::SignedOut);
    }
    let secret = CallerSecretHash::Session(hash);
    let user = holder(&realm, token.user_id, secret)?.clone();
    may_authenticate(&realm, &user)?;
    Ok(AuthenticatedCaller { user, realm, secret })
}

/// Writes down that a session is used, when that was not done for an hour. A failure is logged, and the request goes
/// on.
pub(crate) async fn note_use(app: &AppState, caller: &AuthenticatedCaller) {
    let Some(hash) = caller.secret.session_hash() else { return };
    let found = Session::find_by_hash(&caller.realm, caller.user_id(), hash);
    if !found.is_some_and(|session| session.needs_use_recorded(app.now_s())) {
        return;
    }
    let noted = app.commit(|realm, commit| {
        session::record_session_use(realm, caller.user_id(), hash, commit);
        Ok(())
    });
    if let Err(error) = noted.await {
        error.log("the use of a session was not written down");
    }
}

/// Checks the CSRF token of a request under `/json/` that changes something.
///
/// # Errors
/// When it has none, or not the one of its session.
pub(crate) fn check_json(app: &AppState, head: &Parts) -> Result<(), ApiError> {
    if !is_json_api(head) || matches!(head.method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let shown = head.headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
    check(app, &head.headers, shown.unwrap_or_default())
}

/// Checks the CSRF token of a form, or of the header that script sends in its place.
///
/// # Errors
/// When it is not the one of this browser.
pub(crate) fn check_form(app: &AppState, headers: &HeaderMap, field: &str) -> Result<(), ApiError> {
    let shown = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
    check(app, headers, shown.unwrap_or(field))
}

fn check(app: &AppState, headers: &HeaderMap, shown: &str) -> Result<(), ApiError> {
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    let expected = csrf_token(app, headers).unwrap_or_default();
    let is_ours = matches!(site, None | Some(b"same-origin" | b"none"));
    let is_equal: bool = shown.as_bytes().ct_eq(expected.as_bytes()).into();
    if is_ours && is_equal && !expected.is_empty() { Ok(()) } else { Err(BrowserRequestError::Csrf.into()) }
}

/// Returns the token of the browser's session; without one that of its cookie.
fn csrf_token(app: &AppState, headers: &HeaderMap) -> Option<String> {
    let cookies = Cookies::of(app);
    match cookies.session(headers) {
        Some(session) => Some(session.csrf_token()),
        None => cookies.read(headers, CookieKind::Csrf).filter(|value| ApiKey::parse(value).is_ok()),
    }
}

/// The CSRF token of a page with a form.
pub(crate) struct FormToken {
    /// The value of the field.
    pub(crate) value: String,
    is_new: bool,
}

impl FormToken {
    /// Returns the token of the browser; a new one where it has none.
    pub(crate) fn of(app: &AppState, headers: &HeaderMap) -> Result<Self, ApiError> {
        match csrf_token(app, headers) {
            Some(value) => Ok(Self { value, is_new: false }),
            None => Ok(Self { value: app.fresh_key()?.expose().to_owned(), is_new: true }),
        }
    }

    /// Gives a new token to the browser.
    pub(crate) fn add_cookie(&self, app: &AppState, headers: &mut HeaderMap) {
        if self.is_new {
            Cookies::of(app).set(headers, CookieKind::Csrf, &self.value, COOKIE_DAYS);
        }
    }
}

/// Signs a browser in: begins a session of the user under a new secret, and ends the one that the browser had. `may`
/// decides on the newest realm whether the user may be signed in.
///
/// # Errors
/// When `may` refuses, or storage fails.
pub(crate) async fn sign_in(
    app: &App,
    user_id: UserId,
    (request, response): (&HeaderMap, &mut HeaderMap),
    may: impl Fn(&RealmSnapshot) -> Result<(), ApiError> + Send + Sync,
) -> Result<SessionToken, ApiError> {
    let cookies = Cookies::of(app);
    let before = cookies.session(request);
    let token = SessionToken::new(user_id, app.fresh_key()?);
    let user_agent = request.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let user_agent = user_agent.unwrap_or_default();
    app.commit(|realm, commit| {
        may(realm)?;
        if let Some(before) = &before {
            session::end_session(realm, before.user_id, before.hash(realm.key_hasher()), commit);
        }
        session::begin_session(realm, &token, &user_agent, app.browser.session_lifetime_s, commit);
        Ok(())
    })
    .await?;
    cookies.set(response, CookieKind::Session, &token.expose(), COOKIE_DAYS);
    cookies.set(response, CookieKind::Csrf, &token.csrf_token(), COOKIE_DAYS);
    Ok(token)
}

/// Ends the session of a browser, if it has one.
///
/// # Errors
/// When storage fails.
pub(crate) async fn sign_out(app: &App, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(token) = Cookies::of(app).session(headers) else { return Ok(()) };
    app.commit(|realm, commit| {
        session::end_session(realm, token.user_id, token.hash(realm.key_hasher()), commit);
        Ok(())
    })
    .await
}

/// Returns where a browser goes after it was signed in: a path of this server, and nothing that a browser would read as
/// another one's address.
pub(crate) fn next_path(given: &str) -> &str {
    let is_path = given.starts_with('/') && !given.starts_with("//");
    let is_plain = given.bytes().all(|byte| (b'!'..=b'~').contains(&byte) && byte != b'\\');
    if is_path && is_plain && given.len() <= NEXT_MAX_BYTES { given } else { "/" }
}

/// Longest path that a browser is sent to after sign-in, in bytes.
const NEXT_MAX_BYTES: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_sent_to_paths_of_this_server_alone() {
        for path in ["/", "/sessions/", "/user_uploads/2/ab/cat.png?x=1#top"] {
            assert_eq!(next_path(path), path);
        }
        for other in
            ["", "x", "//evil.example", "/\\evil.example", "https://evil.example/", "/\t/evil.example", "/a\r\nb", "/ä"]
        {
            assert_eq!(next_path(other), "/", "{other}");
        }
        assert_eq!(next_path(&format!("/{}", "a".repeat(NEXT_MAX_BYTES))), "/");
    }

    #[test]
    fn with_https_cookies_are_bound_to_the_host_and_script_reads_the_csrf_token_alone() {
        let set = |is_secure, kind, days| {
            let mut headers = HeaderMap::new();
            Cookies { is_secure }.set(&mut headers, kind, "abc", days);
            headers.get(SET_COOKIE).unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(
            set(true, CookieKind::Session, 1),
            "__Host-sessionid=abc; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=86400"
        );
        assert_eq!(set(true, CookieKind::Csrf, 0), "__Host-csrftoken=abc; SameSite=Lax; Secure; Path=/; Max-Age=0");
        assert_eq!(set(false, CookieKind::Session, 1), "sessionid=abc; HttpOnly; SameSite=Lax; Path=/; Max-Age=86400");
    }
}
