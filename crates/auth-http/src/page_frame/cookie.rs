//! The two cookies of a browser.
//!
//! Both are 256 random bits and nothing else. With https they carry the prefix `__Host-`, so that no
//! other host of the domain can set them.

use std::time::Duration;

use cookie::{Cookie, SameSite};
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

/// Longest value that can be one of ours, in bytes.
const VALUE_MAX_BYTES: usize = 64;

/// Which cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CookieKind {
    /// Who is signed in.
    Session,
    /// Which browser it is, before anybody has signed in: forms are marked for it.
    Browser,
}

/// How cookies are written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestCookies {
    /// Whether the server is reached by https.
    secure: bool,
}

impl RequestCookies {
    pub(crate) fn new(base_url: &str) -> Self {
        Self { secure: base_url.starts_with("https:") }
    }

    const fn name(self, kind: CookieKind) -> &'static str {
        match (kind, self.secure) {
            (CookieKind::Session, true) => "__Host-asid",
            (CookieKind::Session, false) => "asid",
            (CookieKind::Browser, true) => "__Host-browser",
            (CookieKind::Browser, false) => "browser",
        }
    }

    /// Returns the value the browser sent, if it can be one of ours.
    pub(crate) fn read(self, headers: &HeaderMap, kind: CookieKind) -> Option<String> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut sent = lines.flat_map(Cookie::split_parse).filter_map(Result::ok);
        let cookie = sent.find(|cookie| cookie.name() == self.name(kind))?;
        let value = cookie.value();
        let base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let fits = !value.is_empty() && value.len() <= VALUE_MAX_BYTES && value.bytes().all(base64url);
        fits.then(|| value.to_owned())
    }

    /// `Set-Cookie`. Without `lasts` it ends with the browser's session.
    pub(crate) fn set(self, kind: CookieKind, value: &str, lasts: Option<Duration>) -> Option<HeaderValue> {
        let mut cookie = self.build(kind, value);
        if let Some(lasts) = lasts {
            cookie.set_max_age(lasts.try_into().ok().or(Some(cookie::time::Duration::ZERO)));
        }
        HeaderValue::try_from(cookie.to_string()).ok()
    }

    /// `Set-Cookie` that makes the browser forget it.
    pub(crate) fn forget(self, kind: CookieKind) -> Option<HeaderValue> {
        self.set(kind, "", Some(Duration::ZERO))
    }

    /// `Lax`, not `Strict`: an app's link to the authorization page comes from another site, and has to
    /// find who is signed in.
    fn build(self, kind: CookieKind, value: &str) -> Cookie<'_> {
        let cookie = Cookie::build((self.name(kind), value.to_owned()));
        cookie.path("/").http_only(true).same_site(SameSite::Lax).secure(self.secure).build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_https_a_cookie_is_bound_to_the_host() {
        let https = RequestCookies::new("https://a.example");
        let set = https.set(CookieKind::Session, "abc", Some(Duration::from_hours(1))).unwrap();
        assert_eq!(set, "__Host-asid=abc; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=3600");
        let http = RequestCookies::new("http://127.0.0.1:8080");
        assert_eq!(http.set(CookieKind::Browser, "abc", None).unwrap(), "browser=abc; HttpOnly; SameSite=Lax; Path=/");
        assert_eq!(http.forget(CookieKind::Session).unwrap(), "asid=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
    }

    #[test]
    fn a_cookie_is_found_among_others_and_what_cannot_be_ours_is_not_read() {
        let read = |line: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_str(line).unwrap());
            RequestCookies::new("http://a.example").read(&headers, CookieKind::Session)
        };
        assert_eq!(read("theme=dark; asid=a-B_9; x").as_deref(), Some("a-B_9"));
        for line in [
            "",
            "asid",
            "asid=",
            "xasid=a",
            "__Host-asid=a",
            "asid=a b",
            "asid=\"a\"",
            &format!("asid={}", "a".repeat(65)),
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
