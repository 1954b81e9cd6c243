//! What strangers send.

use oauth_core::jose::encode_base64url;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Partner, World, claims, with_partner};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(".{0,6}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

thread_local! {
    static WORLD: (tokio::runtime::Runtime, World, Partner) = {
        let runtime = runtime();
        let (world, partner) = runtime.block_on(with_partner());
        (runtime, world, partner)
    };
}

fn refused(assertion: &str) -> Result<(), TestCaseError> {
    WORLD.with(|(runtime, world, _)| {
        let error = runtime.block_on(world.assert(assertion)).err();
        let code = error.as_ref().map(oauth_core::token_endpoint::TokenError::error_code);
        prop_assert!(matches!(code, Some("invalid_client" | "invalid_request")), "{error:?}");
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        prop_assert!(text.chars().all(|c| (c == ' ' || c.is_ascii_graphic()) && c != '"' && c != '\\'), "{text}");
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_text_as_an_assertion_is_refused_with_a_printable_description(text in ".{0,200}") {
        refused(&text)?;
    }

    #[test]
    fn any_json_as_header_and_payload_is_refused(header in json_value(), payload in json_value()) {
        let part = |value: &Value| encode_base64url(value.to_string().as_bytes());
        refused(&format!("{}.{}.AAAA", part(&header), part(&payload)))?;
    }

    #[test]
    fn any_value_in_any_place_of_a_well_formed_assertion_is_refused(
        name in prop::sample::select(vec!["iss", "sub", "aud", "exp", "jti", "nbf", "iat"]),
        value in json_value(),
    ) {
        let mut claims = claims("forged");
        claims[name] = value;
        let header = json!({ "alg": "ES384", "kid": "ec-1", "typ": "JWT" });
        let part = |value: &Value| encode_base64url(value.to_string().as_bytes());
        refused(&format!("{}.{}.{}", part(&header), part(&claims), encode_base64url(&[7; 96])))?;
    }

    #[test]
    fn a_changed_byte_makes_a_good_assertion_bad(position in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let good = WORLD.with(|(_, _, partner)| partner.assertion("mutated"));
        let mut bytes = good.clone().into_bytes();
        let position = position.index(bytes.len());
        bytes[position] = byte;
        // The last character of a part carries bits that decoders may ignore; ours does not.
        if let Ok(text) = String::from_utf8(bytes) && text != good {
            refused(&text)?;
        }
    }
}

#[tokio::test]
async fn oversized_parts_are_refused_by_size() {
    let (world, partner) = with_partner().await;
    let mut claims = claims("big");
    claims["padding"] = json!("x".repeat(9000));
    let assertion = partner.sign(&Partner::header(jsonwebtoken::Algorithm::ES384), &claims);
    let error = world.assert(&assertion).await.unwrap_err();
    assert!(error.to_string().contains("longer than 8192 bytes"), "{error}");
}
