//! Who is there.

use std::time::Duration;

use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{EventId, UserId};
use chat_core::model::realm_change::{RealmChange, UserItemKind};
use chat_core::model::role::Role;
use chat_core::model::user::{BotKind, BotProperties, User};
use serde_json::{Value, json};

use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

const ACTIVE: (&str, &str) = ("status", "active");
const IDLE: (&str, &str) = ("status", "idle");
const SLIM: (&str, &str) = ("slim_presence", "true");

impl TestApp {
    async fn ping(&self, who: &Person, parameters: &[(&str, &str)]) -> TestResponse {
        self.call(who, "POST /users/me/presence", parameters).await
    }

    /// The caller's presence is known, and what that makes of it is in the log.
    async fn settled(&self, who: &Person, status: (&str, &str)) {
        self.ping(who, &[status, ("ping_only", "true")]).await.success();
        self.store.sync_presences().await.unwrap();
    }

    /// Changes something past the wire.
    async fn change(&self, change: RealmChange) {
        let decided_at = self.realm().changed_at();
        let commit = RealmCommit { decided_at, at_s: NOW_S, changes: vec![change], ..RealmCommit::default() };
        assert!(matches!(self.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    }

    async fn hide(&self, who: &Person) {
        let document = Some(json!({"presence_enabled": false}));
        let (user_id, kind, key) = (UserId(who.id), UserItemKind::Settings, String::new());
        self.change(RealmChange::UserItem { user_id, kind, key, document }).await;
    }

    async fn make_bot(&self, who: &Person) {
        let user = User::clone(self.realm().user(UserId(who.id)).unwrap());
        let bot = Some(BotProperties { kind: BotKind::Generic, owner_id: Some(UserId(self.ada.id)) });
        self.change(RealmChange::User(Box::new(User { bot, ..user }))).await;
    }
}

fn legacy(status: &str, timestamp: i64) -> Value {
    json!({
        "aggregated": {"client": "website", "status": status, "timestamp": timestamp},
        "website": {"client": "website", "status": status, "timestamp": timestamp, "pushable": false},
    })
}

#[tokio::test]
async fn a_sign_of_life_is_answered_with_everybodys_presence() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Guest).await;
    app.settled(&sam, IDLE).await;
    let response = app.ping(&app.ada, &[ACTIVE, ("new_user_input", "true")]).await.success();
    assert_eq!(response["server_timestamp"].to_string(), format!("{NOW_S}.0"));
    assert!(response["presence_last_update_id"].as_i64().unwrap() > 0, "{response}");
    assert_eq!(response.get("ignored_parameters_unsupported"), None);
    let people = json!({"ada@example.org": legacy("active", NOW_S), "sam@example.org": legacy("idle", NOW_S)});
    assert_eq!(response["presences"], people);
    let response = app.ping(&sam, &[IDLE, SLIM]).await.success();
    let slim = json!({
        "9": {"active_timestamp": NOW_S, "idle_timestamp": NOW_S},
        sam.id.to_string(): {"active_timestamp": NOW_S - 1_000, "idle_timestamp": NOW_S},
    });
    assert_eq!(response["presences"], slim);
}

#[tokio::test]
async fn a_ping_alone_is_noted_and_answered_with_nothing() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let response = app.ping(&app.ada, &[ACTIVE, ("ping_only", "true"), SLIM]).await.success();
    assert_eq!(response, json!({"result": "success", "msg": ""}));
    let response = app.call(&sam, "GET /realm/presence", &[]).await.success();
    assert_eq!(response["presences"], json!({"ada@example.org": legacy("active", NOW_S)}));
}

#[tokio::test]
async fn who_asks_with_the_number_they_were_told_gets_what_is_new() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    // Nobody is known, and the number says so.
    app.hide(&app.ada).await;
    let response = app.ping(&app.ada, &[ACTIVE, ("last_update_id", "-1")]).await.success();
    assert_eq!((&response["presences"], &response["presence_last_update_id"]), (&json!({}), &json!(-1)));
    app.settled(&sam, ACTIVE).await;
    let response = app.ping(&app.ada, &[ACTIVE, ("last_update_id", "-1")]).await.success();
    // Whoever sends a number gets the short form.
    let sams = json!({sam.id.to_string(): {"active_timestamp": NOW_S, "idle_timestamp": NOW_S}});
    assert_eq!(response["presences"], sams);
    let number = response["presence_last_update_id"].to_string();
    let response = app.ping(&app.ada, &[ACTIVE, ("last_update_id", &number)]).await.success();
    assert_eq!((&response["presences"], response["presence_last_update_id"].to_string()), (&json!({}), number.clone()));
    app.wait_s(60);
    app.settled(&sam, IDLE).await;
    let response = app.ping(&app.ada, &[ACTIVE, ("last_update_id", &number)]).await.success();
    let sams = json!({sam.id.to_string(): {"active_timestamp": NOW_S, "idle_timestamp": NOW_S + 60}});
    assert_eq!(response["presences"], sams);
    assert!(response["presence_last_update_id"].as_i64() > number.parse().ok());
}

#[tokio::test]
async fn what_is_no_sign_of_life_is_refused_and_noted_nowhere() {
    let app = TestApp::found().await;
    app.ping(&app.ada, &[("status", "asleep")]).await.refused("Invalid status: asleep");
    app.ping(&app.ada, &[]).await.refused("Missing 'status' argument");
    app.ping(&app.ada, &[ACTIVE, ("ping_only", "x")]).await.refused("ping_only is not valid JSON");
    let sam = app.person("sam", Role::Member).await;
    app.make_bot(&sam).await;
    app.ping(&sam, &[ACTIVE]).await.refused("This endpoint does not accept bot requests.");
    let response = app.call_as_nobody("POST /users/me/presence", &[ACTIVE]).await;
    assert_eq!((response.status.as_u16(), response.error().1), (401, "UNAUTHORIZED"));
    let response = app.call(&sam, "GET /realm/presence", &[]).await.success();
    assert_eq!((&response["presences"], response.get("presence_last_update_id")), (&json!({}), None));
}

#[tokio::test]
async fn one_person_is_found_by_number_and_address_and_is_offline_after_a_while() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Guest).await;
    app.ping(&app.ada, &[ACTIVE]).await.success();
    let of = async |named: &str| app.call(&sam, &format!("GET /users/{named}/presence"), &[]).await;
    let expected = |status: &str| {
        json!({
            "aggregated": {"status": status, "timestamp": NOW_S}, "website": {"status": "active", "timestamp": NOW_S},
        })
    };
    assert_eq!(of("9").await.success()["presence"], expected("active"));
    app.wait_s(201);
    assert_eq!(of("ada%40example.org").await.success()["presence"], expected("offline"));
    of("743").await.refused("No such user");
    of("nobody@example.org").await.refused("No such user");
    of("sam@example.org").await.refused("No presence data for sam@example.org");
    app.make_bot(&sam).await;
    of(&sam.id.to_string()).await.refused("Presence is not supported for bot users.");
}

#[tokio::test]
async fn who_does_not_want_it_known_is_not_there() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    app.settled(&sam, ACTIVE).await;
    app.hide(&sam).await;
    // They are still told of others.
    app.ping(&app.ada, &[ACTIVE]).await.success();
    app.wait_s(60);
    let response = app.ping(&sam, &[ACTIVE, SLIM]).await.success();
    assert_eq!(response["presences"].as_object().unwrap().keys().collect::<Vec<_>>(), ["9"]);
    app.call(&app.ada, "GET /users/sam@example.org/presence", &[])
        .await
        .refused("No presence data for sam@example.org");
    let response = app.call(&app.ada, "POST /register", &[("event_types", r#"["presence"]"#)]).await.success();
    assert_eq!(response["presences"].as_object().unwrap().keys().collect::<Vec<_>>(), ["ada@example.org"]);
}

#[tokio::test]
async fn a_registration_begins_with_who_is_there() {
    let app = TestApp::found().await;
    let types = ("fetch_event_types", r#"["presence", "realm"]"#);
    let response = app.call(&app.ada, "POST /register", &[types]).await.success();
    assert_eq!((&response["presences"], &response["presence_last_update_id"]), (&json!({}), &json!(-1)));
    assert_eq!(response["server_presence_ping_interval_seconds"], 60);
    assert_eq!(response["server_presence_offline_threshold_seconds"], 200);
    app.settled(&app.ada, ACTIVE).await;
    let response = app.call(&app.ada, "POST /register", &[types]).await.success();
    assert_eq!(response["presences"], json!({"ada@example.org": legacy("active", NOW_S)}));
    assert_eq!(response["server_timestamp"].to_string(), format!("{NOW_S}.0"));
    let number = response["presence_last_update_id"].to_string();
    let response = app.call(&app.ada, "POST /register", &[types, SLIM]).await.success();
    assert_eq!(response["presences"], json!({"9": {"active_timestamp": NOW_S, "idle_timestamp": NOW_S}}));
    // The number of a registration is good for the question after it.
    let response = app.ping(&app.ada, &[ACTIVE, ("last_update_id", &number)]).await.success();
    assert_eq!(response["presences"], json!({}));
}

/// The events of a queue, without their numbers.
async fn heard(app: &TestApp, who: &Person, queue: &Value) -> Vec<Value> {
    let parameters = [
        ("queue_id", queue["queue_id"].as_str().unwrap()),
        ("last_event_id", &queue["last_event_id"].to_string()),
        ("dont_block", "true"),
    ];
    let response = app.call(who, "GET /events", &parameters).await.success();
    let mut events = response["events"].as_array().unwrap().clone();
    for event in &mut events {
        assert!(event.as_object_mut().unwrap().remove("id").is_some());
    }
    events
}

#[tokio::test]
async fn who_comes_back_is_told_of_once_and_to_each_queue_in_its_form() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Guest).await;
    let types = ("event_types", r#"["presence"]"#);
    let legacy = app.call(&sam, "POST /register", &[types]).await.success();
    let slim = app.call(&sam, "POST /register", &[types, SLIM]).await.success();
    app.settled(&app.ada, ACTIVE).await;
    for _ in 0..4 {
        app.wait_s(60);
        app.settled(&app.ada, ACTIVE).await;
    }
    let presence = json!({"website": {"client": "website", "status": "active", "timestamp": NOW_S, "pushable": false}});
    let timestamp = json!(Duration::from_secs(NOW_S.unsigned_abs()).as_secs_f64());
    let mut event = json!({"type": "presence", "user_id": 9, "server_timestamp": timestamp, "presence": presence});
    assert_eq!(heard(&app, &sam, &slim).await, [event.clone()]);
    event["email"] = json!("ada@example.org");
    assert_eq!(heard(&app, &sam, &legacy).await, [event]);
}

#[tokio::test]
async fn presence_and_polls_that_end_in_a_heartbeat_ask_the_database_nothing() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let queue = app.call(&sam, "POST /register", &[("event_types", r#"["message"]"#)]).await.success();
    app.settled(&sam, ACTIVE).await;
    let head = app.store.last_event_id();
    // From here on every statement fails.
    app.store.flush_and_close().await;
    assert!(app.store.ping().await.is_err());
    for who in [&sam, &app.ada, &sam] {
        app.wait_s(60);
        app.ping(who, &[ACTIVE, ("ping_only", "true")]).await.success();
        let response = app.ping(who, &[ACTIVE, ("last_update_id", "1")]).await.success();
        let seen = &response["presences"][who.id.to_string()];
        assert_eq!(seen["active_timestamp"].as_f64(), response["server_timestamp"].as_f64());
    }
    app.call(&sam, "GET /realm/presence", &[]).await.success();
    app.call(&sam, "GET /users/9/presence", &[]).await.success();
    assert!(heard(&app, &sam, &queue).await.is_empty());
    tokio::time::pause();
    let parameters =
        [("queue_id", queue["queue_id"].as_str().unwrap()), ("last_event_id", &queue["last_event_id"].to_string())];
    let response = app.call(&sam, "GET /events", &parameters).await.success();
    assert_eq!(response["events"], json!([{"id": head.0, "type": "heartbeat"}]));
    // What asks the database is refused, so the silence above says something.
    assert_eq!(app.call(&sam, "POST /register", &[]).await.status.as_u16(), 503);
    assert!(head > EventId::BEFORE_FIRST);
}
