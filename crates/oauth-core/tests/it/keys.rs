//! The server's own keys.

use std::sync::Arc;

use oauth_core::memory_store::MemoryAuthorizationStore;
use oauth_core::ports::SigningKeyStore as _;
use oauth_core::signing_key_encryption::SigningKeyEncryption;
use oauth_core::signing_keys::{
    SigningAlg, SigningKeyError, SigningKeyRing, StoredSigningKey, next_free_signing_start,
};
use oauth_core::time_and_randomness::TimeAndRandomness;
use serde_json::{Value, json};

use crate::world::{Partner, World, with_partner};

fn published(world: &World) -> Vec<Value> {
    let document: Value = serde_json::from_slice(&world.server.issuer.published_jwks().body).unwrap();
    document["keys"].as_array().unwrap().clone()
}

async fn add(world: &World, key: StoredSigningKey) {
    let held = world.memory.unretired_keys().await.unwrap();
    assert!(world.memory.save_keys_if_unchanged(&held, vec![key]).await.unwrap());
}

#[tokio::test]
async fn the_first_start_publishes_one_key_per_algorithm_under_its_thumbprint() {
    let world = World::empty().await;
    let keys = published(&world);
    let mut algs: Vec<_> = keys.iter().map(|key| key["alg"].as_str().unwrap()).collect();
    algs.sort_unstable();
    assert_eq!(algs, ["ES256", "ES384", "RS256", "RS384"]);
    for key in &keys {
        let jwk: jsonwebtoken::jwk::Jwk = serde_json::from_value(key.clone()).unwrap();
        assert_eq!(key["kid"], jwk.thumbprint(jsonwebtoken::jwk::ThumbprintHash::SHA256).unwrap());
        assert_eq!(key["use"], "sig");
        for private in ["d", "p", "q", "dp", "dq", "qi"] {
            assert_eq!(key.get(private), None);
        }
    }
}

#[tokio::test]
async fn a_second_node_signs_with_the_same_keys() {
    let world = World::new().await;
    let other = World::over(world.memory.clone(), world.host.clone()).await;
    assert_eq!(published(&world), published(&other));
}

#[tokio::test]
async fn access_tokens_are_signed_as_the_client_asks() {
    let (world, partner) = with_partner().await;
    for alg in SigningAlg::ALL {
        let mut client = partner.client();
        client["auth"]["client_credentials"]["access_token_signing_alg"] = json!(alg.name());
        world.memory.put_resource("Client", "partner", client);
        let token = world.assert(&partner.assertion(alg.name())).await.unwrap().access_token;
        assert_eq!(format!("{:?}", jsonwebtoken::decode_header(&token).unwrap().alg), alg.name());
        assert_eq!(world.claims(&token)["sub"], "partner");
    }
    world.memory.put_resource("Client", "partner", partner.client());
    let token = world.assert(&partner.assertion("default")).await.unwrap().access_token;
    assert_eq!(jsonwebtoken::decode_header(&token).unwrap().alg, jsonwebtoken::Algorithm::ES256);
}

#[tokio::test]
async fn rotation_publishes_first_signs_later_and_keeps_the_old_key() {
    let (mut world, partner) = with_partner().await;
    let before = world.assert(&partner.assertion("before")).await.unwrap().access_token;
    let successor = StoredSigningKey::generate(&world.env(), SigningAlg::ES256, None, world.now_s + 200).unwrap();
    add(&world, successor.clone()).await;
    world.server.issuer.keys.reload_keys().await.unwrap();
    assert_eq!(published(&world).len(), 5);
    assert_eq!(published(&world)[0]["kid"], successor.kid, "newest first");
    let kid = |token: &str| jsonwebtoken::decode_header(token).unwrap().kid.unwrap();
    let during = world.assert(&partner.assertion("during")).await.unwrap().access_token;
    assert_eq!(kid(&during), kid(&before));
    world.now_s += 200;
    let after = world.assert(&partner.assertion("after")).await.unwrap().access_token;
    assert_eq!(kid(&after), successor.kid);
    for token in [&before, &during, &after] {
        assert_eq!(world.claims(token)["sub"], "partner");
    }
    assert!(world.memory.retire_key(&kid(&before), world.now_s).await.unwrap());
    world.server.issuer.keys.reload_keys().await.unwrap();
    assert!(published(&world).iter().all(|key| key["kid"] != kid(&before)));
}

#[tokio::test]
async fn private_keys_are_encrypted_under_the_secret_and_open_with_no_other() {
    let random = World::new().await;
    let env: TimeAndRandomness<'_> = random.env();
    let memory = Arc::new(MemoryAuthorizationStore::default());
    let sealer = |secret: &str| Some(SigningKeyEncryption::new(secret.to_owned().into()));
    SigningKeyRing::load_or_generate(&env, memory.clone(), sealer("right")).await.unwrap();
    let stored = memory.lock_rows().keys.clone();
    assert!(stored.iter().all(|key| key.sealed));
    SigningKeyRing::load_or_generate(&env, memory.clone(), sealer("right")).await.unwrap();
    let wrong = SigningKeyRing::load_or_generate(&env, memory.clone(), sealer("wrong")).await.unwrap_err();
    assert!(matches!(wrong, SigningKeyError::WrongSecret { .. }), "{wrong}");
    let missing = SigningKeyRing::load_or_generate(&env, memory.clone(), None).await.unwrap_err();
    assert!(matches!(missing, SigningKeyError::SecretMissing), "{missing}");
}

#[tokio::test]
async fn of_keys_added_within_one_second_the_last_one_signs_in_the_end() {
    let (mut world, partner) = with_partner().await;
    let mut successor = None;
    for _ in 0..6 {
        let held = world.memory.lock_rows().keys.clone();
        let from_s = next_free_signing_start(&held, SigningAlg::ES256, world.now_s);
        let key = StoredSigningKey::generate(&world.env(), SigningAlg::ES256, None, from_s).unwrap();
        add(&world, key.clone()).await;
        successor = Some(key);
    }
    let successor = successor.unwrap();
    world.server.issuer.keys.reload_keys().await.unwrap();
    world.now_s = successor.signs_from_s;
    let token = world.assert(&partner.assertion("after")).await.unwrap().access_token;
    assert_eq!(jsonwebtoken::decode_header(&token).unwrap().kid.unwrap(), successor.kid);
    assert_eq!(successor.signs_from_s, crate::world::NOW_S + 6);
}

#[tokio::test]
async fn a_clock_set_back_before_every_activation_signs_with_the_oldest_key() {
    let (mut world, partner) = with_partner().await;
    let oldest = jsonwebtoken::decode_header(&world.assert(&partner.assertion("before")).await.unwrap().access_token);
    let successor = StoredSigningKey::generate(&world.env(), SigningAlg::ES256, None, world.now_s + 200).unwrap();
    add(&world, successor).await;
    world.server.issuer.keys.reload_keys().await.unwrap();
    world.now_s -= 86_400;
    let mut claims = crate::world::claims("back");
    claims["exp"] = json!(world.now_s + 300);
    let assertion = partner.sign(&Partner::header(jsonwebtoken::Algorithm::ES384), &claims);
    let token = world.assert(&assertion).await.unwrap().access_token;
    assert_eq!(jsonwebtoken::decode_header(&token).unwrap().kid, oldest.unwrap().kid);
    assert_eq!(world.claims(&token)["sub"], "partner");
}
