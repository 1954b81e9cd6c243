//! What every answer under `/api/v1` has in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use serde_json::json;

use super::test_router::{Health, TestRequest, TestRouter, domain, parts};
use server_kit::health::HealthProbe;

use crate::build_chat_service;

#[tokio::test]
async fn an_address_nobody_answers_at_is_404_in_the_envelope() {
    let router = TestRouter::new().await;
    for path in ["/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v1/open/", "/nowhere", "/api/v1/%ff"] {
        for method in ["GET", "POST", "DELETE", "BREW"] {
            let response = router.call(method, path).send().await;
            assert_eq!(response.error(), (404, "BAD_REQUEST", "Not Found"), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_path_id_that_is_no_number_is_an_address_nobody_answers_at() {
    let router = TestRouter::new().await;
    for id in ["abc", "-1", "1.0", "+1", "99999999999999999999", "%31x"] {
        let response = router.call("DELETE", &format!("/api/v1/example/{id}/n")).iago().send().await;
        assert_eq!(response.error(), (404, "BAD_REQUEST", "Not Found"), "{id}");
    }
    for name in ["%ff", "a%00b"] {
        let response = router.call("DELETE", &format!("/api/v1/example/5/{name}")).iago().send().await;
        assert_eq!(response.error().0, 404, "{name}");
    }
    let response = router.call("DELETE", "/api/v1/example/05/sm%C3%AFle").iago().send().await;
    assert_eq!((&response.success()["deleted"], &response.body["name"]), (&json!(5), &json!("smïle")));
}

#[tokio::test]
async fn a_panic_and_a_failure_are_500_and_keep_their_text_inside() {
    let router = TestRouter::new().await;
    for (method, path) in [("GET", "/api/v1/panics"), ("POST", "/api/v1/fails")] {
        let response = router.call(method, path).send().await;
        assert_eq!(response.error(), (500, "INTERNAL_SERVER_ERROR", "Internal server error"));
        for inner in ["secret", "row", "disk"] {
            assert!(!response.body.to_string().contains(inner), "{}", response.body);
        }
        assert_eq!(response.header("x-request-id").len(), 32);
    }
    router.call("GET", "/api/v1/open").send().await.success();
}

#[tokio::test]
async fn every_answer_has_a_request_id_the_callers_when_well_formed() {
    let router = TestRouter::new().await;
    for path in ["/health", "/api/v1/open", "/api/v1/example", "/nowhere", "/api/v1/panics"] {
        let own = router.call("GET", path).header("x-request-id", "abc-1.2_3").send().await;
        assert_eq!(own.header("x-request-id"), "abc-1.2_3", "{path}");
        let first = router.call("GET", path).header("x-request-id", "a b").send().await;
        let second = router.call("GET", path).send().await;
        assert_eq!((first.header("x-request-id").len(), second.header("x-request-id").len()), (32, 32));
        assert_ne!(first.header("x-request-id"), second.header("x-request-id"), "{path}");
    }
}

#[tokio::test]
async fn health_says_whether_the_server_can_work() {
    let mut given = parts();
    let response = TestRequest::of(&build_chat_service(given.clone(), None), "GET", "/health").send().await;
    assert_eq!((response.status.as_u16(), response.body), (200, json!({"status": "ok", "version": "1.2.3"})));
    given.health = Arc::new(Health(false));
    let response = TestRequest::of(&build_chat_service(given, None), "GET", "/health").send().await;
    assert_eq!((response.status.as_u16(), &response.body["status"]), (503, &json!("unavailable")));
}

#[tokio::test]
async fn however_often_health_is_asked_the_probe_is_asked_once_a_second() {
    let counted = Arc::new(Counted::default());
    let router = TestRouter::with(|parts, _| parts.health = Arc::<Counted>::clone(&counted)).await;
    let ask = async || router.call("GET", "/health").send().await.status.as_u16();
    assert_eq!([ask().await, ask().await, ask().await], [200; 3]);
    assert_eq!(counted.0.load(Ordering::SeqCst), 1);
    // The second answer of the probe is that it cannot.
    router.wait_ms(1000);
    assert_eq!([ask().await, ask().await], [503; 2]);
    assert_eq!(counted.0.load(Ordering::SeqCst), 2);
}

/// Healthy the first time it is asked, and counts.
#[derive(Default)]
struct Counted(AtomicU32);

#[async_trait]
impl HealthProbe for Counted {
    async fn is_healthy(&self) -> bool {
        self.0.fetch_add(1, Ordering::SeqCst) == 0
    }
}

#[tokio::test]
async fn without_a_domain_the_api_has_no_routes() {
    let app = build_chat_service(parts(), None);
    let response = TestRequest::of(&app, "GET", "/api/v1/server_settings").send().await;
    assert_eq!(response.error(), (404, "BAD_REQUEST", "Not Found"));
    let (domain, _folder) = domain(false).await;
    let app = build_chat_service(parts(), Some(domain));
    TestRequest::of(&app, "GET", "/api/v1/server_settings").send().await.success();
}
