//! Secrets on their way out: there are none.

use serde_json::Value;

use super::jwks::PRIVATE_MEMBERS;

/// Removes what never leaves the server from a resource of this kind: `Client.secret`,
/// `User.password`, `User.twoFactor.secretKey`, the shared keys of a `TokenIntrospector`, and the private part of
/// keys that came in past the checks of registration.
///
/// For every answer that holds the resource: read, version, history, search, the answer to a write,
/// an entry of a Bundle, an entry of an audit log. A document without them is left as it is.
pub fn redact_secrets(kind: &str, resource: &mut Value) {
    match kind {
        "Client" => {
            remove(Some(resource), "secret");
            resource.get_mut("jwks").into_iter().for_each(keep_public);
        }
        "User" => {
            remove(Some(resource), "password");
            remove(resource.get_mut("twoFactor"), "secretKey");
        }
        "TokenIntrospector" => {
            if let Some(jwt) = resource.get_mut("jwt") {
                remove(Some(jwt), "secret");
                jwt.get_mut("keys").into_iter().for_each(keep_verifying);
            }
            remove(resource.get_mut("introspection_endpoint"), "authorization");
        }
        _ => {}
    }
}

/// Returns whether resources of this kind may hold what [`redact_secrets`] removes.
#[must_use]
pub fn may_hold_secrets(kind: &str) -> bool {
    matches!(kind, "Client" | "User" | "TokenIntrospector")
}

/// Returns the members that [`redact_secrets`] removes whole from a resource of this kind: a document that was read,
/// edited and put back does not mention them, and must not lose them by that.
#[must_use]
pub fn redacted_members(kind: &str) -> &'static [&'static [&'static str]] {
    match kind {
        "Client" => &[&["secret"]],
        "User" => &[&["password"], &["twoFactor", "secretKey"]],
        // What verifies tokens has to be sent: a shared key may be replaced by public ones.
        "TokenIntrospector" => &[&["introspection_endpoint", "authorization"]],
        _ => &[],
    }
}

/// `shift_remove` keeps the order of the other members, as the owner wrote them.
fn remove(object: Option<&mut Value>, key: &str) {
    if let Some(members) = object.and_then(Value::as_object_mut) {
        members.shift_remove(key);
    }
}

/// One key of a `TokenIntrospector`, or an array of them: never a shared key, nor a private one in the place of
/// the public.
fn keep_verifying(keys: &mut Value) {
    if let Value::Array(keys) = keys {
        keys.iter_mut().for_each(keep_verifying);
        return;
    }
    keep_public(keys);
    let is_public = keys.get("pub").and_then(Value::as_str).is_none_or(|pem| !pem.contains("PRIVATE KEY"));
    if !is_public {
        remove(Some(keys), "pub");
    }
}

/// One key, an array of keys, or a set of keys.
fn keep_public(jwks: &mut Value) {
    if let Some(members) = jwks.as_object_mut() {
        members.retain(|name, _| !PRIVATE_MEMBERS.contains(&name.as_str()));
    }
    match jwks {
        Value::Array(keys) => keys.iter_mut().for_each(keep_public),
        _ => jwks.get_mut("keys").into_iter().for_each(keep_public),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};
    use serde_json::json;

    use super::*;

    fn redacted(kind: &str, mut resource: Value) -> Value {
        redact_secrets(kind, &mut resource);
        resource
    }

    #[test]
    fn secrets_are_taken_out_and_the_rest_stays_in_order() {
        let client = json!({"a": 1, "secret": "x", "b": 2, "jwks": [{"kty": "RSA", "d": "x", "n": "N"}], "c": 3});
        let expected = json!({"a": 1, "b": 2, "jwks": [{"kty": "RSA", "n": "N"}], "c": 3});
        assert_eq!(redacted("Client", client).to_string(), expected.to_string());
        let user = json!({"password": "x", "twoFactor": {"enabled": true, "secretKey": "x"}, "email": "e"});
        assert_eq!(redacted("User", user), json!({"twoFactor": {"enabled": true}, "email": "e"}));
    }

    #[test]
    fn what_verifies_tokens_of_an_issuer_is_shown_only_where_it_is_public() {
        let issuer = json!({
            "type": "jwt", "introspection_endpoint": {"url": "u", "authorization": "x"},
            "jwt": {"iss": "i", "secret": "x", "keys": [
                {"kty": "OCT", "k": "x"}, {"kty": "RSA", "pub": "-----BEGIN PUBLIC KEY-----"},
                {"kty": "RSA", "pub": "-----BEGIN PRIVATE KEY-----"},
            ]},
        });
        let shown = json!({
            "type": "jwt", "introspection_endpoint": {"url": "u"},
            "jwt": {"iss": "i", "keys": [
                {"kty": "OCT"}, {"kty": "RSA", "pub": "-----BEGIN PUBLIC KEY-----"}, {"kty": "RSA"},
            ]},
        });
        assert_eq!(redacted("TokenIntrospector", issuer), shown);
    }

    #[test]
    fn other_kinds_and_other_places_are_left_as_they_are() {
        for (kind, resource) in [
            ("Patient", json!({"secret": "x", "password": "x"})),
            ("Client", json!({"password": "x", "details": {"secret": "x"}, "auth": {"password": {"pkce": true}}})),
            ("User", json!({"secret": "x", "data": {"password": "x"}})),
            ("User", json!("text")),
        ] {
            assert_eq!(redacted(kind, resource.clone()), resource);
        }
    }

    fn documents() -> BoxedStrategy<Value> {
        let leaf =
            prop_oneof![Just(json!(null)), "[a-z]{0,3}".prop_map(Value::from), any::<i8>().prop_map(Value::from)];
        let key = "secret|password|twoFactor|secretKey|jwks|keys|d|p|q|dp|dq|qi|oth|k|kty|n";
        leaf.prop_recursive(5, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec((key, inner), 0..6).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
        .boxed()
    }

    /// All objects that stand where a key of a Client may stand.
    fn keys(jwks: &Value) -> Vec<&Value> {
        let below = jwks.as_array().into_iter().flatten().chain(jwks.get("keys"));
        std::iter::once(jwks).chain(below.flat_map(keys)).collect()
    }

    proptest! {
        #![proptest_config(Config {
            rng_seed: RngSeed::Fixed(0x7265_6461),
            failure_persistence: None,
            cases: 1000,
            ..Config::default()
        })]

        #[test]
        fn no_client_keeps_a_secret_or_a_private_key(rest in documents(), jwks in documents()) {
            let mut client = json!({"secret": "x", "jwks": jwks});
            client.as_object_mut().unwrap().extend(rest.as_object().cloned().unwrap_or_default());
            let client = redacted("Client", client);
            prop_assert!(client.get("secret").is_none());
            for key in client.get("jwks").map(keys).unwrap_or_default() {
                prop_assert!(PRIVATE_MEMBERS.iter().all(|name| key.get(name).is_none()));
            }
        }

        #[test]
        fn no_user_keeps_a_password_or_a_second_factor(rest in documents(), factor in documents()) {
            let mut user = json!({"password": "x", "twoFactor": factor});
            user.as_object_mut().unwrap().extend(rest.as_object().cloned().unwrap_or_default());
            let user = redacted("User", user);
            prop_assert!(user.get("password").is_none());
            prop_assert!(user.pointer("/twoFactor/secretKey").is_none());
        }

        #[test]
        fn redaction_is_complete_at_once(document in documents()) {
            for kind in ["Client", "User"] {
                let once = redacted(kind, document.clone());
                prop_assert_eq!(redacted(kind, once.clone()), once);
            }
        }
    }
}
