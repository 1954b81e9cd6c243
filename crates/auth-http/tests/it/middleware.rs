//! What happens around every handler.

use std::sync::{Arc, Mutex};

use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Recorder, SharedString, Unit};
use serde_json::json;

use crate::world::{Choice, SECRET, World};

#[tokio::test]
async fn every_answer_carries_a_request_id_the_caller_s_when_well_formed() {
    let world = World::new().await;
    for path in ["/health", "/auth/token", "/Client/x", "/fhir/Client", "/nowhere", "/.well-known/jwks.json"] {
        let own = world.get(path).header("x-request-id", "Req.1_2-3").send().await;
        assert_eq!(own.header("x-request-id"), "Req.1_2-3", "{path}");
        let made = world.get(path).send().await.header("x-request-id").to_owned();
        assert!(made.len() >= 16, "{path}: {made}");
        let forged = world.get(path).header("x-request-id", "a b\"").send().await;
        assert_ne!(forged.header("x-request-id"), "a b\"", "{path}");
        assert_ne!(forged.header("x-request-id"), made, "{path}");
    }
    world.end().await;
}

#[tokio::test]
async fn an_origin_is_echoed_without_credentials_on_errors_too() {
    let world = World::new().await;
    for (method, path) in
        [("POST", "/auth/token"), ("POST", "/auth/introspect"), ("GET", "/fhir/Client"), ("GET", "/nowhere/at/all")]
    {
        let answer = world.call(method, path).header("origin", "https://app.example").send().await;
        assert!(answer.status.is_client_error(), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), "https://app.example", "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), "", "{path}");
        let exposed = answer.header("access-control-expose-headers");
        for name in ["location", "etag", "www-authenticate", "retry-after"] {
            assert!(exposed.contains(name), "{path}: {exposed}");
        }
        let vary: Vec<_> = answer.headers.get_all("vary").iter().map(|value| value.to_str().unwrap()).collect();
        assert!(vary.join(",").contains("origin"), "{path}: {vary:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_preflight_is_answered_without_authentication() {
    let world = World::new().await;
    for path in ["/auth/token", "/fhir/Patient/x", "/fhir/Patient", "/Client/x", "/.well-known/jwks.json"] {
        let answer = world
            .call("OPTIONS", path)
            .header("origin", "https://app.example")
            .header("access-control-request-method", "PUT")
            .header("access-control-request-headers", "authorization,content-type,if-match")
            .send()
            .await;
        assert_eq!(answer.status, 200, "{path}");
        let methods = answer.header("access-control-allow-methods");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            assert!(methods.contains(method), "{path}: {methods}");
        }
        let headers = answer.header("access-control-allow-headers");
        for name in ["authorization", "content-type", "if-match", "if-none-exist"] {
            assert!(headers.contains(name), "{path}: {headers}");
        }
    }
    world.end().await;
}

#[tokio::test]
async fn a_request_that_waits_for_a_database_without_answers_is_503_with_retry_after() {
    let world = World::new().await;
    world.health.stall();
    let patient = json!({"resourceType": "Patient"});
    let entry = json!({"request": {"method": "POST", "url": "Patient"}, "resource": patient});
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [entry]});
    for (method, path, body) in [
        ("GET", "/fhir/Patient?name=x", None),
        ("POST", "/fhir/Patient", Some(&patient)),
        ("PUT", "/Patient/p", Some(&patient)),
        ("DELETE", "/fhir/Patient/p", None),
        ("POST", "/fhir", Some(&bundle)),
    ] {
        let call = world.call(method, path).by_root();
        let answer = match body {
            Some(body) => call.fhir(body).send().await,
            None => call.send().await,
        };
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "5"), "{method} {path} {answer:?}");
        assert_eq!(answer.body["resourceType"], "OperationOutcome", "{method} {path}");
    }
    assert_eq!(world.get("/health").send().await.status, 200, "what does not wait is answered");
    world.end().await;
}

#[tokio::test]
async fn health_is_not_shared_with_other_origins() {
    let world = World::new().await;
    let answer = world.get("/health").header("origin", "https://app.example").send().await;
    assert_eq!(answer.header("access-control-allow-origin"), "");
    world.end().await;
}

#[tokio::test]
async fn too_many_requests_of_one_caller_are_429_until_it_waits() {
    let world = World::with(Choice { rate_limit_per_minute: 6, ..Choice::default() }).await;
    let call = async || world.get("/fhir/Patient").send().await;
    for _ in 0..6 {
        assert_eq!(call().await.status, 401);
    }
    let refused = call().await;
    assert_eq!(refused.outcome(), (429, "throttled"));
    assert_eq!(refused.header("retry-after"), "10");
    world.wait_s(9);
    assert_eq!(call().await.header("retry-after"), "1");
    world.wait_s(1);
    assert_eq!(call().await.status, 401);
    assert_eq!(call().await.status, 429);
    world.end().await;
}

#[tokio::test]
async fn one_caller_does_not_use_up_what_another_may() {
    let world = World::with(Choice { rate_limit_per_minute: 3, ..Choice::default() }).await;
    let token = async |client_id: &str, address: [u8; 4]| {
        let form = [("grant_type", "client_credentials"), ("client_id", client_id), ("client_secret", SECRET)];
        world.post("/auth/token").from(address).form(&form).send().await.status.as_u16()
    };
    for _ in 0..3 {
        assert_eq!(token("a", [192, 0, 2, 1]).await, 400);
    }
    assert_eq!(token("a", [192, 0, 2, 1]).await, 429);
    assert_eq!(token("b", [192, 0, 2, 1]).await, 400, "another client behind the same proxy");
    assert_eq!(token("a", [192, 0, 2, 2]).await, 400, "the client itself, where a stranger named it");
    world.end().await;
}

#[tokio::test]
async fn a_caller_that_spells_its_name_anew_each_time_is_throttled() {
    let world = World::with(Choice { rate_limit_per_minute: 3, ..Choice::default() }).await;
    let call = async |id: &str| world.get("/fhir/Patient").basic(id, SECRET).send().await.status.as_u16();
    for spelling in ["payer", "%70ayer", "p%61yer"] {
        assert_eq!(call(spelling).await, 401);
    }
    assert_eq!(call("pa%79er").await, 429);
    world.end().await;
}

#[tokio::test]
async fn an_address_that_invents_names_is_throttled_at_ten_times_the_limit() {
    let world = World::with(Choice { rate_limit_per_minute: 3, ..Choice::default() }).await;
    let call = async |number: usize, address: [u8; 4]| {
        let id = format!("invented-{number}");
        world.get("/fhir/Patient").from(address).basic(&id, SECRET).send().await
    };
    for number in 0..30 {
        assert_eq!(call(number, [192, 0, 2, 1]).await.status, 401, "{number}");
    }
    let refused = call(30, [192, 0, 2, 1]).await;
    assert_eq!(refused.outcome(), (429, "throttled"));
    assert_eq!(refused.header("retry-after"), "2");
    assert_eq!(call(30, [192, 0, 2, 2]).await.status, 401, "another address");
    world.end().await;
}

#[tokio::test]
async fn the_probe_of_health_is_asked_once_a_second_however_often_health_is() {
    let world = World::new().await;
    for _ in 0..20 {
        assert_eq!(world.get("/health").send().await.status, 200);
    }
    assert_eq!(world.health.asked(), 1);
    world.wait_s(1);
    world.health.set(false);
    assert_eq!(world.get("/health").send().await.status, 503);
    assert_eq!(world.get("/health").send().await.status, 503);
    assert_eq!(world.health.asked(), 2);
    world.end().await;
}

#[tokio::test]
async fn a_throttled_token_request_is_refused_in_the_oauth_form() {
    let world = World::with(Choice { rate_limit_per_minute: 1, ..Choice::default() }).await;
    let form = [("grant_type", "client_credentials"), ("client_id", "a")];
    assert_eq!(world.post("/auth/token").form(&form).send().await.status, 400);
    let refused = world.post("/auth/token").form(&form).send().await;
    assert_eq!(refused.oauth_error().0, 429);
    assert_eq!(refused.header("retry-after"), "60");
    world.end().await;
}

#[tokio::test]
async fn without_a_limit_nobody_is_throttled() {
    let world = World::new().await;
    for _ in 0..50 {
        assert_eq!(world.get("/fhir/Patient").send().await.status, 401);
    }
    world.end().await;
}

#[tokio::test]
async fn a_database_that_is_gone_is_503_and_the_answer_says_nothing_of_it() {
    let world = World::new().await;
    world.put("/Organization/o", &json!({"name": "A"})).await;
    world.break_database().await;
    let answer = world.get("/Organization/o").by_root().send().await;
    assert_eq!(answer.outcome(), (503, "transient"));
    let patient = json!({"resourceType": "Patient"});
    let written = world.post("/fhir/Patient").by_root().fhir(&patient).send().await;
    assert_eq!(written.outcome(), (503, "transient"));
    let form = [("grant_type", "client_credentials"), ("client_id", "a"), ("client_secret", SECRET)];
    let token = world.post("/auth/token").form(&form).send().await;
    assert_eq!(token.oauth_error(), (503, "temporarily_unavailable"));
    for answer in [&answer, &written, &token] {
        assert_eq!(answer.header("retry-after"), "5");
    }
    for text in [answer.body.to_string(), written.body.to_string(), token.body.to_string()] {
        for inner in ["pool", "sql", "SELECT", "closed", "store"] {
            assert!(!text.to_lowercase().contains(&inner.to_lowercase()), "{inner}: {text}");
        }
    }
    world.end().await;
}

/// Notes the durations that are recorded, in seconds.
#[derive(Clone, Default)]
struct Durations(Arc<Mutex<Vec<f64>>>);

impl HistogramFn for Durations {
    fn record(&self, seconds: f64) {
        self.0.lock().unwrap().push(seconds);
    }
}

impl Recorder for Durations {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &metrics::Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &metrics::Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &metrics::Metadata<'_>) -> Histogram {
        Histogram::from_arc(Arc::new(self.clone()))
    }
}

#[tokio::test]
async fn the_duration_of_a_request_does_not_follow_the_clock_of_the_day() {
    let world = World::new().await;
    let durations = Durations::default();
    let recording = metrics::set_default_local_recorder(&durations);
    for seconds in [3600, -3600] {
        // The request waits for the database when the clock is set.
        let (answer, ()) = tokio::join!(world.get("/Patient").by_root().send(), async { world.wait_s(seconds) });
        assert_eq!(answer.status, 200);
    }
    drop(recording);
    let recorded = durations.0.lock().unwrap().clone();
    assert_eq!(recorded.len(), 2, "{recorded:?}");
    assert!(recorded.iter().all(|seconds| (f64::MIN_POSITIVE..60.0).contains(seconds)), "{recorded:?}");
    world.end().await;
}
