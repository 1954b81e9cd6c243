//! The rules of the keys in a Client.

use std::collections::HashSet;

use serde_json::Value;

use super::shape::{items, one, structure};
use super::{ResourceIssue, ResourceIssueCode};
use crate::limits::{JWKS_MAX_KEYS, KID_MAX_BYTES};

/// The members of a JWK that only its owner may know (RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1).
pub(super) const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Returns what is wrong with `jwks`: an array of JWK, or the set form `{"keys": […]}` that tools export.
///
/// # Source
/// Specification, "Client JWKS".
pub(super) fn validate(at: &str, jwks: &Value) -> Vec<ResourceIssue> {
    let (at, keys) = match jwks.get("keys") {
        Some(keys) => (format!("{at}.keys"), keys),
        None => (at.to_owned(), jwks),
    };
    match keys.as_array().map(Vec::len) {
        None => structure(&at, "an array of JWK"),
        Some(0..=JWKS_MAX_KEYS) => items(&at, keys, key),
        Some(_) => one(ResourceIssueCode::TooLong, &at, format!("must have at most {JWKS_MAX_KEYS} keys")),
    }
}

/// Two keys that an assertion's `kid` cannot tell apart: assertions under it will be refused.
pub(super) fn warnings(at: &str, jwks: &Value) -> Vec<ResourceIssue> {
    let keys = jwks.get("keys").unwrap_or(jwks).as_array();
    let mut seen = HashSet::new();
    let mut is_new = |key: &&Value| seen.insert((key.get("kty").cloned(), key.get("kid").cloned()));
    let text = "another key of this type has the same kid: assertions under it are refused";
    let repeated = keys.into_iter().flatten().filter(|key| !is_new(key));
    repeated.map(|_| ResourceIssue::new(ResourceIssueCode::Invariant, at, text)).collect()
}

/// Not specified for types besides RSA and EC; we keep them, because a partner's set may serve
/// others too, and never use them.
fn key(at: &str, jwk: &Value) -> Vec<ResourceIssue> {
    if !jwk.is_object() {
        return structure(at, "an object: a JWK");
    }
    let needed: &[&str] = match jwk.get("kty").and_then(Value::as_str) {
        Some("RSA") => &["kty", "kid", "n", "e"],
        Some("EC") => &["kty", "kid", "crv", "x", "y"],
        _ => &["kty", "kid"],
    };
    let mut issues: Vec<_> = needed.iter().flat_map(|name| member(at, jwk, name)).collect();
    for name in PRIVATE_MEMBERS.into_iter().filter(|name| jwk.get(name).is_some()) {
        let text = "private key material must not be registered: make a new key pair and register its public part";
        issues.push(ResourceIssue::new(ResourceIssueCode::Security, format!("{at}.{name}"), text));
    }
    issues
}

fn member(at: &str, jwk: &Value, name: &str) -> Vec<ResourceIssue> {
    let at = format!("{at}.{name}");
    match jwk.get(name) {
        None => one(ResourceIssueCode::Required, &at, "is required in a key of this type"),
        Some(Value::String(text)) if text.is_empty() => one(ResourceIssueCode::Value, &at, "must not be empty"),
        Some(Value::String(text)) if name == "kid" && text.len() > KID_MAX_BYTES => {
            one(ResourceIssueCode::TooLong, &at, format!("must be at most {KID_MAX_BYTES} bytes long"))
        }
        Some(Value::String(text)) if is_number(name) && !is_base64url(text) => {
            one(ResourceIssueCode::Value, &at, "must be base64url without padding (RFC 7518, section 2)")
        }
        Some(Value::String(_)) => Vec::new(),
        Some(_) => structure(&at, "a string"),
    }
}

fn is_number(name: &str) -> bool {
    matches!(name, "n" | "e" | "x" | "y")
}

fn is_base64url(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(jwks: &Value) -> Vec<(String, ResourceIssueCode)> {
        validate("jwks", jwks).into_iter().map(|issue| (issue.expression, issue.code)).collect()
    }

    fn rsa() -> Value {
        json!({"kty": "RSA", "kid": "a", "n": "AQAB", "e": "AQAB", "alg": "RS384", "use": "sig"})
    }

    fn ec() -> Value {
        json!({"kty": "EC", "kid": "b", "crv": "P-384", "x": "AQAB", "y": "AQAB"})
    }

    #[test]
    fn an_array_and_the_set_form_are_accepted() {
        assert_eq!(found(&json!([rsa(), ec()])), []);
        assert_eq!(found(&json!({"keys": [rsa(), ec()]})), []);
        assert_eq!(found(&json!([])), []);
        assert_eq!(found(&json!("keys")), [("jwks".to_owned(), ResourceIssueCode::Structure)]);
        assert_eq!(found(&rsa()), [("jwks".to_owned(), ResourceIssueCode::Structure)]);
        assert_eq!(found(&json!({"keys": {}})), [("jwks.keys".to_owned(), ResourceIssueCode::Structure)]);
    }

    #[test]
    fn each_key_needs_the_members_of_its_type() {
        for (whole, name) in
            [(rsa(), "kid"), (rsa(), "n"), (rsa(), "e"), (ec(), "kid"), (ec(), "crv"), (ec(), "x"), (ec(), "y")]
        {
            let mut key = whole.clone();
            key.as_object_mut().unwrap().remove(name);
            assert_eq!(found(&json!([whole, key])), [(format!("jwks[1].{name}"), ResourceIssueCode::Required)]);
            key[name] = json!(5);
            assert_eq!(found(&json!([key])), [(format!("jwks[0].{name}"), ResourceIssueCode::Structure)]);
            key[name] = json!("");
            assert_eq!(found(&json!([key])), [(format!("jwks[0].{name}"), ResourceIssueCode::Value)]);
        }
        assert_eq!(found(&json!([{"kid": "a"}])), [("jwks[0].kty".to_owned(), ResourceIssueCode::Required)]);
        assert_eq!(found(&json!([7])), [("jwks[0]".to_owned(), ResourceIssueCode::Structure)]);
    }

    #[test]
    fn private_key_material_is_refused_and_not_repeated() {
        for name in PRIVATE_MEMBERS {
            let mut key = rsa();
            key[name] = json!("my-private-value");
            let issues = validate("jwks", &json!({"keys": [key]}));
            assert_eq!(issues.len(), 1);
            assert_eq!(issues[0].expression, format!("jwks.keys[0].{name}"));
            assert_eq!(issues[0].code, ResourceIssueCode::Security);
            assert!(!issues[0].diagnostics.contains("my-private-value"));
        }
    }

    #[test]
    fn numbers_are_base64url() {
        let mut key = rsa();
        key["n"] = json!("a+b/c==");
        assert_eq!(found(&json!([key])), [("jwks[0].n".to_owned(), ResourceIssueCode::Value)]);
    }

    #[test]
    fn the_number_of_keys_and_the_length_of_a_kid_are_limited() {
        assert_eq!(found(&json!(vec![ec(); JWKS_MAX_KEYS])), []);
        assert_eq!(found(&json!(vec![ec(); JWKS_MAX_KEYS + 1])), [("jwks".to_owned(), ResourceIssueCode::TooLong)]);
        let mut key = ec();
        key["kid"] = json!("k".repeat(KID_MAX_BYTES + 1));
        assert_eq!(found(&json!([key])), [("jwks[0].kid".to_owned(), ResourceIssueCode::TooLong)]);
    }

    #[test]
    fn a_repeated_kid_of_one_type_is_a_warning() {
        assert_eq!(warnings("jwks", &json!([rsa(), ec()])), []);
        assert_eq!(warnings("jwks", &json!({"keys": [rsa(), ec(), rsa()]})).len(), 1);
    }
}
