//! Whoever asks to be let go.

use crate::browser::Browser;
use crate::members::{CALLBACK, VERIFIER, request};
use crate::world::{Answer, World, on_every_engine};

const SCOPE: &str = "launch/patient openid patient/Patient.rs offline_access";
const USERINFO: &str = "/auth/userinfo";
const PATIENT: &str = "/fhir/Patient/amy";

/// The tokens that amy's consent gives the app.
async fn tokens(world: &World, browser: &Browser<'_>) -> Answer {
    let page = browser.open_as("amy", &request("diary", SCOPE)).await;
    // What was allowed once is not asked again.
    let page = if page.left { page } else { browser.allow(&page).await };
    let code = page.told("code").unwrap();
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", CALLBACK),
        ("client_id", "diary"),
        ("code_verifier", VERIFIER),
    ];
    let tokens = world.post("/auth/token").form(&form).send().await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    tokens
}

async fn ask(world: &World, path: &str, token: &str) -> u16 {
    world.get(path).bearer(token).send().await.status.as_u16()
}

async fn close(world: &World, token: &str) -> Answer {
    world.call("DELETE", "/Session").bearer(token).header("origin", "https://diary.example").send().await
}

#[tokio::test]
async fn who_deletes_its_session_ends_all_that_one_authorization_gave_and_nothing_else() {
    on_every_engine(async |world| {
        world.member("amy", ("Amy", "Shaw")).await;
        world.public_app("diary").await;
        let browser = Browser::new(world);
        let (one, other) = (tokens(world, &browser).await, tokens(world, &Browser::new(world)).await);
        let access = |tokens: &Answer| tokens.body["access_token"].as_str().unwrap().to_owned();
        assert_eq!(
            (ask(world, USERINFO, &access(&one)).await, ask(world, USERINFO, &access(&other)).await),
            (200, 200)
        );

        let closed = close(world, &access(&one)).await;
        assert_eq!((closed.status.as_u16(), closed.text.as_str()), (204, ""));
        assert_eq!(closed.header("access-control-allow-origin"), "https://diary.example");
        assert_eq!(
            (ask(world, USERINFO, &access(&one)).await, ask(world, USERINFO, &access(&other)).await),
            (401, 200)
        );
        let refresh = one.body["refresh_token"].as_str().unwrap();
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", "diary")];
        let refused = world.post("/auth/token").form(&form).send().await;
        assert_eq!(refused.oauth_error(), (400, "invalid_grant"));
        assert_eq!(close(world, &access(&one)).await.status, 401, "what is over is not ended again");
        assert_eq!(browser.open("/auth/apps").await.path(), "/auth/apps", "the browser's own goes on");
    })
    .await;
}

#[tokio::test]
async fn a_token_of_a_client_itself_ends_alone() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    let one = world.token_with_scope("backend", "system/*.cruds").await;
    let other = world.token_with_scope("backend", "system/*.cruds").await;
    assert_eq!(close(&world, &one).await.status, 204);
    assert_eq!((ask(&world, PATIENT, &one).await, ask(&world, PATIENT, &other).await), (401, 200));
    world.end().await;
}

#[tokio::test]
async fn a_browser_without_a_token_is_signed_out_and_no_other_site_does_it() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.public_app("diary").await;
    let browser = Browser::new(&world);
    let app = tokens(&world, &browser).await;
    for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
        let refused = browser.send(world.call("DELETE", "/Session").header(name, value)).await;
        assert_eq!(refused.status, 403, "{name}");
        assert_eq!(browser.open("/auth/apps").await.path(), "/auth/apps");
    }
    let out = browser.send(world.call("DELETE", "/Session").header("sec-fetch-site", "same-origin")).await;
    assert_eq!(out.status, 204);
    assert!(out.header("set-cookie").contains("Max-Age=0"), "{out:?}");
    assert_eq!(browser.open("/auth/apps").await.path(), "/auth/login");
    assert_eq!(ask(&world, USERINFO, app.body["access_token"].as_str().unwrap()).await, 200, "apps are not signed out");
    world.end().await;
}

#[tokio::test]
async fn who_has_no_session_ends_none() {
    let world = World::new().await;
    assert_eq!(world.call("DELETE", "/Session").send().await.outcome(), (401, "login"));
    assert_eq!(world.call("DELETE", "/Session").by_root().send().await.status, 401);
    assert_eq!(close(&world, "wrong").await.status, 401);
    let cookie = world.call("DELETE", "/Session").header("cookie", "session=wrong");
    assert_eq!(cookie.send().await.status, 401);
    assert_eq!(world.get("/Session").send().await.status, 405);
    world.end().await;
}
