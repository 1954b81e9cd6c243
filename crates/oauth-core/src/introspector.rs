//! A `TokenIntrospector` as the rules see it: an issuer elsewhere, and what verifies its tokens.
//!
//! Only those of type `jwt` are used; they say whose tokens may be exchanged for this server's own.

use serde_json::Value;

use crate::access_policies::{ResourceIssue, ResourceIssueCode};
use crate::jose::{Hs256Key, PublicKey, SigningAlg};
use crate::limits::{CLIENT_SECRET_MAX_BYTES, INTROSPECTOR_MAX_KEYS};
use crate::security_resource_rules::{self, is_web_address};

/// What verifies the tokens of an issuer.
#[derive(Debug)]
pub(crate) enum IntrospectionTrust {
    /// `jwt.secret` or `jwt.keys`.
    Keys(Vec<TrustedKey>),
    /// `jwks_uri`.
    At(String),
}

/// A key that verifies one algorithm, so that no public key is ever taken for a shared one.
#[derive(Debug)]
pub(crate) enum TrustedKey {
    /// HS256.
    Shared(Box<Hs256Key>),
    /// Every other algorithm.
    Public(PublicKey),
}

impl IntrospectionTrust {
    /// Reads a `TokenIntrospector`, at registration and again when it is used: one that SQL wrote past these
    /// checks verifies nothing.
    ///
    /// Not specified how short a secret may be; we demand what RFC 7518, section 3.2 does. Types besides `jwt`
    /// are refused, because no token would be accepted on their word.
    ///
    /// # Errors
    /// What is wrong with it, never with a part of a secret in the text.
    ///
    /// # Source
    /// `docs/decisions.md`, "Registration".
    pub(crate) fn read(resource: &Value) -> Result<Self, Vec<ResourceIssue>> {
        kind(resource)?;
        let jwt = resource.get("jwt").filter(|jwt| jwt.is_object());
        let jwt = jwt.ok_or_else(|| one(ResourceIssueCode::Required, "jwt", "an object with iss is required"))?;
        match jwt.get("iss").map(Value::as_str) {
            Some(Some(issuer)) if !issuer.is_empty() => {}
            Some(_) => return Err(one(ResourceIssueCode::Value, "jwt.iss", "must be a string that is not empty")),
            None => return Err(one(ResourceIssueCode::Required, "jwt.iss", "is required: whose tokens these are")),
        }
        expected_audiences(resource)?;
        match (jwt.get("secret"), jwt.get("keys"), resource.get("jwks_uri")) {
            (Some(secret), None, None) => Ok(Self::Keys(vec![shared("jwt.secret", secret)?])),
            (None, Some(keys), None) => trusted(keys).map(Self::Keys),
            (None, None, Some(uri)) => address(uri).map(Self::At),
            _ => Err(one(
                ResourceIssueCode::Invariant,
                "jwt",
                "exactly one of jwt.secret, jwt.keys and jwks_uri is required",
            )),
        }
    }
}

/// Returns the audiences of which a token of the issuer must name one, `jwt.audience`; none where it is absent: then
/// any token of the issuer is taken, whatever application it was made for.
///
/// An extension of ours: the platform does not check `aud`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn expected_audiences(resource: &Value) -> Result<Vec<&str>, Vec<ResourceIssue>> {
    let wrong = || {
        one(ResourceIssueCode::Structure, "jwt.audience", "must be a string, or an array of strings with one at least")
    };
    let Some(audience) = resource.pointer("/jwt/audience") else { return Ok(Vec::new()) };
    let texts = match audience {
        Value::Array(several) if !several.is_empty() => several.iter().map(Value::as_str).collect(),
        other => other.as_str().map(|text| vec![text]),
    };
    texts.filter(|texts| texts.iter().all(|text| !text.is_empty())).ok_or_else(wrong)
}

/// Returns the members that are misspelt: an audience that is not read would limit nothing.
pub(crate) fn misspelt(resource: &Value) -> Vec<ResourceIssue> {
    let Some(jwt) = resource.get("jwt") else { return Vec::new() };
    let mut issues =
        security_resource_rules::misspelt(&["iss", "secret", "keys", "audience"], "TokenIntrospector.jwt", jwt);
    if jwt.get("aud").is_some() {
        issues.extend(one(
            ResourceIssueCode::Structure,
            "jwt.aud",
            "is not known and would have no effect: is audience meant?",
        ));
    }
    issues
}

/// Returns what the writer of a `TokenIntrospector` that may be stored should know.
pub(crate) fn warnings(resource: &Value) -> Vec<ResourceIssue> {
    if expected_audiences(resource).is_ok_and(|expected| !expected.is_empty()) {
        return Vec::new();
    }
    let text = "is not set: a token that the issuer made for any other application is accepted in token exchange, \
                unless the client has allowedAudiences";
    one(ResourceIssueCode::Security, "jwt.audience", text)
}

impl TrustedKey {
    /// Returns whether the key is one for this `alg` of a header.
    pub(crate) fn fits(&self, alg: &str) -> bool {
        match self {
            Self::Shared(_) => alg == HS256,
            Self::Public(key) => alg == key.alg().name(),
        }
    }

    /// Returns whether `signature` over `message` was made with the key.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Shared(key) => key.verifies_tag(message, signature),
            Self::Public(key) => key.verifies_signature(message, signature),
        }
    }
}

/// HMAC with SHA-256, which takes a shared key.
pub(crate) const HS256: &str = "HS256";

fn kind(resource: &Value) -> Result<(), Vec<ResourceIssue>> {
    match resource.get("type").map(Value::as_str) {
        Some(Some("jwt")) => Ok(()),
        Some(Some("opaque" | "aspxauth")) => Err(one(
            ResourceIssueCode::NotSupported,
            "type",
            "this server takes only tokens of type jwt from other issuers",
        )),
        Some(_) => Err(one(ResourceIssueCode::Value, "type", "must be jwt")),
        None => Err(one(ResourceIssueCode::Required, "type", "is required: jwt")),
    }
}

fn shared(at: &str, value: &Value) -> Result<TrustedKey, Vec<ResourceIssue>> {
    let text = value.as_str().ok_or_else(|| one(ResourceIssueCode::Structure, at, "must be a string"))?;
    if text.len() > CLIENT_SECRET_MAX_BYTES {
        return Err(one(
            ResourceIssueCode::TooLong,
            at,
            format!("must be at most {CLIENT_SECRET_MAX_BYTES} bytes long"),
        ));
    }
    let expected = format!("must be at least {} bytes long (RFC 7518, section 3.2)", Hs256Key::MIN_BYTES);
    let key = Hs256Key::new(text.as_bytes()).ok_or_else(|| one(ResourceIssueCode::Security, at, expected))?;
    Ok(TrustedKey::Shared(Box::new(key)))
}

fn address(value: &Value) -> Result<String, Vec<ResourceIssue>> {
    let uri = value.as_str().filter(|uri| is_web_address(uri));
    uri.map(str::to_owned)
        .ok_or_else(|| one(ResourceIssueCode::Value, "jwks_uri", "must be an absolute http or https URL"))
}

fn trusted(value: &Value) -> Result<Vec<TrustedKey>, Vec<ResourceIssue>> {
    let keys = value.as_array().filter(|keys| (1..=INTROSPECTOR_MAX_KEYS).contains(&keys.len()));
    let expected = format!("must be an array of 1 to {INTROSPECTOR_MAX_KEYS} keys");
    let keys = keys.ok_or_else(|| one(ResourceIssueCode::Structure, "jwt.keys", expected))?;
    let (mut trusted, mut issues) = (Vec::new(), Vec::new());
    for (index, key) in keys.iter().enumerate() {
        match trusted_key(&format!("jwt.keys[{index}]"), key) {
            Ok(key) => trusted.push(key),
            Err(wrong) => issues.extend(wrong),
        }
    }
    if issues.is_empty() { Ok(trusted) } else { Err(issues) }
}

/// A key is what its type and algorithm say together: `k` for the shared one, `pub` for the others.
fn trusted_key(at: &str, key: &Value) -> Result<TrustedKey, Vec<ResourceIssue>> {
    let text = |member: &str| key.get(member).and_then(Value::as_str).unwrap_or_default();
    let material = |held: &str, other: &str, formats: &str| {
        if key.get(other).is_some() {
            let expected = format!("does not belong in a key of this type, which has {held}");
            return Err(one(ResourceIssueCode::Security, &format!("{at}.{other}"), expected));
        }
        if key.get("format").is_some_and(|format| format.as_str() != Some(formats)) {
            return Err(one(ResourceIssueCode::Value, &format!("{at}.format"), format!("must be {formats}")));
        }
        let material = key.get(held);
        material.ok_or_else(|| {
            one(ResourceIssueCode::Required, &format!("{at}.{held}"), "is required in a key of this type")
        })
    };
    match (text("kty"), text("alg")) {
        ("OCT" | "oct", HS256) => shared(&format!("{at}.k"), material("k", "pub", "plain")?),
        ("RSA", alg @ ("RS256" | "RS384")) | ("EC", alg @ ("ES256" | "ES384")) => {
            let alg: SigningAlg = alg.parse().map_err(|_| one(ResourceIssueCode::Value, at, "has an unknown alg"))?;
            let pem = material("pub", "k", "PEM")?.as_str().unwrap_or_default();
            let key = PublicKey::from_pem(pem, alg);
            let wrong = |fault| {
                one(ResourceIssueCode::Value, &format!("{at}.pub"), format!("must be a public key in PEM: {fault}"))
            };
            key.map(TrustedKey::Public).map_err(wrong)
        }
        _ => Err(one(
            ResourceIssueCode::Value,
            at,
            "must have kty RSA with alg RS256 or RS384, EC with ES256 or ES384, or OCT with HS256",
        )),
    }
}

fn one(code: ResourceIssueCode, at: &str, diagnostics: impl Into<String>) -> Vec<ResourceIssue> {
    vec![ResourceIssue::new(code, format!("TokenIntrospector.{at}"), diagnostics)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn found(introspector: &Value) -> Vec<(String, ResourceIssueCode)> {
        let issues = IntrospectionTrust::read(introspector).err().unwrap_or_default();
        assert!(issues.iter().all(|issue| !issue.diagnostics.contains("0123456789")), "{issues:?}");
        issues.into_iter().map(|issue| (issue.expression, issue.code)).collect()
    }

    fn with(jwt: &Value) -> Value {
        let mut introspector = json!({"type": "jwt", "jwt": {"iss": "https://idp.example"}});
        introspector["jwt"].as_object_mut().unwrap().extend(jwt.as_object().unwrap().clone());
        introspector
    }

    fn at(place: &str, code: ResourceIssueCode) -> Vec<(String, ResourceIssueCode)> {
        vec![(format!("TokenIntrospector.{place}"), code)]
    }

    #[test]
    fn an_issuer_is_trusted_by_exactly_one_of_secret_keys_and_address() {
        assert_eq!(found(&with(&json!({"secret": SECRET}))), []);
        assert_eq!(
            found(&with(&json!({"keys": [{"k": SECRET, "kty": "OCT", "alg": "HS256", "format": "plain"}]}))),
            []
        );
        let mut by_address = with(&json!({}));
        assert_eq!(found(&by_address), at("jwt", ResourceIssueCode::Invariant));
        by_address["jwks_uri"] = json!("https://idp.example/jwks");
        assert_eq!(found(&by_address), []);
        by_address["jwt"]["secret"] = json!(SECRET);
        assert_eq!(found(&by_address), at("jwt", ResourceIssueCode::Invariant));
        assert_eq!(found(&with(&json!({"secret": SECRET, "keys": []}))), at("jwt", ResourceIssueCode::Invariant));
    }

    #[test]
    fn type_and_issuer_are_required_and_types_that_do_nothing_are_refused() {
        assert_eq!(found(&json!({"jwt": {"iss": "i", "secret": SECRET}})), at("type", ResourceIssueCode::Required));
        assert_eq!(found(&json!({"type": "opaque"})), at("type", ResourceIssueCode::NotSupported));
        assert_eq!(found(&json!({"type": 7})), at("type", ResourceIssueCode::Value));
        assert_eq!(found(&json!({"type": "jwt"})), at("jwt", ResourceIssueCode::Required));
        assert_eq!(
            found(&json!({"type": "jwt", "jwt": {"secret": SECRET}})),
            at("jwt.iss", ResourceIssueCode::Required)
        );
        assert_eq!(found(&with(&json!({"iss": "", "secret": SECRET}))), at("jwt.iss", ResourceIssueCode::Value));
    }

    #[test]
    fn a_secret_that_can_be_guessed_is_refused() {
        assert_eq!(found(&with(&json!({"secret": "0123456789"}))), at("jwt.secret", ResourceIssueCode::Security));
        assert_eq!(found(&with(&json!({"secret": 7}))), at("jwt.secret", ResourceIssueCode::Structure));
        assert_eq!(found(&with(&json!({"secret": "x".repeat(1025)}))), at("jwt.secret", ResourceIssueCode::TooLong));
    }

    #[test]
    fn an_expected_audience_is_a_text_or_texts_and_its_absence_is_warned_of() {
        for wrong in [json!(null), json!(""), json!([]), json!([""]), json!(["a", 7]), json!({})] {
            let introspector = with(&json!({"secret": SECRET, "audience": wrong}));
            assert_eq!(found(&introspector), at("jwt.audience", ResourceIssueCode::Structure), "{wrong}");
        }
        for right in [json!("a"), json!(["a", "b"])] {
            let introspector = with(&json!({"secret": SECRET, "audience": right}));
            assert!(IntrospectionTrust::read(&introspector).is_ok() && warnings(&introspector).is_empty(), "{right}");
        }
        let warned = warnings(&with(&json!({"secret": SECRET})));
        assert_eq!(warned[0].expression, "TokenIntrospector.jwt.audience");
    }

    #[test]
    fn a_key_is_of_one_type_and_one_algorithm() {
        let key = |key: Value| found(&with(&json!({"keys": [key]})));
        for (wrong, place, code) in [
            (json!({"k": SECRET, "kty": "OCT", "alg": "RS256"}), "", ResourceIssueCode::Value),
            (json!({"k": SECRET, "kty": "RSA", "alg": "HS256"}), "", ResourceIssueCode::Value),
            (json!({"k": SECRET, "kty": "EC", "alg": "RS256"}), "", ResourceIssueCode::Value),
            (json!({"k": SECRET, "kty": "OCT", "alg": "none"}), "", ResourceIssueCode::Value),
            (json!({"k": SECRET, "kty": "OCT"}), "", ResourceIssueCode::Value),
            (json!({"k": SECRET, "pub": "x", "kty": "OCT", "alg": "HS256"}), ".pub", ResourceIssueCode::Security),
            (json!({"k": SECRET, "pub": "x", "kty": "RSA", "alg": "RS256"}), ".k", ResourceIssueCode::Security),
            (json!({"k": SECRET, "kty": "OCT", "alg": "HS256", "format": "PEM"}), ".format", ResourceIssueCode::Value),
            (json!({"kty": "OCT", "alg": "HS256"}), ".k", ResourceIssueCode::Required),
            (json!({"kty": "RSA", "alg": "RS256"}), ".pub", ResourceIssueCode::Required),
            (json!({"kty": "RSA", "alg": "RS256", "pub": SECRET}), ".pub", ResourceIssueCode::Value),
            (json!("text"), "", ResourceIssueCode::Value),
        ] {
            assert_eq!(key(wrong.clone()), at(&format!("jwt.keys[0]{place}"), code), "{wrong}");
        }
        for keys in [json!([]), json!({}), json!(vec![1; 11])] {
            assert_eq!(found(&with(&json!({"keys": keys}))), at("jwt.keys", ResourceIssueCode::Structure));
        }
    }

    #[test]
    fn an_address_of_keys_is_a_web_address() {
        for uri in [json!("file:///etc/passwd"), json!("keys"), json!(7)] {
            let introspector = json!({"type": "jwt", "jwt": {"iss": "i"}, "jwks_uri": uri});
            assert_eq!(found(&introspector), at("jwks_uri", ResourceIssueCode::Value));
        }
    }
}
