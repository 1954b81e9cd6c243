//! Credentials, from the header to the account.

use super::world::{BOT, BOT_KEY, GONE, GONE_KEY, HOOK, HOOK_KEY, IAGO, IAGO_KEY, World};

const PATH: &str = "/api/v1/example?word=x";

#[tokio::test]
async fn the_account_of_the_key_reaches_the_endpoint() {
    let world = World::new().await;
    let told = world.call("GET", PATH).iago().send().await;
    assert_eq!(told.success()["user"], 7);
    let told = world.call("GET", PATH).basic(BOT, BOT_KEY).send().await;
    assert_eq!(told.success()["user"], 8);
}

#[tokio::test]
async fn whoever_shows_no_valid_credentials_is_401_with_a_challenge() {
    let world = World::new().await;
    let closed = World::closed().await;
    let malformed = "Invalid authorization header for basic auth";
    let asked = |header: &str| world.call("GET", PATH).header("authorization", header).send();
    let cases = [
        (world.call("GET", PATH).send().await, "Not logged in: API authentication or user session required"),
        (asked("Bearer x").await, "This endpoint requires HTTP basic authentication."),
        (asked("Basic").await, malformed),
        (asked("Basic %%").await, malformed),
        (asked("Basic bm9jb2xvbg==").await, malformed),
        (world.call("GET", PATH).basic(IAGO, "short").send().await, "Malformed API key"),
        (world.call("GET", PATH).basic(IAGO, BOT_KEY).send().await, "Invalid API key"),
        (world.call("GET", PATH).basic("x@y", IAGO_KEY).send().await, "Invalid API key"),
        (world.call("GET", PATH).basic(GONE, GONE_KEY).send().await, "Account is deactivated"),
        (closed.call("GET", PATH).basic(GONE, GONE_KEY).send().await, "This organization has been deactivated"),
        (
            world.call("GET", PATH).basic(HOOK, HOOK_KEY).send().await,
            "This API is not available to incoming webhook bots.",
        ),
    ];
    for (told, text) in cases {
        assert_eq!(told.error(), (401, "UNAUTHORIZED", text));
        assert!(told.header("www-authenticate").starts_with("Basic realm="), "{text}");
    }
}

#[tokio::test]
async fn the_address_is_compared_without_case() {
    let told = World::new().await.call("GET", PATH).basic("IAGO@Example.COM", IAGO_KEY).send().await;
    assert_eq!(told.success()["user"], 7);
}

#[tokio::test]
async fn an_endpoint_for_everybody_does_not_look_at_the_header() {
    let world = World::new().await;
    for header in ["Bearer x", "Basic %%"] {
        world.call("GET", "/api/v1/open").header("authorization", header).send().await.success();
    }
}

#[tokio::test]
async fn nothing_is_read_of_a_strangers_body() {
    let world = World::new().await;
    let told = world.call("PATCH", "/api/v1/example").form(&"x".repeat(2_000_000)).send().await;
    assert_eq!(told.error().0, 401);
}
