//! Our layer against an independent implementation.

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use oauth_core::jose::{CompactJws, JwkError, PublicKey, SigningAlg, SigningKey, UsableJwkSet};
use serde_json::{Value, json};

use crate::world::{Partner, claims};

#[test]
fn what_we_sign_another_implementation_verifies() {
    for alg in SigningAlg::ALL {
        let generated = SigningKey::generate(alg).unwrap();
        let token = SigningKey::from_pkcs8(alg, &generated.pkcs8).unwrap().sign_jwt(&json!({ "sub": "x" })).unwrap();
        let jwk = serde_json::from_str(&generated.public_jwk).unwrap();
        let name: Algorithm = alg.name().parse().unwrap();
        let mut validation = Validation::new(name);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        let decoded = jsonwebtoken::decode::<Value>(&token, &DecodingKey::from_jwk(&jwk).unwrap(), &validation);
        assert_eq!(decoded.unwrap().claims, json!({ "sub": "x" }));
    }
}

#[test]
fn what_another_implementation_signs_we_verify_and_a_changed_bit_we_do_not() {
    let partner = Partner::new();
    for (alg, jwk) in [(Algorithm::ES384, &partner.ec_jwk), (Algorithm::RS384, &partner.rsa_jwk)] {
        let token = partner.sign(&Partner::header(alg), &claims("x"));
        let jws = CompactJws::parse(&token, 8192).unwrap();
        let key = PublicKey::from_client_assertion_jwk(jwk).unwrap();
        assert!(key.verifies_signature(jws.signing_input(), jws.signature()));
        let mut signature = jws.signature().to_vec();
        signature[10] ^= 1;
        assert!(!key.verifies_signature(jws.signing_input(), &signature));
        assert!(!key.verifies_signature(b"other", jws.signature()));
        assert!(!key.verifies_signature(jws.signing_input(), &[]));
    }
}

#[test]
fn a_signature_in_der_is_not_a_jose_signature() {
    let partner = Partner::new();
    let token = partner.sign(&Partner::header(Algorithm::ES384), &claims("x"));
    let jws = CompactJws::parse(&token, 8192).unwrap();
    let fixed = p384::ecdsa::Signature::from_slice(jws.signature()).unwrap();
    let key = PublicKey::from_client_assertion_jwk(&partner.ec_jwk).unwrap();
    assert!(!key.verifies_signature(jws.signing_input(), fixed.to_der().as_bytes()));
}

#[test]
fn each_jwk_must_have_kty_and_kid_and_the_members_of_its_type() {
    let partner = Partner::new();
    let without = |jwk: &Value, member: &str| {
        let mut jwk = jwk.clone();
        jwk.as_object_mut().unwrap().remove(member);
        PublicKey::from_client_assertion_jwk(&jwk).unwrap_err()
    };
    assert_eq!(without(&partner.ec_jwk, "kty"), JwkError::Malformed);
    assert_eq!(without(&partner.ec_jwk, "kid"), JwkError::NoKid);
    assert_eq!(without(&partner.ec_jwk, "crv"), JwkError::UnknownCurve);
    assert_eq!(without(&partner.ec_jwk, "x"), JwkError::BadMember("x"));
    assert_eq!(without(&partner.ec_jwk, "y"), JwkError::BadMember("y"));
    assert_eq!(without(&partner.rsa_jwk, "n"), JwkError::BadMember("n"));
    assert_eq!(without(&partner.rsa_jwk, "e"), JwkError::BadMember("e"));
}

#[test]
fn keys_for_other_uses_small_ones_and_private_ones_are_not_used() {
    let partner = Partner::new();
    let with = |jwk: &Value, member: &str, value: Value| {
        let mut jwk = jwk.clone();
        jwk[member] = value;
        PublicKey::from_client_assertion_jwk(&jwk).map(drop)
    };
    assert_eq!(with(&partner.ec_jwk, "use", json!("enc")), Err(JwkError::OtherUse));
    assert_eq!(with(&partner.ec_jwk, "key_ops", json!(["sign"])), Err(JwkError::OtherUse));
    assert_eq!(with(&partner.ec_jwk, "alg", json!("ES256")), Err(JwkError::OtherUse));
    assert_eq!(with(&partner.ec_jwk, "key_ops", json!(["verify"])), Ok(()));
    assert_eq!(with(&partner.ec_jwk, "ext", json!(true)), Ok(()));
    assert_eq!(with(&partner.ec_jwk, "d", json!("AQAB")), Err(JwkError::Private));
    assert_eq!(with(&partner.ec_jwk, "crv", json!("P-256")), Err(JwkError::UnknownCurve));
    assert_eq!(with(&partner.ec_jwk, "x", partner.ec_jwk["y"].clone()), Err(JwkError::Invalid), "off the curve");
    assert_eq!(with(&partner.rsa_jwk, "n", json!("AQAB")), Err(JwkError::Invalid), "too small");
    assert_eq!(with(&partner.rsa_jwk, "kty", json!("oct")), Err(JwkError::UnknownKeyType));
}

#[test]
fn unusable_keys_of_a_set_are_skipped_and_a_huge_set_is_refused() {
    let partner = Partner::new();
    let set = json!({ "keys": [{ "kty": "OKP" }, 7, partner.ec_jwk, { "kty": "EC" }] });
    let set = UsableJwkSet::parse(set.to_string().as_bytes()).unwrap();
    assert_eq!(set.len(), 1);
    assert!(set.has_matching_key("ec-1", SigningAlg::ES384) && !set.has_matching_key("ec-1", SigningAlg::RS384));
    let many: Vec<_> = std::iter::repeat_n(partner.ec_jwk.clone(), 101).collect();
    assert!(UsableJwkSet::parse(json!({ "keys": many }).to_string().as_bytes()).is_err());
    for bad in ["", "{}", "[]", "{\"keys\":{}}", "null"] {
        assert!(UsableJwkSet::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}
