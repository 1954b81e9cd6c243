//! Specification, Client assertion JWT: sentence by sentence.

use jsonwebtoken::Algorithm;
use oauth_core::jose::encode_base64url;
use serde_json::{Value, json};

use crate::world::{JWT_BEARER, NOW_S, NOW_US, Partner, TOKEN_URL, World, assertion_form, claims, with_partner};

async fn refused(world: &World, assertion: &str) -> String {
    let error = world.assert(assertion).await.unwrap_err();
    assert_eq!(error.error_code(), "invalid_client", "{error}");
    error.to_string()
}

fn changed(name: &str, value: Value) -> Value {
    let mut claims = claims("changed");
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims("without");
    claims.as_object_mut().unwrap().remove(name);
    claims
}

/// Each case is refused with a text that names the check, and a good assertion with the same nonce
/// works afterwards: a refusal burns nothing.
async fn all_refused(cases: Vec<(String, &str)>) {
    let (world, partner) = with_partner().await;
    for (assertion, named) in cases {
        let text = refused(&world, &assertion).await;
        assert!(text.contains(named), "{named} is not named in: {text}");
    }
    for jti in ["changed", "without"] {
        world.assert(&partner.assertion(jti)).await.unwrap();
    }
}

#[tokio::test]
async fn the_signed_client_assertion_is_verified_against_the_clients_jwks() {
    let (world, partner) = with_partner().await;
    for alg in [Algorithm::ES384, Algorithm::RS384] {
        let assertion = partner.sign(&Partner::header(alg), &claims(&format!("{alg:?}")));
        let response = world.assert(&assertion).await.unwrap();
        assert_eq!(response.token_type, "Bearer");
        assert_eq!(response.expires_in, 300);
        assert_eq!(response.scope.as_deref(), Some("system/Patient.rs"));
        assert_eq!(response.context.need_patient_banner, None);
        let token = world.claims(&response.access_token);
        assert_eq!(token["sub"], "partner");
        assert_eq!(token["client_id"], "partner");
        assert_eq!(token["exp"], NOW_S + 300);
    }
}

#[tokio::test]
async fn alg_is_rs384_or_es384() {
    let (world, partner) = with_partner().await;
    for alg in [Algorithm::HS256, Algorithm::RS256, Algorithm::RS512, Algorithm::PS384] {
        let assertion = partner.sign(&Partner::header(alg), &claims("alg"));
        assert!(refused(&world, &assertion).await.contains("accepted are RS384 and ES384"));
    }
    let none = format!(
        "{}.{}.",
        encode_base64url(br#"{"alg":"none","kid":"ec-1"}"#),
        encode_base64url(claims("alg").to_string().as_bytes())
    );
    assert!(refused(&world, &none).await.contains("alg is none"));
    world.assert(&partner.assertion("alg")).await.unwrap();
}

#[tokio::test]
async fn kid_must_match_one_key_in_the_clients_jwks() {
    let (world, partner) = with_partner().await;
    let mut header = Partner::header(Algorithm::ES384);
    header.kid = None;
    assert!(refused(&world, &partner.sign(&header, &claims("kid"))).await.contains("no kid"));
    header.kid = Some("other".to_owned());
    assert!(refused(&world, &partner.sign(&header, &claims("kid"))).await.contains("no registered key has kid other"));
    // A key of the other type under that kid does not fit.
    header.kid = Some("rsa-1".to_owned());
    assert!(refused(&world, &partner.sign(&header, &claims("kid"))).await.contains("fits ES384"));
    // Two keys of one type under one kid are refused.
    let mut client = partner.client();
    client["jwks"] = json!([partner.ec_jwk, Partner::with_ec_seed(9).ec_jwk]);
    world.memory.put_resource("Client", "partner", client);
    assert!(refused(&world, &partner.assertion("ambiguous")).await.contains("several registered keys"));
    // The same kid on keys of different types is not ambiguous.
    let mut rsa = partner.rsa_jwk.clone();
    rsa["kid"] = json!("ec-1");
    let mut client = partner.client();
    client["jwks"] = json!([partner.ec_jwk, rsa]);
    world.memory.put_resource("Client", "partner", client);
    world.assert(&partner.assertion("kid")).await.unwrap();
}

#[tokio::test]
async fn typ_is_jwt() {
    let (world, partner) = with_partner().await;
    let mut header = Partner::header(Algorithm::ES384);
    header.typ = Some("at+jwt".to_owned());
    assert!(refused(&world, &partner.sign(&header, &claims("typ"))).await.contains("typ is at+jwt, expected JWT"));
    header.typ = None;
    world.assert(&partner.sign(&header, &claims("typ"))).await.unwrap();
}

#[tokio::test]
async fn jku_when_present_must_equal_the_clients_jwks_uri() {
    let (world, partner) = with_partner().await;
    let mut header = Partner::header(Algorithm::ES384);
    header.jku = Some("https://partner.example/jwks".to_owned());
    let assertion = partner.sign(&header, &claims("jku"));
    assert!(refused(&world, &assertion).await.contains("jku differs"), "inline keys and a jku");
    let mut client = partner.client();
    client.as_object_mut().unwrap().remove("jwks");
    client["jwks_uri"] = json!("https://partner.example/jwks/");
    world.memory.put_resource("Client", "partner", client.clone());
    assert!(refused(&world, &assertion).await.contains("jku differs"));
    assert_eq!(world.host.asked(), 0, "a jku is never fetched on the assertion's word");
    client["jwks_uri"] = json!("https://partner.example/jwks");
    world.memory.put_resource("Client", "partner", client);
    world.host.serve(std::slice::from_ref(&partner.ec_jwk), None);
    world.assert(&assertion).await.unwrap();
}

#[tokio::test]
async fn iss_and_sub_are_the_client_id() {
    let partner = Partner::new();
    let header = Partner::header(Algorithm::ES384);
    all_refused(vec![
        (partner.sign(&header, &changed("iss", json!("other"))), "iss and sub"),
        (partner.sign(&header, &changed("sub", json!("other"))), "no active client other"),
        (partner.sign(&header, &without("iss")), "claim iss"),
        (partner.sign(&header, &without("sub")), "claim sub"),
        (partner.sign(&header, &changed("sub", json!(7))), "claim sub"),
    ])
    .await;
    let (world, partner) = with_partner().await;
    let assertion = partner.assertion("id");
    let mut form = assertion_form(&assertion);
    form.push(("client_id", "other"));
    assert_eq!(world.token(&form).await.unwrap_err().error_code(), "invalid_client");
    form.pop();
    form.push(("client_id", "partner"));
    world.token(&form).await.unwrap();
}

#[tokio::test]
async fn aud_is_the_token_endpoint() {
    let partner = Partner::new();
    let header = Partner::header(Algorithm::ES384);
    all_refused(vec![
        (
            partner.sign(&header, &changed("aud", json!("https://payer.example"))),
            "expected https://payer.example/auth/token",
        ),
        (partner.sign(&header, &changed("aud", json!(format!("{TOKEN_URL}/")))), "aud is"),
        (partner.sign(&header, &changed("aud", json!([]))), "aud is"),
        (partner.sign(&header, &changed("aud", json!({}))), "claim aud"),
        (partner.sign(&header, &without("aud")), "claim aud"),
    ])
    .await;
    let (world, partner) = with_partner().await;
    let several = changed("aud", json!(["https://else.example", TOKEN_URL]));
    world.assert(&partner.sign(&header, &several)).await.unwrap();
}

#[tokio::test]
async fn exp_is_at_most_5_minutes_from_now() {
    let partner = Partner::new();
    let header = Partner::header(Algorithm::ES384);
    all_refused(vec![
        (partner.sign(&header, &changed("exp", json!(NOW_S + 361))), "at most 5 minutes"),
        (partner.sign(&header, &changed("exp", json!(NOW_S - 61))), "expired"),
        (partner.sign(&header, &changed("exp", json!("soon"))), "claim exp"),
        (partner.sign(&header, &changed("exp", json!(1e300))), "claim exp"),
        (partner.sign(&header, &changed("exp", json!(i64::MAX))), "at most 5 minutes"),
        (partner.sign(&header, &changed("exp", json!(i64::MIN))), "expired"),
        (partner.sign(&header, &without("exp")), "claim exp"),
    ])
    .await;
    let (world, partner) = with_partner().await;
    for (index, exp) in [json!(NOW_S + 360), json!(NOW_S - 60), serde_json::from_str(&format!("{NOW_S}.5")).unwrap()]
        .into_iter()
        .enumerate()
    {
        let mut claims = claims(&format!("within leeway {index}"));
        claims["exp"] = exp;
        world.assert(&partner.sign(&header, &claims)).await.unwrap();
    }
}

#[tokio::test]
async fn exp_is_at_most_5_minutes_after_issuance() {
    let (world, partner) = with_partner().await;
    let header = Partner::header(Algorithm::ES384);
    let mut late = claims("late");
    let exp = late["exp"].as_i64().unwrap();
    for too_early in [exp - 301, exp - 360, exp - 400] {
        late["iat"] = json!(too_early);
        let told = refused(&world, &partner.sign(&header, &late)).await;
        assert!(told.contains(&format!("at most 5 minutes after iat are allowed, iat is {too_early}")), "{told}");
    }
    late["iat"] = json!(exp - 300);
    world.assert(&partner.sign(&header, &late)).await.unwrap();
}

#[tokio::test]
async fn nbf_and_iat_do_not_lie_in_the_future() {
    let partner = Partner::new();
    let header = Partner::header(Algorithm::ES384);
    all_refused(vec![
        (partner.sign(&header, &changed("nbf", json!(NOW_S + 61))), "nbf is"),
        (partner.sign(&header, &changed("iat", json!(NOW_S + 61))), "iat is"),
        (partner.sign(&header, &changed("nbf", json!("x"))), "claim nbf"),
    ])
    .await;
}

#[tokio::test]
async fn jti_is_a_unique_nonce_that_prevents_replay() {
    let (world, partner) = with_partner().await;
    let header = Partner::header(Algorithm::ES384);
    assert!(refused(&world, &partner.sign(&header, &without("jti"))).await.contains("claim jti"));
    assert!(refused(&world, &partner.sign(&header, &changed("jti", json!("")))).await.contains("claim jti"));
    assert!(
        refused(&world, &partner.sign(&header, &changed("jti", json!("j".repeat(257))))).await.contains("claim jti")
    );
    let assertion = partner.assertion("once");
    world.assert(&assertion).await.unwrap();
    assert!(refused(&world, &assertion).await.contains("used before"));
    // Another assertion under the same nonce is a replay too.
    let again = partner.sign(&Partner::header(Algorithm::RS384), &claims("once"));
    assert!(refused(&world, &again).await.contains("used before"));
    // On another node over the same store likewise.
    let other = World::over(world.memory.clone(), world.host.clone()).await;
    assert!(refused(&other, &assertion).await.contains("used before"));
}

#[tokio::test]
async fn a_bad_signature_cannot_burn_a_good_nonce() {
    let (world, partner) = with_partner().await;
    let forged = Partner::with_ec_seed(9).assertion("victim");
    assert!(refused(&world, &forged).await.contains("signature does not verify"));
    world.assert(&partner.assertion("victim")).await.unwrap();
}

#[tokio::test]
async fn a_refused_scope_cannot_burn_a_good_nonce() {
    let (world, partner) = with_partner().await;
    let assertion = partner.assertion("scope");
    let mut form = assertion_form(&assertion);
    form[1] = ("scope", "system/Patient.d");
    assert_eq!(world.token(&form).await.unwrap_err().error_code(), "invalid_scope");
    world.assert(&assertion).await.unwrap();
}

#[tokio::test]
async fn unknown_inactive_and_unregistered_clients_are_refused() {
    let (world, partner) = with_partner().await;
    let mut inactive = partner.client();
    inactive["active"] = json!(false);
    world.memory.put_resource("Client", "partner", inactive);
    assert!(refused(&world, &partner.assertion("a")).await.contains("no active client"));
    world.memory.delete_resource("Client", "partner", NOW_US);
    assert!(refused(&world, &partner.assertion("a")).await.contains("no active client"));
    let mut elsewhere = partner.client();
    elsewhere["grant_types"] = json!(["code"]);
    world.memory.put_resource("Client", "partner", elsewhere);
    let error = world.assert(&partner.assertion("a")).await.unwrap_err();
    assert_eq!(error.error_code(), "unauthorized_client");
    world.memory.put_resource("Client", "partner", partner.client());
    world.assert(&partner.assertion("a")).await.unwrap();
}

#[tokio::test]
async fn a_change_on_another_node_counts_for_the_next_request() {
    let (world, partner) = with_partner().await;
    let other = World::over(world.memory.clone(), world.host.clone()).await;
    world.assert(&partner.assertion("1")).await.unwrap();
    other.assert(&partner.assertion("2")).await.unwrap();
    let successor = Partner::with_ec_seed(9);
    world.memory.put_resource("Client", "partner", successor.client());
    for (node, jti) in [(&world, "3"), (&other, "3b")] {
        assert!(refused(node, &partner.assertion(jti)).await.contains("signature does not verify"));
    }
    world.assert(&successor.assertion("4")).await.unwrap();
    other.assert(&successor.assertion("5")).await.unwrap();
}

#[tokio::test]
async fn an_assertion_is_refused_where_the_grant_lists_other_types_of_assertion() {
    let (world, partner) = with_partner().await;
    for (number, types) in [json!([]), json!(["urn:other"]), json!("text")].into_iter().enumerate() {
        let mut client = partner.client();
        client["auth"]["client_credentials"]["client_assertion_types"] = types.clone();
        world.memory.put_resource("Client", "partner", client);
        let error = world.assert(&partner.assertion(&format!("other {number}"))).await.unwrap_err();
        assert_eq!(error.error_code(), "invalid_client", "{types}");
        assert!(error.to_string().contains("not registered for client_assertion_type"), "{types}: {error}");
    }
    let mut client = partner.client();
    client["auth"]["client_credentials"].as_object_mut().unwrap().remove("client_assertion_types");
    world.memory.put_resource("Client", "partner", client);
    world.assert(&partner.assertion("absent")).await.unwrap();
}

#[tokio::test]
async fn the_types_of_assertion_are_those_of_the_grant_that_is_used() {
    let (world, partner) = with_partner().await;
    let mut client = partner.client();
    client["auth"]["client_credentials"]["client_assertion_types"] = json!([]);
    client["auth"]["authorization_code"] = json!({"client_assertion_types": [JWT_BEARER]});
    world.memory.put_resource("Client", "partner", client);
    let error = world.assert(&partner.assertion("other grant")).await.unwrap_err();
    assert!(error.to_string().contains("not registered for client_assertion_type"), "{error}");
}

#[tokio::test]
async fn a_token_longer_than_what_is_accepted_is_not_issued() {
    let (world, partner) = with_partner().await;
    let mut client = partner.client();
    let scopes: Vec<_> = (0..200).map(|number| format!("scope-{number:040}")).collect();
    client["scope"] = json!(scopes);
    world.memory.put_resource("Client", "partner", client.clone());
    let ask = async |assertion: String| {
        let form = assertion_form(&assertion).into_iter().filter(|(name, _)| *name != "scope").collect::<Vec<_>>();
        world.token(&form).await
    };
    let error = ask(partner.assertion("long")).await.unwrap_err();
    assert_eq!(error.error_code(), "invalid_scope");
    assert!(error.to_string().contains("at most 8192 are accepted"), "{error}");
    client["scope"] = json!(scopes[..100]);
    world.memory.put_resource("Client", "partner", client);
    assert!(ask(partner.assertion("short")).await.unwrap().access_token.len() <= 8192);
}
