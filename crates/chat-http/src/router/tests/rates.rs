//! How many requests a minute.

use super::test_router::{BOT, BOT_KEY, NOW_S, TestRouter};

const PATH: &str = "/api/v1/example?word=x";

#[tokio::test]
async fn an_account_over_its_limit_is_429_until_it_waits() {
    let router = TestRouter::with(|_, domain| domain.settings.rate_limit_per_user = 6).await;
    for remaining in (0..6).rev() {
        let response = router.call("GET", PATH).iago().send().await;
        response.success();
        assert_eq!(response.header("x-ratelimit-limit"), "6");
        assert_eq!(response.header("x-ratelimit-remaining"), remaining.to_string());
        assert_eq!(response.header("x-ratelimit-reset"), (NOW_S + 10 * (6 - remaining)).to_string());
    }
    let response = router.call("GET", PATH).iago().send().await;
    assert_eq!(response.error(), (429, "RATE_LIMIT_HIT", "API usage exceeded rate limit"));
    assert_eq!((response.header("retry-after"), response.body["retry-after"].as_f64()), ("10", Some(10.0)));
    assert_eq!((response.header("x-ratelimit-remaining"), response.header("x-ratelimit-limit")), ("0", "6"));
    router.wait_ms(9_500);
    let response = router.call("GET", PATH).iago().send().await;
    assert_eq!((response.header("retry-after"), response.body["retry-after"].as_f64()), ("1", Some(0.5)));
    router.call("GET", PATH).basic(BOT, BOT_KEY).send().await.success();
    router.wait_ms(500);
    router.call("GET", PATH).iago().send().await.success();
}

#[tokio::test]
async fn a_refused_parameter_tells_the_standing_too() {
    let router = TestRouter::with(|_, domain| domain.settings.rate_limit_per_user = 6).await;
    let response = router.call("GET", "/api/v1/example").iago().send().await;
    assert_eq!((response.error().0, response.header("x-ratelimit-remaining")), (400, "5"));
}

#[tokio::test]
async fn strangers_count_by_address_whatever_they_ask_for() {
    for (method, path) in [("GET", "/api/v1/open"), ("GET", PATH), ("GET", "/nowhere"), ("DELETE", PATH)] {
        let router = TestRouter::with(|parts, _| parts.rate_limit_per_ip = 2).await;
        let ask = |from: &'static str| router.call(method, path).from(from).send();
        for _ in 0..2 {
            assert_ne!(ask("192.0.2.1:4000").await.status, 429, "{path}");
        }
        let response = ask("192.0.2.1:4001").await;
        assert_eq!(response.error(), (429, "RATE_LIMIT_HIT", "API usage exceeded rate limit"), "{path}");
        assert_eq!(response.header("retry-after"), "30");
        assert_eq!(response.header("www-authenticate"), "");
        assert_ne!(ask("192.0.2.2:4000").await.status, 429, "{path}");
        assert_eq!(ask("[::ffff:192.0.2.1]:1").await.status, 429, "the same address in another dress");
    }
}

#[tokio::test]
async fn whoever_has_one_ipv6_address_has_its_neighbours_too() {
    let router = TestRouter::with(|parts, _| parts.rate_limit_per_ip = 1).await;
    let ask = |from: &'static str| router.call("GET", "/api/v1/open").from(from).send();
    ask("[2001:db8:0:1::1]:1").await.success();
    assert_eq!(ask("[2001:db8:0:1:ffff::2]:1").await.error().0, 429);
    ask("[2001:db8:0:2::1]:1").await.success();
}

#[tokio::test]
async fn an_account_is_not_held_up_by_strangers_at_its_address() {
    let router = TestRouter::with(|parts, _| parts.rate_limit_per_ip = 1).await;
    for _ in 0..3 {
        router.call("GET", PATH).send().await;
    }
    router.call("GET", PATH).iago().send().await.success();
}

#[tokio::test]
async fn without_a_limit_nobody_is_refused_or_told_of_one() {
    let router = TestRouter::new().await;
    for _ in 0..1000 {
        let response = router.call("GET", PATH).iago().send().await;
        response.success();
        assert_eq!(response.header("x-ratelimit-limit"), "");
    }
}

#[tokio::test]
async fn health_is_not_counted() {
    let router = TestRouter::with(|parts, _| parts.rate_limit_per_ip = 1).await;
    for _ in 0..3 {
        assert_eq!(router.call("GET", "/health").send().await.status, 200);
    }
}
