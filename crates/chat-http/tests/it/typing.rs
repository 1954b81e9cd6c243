//! `POST /typing`, sentence by sentence.

use std::time::Duration;

use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{ChannelId, UserId};
use chat_core::model::channel::{Subscription, SubscriptionNotificationSettings};
use chat_core::model::realm_change::{RealmChange, UserItemKind};
use chat_core::model::role::Role;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::test_app::{NOW_S, Person, TestApp};

/// Longer than anything here may take, on a slow machine.
const AT_MOST: Duration = Duration::from_secs(20);
const KNOWS_CHANNELS: (&str, &str) =
    ("client_capabilities", r#"{"notification_settings_null": true, "stream_typing_notifications": true}"#);

/// A user's queue, read as clients read it.
struct TestQueue<'a> {
    app: &'a TestApp,
    who: Person,
    queue_id: String,
    last: i64,
}

impl<'a> TestQueue<'a> {
    async fn of(app: &'a TestApp, who: &Person, parameters: &[(&str, &str)]) -> Self {
        let response = app.call(who, "POST /register", parameters).await.success();
        let queue_id = response["queue_id"].as_str().unwrap().to_owned();
        Self { app, who: who.clone(), queue_id, last: response["last_event_id"].as_i64().unwrap() }
    }

    /// The events told since, without their numbers.
    async fn hear(&mut self) -> Vec<Value> {
        self.poll("true").await
    }

    /// The same, once there are any.
    async fn listen(&mut self) -> Vec<Value> {
        timeout(AT_MOST, self.poll("false")).await.unwrap()
    }

    async fn poll(&mut self, dont_block: &str) -> Vec<Value> {
        let last = self.last.to_string();
        let asked = [("queue_id", self.queue_id.as_str()), ("last_event_id", &last), ("dont_block", dont_block)];
        let mut response = self.app.call(&self.who, "GET /events", &asked).await.success();
        let mut events = std::mem::take(response["events"].as_array_mut().unwrap());
        for event in &mut events {
            let id = event.as_object_mut().unwrap().remove("id").unwrap().as_i64().unwrap();
            assert!(id >= self.last, "{event} goes back to {id}");
            self.last = id;
        }
        events
    }
}

async fn commit(app: &TestApp, changes: Vec<RealmChange>) {
    let commit = RealmCommit { decided_at: app.realm().changed_at(), at_s: NOW_S, changes, ..RealmCommit::default() };
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
}

async fn choose(app: &TestApp, who: &Person, setting: &str) {
    let (user_id, kind, document) = (UserId(who.id), UserItemKind::Settings, Some(json!({setting: false})));
    commit(app, vec![RealmChange::UserItem { user_id, kind, key: String::new(), document }]).await;
}

async fn enter_general(app: &TestApp, who: &Person) {
    let subscription = Subscription {
        channel_id: ChannelId(general(app)),
        user_id: UserId(who.id),
        color: "#c2c2c2".to_owned(),
        is_muted: false,
        pin_to_top: false,
        notifications: SubscriptionNotificationSettings::default(),
    };
    commit(app, vec![RealmChange::Subscription(Box::new(subscription))]).await;
}

fn general(app: &TestApp) -> i64 {
    app.realm().channel_by_name("general").unwrap().id.0
}

fn direct(op: &str, from: &Person, all: [&Person; 2]) -> Value {
    let user = |person: &Person| json!({"user_id": person.id, "email": person.email});
    json!({
        "type": "typing", "op": op, "message_type": "direct", "sender": user(from), "recipients": all.map(user),
    })
}

fn in_channel(app: &TestApp, op: &str, from: &Person, topic: &str) -> Value {
    json!({
        "type": "typing", "op": op, "message_type": "stream", "stream_id": general(app), "topic": topic,
        "sender": {"user_id": from.id, "email": from.email},
    })
}

async fn types(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) {
    app.call(who, "POST /typing", parameters).await.success();
}

#[tokio::test]
async fn the_type_is_direct_unless_said_and_events_have_op_start_or_stop() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let mut test_queue = TestQueue::of(&app, &sam, &[]).await;
    let to = format!("[{}]", sam.id);
    types(&app, &app.ada, &[("op", "start"), ("to", &to)]).await;
    types(&app, &app.ada, &[("op", "stop"), ("to", &to), ("type", "direct")]).await;
    let all = [&app.ada, &sam];
    assert_eq!(test_queue.hear().await, [direct("start", &app.ada, all), direct("stop", &app.ada, all)]);
    assert_eq!(test_queue.hear().await, Vec::<Value>::new());
}

#[tokio::test]
async fn private_is_no_longer_accepted_and_op_is_start_or_stop() {
    let app = TestApp::found().await;
    let to = format!("[{}]", app.ada.id);
    let typing = async |op: &str, kind: &str| {
        app.call(&app.ada, "POST /typing", &[("op", op), ("type", kind), ("to", &to)]).await
    };
    typing("start", "private").await.refused("Invalid type");
    typing("Start", "direct").await.refused("Invalid op");
    typing("\"start\"", "direct").await.refused("Invalid op");
    app.call(&app.ada, "POST /typing", &[("to", &to)]).await.refused("Missing 'op' argument");
}

#[tokio::test]
async fn to_is_a_json_list_of_user_ids_even_for_one_recipient() {
    let app = TestApp::found().await;
    let typing = async |to: &str| app.call(&app.ada, "POST /typing", &[("op", "start"), ("to", to)]).await;
    app.call(&app.ada, "POST /typing", &[("op", "start")]).await.refused("Missing 'to' argument");
    typing("null").await.refused("Missing 'to' argument");
    typing("9").await.refused("to is not a list");
    typing("ada@example.org").await.refused("to is not valid JSON");
    typing(r#"["ada@example.org"]"#).await.refused("to[0] is not an integer");
    typing("[]").await.refused("Empty 'to' list");
    typing("[9, 777]").await.refused("Invalid user ID 777");
    let many: Vec<i64> = (1..=300).collect();
    typing(&json!(many).to_string()).await.refused("Invalid user ID 1");
    typing("[9]").await.success();
}

#[tokio::test]
async fn a_channel_message_without_stream_id_is_a_bad_request() {
    let app = TestApp::found().await;
    let id = general(&app).to_string();
    let typing = async |parameters: &[(&str, &str)]| {
        let all = [&[("type", "channel"), ("op", "start")], parameters].concat();
        app.call(&app.ada, "POST /typing", &all).await
    };
    typing(&[("topic", "lunch")]).await.refused("Missing 'stream_id' argument");
    typing(&[("topic", "lunch"), ("stream_id", "null")]).await.refused("Missing 'stream_id' argument");
    typing(&[("topic", "lunch"), ("stream_id", "general")]).await.refused("stream_id is not valid JSON");
    typing(&[("stream_id", &id)]).await.refused("Missing topic");
    typing(&[("stream_id", &id), ("topic", " ")]).await.refused("Topic can't be empty!");
    typing(&[("stream_id", "777"), ("topic", "lunch")]).await.refused("Invalid channel ID");
    typing(&[("stream_id", &id), ("topic", "lunch")]).await.success();
}

#[tokio::test]
async fn of_the_other_type_parameters_are_ignored() {
    let app = TestApp::found().await;
    let (id, to) = (general(&app).to_string(), format!("[{}]", app.ada.id));
    let direct = [("op", "start"), ("to", &to), ("stream_id", "x"), ("topic", "\0")];
    let response = app.call(&app.ada, "POST /typing", &direct).await.success();
    assert_eq!(response.get("ignored_parameters_unsupported"), None);
    let channel = [("op", "start"), ("type", "stream"), ("to", "x"), ("stream_id", id.as_str()), ("topic", "t")];
    let response = app.call(&app.ada, "POST /typing", &channel).await.success();
    assert_eq!(response.get("ignored_parameters_unsupported"), None);
}

#[tokio::test]
async fn queues_that_advertise_it_get_channel_typing_events() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    enter_general(&app, &sam).await;
    let eve = app.person("eve", Role::Member).await;
    let (mut knows, mut older) =
        (TestQueue::of(&app, &sam, &[KNOWS_CHANNELS]).await, TestQueue::of(&app, &sam, &[]).await);
    let mut outside = TestQueue::of(&app, &eve, &[KNOWS_CHANNELS]).await;
    let id = general(&app).to_string();
    for kind in ["stream", "channel"] {
        let parameters = [("type", kind), ("op", "start"), ("stream_id", id.as_str()), ("topic", " lunch ")];
        types(&app, &app.ada, &parameters).await;
        assert_eq!(knows.hear().await, [in_channel(&app, "start", &app.ada, "lunch")]);
    }
    types(&app, &eve, &[("type", "channel"), ("op", "stop"), ("stream_id", &id), ("subject", "x")]).await;
    assert_eq!(knows.hear().await, [in_channel(&app, "stop", &eve, "x")]);
    assert_eq!((older.hear().await, outside.hear().await), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn they_go_only_to_users_whose_receives_typing_notifications_is_enabled() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    enter_general(&app, &sam).await;
    choose(&app, &sam, "receives_typing_notifications").await;
    let mut deaf = TestQueue::of(&app, &sam, &[KNOWS_CHANNELS]).await;
    let mut own = TestQueue::of(&app, &app.ada, &[KNOWS_CHANNELS]).await;
    let id = general(&app).to_string();
    types(&app, &app.ada, &[("op", "start"), ("to", &format!("[{}]", sam.id))]).await;
    types(&app, &app.ada, &[("type", "channel"), ("op", "start"), ("stream_id", &id), ("topic", "t")]).await;
    assert_eq!(deaf.hear().await, Vec::<Value>::new());
    let expected = [direct("start", &app.ada, [&app.ada, &sam]), in_channel(&app, "start", &app.ada, "t")];
    assert_eq!(own.hear().await, expected);
}

#[tokio::test]
async fn who_chose_not_to_send_them_sends_none() {
    let app = TestApp::found().await;
    choose(&app, &app.ada, "send_private_typing_notifications").await;
    let mut test_queue = TestQueue::of(&app, &app.ada, &[KNOWS_CHANNELS]).await;
    let id = general(&app).to_string();
    let response = app.call(&app.ada, "POST /typing", &[("op", "start"), ("to", "[9]")]).await;
    response.refused("User has disabled typing notifications for direct messages");
    choose(&app, &app.ada, "send_stream_typing_notifications").await;
    let channel = [("type", "stream"), ("op", "start"), ("stream_id", id.as_str()), ("topic", "t")];
    let response = app.call(&app.ada, "POST /typing", &channel).await;
    response.refused("User has disabled typing notifications for channel messages");
    assert_eq!(test_queue.hear().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_poll_that_waits_is_answered_and_the_queue_gets_each_event_once() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let mut test_queue = TestQueue::of(&app, &sam, &[]).await;
    let to = format!("[{}]", sam.id);
    let starts = [("op", "start"), ("to", to.as_str())];
    let (heard, ()) = tokio::join!(test_queue.listen(), types(&app, &app.ada, &starts));
    assert_eq!(heard, [direct("start", &app.ada, [&app.ada, &sam])]);
    let stops = [("op", "stop"), ("to", to.as_str())];
    let (heard, ()) = tokio::join!(test_queue.listen(), types(&app, &app.ada, &stops));
    assert_eq!(heard, [direct("stop", &app.ada, [&app.ada, &sam])]);
}

#[tokio::test]
async fn typing_writes_nothing_down_and_is_not_told_to_who_comes_later() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let head = app.store.last_event_id();
    types(&app, &app.ada, &[("op", "start"), ("to", &format!("[{}]", sam.id))]).await;
    assert_eq!(TestQueue::of(&app, &sam, &[]).await.hear().await, Vec::<Value>::new());
    assert_eq!(app.store.last_event_id(), head);
}

#[tokio::test]
async fn guests_type_where_they_may_write_and_nobody_without_an_account_does() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    let id = general(&app).to_string();
    let channel = [("type", "stream"), ("op", "start"), ("stream_id", id.as_str()), ("topic", "t")];
    app.call(&gus, "POST /typing", &channel).await.refused("Invalid channel ID");
    enter_general(&app, &gus).await;
    app.call(&gus, "POST /typing", &channel).await.success();
    assert_eq!(app.call_as_nobody("POST /typing", &channel).await.status.as_u16(), 401);
}

#[tokio::test]
async fn a_typing_notice_where_direct_messages_are_closed_succeeds_and_reaches_no_user() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    let groups = state["realm_user_groups"].as_array().unwrap();
    let closed = groups.iter().find(|group| group["name"] == "role:nobody").unwrap()["id"].to_string();
    let mut test_queue = TestQueue::of(&app, &sam, &[]).await;
    app.call(&app.ada, "PATCH /realm", &[("direct_message_permission_group", &closed)]).await.success();
    types(&app, &app.ada, &[("op", "start"), ("to", &format!("[{}]", sam.id))]).await;
    let heard = test_queue.hear().await;
    assert!(heard.iter().all(|event| event["type"] != "typing"), "{heard:?}");
}
