//! Credentials, from the header to the account.

use super::test_router::{BOT, BOT_KEY, GONE, GONE_KEY, HOOK, HOOK_KEY, IAGO, IAGO_KEY, TestRouter};

const PATH: &str = "/api/v1/example?word=x";

#[tokio::test]
async fn the_account_of_the_key_reaches_the_endpoint() {
    let router = TestRouter::new().await;
    let response = router.call("GET", PATH).iago().send().await;
    assert_eq!(response.success()["user"], 7);
    let response = router.call("GET", PATH).basic(BOT, BOT_KEY).send().await;
    assert_eq!(response.success()["user"], 8);
}

#[tokio::test]
async fn whoever_shows_no_valid_credentials_is_401_with_a_challenge() {
    let router = TestRouter::new().await;
    let closed = TestRouter::closed().await;
    let malformed = "Invalid authorization header for basic auth";
    let asked = |header: &str| router.call("GET", PATH).header("authorization", header).send();
    let cases = [
        (router.call("GET", PATH).send().await, "Not logged in: API authentication or user session required"),
        (asked("Bearer x").await, "This endpoint requires HTTP basic authentication."),
        (asked("Basic").await, malformed),
        (asked("Basic %%").await, malformed),
        (asked("Basic bm9jb2xvbg==").await, malformed),
        (router.call("GET", PATH).basic(IAGO, "short").send().await, "Malformed API key"),
        (router.call("GET", PATH).basic(IAGO, BOT_KEY).send().await, "Invalid API key"),
        (router.call("GET", PATH).basic("x@y", IAGO_KEY).send().await, "Invalid API key"),
        (router.call("GET", PATH).basic(GONE, GONE_KEY).send().await, "Account is deactivated"),
        (closed.call("GET", PATH).basic(GONE, GONE_KEY).send().await, "This organization has been deactivated"),
        (
            router.call("GET", PATH).basic(HOOK, HOOK_KEY).send().await,
            "This API is not available to incoming webhook bots.",
        ),
    ];
    for (response, text) in cases {
        assert_eq!(response.error(), (401, "UNAUTHORIZED", text));
        assert!(response.header("www-authenticate").starts_with("Basic realm="), "{text}");
    }
}

#[tokio::test]
async fn the_address_is_compared_without_case() {
    let response = TestRouter::new().await.call("GET", PATH).basic("IAGO@Example.COM", IAGO_KEY).send().await;
    assert_eq!(response.success()["user"], 7);
}

#[tokio::test]
async fn an_endpoint_for_everybody_does_not_look_at_the_header() {
    let router = TestRouter::new().await;
    for header in ["Bearer x", "Basic %%"] {
        router.call("GET", "/api/v1/open").header("authorization", header).send().await.success();
    }
}

#[tokio::test]
async fn nothing_is_read_of_a_strangers_body() {
    let router = TestRouter::new().await;
    let response = router.call("PATCH", "/api/v1/example").form(&"x".repeat(2_000_000)).send().await;
    assert_eq!(response.error().0, 401);
}
