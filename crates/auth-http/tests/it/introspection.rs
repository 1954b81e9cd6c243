//! `/auth/introspect` and `/auth/revoke`.

use serde_json::json;

use crate::world::{NOW_S, SECRET, World, on_every_engine};

#[tokio::test]
async fn a_client_learns_what_its_own_token_is_worth() {
    on_every_engine(async |world| {
        let token = world.token_with_scope("service", "system/Patient.rs").await;
        let form = [("token", token.as_str())];
        let answer = world.post("/auth/introspect").basic("service", SECRET).form(&form).send().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.body["active"], true);
        assert_eq!(answer.body["client_id"], "service");
        assert_eq!(answer.body["scope"], "system/Patient.rs");
        assert_eq!(answer.body["exp"], NOW_S + 300);

        world.wait_s(301);
        let answer = world.post("/auth/introspect").basic("service", SECRET).form(&form).send().await;
        assert_eq!(answer.body, json!({"active": false}));
    })
    .await;
}

#[tokio::test]
async fn introspection_without_client_authentication_is_401() {
    let world = World::new().await;
    let answer = world.post("/auth/introspect").form(&[("token", "x")]).send().await;
    assert_eq!(answer.oauth_error(), (401, "invalid_client"));
    assert!(answer.header("www-authenticate").starts_with("Basic "), "{answer:?}");
    let answer = world.post("/auth/introspect").bearer("nonsense").form(&[("token", "x")]).send().await;
    assert_eq!(answer.oauth_error().0, 401);
    world.end().await;
}

#[tokio::test]
async fn introspection_without_a_token_is_an_invalid_request() {
    let world = World::new().await;
    let answer = world.post("/auth/introspect").by_root().form(&[]).send().await;
    assert_eq!(answer.oauth_error(), (400, "invalid_request"));
    world.end().await;
}

#[tokio::test]
async fn an_unknown_token_is_inactive_and_nothing_more() {
    let world = World::new().await;
    for token in ["invalid", "a.b.c", "\u{0}", "é"] {
        let answer = world.post("/auth/introspect").by_root().form(&[("token", token)]).send().await;
        assert_eq!((answer.status.as_u16(), answer.body), (200, json!({"active": false})), "{token}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_foreign_token_is_shown_as_inactive() {
    let world = World::new().await;
    let token = world.token_with_scope("service", "system/Patient.rs").await;
    world.put("/Client/other", &json!({"grant_types": ["client_credentials"], "secret": SECRET})).await;
    let form = [("token", token.as_str())];
    let answer = world.post("/auth/introspect").basic("other", SECRET).form(&form).send().await;
    assert_eq!((answer.status.as_u16(), answer.body), (200, json!({"active": false})));
    let answer = world.post("/auth/introspect").by_root().form(&form).send().await;
    assert_eq!(answer.body["active"], true);
    world.end().await;
}

#[tokio::test]
async fn a_revoked_token_opens_nothing_any_more() {
    on_every_engine(async |world| {
        let token = world.token_with_scope("service", "system/Patient.rs").await;
        assert_eq!(world.get("/fhir/Patient").bearer(&token).send().await.status, 200);

        let form = [("token", token.as_str())];
        let answer = world.post("/auth/revoke").basic("service", SECRET).form(&form).send().await;
        assert_eq!((answer.status.as_u16(), answer.length), (200, 0));

        let answer = world.get("/fhir/Patient").bearer(&token).send().await;
        assert_eq!(answer.outcome(), (401, "login"));
        assert!(answer.header("www-authenticate").contains("error=\"invalid_token\""), "{answer:?}");
    })
    .await;
}

#[tokio::test]
async fn revoking_a_foreign_or_unknown_token_is_silent_and_does_nothing() {
    let world = World::new().await;
    let token = world.token_with_scope("service", "system/Patient.rs").await;
    world.put("/Client/other", &json!({"grant_types": ["client_credentials"], "secret": SECRET})).await;
    for token in [token.as_str(), "unknown"] {
        let answer = world.post("/auth/revoke").basic("other", SECRET).form(&[("token", token)]).send().await;
        assert_eq!((answer.status.as_u16(), answer.length), (200, 0));
    }
    assert_eq!(world.get("/fhir/Patient").bearer(&token).send().await.status, 200);
    world.end().await;
}

#[tokio::test]
async fn revocation_needs_client_authentication() {
    let world = World::new().await;
    let answer = world.post("/auth/revoke").form(&[("token", "x")]).send().await;
    assert_eq!(answer.oauth_error(), (400, "invalid_client"));
    world.end().await;
}
