//! Specification, Client JWKS: the partner's published keys.

use jsonwebtoken::Algorithm;
use oauth_core::jwks_cache::{
    FAILED_FETCH_RETRY_DELAY_S, FRESHNESS_MAX_S, FRESHNESS_MIN_S, STALE_DURING_OUTAGE_MAX_S,
    UNKNOWN_KID_REFETCH_INTERVAL_S,
};
use oauth_core::ports::JwksFetchError;
use serde_json::json;

use crate::world::{JWT_BEARER, Partner, World, claims, fresh_jti};

async fn published() -> (World, Partner) {
    let (world, partner) = (World::new().await, Partner::new());
    world.memory.put_resource(
        "Client",
        "partner",
        json!({
            "grant_types": ["client_credentials"],
            "scope": ["system/*.read"],
            "jwks_uri": "https://partner.example/jwks",
            "auth": { "client_credentials": { "client_assertion_types": [JWT_BEARER], "token_format": "jwt" } },
        }),
    );
    world.host.serve(std::slice::from_ref(&partner.ec_jwk), Some(60));
    (world, partner)
}

/// A token request `later_s` seconds after the start, its assertion valid then.
async fn ask(world: &mut World, partner: &Partner, later_s: i64, kid: &str) -> Result<(), String> {
    world.now_s = crate::world::NOW_S + later_s;
    let mut claims = claims(&fresh_jti());
    claims["exp"] = json!(world.now_s + 300);
    let mut header = Partner::header(Algorithm::ES384);
    header.kid = Some(kid.to_owned());
    world.assert(&partner.sign(&header, &claims)).await.map(drop).map_err(|error| error.to_string())
}

#[tokio::test]
async fn cached_keys_are_refreshed_according_to_cache_control() {
    let (mut world, partner) = published().await;
    for later_s in [0, 30, 59] {
        ask(&mut world, &partner, later_s, "ec-1").await.unwrap();
    }
    assert_eq!(world.host.asked(), 1);
    ask(&mut world, &partner, 60, "ec-1").await.unwrap();
    assert_eq!(world.host.asked(), 2);
}

#[tokio::test]
async fn the_freshness_has_a_floor_and_a_ceiling() {
    for (sent, kept_s) in [(Some(0), FRESHNESS_MIN_S), (Some(1_000_000), FRESHNESS_MAX_S), (None, 300)] {
        let (mut world, partner) = published().await;
        world.host.serve(std::slice::from_ref(&partner.ec_jwk), sent);
        ask(&mut world, &partner, 0, "ec-1").await.unwrap();
        ask(&mut world, &partner, kept_s - 1, "ec-1").await.unwrap();
        assert_eq!(world.host.asked(), 1, "{sent:?}");
        ask(&mut world, &partner, kept_s, "ec-1").await.unwrap();
        assert_eq!(world.host.asked(), 2, "{sent:?}");
    }
}

#[tokio::test]
async fn an_unknown_kid_fetches_once_and_then_waits() {
    let (mut world, partner) = published().await;
    ask(&mut world, &partner, 0, "ec-1").await.unwrap();
    for later_s in [1, 2, 3, UNKNOWN_KID_REFETCH_INTERVAL_S] {
        assert!(ask(&mut world, &partner, later_s, "invented").await.is_err());
    }
    assert_eq!(world.host.asked(), 2, "one fetch for all of them");
    let successor = Partner::with_ec_seed(9);
    let mut jwk = successor.ec_jwk.clone();
    jwk["kid"] = json!("ec-2");
    world.host.serve(&[partner.ec_jwk.clone(), jwk], Some(60));
    ask(&mut world, &successor, 2 + UNKNOWN_KID_REFETCH_INTERVAL_S, "ec-2").await.unwrap();
    ask(&mut world, &partner, 2 + UNKNOWN_KID_REFETCH_INTERVAL_S, "ec-1").await.unwrap();
    assert_eq!(world.host.asked(), 3);
}

#[tokio::test]
async fn key_rotation_is_non_breaking() {
    let (mut world, partner) = published().await;
    ask(&mut world, &partner, 0, "ec-1").await.unwrap();
    let successor = Partner::with_ec_seed(9);
    let mut jwk = successor.ec_jwk.clone();
    jwk["kid"] = json!("ec-2");
    world.host.serve(&[partner.ec_jwk.clone(), jwk.clone()], Some(60));
    ask(&mut world, &successor, 1, "ec-2").await.unwrap();
    ask(&mut world, &partner, 2, "ec-1").await.unwrap();
    world.host.serve(&[jwk], Some(60));
    assert!(ask(&mut world, &partner, 120, "ec-1").await.is_err(), "the retired key stops working");
    ask(&mut world, &successor, 121, "ec-2").await.unwrap();
}

#[tokio::test]
async fn old_keys_are_kept_while_the_partners_host_is_down() {
    let (mut world, partner) = published().await;
    ask(&mut world, &partner, 0, "ec-1").await.unwrap();
    world.host.go_down();
    ask(&mut world, &partner, 60, "ec-1").await.unwrap();
    ask(&mut world, &partner, 60 + FAILED_FETCH_RETRY_DELAY_S - 1, "ec-1").await.unwrap();
    assert_eq!(world.host.asked(), 2, "a failed fetch is not repeated at once");
    ask(&mut world, &partner, 60 + FAILED_FETCH_RETRY_DELAY_S, "ec-1").await.unwrap();
    let error = ask(&mut world, &partner, 60 + STALE_DURING_OUTAGE_MAX_S + 60, "ec-1").await.unwrap_err();
    assert!(error.contains("could not be fetched"), "{error}");
}

#[tokio::test]
async fn an_address_that_answers_without_a_key_set_withdraws_the_keys_at_once() {
    let statuses = [301, 400, 401, 403, 404, 410].map(|status| Some(JwksFetchError::Status(status)));
    let other = [JwksFetchError::TooLarge(9), JwksFetchError::Refused("the host has no public address".to_owned())];
    for refusal in statuses.into_iter().chain(other.map(Some)).chain([None]) {
        for fresh_for_s in [Some(0), Some(60)] {
            let (mut world, partner) = published().await;
            world.host.serve(std::slice::from_ref(&partner.ec_jwk), fresh_for_s);
            ask(&mut world, &partner, 0, "ec-1").await.unwrap();
            match refusal.clone() {
                Some(refusal) => world.host.refuse(refusal),
                None => world.host.answer(b"<!doctype html><title>Sign in</title>"),
            }
            for later_s in [60, 61, 60 + FAILED_FETCH_RETRY_DELAY_S] {
                assert!(ask(&mut world, &partner, later_s, "ec-1").await.is_err(), "{refusal:?} {later_s}");
            }
            world.host.serve(std::slice::from_ref(&partner.ec_jwk), fresh_for_s);
            ask(&mut world, &partner, 100, "ec-1").await.unwrap();
        }
    }
}

#[tokio::test]
async fn old_keys_are_kept_while_the_partners_host_is_overloaded() {
    for status in [408, 429, 500, 502, 503, 504] {
        let (mut world, partner) = published().await;
        ask(&mut world, &partner, 0, "ec-1").await.unwrap();
        world.host.refuse(JwksFetchError::Status(status));
        ask(&mut world, &partner, 60, "ec-1").await.unwrap();
        assert!(ask(&mut world, &partner, 61 + STALE_DURING_OUTAGE_MAX_S, "ec-1").await.is_err());
    }
}

#[tokio::test]
async fn a_clock_set_back_neither_keeps_keys_fresh_nor_stops_attempts() {
    let (mut world, partner) = published().await;
    ask(&mut world, &partner, 86_400, "ec-1").await.unwrap();
    ask(&mut world, &partner, 0, "ec-1").await.unwrap();
    assert_eq!(world.host.asked(), 2, "they were fetched in the future");
    let (mut world, partner) = published().await;
    world.host.go_down();
    ask(&mut world, &partner, 86_400, "ec-1").await.unwrap_err();
    world.host.serve(std::slice::from_ref(&partner.ec_jwk), None);
    ask(&mut world, &partner, 0, "ec-1").await.unwrap();
}

#[tokio::test]
async fn a_host_that_never_answered_is_named_in_the_refusal() {
    let (mut world, partner) = published().await;
    world.host.go_down();
    let error = ask(&mut world, &partner, 0, "ec-1").await.unwrap_err();
    assert!(error.contains("jwks_uri could not be fetched"), "{error}");
    world.host.serve(std::slice::from_ref(&partner.ec_jwk), None);
    ask(&mut world, &partner, FAILED_FETCH_RETRY_DELAY_S, "ec-1").await.unwrap();
}

#[tokio::test]
async fn fifty_requests_at_once_fetch_once() {
    let (world, partner) = published().await;
    let assertions: Vec<_> = (0..50).map(|n| partner.assertion(&format!("at once {n}"))).collect();
    let world = std::sync::Arc::new(world);
    let mut requests = tokio::task::JoinSet::new();
    for assertion in assertions {
        let world = world.clone();
        requests.spawn(async move { world.assert(&assertion).await.map(drop) });
    }
    while let Some(request) = requests.join_next().await {
        request.unwrap().unwrap();
    }
    assert_eq!(world.host.asked(), 1);
}

#[tokio::test]
async fn inline_keys_and_published_keys_count_together() {
    let (mut world, partner) = published().await;
    let inline = Partner::with_ec_seed(9);
    let mut jwk = inline.ec_jwk.clone();
    jwk["kid"] = json!("inline");
    world.memory.put_resource(
        "Client",
        "partner",
        json!({
            "grant_types": ["client_credentials"], "scope": ["system/*.read"], "jwks": [jwk],
            "jwks_uri": "https://partner.example/jwks",
        }),
    );
    ask(&mut world, &inline, 0, "inline").await.unwrap();
    assert_eq!(world.host.asked(), 0);
    ask(&mut world, &partner, 1, "ec-1").await.unwrap();
}

#[tokio::test]
async fn a_caller_that_hangs_up_neither_ends_the_fetch_nor_uses_it_up() {
    let (world, partner) = published().await;
    let mut claims = claims("hangs up");
    let mut header = Partner::header(Algorithm::ES384);
    header.kid = Some("invented".to_owned());
    claims["exp"] = json!(world.now_s + 300);
    let assertion = partner.sign(&header, &claims);
    for _ in 0..8 {
        // Polled once, then dropped: the connection closed.
        let request = std::pin::pin!(world.assert(&assertion));
        assert!(futures_poll_once(request).await);
    }
    while world.host.asked() == 0 {
        tokio::task::yield_now().await;
    }
    world.assert(&partner.assertion("after")).await.unwrap();
    assert_eq!(world.host.asked(), 1, "one fetch for all of them, and it was finished");
}

/// Polls a future once; whether it was still pending.
async fn futures_poll_once(mut future: std::pin::Pin<&mut impl Future>) -> bool {
    std::future::poll_fn(|context| std::task::Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

#[tokio::test]
async fn while_the_host_is_down_nobody_waits_for_it() {
    let (mut world, partner) = published().await;
    ask(&mut world, &partner, 0, "ec-1").await.unwrap();
    world.host.go_down();
    ask(&mut world, &partner, 60, "ec-1").await.unwrap();
    let asked = world.host.asked();
    ask(&mut world, &partner, 60 + FAILED_FETCH_RETRY_DELAY_S, "ec-1").await.unwrap();
    assert_eq!(world.host.asked(), asked, "answered before the attempt beside it began");
}

#[tokio::test]
async fn a_kid_may_stand_on_keys_of_two_types_in_two_places() {
    let (mut world, partner) = published().await;
    let mut rsa = partner.rsa_jwk.clone();
    rsa["kid"] = json!("ec-1");
    world.memory.put_resource(
        "Client",
        "partner",
        json!({
            "grant_types": ["client_credentials"], "scope": ["system/*.read"], "jwks": [rsa],
            "jwks_uri": "https://partner.example/jwks",
        }),
    );
    ask(&mut world, &partner, 0, "ec-1").await.unwrap();
}
