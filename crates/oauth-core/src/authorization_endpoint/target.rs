//! Where answers go once the address is known to be the app's own.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::fault::{AuthorizationRedirectError, AuthorizationRequestError};

/// The redirect of the browser to the app: 303, never 307, so that no form is posted on (RFC 9700, section 4.12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRedirect {
    /// The registered address with the answer in its query, or in its fragment for `response_type=token`.
    pub location: String,
}

/// Everything but the unreserved characters of RFC 3986, section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A redirect target that was compared with the registration.
#[derive(Debug, Clone)]
pub(crate) struct RedirectTarget {
    /// The registered address.
    pub(crate) redirect_uri: String,
    /// Whether answers go into the fragment.
    pub(crate) fragment: bool,
    /// What the app wants back.
    pub(crate) state: Option<String>,
    /// Who answers (RFC 9207).
    pub(crate) issuer: String,
}

impl RedirectTarget {
    /// Returns whether only whoever holds a host on the net gets what is sent there, and no program on the person's
    /// device that listens on a port or takes the scheme for itself. Where http is not the device's own, anybody on the
    /// way is in that place.
    pub(crate) fn is_held_by_a_host(&self) -> bool {
        let Ok(uri) = url::Url::parse(&self.redirect_uri) else { return false };
        let is_device = match uri.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => true,
        };
        uri.scheme() == "https" && !is_device
    }

    /// Returns the address with `members`, `state` and `iss`.
    pub(crate) fn departure(&self, members: &[(&str, &str)]) -> ClientRedirect {
        let own = [("state", self.state.as_deref()), ("iss", Some(self.issuer.as_str()))];
        let own = own.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let pairs = members.iter().copied().chain(own).map(|(name, value)| format!("{name}={}", encoded(value)));
        let answer = pairs.collect::<Vec<_>>().join("&");
        let separator = if self.fragment { '#' } else { query_separator(&self.redirect_uri) };
        let separator = separator.to_string();
        let separator = if !self.fragment && self.redirect_uri.ends_with(['?', '&']) { "" } else { &separator };
        ClientRedirect { location: format!("{}{separator}{answer}", self.redirect_uri) }
    }

    /// Returns the refusal as the app gets it.
    pub(crate) fn refuse(&self, cause: AuthorizationRedirectError) -> AuthorizationRequestError {
        let description = cause.error_description();
        let departure = self.departure(&[("error", cause.error_code()), ("error_description", &description)]);
        AuthorizationRequestError::Redirect { departure, cause: Box::new(cause) }
    }
}

/// Returns what joins more parameters to an address that may have some.
pub(crate) fn query_separator(uri: &str) -> char {
    if uri.contains('?') { '&' } else { '?' }
}

/// `value` as the value of a parameter.
pub(crate) fn encoded(value: &str) -> String {
    utf8_percent_encode(value, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(redirect_uri: &str, fragment: bool) -> RedirectTarget {
        let state = Some("a b&c=d\u{e4}#+%".to_owned());
        RedirectTarget {
            redirect_uri: redirect_uri.to_owned(),
            fragment,
            state,
            issuer: "https://payer.example".to_owned(),
        }
    }

    #[test]
    fn an_answer_is_joined_to_whatever_query_is_registered() {
        let answer = "code=x&state=a%20b%26c%3Dd%C3%A4%23%2B%25&iss=https%3A%2F%2Fpayer.example";
        for (registered, joined) in [
            ("https://app.example/cb", "https://app.example/cb?"),
            ("https://app.example/cb?a=1", "https://app.example/cb?a=1&"),
            ("https://app.example/cb?", "https://app.example/cb?"),
            ("app.example:/cb", "app.example:/cb?"),
        ] {
            let departure = target(registered, false).departure(&[("code", "x")]);
            assert_eq!(departure.location, format!("{joined}{answer}"));
        }
        let departure = target("https://app.example/cb?a=1", true).departure(&[("code", "x")]);
        assert_eq!(departure.location, format!("https://app.example/cb?a=1#{answer}"));
    }

    #[test]
    fn an_address_on_the_persons_device_is_held_by_no_host() {
        for held in ["https://app.example/cb", "https://app.example:8443/cb?a=1", "https://192.0.2.1/cb"] {
            assert!(target(held, false).is_held_by_a_host(), "{held}");
        }
        for open in [
            "app.example:/cb",
            "com.example.app://cb",
            "http://127.0.0.1:1234/cb",
            "http://[::1]/cb",
            "http://localhost/cb",
            "http://app.example/cb",
            "https://localhost/cb",
            "https://app.localhost/cb",
            "https://127.0.0.2/cb",
        ] {
            assert!(!target(open, false).is_held_by_a_host(), "{open}");
        }
    }

    #[test]
    fn a_refusal_says_what_the_app_can_use_and_nothing_of_ours() {
        let passing = crate::ports::TransientStoreCause("password of the database".into());
        for (cause, told) in [
            ("password of the database".into(), "error=server_error&error_description=the%20server%20failed&"),
            (
                Box::new(passing) as Box<dyn std::error::Error + Send + Sync>,
                "error=temporarily_unavailable&error_description=the%20server%20is%20too%20busy%3B%20try%20again&",
            ),
        ] {
            let store = AuthorizationRedirectError::Store(crate::ports::StoreError(cause));
            let AuthorizationRequestError::Redirect { departure, .. } =
                target("https://app.example/", false).refuse(store)
            else {
                panic!("a refusal is a redirect");
            };
            assert!(departure.location.starts_with(&format!("https://app.example/?{told}")), "{departure:?}");
        }
    }
}
