//! `/scheduled_messages`, sentence by sentence, and their delivery.

use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{ChannelId, EventId, UserId};
use chat_core::messages::narrow::{Anchor, MessageWindow, ReadableMessageSelection};
use chat_core::messages::store::MessageStore as _;
use chat_core::model::channel::ChannelPostPolicy;
use chat_core::model::message::MessageFlag;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::file_store::form;
use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

const LATER_S: i64 = NOW_S + 3_600;

fn general(app: &TestApp) -> String {
    app.realm().channel_by_name("general").unwrap().id.to_string()
}

async fn commit(app: &TestApp, changes: Vec<RealmChange>) {
    let commit = RealmCommit { decided_at: app.realm().changed_at(), at_s: NOW_S, changes, ..RealmCommit::default() };
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
}

/// From now on only administrators write to `general`.
async fn close_general(app: &TestApp) {
    let mut channel = app.realm().channel_by_name("general").unwrap().as_ref().clone();
    channel.post_policy = ChannelPostPolicy::Administrators;
    commit(app, vec![RealmChange::Channel(Box::new(channel))]).await;
}

async fn schedule(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, "POST /scheduled_messages", parameters).await
}

/// Schedules `hi` under `lunch` in `general` for an hour later.
async fn in_general(app: &TestApp, who: &Person) -> i64 {
    let (channel, at) = (general(app), LATER_S.to_string());
    let parameters = [("type", "channel"), ("to", channel.as_str()), ("topic", "lunch"), ("content", "hi")];
    let response = schedule(app, who, &[&parameters[..], &[("scheduled_delivery_timestamp", &at)]].concat()).await;
    response.success()["scheduled_message_id"].as_i64().unwrap()
}

/// Schedules `psst` to someone for an hour later.
async fn to_person(app: &TestApp, who: &Person, to: i64) -> i64 {
    let (to, at) = (format!("[{to}]"), LATER_S.to_string());
    let parameters = [("type", "direct"), ("to", to.as_str()), ("content", "psst")];
    let response = schedule(app, who, &[&parameters[..], &[("scheduled_delivery_timestamp", &at)]].concat()).await;
    response.success()["scheduled_message_id"].as_i64().unwrap()
}

async fn edit(app: &TestApp, who: &Person, id: i64, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, &format!("PATCH /scheduled_messages/{id}"), parameters).await
}

async fn list(app: &TestApp, who: &Person) -> Vec<Value> {
    let response = app.call(who, "GET /scheduled_messages", &[]).await.success();
    response["scheduled_messages"].as_array().unwrap().clone()
}

/// Everything someone has, the oldest first: content, number, whether it is unread.
async fn inbox(app: &TestApp, who: &Person) -> Vec<(String, i64, bool)> {
    let realm = app.realm();
    let selection = ReadableMessageSelection::new(&realm, realm.user(UserId(who.id)).unwrap(), Vec::new());
    let newest = MessageWindow { anchor: Anchor::Newest, before: 100, after: 0, include_anchor: true };
    let page = app.store.load_message_window(&selection, newest).await.unwrap();
    let ids: Vec<_> = page.messages.iter().map(|(message, _)| message.id).collect();
    let found = app.store.find_messages(UserId(who.id), &ids).await.unwrap();
    found
        .into_iter()
        .map(|(message, flags)| (message.content, message.id.0, !flags.contains(&MessageFlag::Read)))
        .collect()
}

/// What of scheduled messages someone was told since.
async fn heard(app: &TestApp, who: &Person, since: EventId) -> Vec<Value> {
    let realm = app.realm();
    let user = realm.user(UserId(who.id)).unwrap();
    let records = app.store.records_after(since, 1_000).await.unwrap().unwrap();
    let events = records.iter().filter(|record| record.event_type() == "scheduled_messages");
    let events = events.filter(|record| record.event.as_ref().unwrap().audience.includes_user(record.id, user, &realm));
    events
        .map(|record| match &record.event.as_ref().unwrap().body {
            chat_core::event_log::event::EventBody::Plain { event, .. } => event.clone(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn a_scheduled_message_is_listed_and_told_to_its_sender_alone() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let since = app.store.last_event_id();
    let id = in_general(&app, &app.ada).await;
    let object = json!({
        "scheduled_message_id": id, "type": "stream", "to": general(&app).parse::<i64>().unwrap(), "topic": "lunch",
        "content": "hi", "rendered_content": "<p>hi</p>", "scheduled_delivery_timestamp": LATER_S, "failed": false,
    });
    assert_eq!(list(&app, &app.ada).await, std::slice::from_ref(&object));
    assert_eq!(list(&app, &sam).await, Vec::<Value>::new());
    let event = json!({"type": "scheduled_messages", "op": "add", "scheduled_messages": [&object]});
    assert_eq!(heard(&app, &app.ada, since).await, [event]);
    assert!(heard(&app, &sam, since).await.is_empty());
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    assert_eq!(state["scheduled_messages"], json!([object]));
}

#[tokio::test]
async fn what_could_not_be_sent_now_is_not_scheduled() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    close_general(&app).await;
    let (channel, at, head) = (general(&app), LATER_S.to_string(), app.store.last_event_id());
    let at = ("scheduled_delivery_timestamp", at.as_str());
    let to_general = [("type", "stream"), ("to", channel.as_str()), ("content", "x"), ("topic", "t"), at];
    schedule(&app, &sam, &to_general).await.refused("Only organization administrators can send to this channel.");
    let response =
        schedule(&app, &sam, &[("type", "channel"), ("to", "77"), ("topic", "t"), ("content", "x"), at]).await;
    assert_eq!(response.error(), (400, "STREAM_DOES_NOT_EXIST", "Channel with ID '77' does not exist"));
    assert_eq!(response.body["stream_id"], 77);
    let direct = |to, content| [("type", "direct"), ("to", to), ("content", content), at];
    schedule(&app, &sam, &direct("[77]", "x")).await.refused("Invalid user ID 77");
    schedule(&app, &sam, &direct("[]", "x")).await.refused("Message must have recipients");
    schedule(&app, &sam, &direct("9", "x")).await.refused("Invalid data type for recipients");
    schedule(&app, &sam, &direct("[9]", " ")).await.refused("Message must not be empty");
    schedule(&app, &sam, &[("type", "note"), ("to", "[9]"), ("content", "x"), at]).await.refused("Invalid type");
    schedule(&app, &sam, &[("type", "stream"), ("to", "general"), ("topic", "t"), ("content", "x"), at])
        .await
        .refused("Invalid data type for channel ID");
    schedule(&app, &sam, &[("type", "stream"), ("to", &channel), ("content", "x"), at]).await.refused("Missing topic");
    let now = NOW_S.to_string();
    schedule(
        &app,
        &sam,
        &[("type", "direct"), ("to", "[9]"), ("content", "x"), ("scheduled_delivery_timestamp", &now)],
    )
    .await
    .refused("Scheduled delivery time must be in the future.");
    for missing in 0..4 {
        let mut parameters = direct("[9]", "x").to_vec();
        let (name, _) = parameters.remove(missing);
        schedule(&app, &sam, &parameters).await.refused(&format!("Missing '{name}' argument"));
    }
    assert_eq!((app.store.last_event_id(), list(&app, &sam).await.len()), (head, 0));
}

#[tokio::test]
async fn each_field_is_optional_and_nothing_at_all_is_refused() {
    let app = TestApp::found().await;
    let id = in_general(&app, &app.ada).await;
    let since = app.store.last_event_id();
    edit(&app, &app.ada, id, &[]).await.refused("Nothing to change");
    let later = (LATER_S + 60).to_string();
    edit(&app, &app.ada, id, &[("scheduled_delivery_timestamp", &later)]).await.success();
    edit(&app, &app.ada, id, &[("content", "**hi**")]).await.success();
    edit(&app, &app.ada, id, &[("topic", "dinner")]).await.success();
    let [object] = <[Value; 1]>::try_from(list(&app, &app.ada).await).unwrap();
    assert_eq!(object["scheduled_delivery_timestamp"], LATER_S + 60);
    assert_eq!(object["rendered_content"], "<p><strong>hi</strong></p>");
    assert_eq!((&object["topic"], &object["scheduled_message_id"]), (&json!("dinner"), &json!(id)));
    let events = heard(&app, &app.ada, since).await;
    assert_eq!(events.len(), 3);
    assert_eq!(events[2], json!({"type": "scheduled_messages", "op": "update", "scheduled_message": object}));
}

#[tokio::test]
async fn changing_the_type_requires_to_and_to_a_channel_also_topic() {
    let app = TestApp::found().await;
    let id = to_person(&app, &app.ada, 9).await;
    for kind in ["direct", "channel", "stream", "private"] {
        let response = edit(&app, &app.ada, id, &[("type", kind)]).await;
        response.refused("Recipient required when updating type of scheduled message.");
    }
    edit(&app, &app.ada, id, &[("type", "huddle"), ("to", "[9]")]).await.refused("Invalid type");
    let channel = general(&app);
    let without = edit(&app, &app.ada, id, &[("type", "stream"), ("to", &channel)]).await;
    without.refused("Topic required when updating scheduled message type to channel.");
    edit(&app, &app.ada, id, &[("type", "stream"), ("to", &channel), ("topic", "t")]).await.success();
    assert_eq!(list(&app, &app.ada).await[0]["type"], "stream");
    edit(&app, &app.ada, id, &[("type", "private"), ("to", "[9]")]).await.success();
    let object = &list(&app, &app.ada).await[0];
    assert_eq!((&object["type"], &object["to"], object.get("topic")), (&json!("private"), &json!([9]), None));
}

#[tokio::test]
async fn to_is_a_channel_id_for_channels_and_a_list_of_user_ids_for_people() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (id, direct) = (in_general(&app, &app.ada).await, to_person(&app, &app.ada, sam.id).await);
    edit(&app, &app.ada, id, &[("to", "[9]")]).await.refused("Invalid data type for channel ID");
    edit(&app, &app.ada, id, &[("to", "general")]).await.refused("Invalid data type for channel ID");
    edit(&app, &app.ada, direct, &[("to", "9")]).await.refused("Invalid data type for recipients");
    let response = edit(&app, &app.ada, direct, &[("to", r#"["sam@example.org"]"#)]).await;
    response.refused("Recipient list may only contain user IDs");
    edit(&app, &app.ada, direct, &[("to", "[]")]).await.refused("Message must have recipients");
    let sandbox = app.realm().channel_by_name("sandbox").unwrap().id;
    edit(&app, &app.ada, id, &[("to", &sandbox.to_string())]).await.success();
    edit(&app, &app.ada, direct, &[("to", &format!("[{}, 9, 9]", sam.id))]).await.success();
    let objects = list(&app, &app.ada).await;
    assert_eq!((&objects[0]["to"], &objects[0]["topic"]), (&json!(sandbox), &json!("lunch")));
    assert_eq!(objects[1]["to"], json!([sam.id]));
}

#[tokio::test]
async fn a_missing_channel_is_named_and_an_invalid_user_id_is_a_bad_request() {
    let app = TestApp::found().await;
    let (id, direct) = (in_general(&app, &app.ada).await, to_person(&app, &app.ada, 9).await);
    let before = list(&app, &app.ada).await;
    let response = edit(&app, &app.ada, id, &[("to", "77")]).await;
    assert_eq!(response.error(), (400, "STREAM_DOES_NOT_EXIST", "Channel with ID '77' does not exist"));
    assert_eq!(response.body["stream_id"], 77);
    edit(&app, &app.ada, direct, &[("to", "[9, 77]")]).await.refused("Invalid user ID 77");
    assert_eq!(list(&app, &app.ada).await, before);
}

#[tokio::test]
async fn content_and_topic_are_bounded_and_the_topic_is_ignored_for_people() {
    let app = TestApp::found().await;
    let (id, direct) = (in_general(&app, &app.ada).await, to_person(&app, &app.ada, 9).await);
    edit(&app, &app.ada, id, &[("content", &"x".repeat(10_001))]).await.success();
    edit(&app, &app.ada, id, &[("topic", &"t".repeat(61))]).await.success();
    edit(&app, &app.ada, id, &[("topic", " ")]).await.refused("Topic can't be empty!");
    edit(&app, &app.ada, id, &[("content", "\n")]).await.refused("Message must not be empty");
    edit(&app, &app.ada, id, &[("content", "\0")]).await.refused("Message must not contain null bytes");
    edit(&app, &app.ada, direct, &[("topic", "x")]).await.success();
    let objects = list(&app, &app.ada).await;
    let content = objects[0]["content"].as_str().unwrap();
    assert_eq!(content.chars().count(), 10_000);
    assert!(content.ends_with("x\n[message truncated]"));
    assert_eq!(objects[0]["topic"], format!("{}...", "t".repeat(57)));
    assert_eq!(objects[1].get("topic"), None);
}

#[tokio::test]
async fn the_time_is_in_the_future_and_an_integer() {
    let app = TestApp::found().await;
    let id = in_general(&app, &app.ada).await;
    let at = async |text: &str| edit(&app, &app.ada, id, &[("scheduled_delivery_timestamp", text)]).await;
    at(&NOW_S.to_string()).await.refused("Scheduled delivery time must be in the future.");
    at("-5").await.refused("Scheduled delivery time must be in the future.");
    at("soon").await.refused("scheduled_delivery_timestamp is not valid JSON");
    at("1.5").await.refused("scheduled_delivery_timestamp is not an integer");
    at(&(NOW_S + 1).to_string()).await.success();
}

#[tokio::test]
async fn without_a_scheduled_message_of_that_id_it_is_a_bad_request() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = in_general(&app, &app.ada).await;
    let content = [("content", "x")];
    for (who, id) in [(&app.ada, id + 1), (&sam, id), (&app.ada, 0)] {
        let none = (404, "BAD_REQUEST", "Scheduled message does not exist");
        assert_eq!(edit(&app, who, id, &content).await.error(), none);
        assert_eq!(app.call(who, &format!("DELETE /scheduled_messages/{id}"), &[]).await.error(), none);
    }
    let response = app.call(&app.ada, "PATCH /scheduled_messages/x", &content).await;
    assert_eq!(response.error(), (404, "BAD_REQUEST", "Not Found"));
    assert_eq!(list(&app, &app.ada).await.len(), 1);
}

#[tokio::test]
async fn a_message_that_is_given_up_is_not_sent() {
    let app = TestApp::found().await;
    let id = in_general(&app, &app.ada).await;
    let since = app.store.last_event_id();
    app.call(&app.ada, &format!("DELETE /scheduled_messages/{id}"), &[]).await.success();
    let event = json!({"type": "scheduled_messages", "op": "remove", "scheduled_message_id": id});
    assert_eq!(heard(&app, &app.ada, since).await, [event]);
    app.wait_s(3_700);
    app.send_due().await;
    assert!(inbox(&app, &app.ada).await.is_empty());
}

#[tokio::test]
async fn at_its_time_it_goes_out_once_under_another_id_and_is_listed_no_more() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (id, direct) = (in_general(&app, &app.ada).await, to_person(&app, &sam, app.ada.id).await);
    let since = app.store.last_event_id();
    app.wait_s(3_599);
    app.send_due().await;
    assert!(inbox(&app, &app.ada).await.is_empty());
    app.wait_s(1);
    app.send_due().await;
    app.send_due().await;
    let got = inbox(&app, &app.ada).await;
    assert_eq!(got.iter().map(|(content, ..)| content.as_str()).collect::<Vec<_>>(), ["hi", "psst"]);
    assert!(got.iter().all(|(_, sent, unread)| *sent != id && *sent != direct && *unread));
    assert_eq!((list(&app, &app.ada).await.len(), list(&app, &sam).await.len()), (0, 0));
    let event = json!({"type": "scheduled_messages", "op": "remove", "scheduled_message_id": id});
    assert_eq!(heard(&app, &app.ada, since).await, [event]);
    let gone = edit(&app, &app.ada, id, &[("content", "x")]).await;
    assert_eq!(gone.error(), (404, "BAD_REQUEST", "Scheduled message does not exist"));
}

#[tokio::test]
async fn a_failed_message_says_so_and_an_edit_must_carry_a_new_time() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = in_general(&app, &sam).await;
    close_general(&app).await;
    let since = app.store.last_event_id();
    app.wait_s(3_600);
    app.send_due().await;
    app.send_due().await;
    let [object] = <[Value; 1]>::try_from(list(&app, &sam).await).unwrap();
    assert_eq!((&object["failed"], &object["scheduled_message_id"]), (&json!(true), &json!(id)));
    let events = heard(&app, &sam, since).await;
    assert_eq!(events, [json!({"type": "scheduled_messages", "op": "update", "scheduled_message": object})]);
    // Nobody got it, and its sender finds out why.
    assert!(inbox(&app, &app.ada).await.is_empty());
    let notices = inbox(&app, &sam).await;
    assert_eq!(notices.len(), 1);
    let reason = "> Only organization administrators can send to this channel.\n\n";
    assert!(notices[0].2 && notices[0].0.contains(reason), "{notices:?}");
    let response = edit(&app, &sam, id, &[("content", "again")]).await;
    response.refused("Scheduled delivery time must be in the future.");
    let (sandbox, at) = (app.realm().channel_by_name("sandbox").unwrap().id, (LATER_S + 60).to_string());
    let renewed = [("to", sandbox.to_string()), ("scheduled_delivery_timestamp", at)];
    let renewed: Vec<(&str, &str)> = renewed.iter().map(|(name, value)| (*name, value.as_str())).collect();
    edit(&app, &sam, id, &renewed).await.success();
    assert_eq!(list(&app, &sam).await[0]["failed"], false);
    app.wait_s(60);
    app.send_due().await;
    assert_eq!(inbox(&app, &app.ada).await.len(), 1);
    assert_eq!(list(&app, &sam).await.len(), 0);
}

#[tokio::test]
async fn what_nobody_could_send_for_ten_minutes_fails() {
    let app = TestApp::found().await;
    in_general(&app, &app.ada).await;
    app.wait_s(3_600 + 601);
    app.send_due().await;
    assert_eq!(list(&app, &app.ada).await[0]["failed"], true);
    let notices = inbox(&app, &app.ada).await;
    assert!(notices[0].0.contains("> Message could not be sent at the scheduled time.\n\n"), "{notices:?}");
}

#[tokio::test]
async fn of_a_closed_account_nothing_goes_out_any_more() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    to_person(&app, &sam, app.ada.id).await;
    let mut gone = app.realm().user(UserId(sam.id)).unwrap().as_ref().clone();
    gone.is_active = false;
    commit(&app, vec![RealmChange::User(Box::new(gone))]).await;
    app.wait_s(3_600);
    app.send_due().await;
    assert!(inbox(&app, &app.ada).await.is_empty());
    app.send_due().await;
    assert!(inbox(&app, &sam).await.is_empty());
}

#[tokio::test]
async fn who_writes_to_themselves_finds_it_unread_and_who_shows_what_they_send_has_read_the_rest() {
    let app = TestApp::found().await;
    let (at, channel) = (LATER_S.to_string(), general(&app));
    let at = ("scheduled_delivery_timestamp", at.as_str());
    let website = [("client", "website"), at];
    let own = [&website[..], &[("type", "direct"), ("to", "[9]"), ("content", "note")]].concat();
    schedule(&app, &app.ada, &own).await.success();
    let rest = [&website[..], &[("type", "stream"), ("to", &channel), ("topic", "t"), ("content", "all")]].concat();
    schedule(&app, &app.ada, &rest).await.success();
    let unread = [&rest[..], &[("read_by_sender", "false")]].concat();
    schedule(&app, &app.ada, &unread).await.success();
    app.wait_s(3_600);
    app.send_due().await;
    let got: Vec<bool> = inbox(&app, &app.ada).await.into_iter().map(|(.., unread)| unread).collect();
    assert_eq!(got, [true, false, true]);
}

#[tokio::test]
async fn a_scheduled_message_keeps_its_uploads_and_is_read_for_those_who_mute_its_sender() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    app.call(&app.ada, &format!("POST /users/me/muted_users/{}", sam.id), &[]).await.success();
    let file = form(&[("file", "plan.txt", "text/plain", b"hello")]);
    let url = app.call_with_files(&sam, "POST /user_uploads", file).await.success()["url"].clone();
    let url = url.as_str().unwrap();
    let (to, content, at) = (format!("[{}]", app.ada.id), format!("look: [it]({url})"), LATER_S.to_string());
    let parameters =
        [("type", "direct"), ("to", to.as_str()), ("content", &content), ("scheduled_delivery_timestamp", &at)];
    schedule(&app, &sam, &parameters).await.success();
    app.wait_s(3_600);
    app.send_due().await;
    let (_, id, unread) = inbox(&app, &app.ada).await.pop().unwrap();
    assert!(!unread);
    let used = app.call(&sam, "GET /attachments", &[]).await.success()["attachments"][0]["messages"].clone();
    assert_eq!(used[0]["id"], json!(id));
    // Who may read the message may read its file.
    assert_eq!(app.fetch_as(&app.ada, url).await.0, 200);
}

#[tokio::test]
async fn nobody_has_more_than_a_thousand() {
    let app = TestApp::found().await;
    for _ in 0..chat_core::messages::scheduled::MAX_SCHEDULED_MESSAGES_PER_USER {
        in_general(&app, &app.ada).await;
    }
    let (channel, at) = (general(&app), LATER_S.to_string());
    let parameters = [("type", "channel"), ("to", channel.as_str()), ("topic", "t"), ("content", "x")];
    let response =
        schedule(&app, &app.ada, &[&parameters[..], &[("scheduled_delivery_timestamp", &at)]].concat()).await;
    response.refused("Too many scheduled messages (maximum 1000).");
    assert_eq!(app.realm().channel(ChannelId(channel.parse().unwrap())).unwrap().name, "general");
}
