//! The client that a request names, before it is authenticated: the key of its rate limit.
//!
//! Authentication is the rules' business.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::Deserialize;

/// Longest claimed name that is told apart from others, in bytes; what is longer counts as nobody.
const MAX_BYTES: usize = 128;
/// Longest credential looked into, in bytes: as long as the longest token the rules take.
const MAX_CREDENTIAL_BYTES: usize = oauth_core::limits::ACCESS_TOKEN_MAX_BYTES;

/// The client an `Authorization` header names: the user of Basic, the `client_id` or `sub` of a
/// Bearer JWT, and an opaque Bearer token itself by its first characters.
pub(crate) fn claimed_client(authorization: &str) -> Option<String> {
    let (scheme, credential) = authorization.split_once(' ')?;
    let credential = credential.trim();
    if credential.len() > MAX_CREDENTIAL_BYTES {
        return None;
    }
    if scheme.eq_ignore_ascii_case("basic") {
        basic_user(credential)
    } else if scheme.eq_ignore_ascii_case("bearer") {
        jwt_subject(credential).or_else(|| opaque(credential))
    } else {
        None
    }
}

/// The client a token request's form names: its `client_id`, else the `sub` of its assertion.
pub(crate) fn claimed_in_form(pairs: &[(String, String)]) -> Option<String> {
    let value = |wanted: &str| {
        pairs.iter().find(|(name, value)| name == wanted && !value.is_empty()).map(|(_, value)| value.as_str())
    };
    match value("client_id") {
        Some(client_id) => short(client_id),
        None => value("client_assertion").and_then(jwt_subject),
    }
}

fn basic_user(credential: &str) -> Option<String> {
    let decoded = STANDARD.decode(credential).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    // Encoded as in a form (RFC 6749, section 2.3.1), so that every spelling of an id is one name; a
    // `+` in an id sent unencoded then is a blank, which tells callers apart as well.
    let encoded = format!("={}", text.split(':').next()?.replace('&', "%26"));
    let (_, id) = form_urlencoded::parse(encoded.as_bytes()).next()?;
    short(&id)
}

fn jwt_subject(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Claims {
        client_id: Option<String>,
        sub: Option<String>,
    }
    let payload = token.split('.').nth(1)?;
    let decoded = URL_SAFE_NO_PAD.decode(payload).ok()?;
    let claims: Claims = serde_json::from_slice(&decoded).ok()?;
    short(&claims.client_id.or(claims.sub)?)
}

/// Enough of an opaque token to tell two apart, and not enough to be one.
fn opaque(token: &str) -> Option<String> {
    token.get(..12).map(str::to_owned)
}

fn short(name: &str) -> Option<String> {
    (1..=MAX_BYTES).contains(&name.len()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jwt(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn a_basic_header_names_its_user() {
        let header = format!("Basic {}", STANDARD.encode("payer:secret:with:colons"));
        assert_eq!(claimed_client(&header).as_deref(), Some("payer"));
    }

    #[test]
    fn every_spelling_of_an_id_names_one_client() {
        let named = |id: &str| claimed_client(&format!("Basic {}", STANDARD.encode(format!("{id}:x"))));
        for spelling in ["payer", "%70ayer", "p%61yer", "%70%61%79%65%72"] {
            assert_eq!(named(spelling).as_deref(), Some("payer"), "{spelling}");
        }
        assert_eq!(named("a&b").as_deref(), Some("a&b"));
        assert_eq!(named("100%").as_deref(), Some("100%"));
    }

    #[test]
    fn a_token_names_its_client_and_only_then_its_subject() {
        let both = format!("Bearer {}", jwt(r#"{"sub":"person","client_id":"app"}"#));
        assert_eq!(claimed_client(&both).as_deref(), Some("app"));
        let subject = format!("bearer {}", jwt(r#"{"sub":"payer"}"#));
        assert_eq!(claimed_client(&subject).as_deref(), Some("payer"));
    }

    #[test]
    fn what_cannot_be_read_names_nobody() {
        for header in ["", "Basic", "Basic %%%", "Bearer x", "Digest a", "Basic  "] {
            assert_eq!(claimed_client(header), None, "{header}");
        }
        let long = format!("Basic {}", STANDARD.encode("x".repeat(129)));
        assert_eq!(claimed_client(&long), None);
    }

    #[test]
    fn a_form_names_its_client_or_the_subject_of_its_assertion() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let assertion = pair("client_assertion", &jwt(r#"{"sub":"payer"}"#));
        let both = [pair("client_id", "app"), assertion.clone()];
        assert_eq!(claimed_in_form(&both).as_deref(), Some("app"));
        assert_eq!(claimed_in_form(&[assertion]).as_deref(), Some("payer"));
        assert_eq!(claimed_in_form(&[pair("client_id", "")]), None);
    }
}
