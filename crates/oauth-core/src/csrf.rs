//! CSRF tokens: proof that a form came from a page of this server that was given to this browser.

use aws_lc_rs::hmac;

use crate::jose::{decode_base64url, encode_base64url};

/// The key of CSRF tokens: one per deployment, so that each node accepts the forms of the others.
pub struct CsrfTokenKey(hmac::Key);

impl CsrfTokenKey {
    /// A key of these bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// Returns the token of a form with this purpose (its path), for the browser with this cookie value.
    ///
    /// The purpose is part of it, so that the token of a harmless form opens no other.
    #[must_use]
    pub fn form_token(&self, cookie: &str, purpose: &str) -> String {
        encode_base64url(hmac::sign(&self.0, &message(cookie, purpose)).as_ref())
    }

    /// Returns whether `token` is that of this form and browser; compared in constant time.
    #[must_use]
    pub fn verifies_form_token(&self, cookie: &str, purpose: &str, token: &str) -> bool {
        decode_base64url(token).is_some_and(|tag| hmac::verify(&self.0, &message(cookie, purpose), &tag).is_ok())
    }
}

/// The length in front keeps two pairs of texts from meaning one.
fn message(cookie: &str, purpose: &str) -> Vec<u8> {
    format!("{} {cookie} {purpose}", cookie.len()).into_bytes()
}

impl std::fmt::Debug for CsrfTokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FormKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_token_is_good_for_its_browser_and_its_form_alone() {
        let key = CsrfTokenKey::new(&[1; 32]);
        let token = key.form_token("cookie", "/auth/grant");
        assert!(key.verifies_form_token("cookie", "/auth/grant", &token));
        assert!(!key.verifies_form_token("another", "/auth/grant", &token));
        assert!(!key.verifies_form_token("cookie", "/auth/apps", &token));
        assert!(!key.verifies_form_token("cookie /auth", "/grant", &token));
        assert!(!CsrfTokenKey::new(&[2; 32]).verifies_form_token("cookie", "/auth/grant", &token));
        for damaged in ["", "x", "!", &token[1..]] {
            assert!(!key.verifies_form_token("cookie", "/auth/grant", damaged));
        }
    }
}
