//! Who signed in, for the app.

use crate::browser::Browser;
use crate::members::{CALLBACK, VERIFIER, request};
use crate::world::{BASE, World};

async fn token(world: &World, scope: &str) -> String {
    let browser = Browser::new(world);
    let consent = browser.open_as("amy", &request("diary", scope)).await;
    let code = browser.allow(&consent).await.told("code").unwrap();
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", CALLBACK),
        ("client_id", "diary"),
        ("code_verifier", VERIFIER),
    ];
    let tokens = world.post("/auth/token").form(&form).send().await;
    tokens.body["access_token"].as_str().unwrap_or_else(|| panic!("{tokens:?}")).to_owned()
}

async fn world() -> World {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.public_app("diary").await;
    world
}

#[tokio::test]
async fn the_bearer_of_the_person_s_token_learns_who_it_is_by_get_and_by_post() {
    let world = world().await;
    let token = token(&world, "launch/patient openid fhirUser profile patient/Patient.rs").await;
    for method in ["GET", "POST"] {
        let answer =
            world.call(method, "/auth/userinfo").bearer(&token).header("origin", "https://diary.example").send().await;
        assert_eq!(answer.status, 200, "{method}: {answer:?}");
        assert_eq!(answer.body["sub"], "amy");
        assert_eq!(answer.body["fhirUser"], format!("{BASE}/fhir/Patient/amy"));
        assert_eq!(answer.body.get("password"), None);
        assert_eq!(answer.header("access-control-allow-origin"), "https://diary.example");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    world.end().await;
}

#[tokio::test]
async fn without_a_token_of_a_person_and_the_scope_nobody_is_told() {
    let world = world().await;
    let nobody = world.get("/auth/userinfo").header("origin", "https://diary.example").send().await;
    assert_eq!(nobody.oauth_error().0, 401);
    assert!(
        nobody.header("www-authenticate").starts_with("Bearer ")
            && !nobody.header("www-authenticate").contains("error")
    );
    assert_eq!(nobody.header("access-control-allow-origin"), "https://diary.example");
    let wrong = world.get("/auth/userinfo").bearer("wrong").send().await;
    assert_eq!(wrong.oauth_error(), (401, "invalid_token"));
    let narrow = token(&world, "launch/patient patient/Patient.rs").await;
    let backend = world.token_with_scope("backend", "system/*.cruds").await;
    for token in [narrow, backend] {
        let refused = world.get("/auth/userinfo").bearer(&token).send().await;
        assert_eq!(refused.oauth_error(), (403, "insufficient_scope"));
        assert!(refused.header("www-authenticate").contains("scope=\"openid\""));
    }
    assert_eq!(world.call("DELETE", "/auth/userinfo").send().await.status, 405);
    world.end().await;
}
