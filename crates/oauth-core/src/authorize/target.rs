//! Where answers go once the address is known to be the app's own.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::fault::{AuthorizeFault, Refusal};

/// The browser leaves for the app: 303, never 307, so that no form is posted on (RFC 9700, section 4.12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// The registered address with the answer in its query, or in its fragment for `response_type=token`.
    pub location: String,
}

/// Everything but the unreserved characters of RFC 3986, section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A redirect target that was compared with the registration.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The registered address.
    pub(crate) redirect_uri: String,
    /// Whether answers go into the fragment.
    pub(crate) fragment: bool,
    /// What the app wants back.
    pub(crate) state: Option<String>,
    /// Who answers (RFC 9207).
    pub(crate) issuer: String,
}

impl Target {
    /// The address with `members`, `state` and `iss`.
    pub(crate) fn departure(&self, members: &[(&str, &str)]) -> Departure {
        let own = [("state", self.state.as_deref()), ("iss", Some(self.issuer.as_str()))];
        let own = own.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let pairs = members.iter().copied().chain(own).map(|(name, value)| format!("{name}={}", encoded(value)));
        let answer = pairs.collect::<Vec<_>>().join("&");
        let separator = if self.fragment { '#' } else { query_separator(&self.redirect_uri) };
        let separator = separator.to_string();
        let separator = if !self.fragment && self.redirect_uri.ends_with(['?', '&']) { "" } else { &separator };
        Departure { location: format!("{}{separator}{answer}", self.redirect_uri) }
    }

    /// The refusal as the app gets it.
    pub(crate) fn refuse(&self, cause: Refusal) -> AuthorizeFault {
        let description = cause.description();
        let departure = self.departure(&[("error", cause.code()), ("error_description", &description)]);
        AuthorizeFault::Redirect { departure, cause: Box::new(cause) }
    }
}

/// What joins more parameters to an address that may have some.
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

    fn target(redirect_uri: &str, fragment: bool) -> Target {
        let state = Some("a b&c=d\u{e4}#+%".to_owned());
        Target { redirect_uri: redirect_uri.to_owned(), fragment, state, issuer: "https://payer.example".to_owned() }
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
    fn a_refusal_says_what_the_app_can_use_and_nothing_of_ours() {
        let store = Refusal::Store(crate::ports::StoreError("password of the database".into()));
        let AuthorizeFault::Redirect { departure, .. } = target("https://app.example/", false).refuse(store) else {
            panic!("a refusal is a redirect");
        };
        assert!(
            departure
                .location
                .starts_with("https://app.example/?error=server_error&error_description=the%20server%20failed&")
        );
    }
}
