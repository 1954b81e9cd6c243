//! What goes to the log of a request, and within which span.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Recorder, SharedString, Unit};
use tower::Service as _;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::super::build_chat_service;
use super::test_router::{FixedClock, parts};
use crate::middleware::observe::{DeferredErrorResponse, observe_again};
use crate::state::{BaseComponents, ServerState};

/// Notes the level of what is logged, and whether it was logged within a request's span.
#[derive(Clone)]
struct Notes {
    most: Level,
    within: Arc<Mutex<usize>>,
    logged: Arc<Mutex<Vec<(Level, bool)>>>,
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.most
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.logged.lock().unwrap().push((*event.metadata().level(), *self.within.lock().unwrap() > 0));
    }

    fn enter(&self, _: &Id) {
        *self.within.lock().unwrap() += 1;
    }

    fn exit(&self, _: &Id) {
        *self.within.lock().unwrap() -= 1;
    }
}

async fn logged(most: Level, outcome: Result<Response, DeferredErrorResponse>) -> Vec<(Level, bool)> {
    let notes = Notes { most, within: Arc::default(), logged: Arc::default() };
    let listening = tracing::subscriber::set_default(notes.clone());
    let response = observe_again(Arc::new(ServerState::new(parts())), "/x", async { outcome }).await;
    drop(listening);
    assert!(response.headers().contains_key(server_kit::middleware::request_id::REQUEST_ID_HEADER));
    let logged = notes.logged.lock().unwrap();
    logged.clone()
}

#[tokio::test]
async fn what_is_told_of_a_poll_that_came_again_names_its_request() {
    let well = || Ok(Response::new(Body::empty()));
    let failing = || -> Result<Response, DeferredErrorResponse> {
        Err(Box::new(|| {
            tracing::error!("a request failed");
            Response::new(Body::empty())
        }))
    };
    assert_eq!(logged(Level::INFO, well()).await, []);
    assert_eq!(logged(Level::INFO, failing()).await, [(Level::ERROR, true)]);
    assert_eq!(logged(Level::DEBUG, well()).await, [(Level::DEBUG, true)]);
    assert_eq!(logged(Level::DEBUG, failing()).await, [(Level::ERROR, true), (Level::DEBUG, true)]);
}

/// Notes the durations that are recorded, in seconds, and the routes that they are recorded for.
#[derive(Clone, Default)]
struct Durations {
    seconds: Arc<Mutex<Vec<f64>>>,
    routes: Arc<Mutex<Vec<String>>>,
}

impl HistogramFn for Durations {
    fn record(&self, seconds: f64) {
        self.seconds.lock().unwrap().push(seconds);
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

    fn register_histogram(&self, key: &Key, _: &metrics::Metadata<'_>) -> Histogram {
        let routes = key.labels().filter(|label| label.key() == "route").map(|label| label.value().to_owned());
        self.routes.lock().unwrap().extend(routes);
        Histogram::from_arc(Arc::new(self.clone()))
    }
}

#[tokio::test]
async fn the_duration_of_a_request_does_not_follow_the_clock_of_the_day() {
    let durations = Durations::default();
    let recording = metrics::set_default_local_recorder(&durations);
    for hours in [1, -1] {
        let clock = Arc::new(FixedClock::new());
        let server = Arc::new(ServerState::new(BaseComponents { runtime: clock.clone(), ..parts() }));
        let answering = async {
            clock.turn_s(hours * 3600);
            Ok(Response::new(Body::empty()))
        };
        observe_again(server, "/x", answering).await;
    }
    drop(recording);
    let recorded = durations.seconds.lock().unwrap().clone();
    assert_eq!(recorded.len(), 2);
    assert!(recorded.iter().all(|seconds| (f64::MIN_POSITIVE..60.0).contains(seconds)), "{recorded:?}");
}

#[tokio::test]
async fn a_request_is_counted_for_the_route_that_answered_it() {
    let durations = Durations::default();
    let recording = metrics::set_default_local_recorder(&durations);
    let mut chat = build_chat_service(parts(), None);
    for path in ["/health", "/api/v1/nothing"] {
        let Ok(_) = chat.call(Request::get(path).body(Body::empty()).unwrap()).await;
    }
    drop(recording);
    assert_eq!(*durations.routes.lock().unwrap(), ["/health", "none"]);
}
