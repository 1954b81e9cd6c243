//! Token exchange over the databases: the issuer's registration, and what comes out at the token endpoint.

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use crate::world::{Answer, NOW_S, SECRET, World, claims, on_every_engine};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const IDP: &str = "https://idp.example";
const SHARED: &str = "a secret of more than thirty-two bytes";

fn introspector() -> Value {
    json!({"type": "jwt", "jwt": {"iss": IDP, "secret": SHARED}})
}

async fn register(world: &World) {
    let client = json!({
        "grant_types": [EXCHANGE], "secret": SECRET, "allowedIssuers": [IDP], "scope": ["user/*.rs", "offline_access"],
        "auth": {"token_exchange": {"token_format": "jwt", "refresh_token": true}},
    });
    world.put("/Client/app", &client).await;
    world.put("/User/ada", &json!({"userName": "ada"})).await;
}

async fn exchange(world: &World, token: &str, more: &[(&str, &str)]) -> Answer {
    let kind = ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt");
    let form = [&[("grant_type", EXCHANGE), ("subject_token", token), kind], more].concat();
    world.post("/auth/token").basic("app", SECRET).form(&form).send().await
}

fn token(user: &str, secret: &str) -> String {
    let claims = json!({"iss": IDP, "sub": user, "exp": NOW_S + 300});
    let key = EncodingKey::from_secret(secret.as_bytes());
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap()
}

#[tokio::test]
async fn a_token_of_a_registered_issuer_is_exchanged_until_the_issuer_is_gone() {
    on_every_engine(async |world| {
        register(world).await;
        let good = token("ada", SHARED);
        assert_eq!(exchange(world, &good, &[]).await.oauth_error(), (400, "invalid_request"), "nobody is trusted yet");
        world.put("/TokenIntrospector/idp", &introspector()).await;
        let answer = exchange(world, &good, &[]).await;
        assert_eq!(answer.status.as_u16(), 200, "{answer:?}");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.body["issued_token_type"], "urn:ietf:params:oauth:token-type:access_token");
        assert_eq!((&answer.body["token_type"], &answer.body["expires_in"]), (&json!("Bearer"), &json!(3600)));
        assert_eq!(answer.body["scope"], "user/*.rs offline_access");
        assert_eq!(claims(answer.body["access_token"].as_str().unwrap())["sub"], "ada");
        let again =
            [("grant_type", "refresh_token"), ("refresh_token", answer.body["refresh_token"].as_str().unwrap())];
        let again = world.post("/auth/token").basic("app", SECRET).form(&again).send().await;
        assert_eq!(again.status.as_u16(), 200, "{again:?}");
        for bad in [token("ada", "another secret of more than thirty-two bytes"), token("bob", SHARED)] {
            assert_eq!(exchange(world, &bad, &[]).await.oauth_error(), (400, "invalid_request"));
        }
        let elsewhere = exchange(world, &good, &[("audience", "https://other.example")]).await;
        assert_eq!(elsewhere.oauth_error(), (400, "invalid_target"));
        let deleted = world.call("DELETE", "/TokenIntrospector/idp").by_root().send().await;
        assert!(deleted.status.is_success(), "{deleted:?}");
        assert_eq!(exchange(world, &good, &[]).await.oauth_error(), (400, "invalid_request"));
    })
    .await;
}

#[tokio::test]
async fn the_secret_of_an_issuer_is_never_shown_and_cannot_be_found_out() {
    on_every_engine(async |world| {
        let at = "/TokenIntrospector/idp";
        let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [
            {"request": {"method": "PUT", "url": "TokenIntrospector/idp"}, "resource": introspector()},
            {"request": {"method": "GET", "url": "TokenIntrospector"}},
        ]});
        for answer in [
            world.put(at, &introspector()).await,
            world.get(at).by_root().send().await,
            world.get("/TokenIntrospector").by_root().send().await,
            world.post("/").by_root().json(&bundle).send().await,
            world.get(&format!("/fhir{at}")).by_root().send().await,
            world.call("PATCH", at).by_root().json(&json!({"title": "t"})).send().await,
        ] {
            assert!(answer.status.is_success(), "{answer:?}");
            let text = answer.body.to_string();
            assert!(text.contains("TokenIntrospector") && !text.contains(SHARED), "{text}");
        }
        for path in ["/TokenIntrospector?jwt.secret=x", "/TokenIntrospector?jwt.keys.k=x"] {
            assert_eq!(world.get(path).by_root().send().await.outcome().0, 400, "{path}");
        }
        for patch in [
            json!([{"op": "test", "path": "/jwt/secret", "value": "x"}]),
            json!([{"op": "copy", "from": "/jwt/secret", "path": "/title"}]),
            json!([{"op": "copy", "from": "/jwt", "path": "/other"}]),
        ] {
            let answer = world.call("PATCH", at).by_root().json(&patch).send().await;
            assert_eq!(answer.outcome(), (422, "security"), "{patch}");
        }
        register(world).await;
        let kept = exchange(world, &token("ada", SHARED), &[]).await;
        assert_eq!(kept.status.as_u16(), 200, "the patch left the secret alone: {kept:?}");
    })
    .await;
}

#[tokio::test]
async fn an_issuer_is_registered_whole_and_only_by_who_may_register() {
    let world = World::new().await;
    let call = |body: &Value| world.call("PUT", "/TokenIntrospector/x").by_root().json(body).send();
    let mut both = introspector();
    both["jwks_uri"] = json!("https://idp.example/jwks");
    for (body, code) in [
        (both, "invariant"),
        (json!({"type": "jwt", "jwt": {"iss": IDP}}), "invariant"),
        (json!({"type": "jwt", "jwt": {"iss": IDP, "secret": "short"}}), "security"),
        (json!({"type": "opaque"}), "not-supported"),
    ] {
        assert_eq!(call(&body).await.outcome(), (422, code), "{body}");
    }
    world.put("/TokenIntrospector/x", &introspector()).await;
    let patch = world.call("PATCH", "/TokenIntrospector/x").by_root().json(&json!({"jwt": {"secret": null}}));
    assert_eq!(patch.send().await.outcome(), (422, "invariant"));
    world.client_with_policy("partner", &json!({"engine": "allow"})).await;
    let by_partner = world.call("PUT", "/TokenIntrospector/mine").basic("partner", SECRET).json(&introspector());
    assert_eq!(by_partner.send().await.outcome().0, 403);
    world.end().await;
}
