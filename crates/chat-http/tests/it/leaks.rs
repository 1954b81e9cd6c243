//! Attempts to read, hear and do what is not for one.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use chat_core::event_log::store::EventLog as _;
use chat_core::model::role::Role;
use http_body::Frame;
use serde_json::{Value, json};

use crate::test_app::{Person, TestApp, TestResponse};

/// Everything there is to read.
const ALL: [(&str, &str); 3] = [("anchor", "newest"), ("num_before", "100"), ("num_after", "0")];

/// Makes a private channel with these people in it. Its number.
async fn private(app: &TestApp, maker: &Person, name: &str, people: &[&Person]) -> i64 {
    let subscriptions = json!([{"name": name}]).to_string();
    let principals = json!(people.iter().map(|person| person.id).collect::<Vec<_>>()).to_string();
    let parameters = [
        ("subscriptions", subscriptions.as_str()),
        ("principals", &principals),
        ("invite_only", "true"),
        ("history_public_to_subscribers", "true"),
    ];
    app.call(maker, "POST /users/me/subscriptions", &parameters).await.success();
    app.realm().channel_by_name(name).unwrap().id.0
}

async fn leave(app: &TestApp, who: &Person, name: &str) {
    let names = json!([name]).to_string();
    app.call(who, "DELETE /users/me/subscriptions", &[("subscriptions", &names)]).await.success();
}

async fn say(app: &TestApp, who: &Person, channel: i64, (topic, content): (&str, &str)) -> TestResponse {
    let to = channel.to_string();
    let parameters = [("type", "channel"), ("to", to.as_str()), ("topic", topic), ("content", content)];
    app.call(who, "POST /messages", &parameters).await
}

async fn said(app: &TestApp, who: &Person, channel: i64, what: (&str, &str)) -> i64 {
    say(app, who, channel, what).await.success()["id"].as_i64().unwrap()
}

/// The numbers of the messages of a narrow.
async fn read(app: &TestApp, who: &Person, narrow: &Value) -> Vec<i64> {
    let narrow = narrow.to_string();
    let parameters: Vec<_> = ALL.into_iter().chain([("narrow", narrow.as_str())]).collect();
    let response = app.call(who, "GET /messages", &parameters).await.success();
    response["messages"].as_array().unwrap().iter().map(|message| message["id"].as_i64().unwrap()).collect()
}

async fn queue(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> (String, String) {
    let response = app.call(who, "POST /register", parameters).await.success();
    (response["queue_id"].as_str().unwrap().to_owned(), response["last_event_id"].to_string())
}

/// All that a queue tells, as one text.
async fn heard(app: &TestApp, who: &Person, (queue, last): &(String, String)) -> String {
    let parameters = [("queue_id", queue.as_str()), ("last_event_id", last), ("dont_block", "true")];
    app.call(who, "GET /events", &parameters).await.success()["events"].to_string()
}

#[tokio::test]
async fn an_administrator_who_left_a_private_channel_cannot_open_it() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Administrator).await);
    let hidden = private(&app, &sam, "hidden", &[&sam, &eve]).await;
    said(&app, &sam, hidden, ("plan", "before")).await;
    leave(&app, &eve, "hidden").await;
    let after = said(&app, &sam, hidden, ("plan", "after")).await;
    let head = app.store.last_event_id();
    for (name, value) in
        [("is_private", "false"), ("is_web_public", "true"), ("history_public_to_subscribers", "false")]
    {
        let response = app.call(&eve, &format!("PATCH /streams/{hidden}"), &[(name, value)]).await;
        response.refused("Invalid channel ID");
    }
    assert_eq!(app.store.last_event_id(), head);
    app.call(&eve, &format!("GET /messages/{after}"), &[]).await.refused("Invalid message(s)");
}

#[tokio::test]
async fn the_number_of_a_private_channel_does_not_tell_its_name() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Moderator).await);
    let kim = app.person("kim", Role::Guest).await;
    let hidden = private(&app, &sam, "hidden", &[&sam, &eve]).await;
    leave(&app, &eve, "hidden").await;
    let head = app.store.last_event_id();
    for who in [&eve, &kim] {
        for id in [hidden, 99_999] {
            let response = say(&app, who, id, ("t", "x")).await;
            let text = format!("Channel with ID '{id}' does not exist");
            assert_eq!(response.error(), (400, "STREAM_DOES_NOT_EXIST", text.as_str()));
            app.call(who, &format!("GET /streams/{id}"), &[]).await.refused("Invalid channel ID");
            app.call(who, &format!("GET /users/me/{id}/topics"), &[]).await.refused("Invalid channel ID");
            let response = app.call(who, &format!("GET /users/{}/subscriptions/{id}", sam.id), &[]).await;
            response.refused("Invalid channel ID");
            for call in ["POST /mark_stream_as_read", "POST /default_streams", "POST /mark_topic_as_read"] {
                let id = id.to_string();
                let response = app.call(who, call, &[("stream_id", &id), ("topic_name", "t")]).await;
                assert!(!response.body.to_string().contains("hidden"), "{call}: {}", response.body);
                assert_eq!(response.status, 400, "{call}");
            }
        }
    }
    assert_eq!(app.store.last_event_id(), head);
}

#[tokio::test]
async fn who_left_a_private_channel_has_no_say_in_it() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let hidden = private(&app, &sam, "hidden", &[&sam, &eve]).await;
    let own = said(&app, &eve, hidden, ("plan", "mine")).await;
    let other = said(&app, &sam, hidden, ("plan", "theirs")).await;
    leave(&app, &eve, "hidden").await;
    let head = app.store.last_event_id();
    let refused = "You don't have permission to edit this message";
    let general = app.realm().channel_by_name("general").unwrap().id.to_string();
    for id in [own, other] {
        let path = format!("PATCH /messages/{id}");
        app.call(&eve, &path, &[("content", "spam")]).await.refused(refused);
        app.call(&eve, &path, &[("topic", "spam"), ("propagate_mode", "change_all")]).await.refused(refused);
        app.call(&eve, &path, &[("stream_id", &general)]).await.refused(refused);
        let response = app.call(&eve, &format!("POST /messages/{id}/reactions"), &[("emoji_name", "tada")]).await;
        response.refused("Invalid message(s)");
    }
    assert_eq!(app.store.last_event_id(), head);
    assert_eq!(read(&app, &eve, &json!([["channel", "hidden"]])).await, [own, other]);
}

#[tokio::test]
async fn nobody_adds_to_an_archived_channel() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let hidden = private(&app, &sam, "hidden", &[&sam, &app.ada]).await;
    let own = said(&app, &sam, hidden, ("plan", "mine")).await;
    app.call(&app.ada, &format!("DELETE /streams/{hidden}"), &[]).await.success();
    let head = app.store.last_event_id();
    let refused = "You don't have permission to edit this message";
    app.call(&sam, &format!("PATCH /messages/{own}"), &[("content", "spam")]).await.refused(refused);
    let response = app.call(&sam, &format!("POST /messages/{own}/reactions"), &[("emoji_name", "tada")]).await;
    response.refused("Invalid message(s)");
    assert_eq!(app.store.last_event_id(), head);
}

#[tokio::test]
async fn who_had_left_does_not_read_what_was_moved_in_afterwards() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Administrator).await, app.person("eve", Role::Administrator).await);
    let open = private(&app, &sam, "shared", &[&sam, &eve]).await;
    let closed = private(&app, &sam, "board", &[&sam]).await;
    let known = said(&app, &sam, open, ("plan", "for eve")).await;
    let secret = said(&app, &sam, closed, ("salaries", "not for eve")).await;
    leave(&app, &eve, "shared").await;
    let test_queue = queue(&app, &eve, &[]).await;
    let to = open.to_string();
    let path = format!("PATCH /messages/{secret}");
    app.call(&sam, &path, &[("stream_id", &to)]).await.success();
    app.call(&sam, &path, &[("content", "still not for eve")]).await.success();
    app.call(&sam, &path, &[("topic", "wages")]).await.success();
    app.call(&sam, &format!("POST /messages/{secret}/reactions"), &[("emoji_name", "tada")]).await.success();

    // Administrators are told what every channel begins with, as they are in its object; no more.
    let events: Vec<Value> = serde_json::from_str(&heard(&app, &eve, &test_queue).await).unwrap();
    let events: Vec<_> =
        events.iter().map(|event| (&event["property"], &event["stream_id"], &event["value"])).collect();
    assert_eq!(events, [(&json!("first_message_id"), &json!(closed), &Value::Null)]);
    for end in ["", "/history", "/read_receipts"] {
        app.call(&eve, &format!("GET /messages/{secret}{end}"), &[]).await.refused("Invalid message(s)");
    }
    for narrow in [
        json!([]),
        json!([["channel", "shared"]]),
        json!([{"operator": "id", "operand": secret}]),
        json!([{"operator": "with", "operand": secret}]),
        json!([{"operator": "channel", "operand": "board", "negated": false}, {"operator": "near", "operand": secret}]),
        json!([{"operator": "sender", "operand": sam.id}, {"operator": "is", "operand": "unread"}]),
        json!([{"operator": "is", "operand": "dm", "negated": true}]),
    ] {
        assert!(!read(&app, &eve, &narrow).await.contains(&secret), "{narrow}");
    }
    assert_eq!(read(&app, &eve, &json!([["channel", "shared"]])).await, [known]);
    let list = format!("[{secret}]");
    let matches = [("msg_ids", list.as_str()), ("narrow", "[]")];
    let response = app.call(&eve, "GET /messages/matches_narrow", &matches).await.success();
    assert_eq!(response["messages"], json!({}));
    let topics = app.call(&eve, &format!("GET /users/me/{open}/topics"), &[]).await.success();
    assert_eq!(topics["topics"], json!([{"name": "plan", "max_id": known}]));
    let response = app.call(&eve, "POST /register", &[]).await.success();
    assert!(!response["unread_msgs"].to_string().contains(&secret.to_string()), "{}", response["unread_msgs"]);
    assert_eq!(read(&app, &sam, &json!([["channel", "shared"]])).await, [known, secret]);
}

#[tokio::test]
async fn an_administrator_does_not_bring_an_owner_back() {
    let app = TestApp::found().await;
    let (old, eve) = (app.person("old", Role::Owner).await, app.person("eve", Role::Administrator).await);
    app.call(&app.ada, &format!("DELETE /users/{}", old.id), &[]).await.success();
    let head = app.store.last_event_id();
    let path = format!("POST /users/{}/reactivate", old.id);
    app.call(&eve, &path, &[]).await.refused("Must be an organization owner");
    assert_eq!(app.store.last_event_id(), head);
    assert_eq!(app.call(&old, "GET /users/me", &[]).await.status, 401);
    app.call(&app.ada, &path, &[]).await.success();
    assert_eq!(app.call(&old, "GET /users/me", &[]).await.status, 200);
}

#[tokio::test]
async fn a_queue_hears_no_more_than_its_owner_may_by_now() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (gus, eve) = (app.person("gus", Role::Member).await, app.person("eve", Role::Administrator).await);
    let hidden = private(&app, &sam, "hidden", &[&sam, &gus]).await;
    let general = app.realm().channel_by_name("general").unwrap().id.0;
    let overhearing = queue(&app, &gus, &[("all_public_streams", "true")]).await;
    let narrowed = queue(&app, &gus, &[("narrow", r#"[["stream", "general"]]"#)]).await;
    let of_eve = queue(&app, &eve, &[]).await;
    app.call(&app.ada, &format!("PATCH /users/{}", gus.id), &[("role", "600")]).await.success();
    app.call(&app.ada, &format!("PATCH /users/{}", eve.id), &[("role", "400")]).await.success();
    let names = json!(["hidden"]).to_string();
    let principals = json!([gus.id]).to_string();
    let out = [("subscriptions", names.as_str()), ("principals", &principals)];
    app.call(&app.ada, "DELETE /users/me/subscriptions", &out).await.success();
    said(&app, &sam, hidden, ("t", "whispered")).await;
    let id = said(&app, &app.ada, general, ("t", "spoken")).await;
    app.call(&app.ada, &format!("PATCH /messages/{id}"), &[("content", "spoken anew")]).await.success();
    app.call(&app.ada, &format!("PATCH /streams/{hidden}"), &[("description", "murmured")]).await.success();
    let guests = ["whispered", "spoken", "murmured"].as_slice();
    for (who, test_queue, words) in
        [(&gus, &overhearing, guests), (&gus, &narrowed, guests), (&eve, &of_eve, &["murmured"])]
    {
        let events = heard(&app, who, test_queue).await;
        for word in words {
            assert!(!events.contains(word), "{}: {events}", who.email);
        }
    }
}

/// A body that comes when something else has been done.
struct Late {
    bytes: Option<Bytes>,
    first: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl http_body::Body for Late {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.bytes.is_some() {
            ready!(self.first.as_mut().poll(context));
        }
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[tokio::test]
async fn a_request_that_was_begun_in_time_is_answered_as_if_it_began_when_it_was_complete() {
    let app = Arc::new(TestApp::found().await);
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let hidden = private(&app, &app.ada, "hidden", &[&app.ada, &sam, &eve]).await;
    let first = {
        let (app, sam, eve) = (Arc::clone(&app), sam.clone(), eve.clone());
        async move {
            let (names, principals) = (json!(["hidden"]).to_string(), json!([eve.id]).to_string());
            let out = [("subscriptions", names.as_str()), ("principals", &principals)];
            app.call(&app.ada, "DELETE /users/me/subscriptions", &out).await.success();
            app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
            said(&app, &app.ada, hidden, ("plan", "now that they are gone")).await;
        }
    };
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(ALL).finish();
    let body = |first| Body::new(Late { bytes: Some(form.clone().into()), first });
    let response = app.call_with_body(&sam, "GET /messages", body(Box::pin(first))).await;
    assert_eq!(response.error(), (401, "UNAUTHORIZED", "Account is deactivated"));
    let said_later = {
        let app = Arc::clone(&app);
        async move {
            said(&app, &app.ada, hidden, ("plan", "and again")).await;
        }
    };
    let response = app.call_with_body(&eve, "GET /messages", body(Box::pin(said_later))).await.success();
    assert_eq!(response["messages"], json!([]));
}

#[tokio::test]
async fn a_poll_that_waits_hears_nothing_once_its_key_was_changed() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (queue, last) = queue(&app, &sam, &[]).await;
    let parameters = [("queue_id", queue.as_str()), ("last_event_id", &last)];
    let rekey = async {
        tokio::task::yield_now().await;
        let response = app.call(&sam, "POST /users/me/api_key/regenerate", &[]).await.success();
        let to = json!([sam.id]).to_string();
        let message = [("type", "direct"), ("to", to.as_str()), ("content", "for sam alone")];
        app.call(&app.ada, "POST /messages", &message).await.success();
        response["api_key"].as_str().unwrap().to_owned()
    };
    let (polled, key) = tokio::join!(app.call(&sam, "GET /events", &parameters), rekey);
    assert_eq!(polled.error(), (401, "UNAUTHORIZED", "Invalid API key"));
    let sam = Person { key, ..sam };
    assert!(heard(&app, &sam, &(queue, last)).await.contains("for sam alone"));
}

/// Calls, each with a parameter that is a number or a list.
const NUMBERED: [(&str, &str); 19] = [
    ("GET /events", "last_event_id"),
    ("POST /register", "queue_lifespan_secs"),
    ("GET /messages", "anchor"),
    ("GET /messages", "num_before"),
    ("GET /messages", "narrow"),
    ("GET /messages/matches_narrow", "msg_ids"),
    ("POST /messages/flags", "messages"),
    ("POST /messages/flags/narrow", "num_after"),
    ("POST /messages/flags/narrow", "narrow"),
    ("POST /mark_topic_as_read", "stream_id"),
    ("POST /default_streams", "stream_id"),
    ("PATCH /streams/11", "message_retention_days"),
    ("PATCH /streams/11", "can_remove_subscribers_group"),
    ("PATCH /streams/11", "stream_post_policy"),
    ("PATCH /users/9", "role"),
    ("POST /users/me/subscriptions", "principals"),
    ("POST /users/me/subscriptions", "message_retention_days"),
    ("DELETE /users/me/subscriptions", "principals"),
    ("POST /messages", "to"),
];

#[tokio::test]
async fn no_number_and_no_list_of_them_is_a_failure() {
    let app = TestApp::found().await;
    let many = json!((0..20_000).collect::<Vec<_>>()).to_string();
    let terms = json!(vec![["topic", "x"]; 20_000]).to_string();
    let numbers = ["-9223372036854775808", "-1", "0", "9223372036854775807", "99999999999999999999", "1e400", "0.5"];
    let queue = app.call(&app.ada, "POST /register", &[]).await.success();
    let queue = queue["queue_id"].as_str().unwrap();
    let usual = [
        ("queue_id", queue),
        ("dont_block", "true"),
        ("last_event_id", "0"),
        ("anchor", "0"),
        ("num_before", "1"),
        ("num_after", "1"),
        ("narrow", "[]"),
        ("op", "add"),
        ("flag", "starred"),
        ("messages", "[]"),
        ("msg_ids", "[]"),
        ("stream_id", "11"),
        ("topic_name", "t"),
        ("subscriptions", r#"["general"]"#),
        ("type", "direct"),
        ("content", "x"),
    ];
    for (call, parameter) in NUMBERED {
        let list: Vec<String> = numbers.iter().map(|number| format!("[{number}]")).collect();
        let values = numbers.into_iter().chain(list.iter().map(String::as_str)).chain([many.as_str(), &terms]);
        for value in values.filter(|value| !call.starts_with("GET") || value.len() < 50_000) {
            let others = usual.into_iter().filter(|(name, _)| *name != parameter);
            let parameters: Vec<_> = others.chain([(parameter, value)]).collect();
            let response = app.call(&app.ada, call, &parameters).await;
            let shown = value.get(..40).unwrap_or(value);
            assert!(response.status.as_u16() < 500, "{call} {parameter}={shown}: {}", response.body);
        }
    }
    for path in ["GET /messages/{}", "DELETE /messages/{}", "GET /streams/{}", "GET /users/{}", "DELETE /users/{}"] {
        for number in numbers {
            let call = path.replace("{}", number);
            assert!((400..500).contains(&app.call(&app.ada, &call, &[]).await.status.as_u16()), "{call}");
        }
    }
}
