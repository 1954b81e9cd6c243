//! Channels: archived and unarchived, created, and what clients are shown of them.

use chat_core::event_log::decision_queue::RealmDecisionQueue;
use chat_core::id::{ChannelId, UserId};
use chat_core::limits::SECONDS_PER_DAY as DAY_S;
use chat_core::messages::channel_activity;
use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::personal::{heard, listen, mark, state};
use crate::spec::{gather, say};
use crate::test_app::{NOW_S, Person, TestApp};

const SHOWS_ARCHIVED: (&str, &str) =
    ("client_capabilities", r#"{"notification_settings_null": true, "archived_channels": true}"#);
const TYPES: &str = r#"["stream", "subscription", "default_streams", "realm"]"#;

async fn archive(app: &TestApp, id: i64) {
    app.call(&app.ada, &format!("DELETE /streams/{id}"), &[]).await.success();
}

async fn unarchive(app: &TestApp, id: i64) {
    app.call(&app.ada, &format!("PATCH /streams/{id}"), &[("is_archived", "false")]).await.success();
}

fn kinds(events: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| format!("{} {}", text(&event["type"]), text(&event["op"]))).collect()
}

fn names(channels: &Value) -> Vec<&str> {
    channels.as_array().unwrap().iter().map(|channel| channel["name"].as_str().unwrap()).collect()
}

async fn read(app: &TestApp, who: &Person, channel: i64) -> Vec<i64> {
    let narrow = json!([{"operator": "channel", "operand": channel}]).to_string();
    let range = [("anchor", "newest"), ("num_before", "9"), ("num_after", "0"), ("narrow", narrow.as_str())];
    let response = app.call(who, "GET /messages", &range).await.success();
    response["messages"].as_array().unwrap().iter().map(|message| message["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn level_378_archiving_is_a_change_to_clients_that_declare_it_and_a_deletion_to_the_others() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Guest).await);
    let id = gather(&app, "old", &[&app.ada, &sam], &[]).await;
    let (new, old) = (listen(&app, &sam, TYPES, &[SHOWS_ARCHIVED]).await, listen(&app, &sam, TYPES, &[]).await);
    let guest = listen(&app, &eve, TYPES, &[SHOWS_ARCHIVED]).await;
    archive(&app, id).await;
    let event = |value: bool| {
        json!({"type": "stream", "op": "update", "stream_id": id, "name": "old", "property": "is_archived",
            "value": value})
    };
    assert_eq!(heard(&app, &new).await, [event(true)]);
    let told = heard(&app, &old).await;
    assert_eq!((kinds(&told), &told[0]["stream_ids"]), (vec!["stream delete".to_owned()], &json!([id])));
    unarchive(&app, id).await;
    assert_eq!(heard(&app, &new).await, [event(true), event(false)]);
    let told = heard(&app, &old).await.split_off(1);
    // To these clients the channel is one that is new, so they get what else they know of it.
    assert_eq!(kinds(&told), ["stream create", "subscription add"]);
    assert_eq!(told[0]["streams"][0]["is_archived"], false);
    assert_eq!(names(&told[1]["subscriptions"]), ["old"]);
    assert!(heard(&app, &guest).await.is_empty());
}

#[tokio::test]
async fn level_378_those_who_see_a_channel_without_a_subscription_learn_its_subscribers_again() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let id = gather(&app, "old", &[&app.ada, &sam], &[]).await;
    archive(&app, id).await;
    let (new, old) = (listen(&app, &eve, TYPES, &[SHOWS_ARCHIVED]).await, listen(&app, &eve, TYPES, &[]).await);
    unarchive(&app, id).await;
    assert_eq!(kinds(&heard(&app, &new).await), ["stream update"]);
    let told = heard(&app, &old).await;
    assert_eq!(kinds(&told), ["stream create", "subscription peer_add"]);
    assert_eq!(told[1]["user_ids"], json!([app.ada.id, sam.id]));
}

#[tokio::test]
async fn level_315_archived_channels_are_listed_on_request_and_shown_at_registration_to_clients_that_declare_it() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let own = gather(&app, "own", &[&sam], &[]).await;
    let left = gather(&app, "left", &[&sam, &app.ada], &[]).await;
    let never = gather(&app, "never", &[&app.ada], &[]).await;
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["left"]"#)]).await.success();
    let general = app.realm().channel_by_name("general").unwrap().id.0;
    for id in [own, left, never, general] {
        archive(&app, id).await;
    }
    let declared = app.call(&sam, "POST /register", &[SHOWS_ARCHIVED]).await.success();
    let begun = app.call(&sam, "POST /register", &[]).await.success();
    for (key, with, without) in [
        ("subscriptions", vec!["own"], vec![]),
        ("unsubscribed", vec!["left"], vec![]),
        ("never_subscribed", vec!["general", "sandbox", "never"], vec!["sandbox"]),
        ("streams", vec!["general", "sandbox", "own", "left", "never"], vec!["sandbox"]),
        ("realm_default_streams", vec!["sandbox"], vec!["sandbox"]),
    ] {
        if key != "realm_default_streams" {
            assert_eq!((names(&declared[key]), names(&begun[key])), (with, without), "{key}");
        }
        let is_archived = |channel: &Value| channel["is_archived"] == (channel["name"] != "sandbox");
        assert!(
            declared[key].as_array().unwrap().iter().all(|channel| channel.is_i64() || is_archived(channel)),
            "{key}"
        );
    }
    let listed = async |flag: &[(&str, &str)]| {
        let response = app.call(&sam, "GET /streams", flag).await.success();
        names(&response["streams"]).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[("exclude_archived", "false")]).await, ["general", "sandbox", "own", "left", "never"]);
    assert_eq!([listed(&[("exclude_archived", "true")]).await, listed(&[]).await], [["sandbox"], ["sandbox"]]);
    let own = app.call(&sam, "GET /users/me/subscriptions", &[]).await.success();
    assert_eq!(own["subscriptions"], json!([]));
}

#[tokio::test]
async fn level_388_who_administers_a_channel_archives_and_unarchives_it_once() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = gather(&app, "old", &[&sam], &[]).await;
    let (path, yes, no) = (format!("/streams/{id}"), [("is_archived", "true")], [("is_archived", "false")]);
    let change = async |who: &Person, call: &str, parameters: &[(&str, &str)]| {
        app.call(who, &format!("{call} {path}"), parameters).await
    };
    let head = mark(&app);
    change(&app.ada, "PATCH", &no).await.refused("Channel is not currently deactivated");
    change(&app.ada, "PATCH", &yes).await.success();
    change(&sam, "PATCH", &no).await.refused("Must be an organization administrator");
    assert_eq!(mark(&app), head);
    archive(&app, id).await;
    let head = mark(&app);
    change(&app.ada, "DELETE", &[]).await.refused("Channel is already deactivated");
    change(&sam, "PATCH", &no).await.refused("Must be an organization administrator");
    change(&app.ada, "PATCH", &[("is_default_stream", "true")]).await.refused("Invalid channel ID");
    assert_eq!(mark(&app), head);
    let both = tokio::join!(change(&app.ada, "PATCH", &no), change(&app.ada, "PATCH", &no));
    crate::spec::one_succeeds(both).refused("Channel is not currently deactivated");
    assert!(!app.realm().channel_by_name("old").unwrap().is_archived);
}

#[tokio::test]
async fn level_388_a_private_channel_without_subscribers_stays_archived() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = gather(&app, "den", &[&sam], &[("invite_only", "true")]).await;
    // The channel is archived when its last subscriber leaves.
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["den"]"#)]).await.success();
    assert!(app.realm().channel(ChannelId(id)).unwrap().is_archived);
    let path = format!("PATCH /streams/{id}");
    let response = app.call(&app.ada, &path, &[("is_archived", "false")]).await;
    response.refused("Channel is private and have no subscribers");
}

#[tokio::test]
async fn level_362_subscriptions_and_settings_of_an_archived_channel_change() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let id = gather(&app, "old", &[&app.ada, &sam], &[]).await;
    archive(&app, id).await;
    let (new, old) = (listen(&app, &sam, TYPES, &[SHOWS_ARCHIVED]).await, listen(&app, &sam, TYPES, &[]).await);
    let principals = json!([eve.id]).to_string();
    let entered = [("subscriptions", r#"[{"name": "OLD"}]"#), ("principals", principals.as_str())];
    app.call(&app.ada, "POST /users/me/subscriptions", &entered).await.success();
    assert_eq!(kinds(&heard(&app, &new).await), ["subscription peer_add"]);
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["old"]"#)]).await.success();
    let change = [("new_name", "older"), ("description", "gone"), ("is_private", "true")];
    app.call(&app.ada, &format!("PATCH /streams/{id}"), &change).await.success();
    // Who no longer sees a channel hears nothing more of it.
    assert_eq!(kinds(&heard(&app, &new).await), ["subscription remove", "stream delete"]);
    assert!(heard(&app, &old).await.is_empty());
    let realm = app.realm();
    let subscribers: Vec<i64> = realm.subscribers(ChannelId(id)).map(|user| user.0).collect();
    assert_eq!(subscribers, [app.ada.id, eve.id]);
}

#[tokio::test]
async fn level_388_the_name_of_an_archived_channel_stays_its_own() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let old = gather(&app, "old", &[&sam], &[]).await;
    let other = gather(&app, "other", &[&sam], &[]).await;
    archive(&app, old).await;
    let path = format!("PATCH /streams/{other}");
    app.call(&app.ada, &path, &[("new_name", "Old")]).await.refused("Channel name already in use.");
    let subscription = [("subscriptions", r#"[{"name": "old"}]"#)];
    let response = app.call(&app.ada, "POST /users/me/subscriptions", &subscription).await.success();
    assert_eq!(response["subscribed"].as_object().unwrap().len(), 1);
    assert!(app.realm().subscription(ChannelId(old), UserId(app.ada.id)).is_some());
}

#[tokio::test]
async fn level_360_messages_of_an_archived_channel_are_read_and_do_not_change() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let id = gather(&app, "old", &[&sam], &[]).await;
    let message = say(&app, &sam, id, ("lunch", "soup")).await;
    archive(&app, id).await;
    for who in [&sam, &eve] {
        let path = format!("GET /messages/{message}");
        assert_eq!(app.call(who, &path, &[]).await.success()["message"]["id"], message);
        app.call(who, &format!("{path}/read_receipts"), &[]).await.success();
        assert_eq!(read(&app, who, id).await, [message]);
        app.call(who, &format!("GET /streams/{id}"), &[]).await.refused("Invalid channel ID");
        app.call(who, &format!("GET /users/me/{id}/topics"), &[]).await.refused("Invalid channel ID");
    }
    let (head, invalid) = (mark(&app), "Invalid message(s)");
    let reaction = [("emoji_name", "tada")];
    app.call(&sam, &format!("POST /messages/{message}/reactions"), &reaction).await.refused(invalid);
    app.call(&app.ada, &format!("DELETE /messages/{message}"), &[]).await.refused(invalid);
    let edit = app.call(&sam, &format!("PATCH /messages/{message}"), &[("content", "salad")]).await;
    edit.refused("You don't have permission to edit this message");
    let to = id.to_string();
    let sent = [("type", "stream"), ("to", to.as_str()), ("topic", "lunch"), ("content", "x")];
    app.call(&sam, "POST /messages", &sent).await.refused("Not authorized to send to channel 'old'");
    assert_eq!(mark(&app), head);
}

#[tokio::test]
async fn a_message_that_was_moved_into_a_channel_stays_when_the_channel_is_archived() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = app.realm().channel_by_name("general").unwrap().id.0;
    gather(&app, "general", &[&sam], &[]).await;
    for (name, settings) in [("old", &[][..]), ("den", &[("invite_only", "true")][..])] {
        let id = gather(&app, name, &[&app.ada, &sam], settings).await;
        let message = say(&app, &sam, general, ("lunch", "soup")).await;
        let to = [("stream_id", id.to_string())];
        let to: Vec<_> = to.iter().map(|(key, value)| (*key, value.as_str())).collect();
        app.call(&app.ada, &format!("PATCH /messages/{message}"), &to).await.success();
        archive(&app, id).await;
        for who in [&app.ada, &sam] {
            assert_eq!(read(&app, who, id).await, [message], "{name}");
            app.call(who, &format!("GET /messages/{message}"), &[]).await.success();
        }
    }
}

#[tokio::test]
async fn level_388_what_is_unread_in_a_channel_counts_as_read_while_it_is_archived() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = gather(&app, "old", &[&sam, &app.ada], &[]).await;
    let message = say(&app, &app.ada, id, ("lunch", "soup")).await;
    let unread = async || state(&app, &sam, "unread_msgs").await["streams"].clone();
    assert_eq!(unread().await[0]["unread_message_ids"], json!([message]));
    archive(&app, id).await;
    assert_eq!(unread().await, json!([]));
    unarchive(&app, id).await;
    assert_eq!(unread().await[0]["unread_message_ids"], json!([message]));
}

#[tokio::test]
async fn level_417_one_channel_is_created_with_its_settings_and_subscribers() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let queue = listen(&app, &eve, TYPES, &[]).await;
    let users = json!([eve.id, app.ada.id, eve.id]).to_string();
    let wanted = [("name", " plans "), ("subscribers", users.as_str()), ("description", "for\nall")];
    let id = app.call(&sam, "POST /channels/create", &wanted).await.success()["id"].as_i64().unwrap();
    let realm = app.realm();
    let channel = realm.channel(ChannelId(id)).unwrap();
    assert_eq!((channel.name.as_str(), channel.description.as_str()), ("plans", "for all"));
    assert_eq!(channel.creator_id, Some(UserId(sam.id)));
    assert_eq!(realm.subscribers(channel.id).map(|user| user.0).collect::<Vec<_>>(), [app.ada.id, eve.id]);
    assert_eq!(kinds(&heard(&app, &queue).await), ["stream create", "subscription add"]);
    let none = [("name", "empty"), ("subscribers", "[]"), ("invite_only", "true"), ("message_retention_days", "9")];
    let id = app.call(&app.ada, "POST /channels/create", &none).await.success()["id"].as_i64().unwrap();
    let realm = app.realm();
    let channel = realm.channel(ChannelId(id)).unwrap();
    assert_eq!((channel.message_retention_days, channel.privacy.is_invite_only()), (Some(9), true));
    assert_eq!(realm.subscriber_count(channel.id), 0);
}

#[tokio::test]
async fn level_417_a_name_that_a_channel_has_even_an_archived_one_is_a_conflict() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let old = gather(&app, "old", &[&sam], &[]).await;
    let create =
        async |name: &str| app.call(&sam, "POST /channels/create", &[("name", name), ("subscribers", "[]")]).await;
    for _ in ["active", "archived"] {
        let head = mark(&app);
        let refused = create("OLD").await;
        assert_eq!(refused.error(), (409, "CHANNEL_ALREADY_EXISTS", "Channel 'old' already exists"));
        assert_eq!(refused.body["channel_name"], "old");
        assert_eq!(mark(&app), head);
        if !app.realm().channel(ChannelId(old)).unwrap().is_archived {
            archive(&app, old).await;
        }
    }
    let both = tokio::join!(create("new"), create("New"));
    assert_eq!(crate::spec::one_succeeds(both).error().0, 409);
}

#[tokio::test]
async fn level_417_what_a_caller_may_not_do_creates_no_channel() {
    let app = TestApp::found().await;
    let (sam, gus) = (app.person("sam", Role::Member).await, app.person("gus", Role::Guest).await);
    let head = mark(&app);
    let create = async |who: &Person, more: &[(&str, &str)]| {
        let wanted = [&[("name", "plans")], more].concat();
        app.call(who, "POST /channels/create", &wanted).await
    };
    let none = ("subscribers", "[]");
    create(&gus, &[none]).await.refused("Not allowed for guest users");
    create(&sam, &[none, ("is_default_stream", "true")]).await.refused("Insufficient permission");
    create(&sam, &[none, ("message_retention_days", "7")]).await.refused("Must be an organization owner");
    create(&sam, &[none, ("is_web_public", "true")]).await.refused("Insufficient permission");
    let default = [none, ("is_default_stream", "true"), ("invite_only", "true")];
    create(&app.ada, &default).await.refused("A default channel cannot be private.");
    create(&sam, &[("subscribers", "[4711]")]).await.refused("No such user");
    create(&sam, &[]).await.refused("Missing 'subscribers' argument");
    let blank = app.call(&sam, "POST /channels/create", &[("name", " "), none]).await;
    blank.refused("Channel name can't be empty.");
    assert_eq!(mark(&app), head);
}

#[tokio::test]
async fn level_394_a_channel_has_the_number_of_its_active_subscribers_and_events_count_it_on() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let queue = listen(&app, &sam, TYPES, &[]).await;
    let id = gather(&app, "plans", &[&app.ada, &eve], &[]).await;
    let told = heard(&app, &queue).await;
    // A channel that is created has no subscribers; the next event names them.
    assert_eq!(kinds(&told), ["stream create", "subscription peer_add"]);
    assert_eq!((&told[0]["streams"][0]["subscriber_count"], &told[1]["user_ids"]), (&json!(0), &json!([9, eve.id])));
    let own = listen(&app, &sam, TYPES, &[]).await;
    gather(&app, "plans", &[&sam], &[]).await;
    assert_eq!(heard(&app, &own).await[0]["subscriptions"][0]["subscriber_count"], 3);
    let count = async |who: &Person| {
        let one =
            app.call(who, &format!("GET /streams/{id}"), &[]).await.success()["stream"]["subscriber_count"].clone();
        let state = state(&app, who, "streams").await;
        let found = state.as_array().unwrap().iter().find(|channel| channel["stream_id"] == id).unwrap();
        assert_eq!(found["subscriber_count"], one);
        one
    };
    assert_eq!(count(&sam).await, 3);
    crate::personal::close(&app, &eve).await;
    assert_eq!(count(&sam).await, 2);
    app.call(&app.ada, &format!("POST /users/{}/reactivate", eve.id), &[]).await.success();
    assert_eq!(count(&sam).await, 3);
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["plans"]"#)]).await.success();
    assert_eq!(count(&sam).await, 2);
}

#[tokio::test]
async fn level_412_who_asks_for_some_subscribers_gets_all() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = gather(&app, "plans", &[&app.ada, &sam], &[]).await;
    let subscribers = async |text: &str| {
        let include = [("include_subscribers", text)];
        let begun = app.call(&sam, "POST /register", &include).await.success();
        let own = app.call(&sam, "GET /users/me/subscriptions", &include).await.success();
        [begun, own].map(|shown| {
            let all = shown["subscriptions"].as_array().unwrap().clone();
            all.iter().find(|channel| channel["stream_id"] == id).unwrap().get("subscribers").cloned()
        })
    };
    let all = Some(json!([app.ada.id, sam.id]));
    assert_eq!(subscribers("partial").await, [all.clone(), all.clone()]);
    assert_eq!(subscribers("true").await, [all.clone(), all]);
    assert_eq!(subscribers("false").await, [None, None]);
    let refused = app.call(&sam, "POST /register", &[("include_subscribers", "some")]).await;
    refused.refused("include_subscribers is not valid JSON");
}

/// Marks channels as the daily sweep does.
async fn sweep(app: &TestApp, now_s: i64) -> usize {
    let decisions = RealmDecisionQueue::default();
    channel_activity::mark_inactive_channels(app.store.as_ref(), &decisions, now_s).await.unwrap()
}

#[tokio::test]
async fn level_323_a_channel_without_messages_for_180_days_is_not_recently_active_until_the_next() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = gather(&app, "plans", &[&app.ada, &sam], &[]).await;
    let busy = gather(&app, "busy", &[&app.ada, &sam], &[]).await;
    say(&app, &app.ada, id, ("lunch", "soup")).await;
    let active = async |id: i64| {
        let stream = app.call(&sam, &format!("GET /streams/{id}"), &[]).await.success()["stream"].clone();
        stream["is_recently_active"].as_bool().unwrap()
    };
    let sweep = async || sweep(&app, NOW_S + 180 * DAY_S + 1).await;
    app.wait_s(180 * DAY_S);
    say(&app, &app.ada, busy, ("lunch", "soup")).await;
    let queue = listen(&app, &sam, r#"["stream"]"#, &[]).await;
    app.wait_s(1);
    // The two channels of a new organization have no message either.
    assert_eq!((active(id).await, sweep().await, sweep().await), (true, 3, 0));
    assert_eq!((active(id).await, active(busy).await), (false, true));
    let event = |value: bool| {
        json!({"type": "stream", "op": "update", "stream_id": id, "name": "plans", "property": "is_recently_active",
            "value": value})
    };
    let told = heard(&app, &queue).await;
    assert_eq!((told.len(), told.contains(&event(false))), (3, true));
    say(&app, &app.ada, id, ("lunch", "salad")).await;
    assert_eq!((heard(&app, &queue).await.split_off(3), active(id).await), (vec![event(true)], true));
    say(&app, &app.ada, id, ("lunch", "stew")).await;
    assert_eq!(heard(&app, &queue).await.len(), 4);
}

#[tokio::test]
async fn level_323_a_message_that_is_moved_into_a_channel_makes_it_recently_active() {
    let app = TestApp::found().await;
    let from = gather(&app, "from", &[&app.ada], &[]).await;
    let to = gather(&app, "to", &[&app.ada], &[]).await;
    app.wait_s(181 * DAY_S);
    let message = say(&app, &app.ada, from, ("lunch", "soup")).await;
    sweep(&app, NOW_S + 181 * DAY_S).await;
    let active = || app.realm().channel(ChannelId(to)).unwrap().is_recently_active;
    assert!(!active());
    let place = to.to_string();
    app.call(&app.ada, &format!("PATCH /messages/{message}"), &[("stream_id", &place)]).await.success();
    assert!(active());
}

#[tokio::test]
async fn level_335_the_address_of_a_channel_is_asked_for_as_a_sender_whom_the_caller_may_be() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let bot = [("full_name", "Weather"), ("short_name", "weather")];
    let bot = app.call(&app.ada, "POST /bots", &bot).await.success()["user_id"].to_string();
    let general = app.realm().channel_by_name("general").unwrap().id;
    let ask = async |who: &Person, sender: &str| {
        app.call(who, &format!("GET /streams/{general}/email_address"), &[("sender_id", sender)]).await
    };
    assert_eq!(ask(&app.ada, &bot).await.success()["email"], json!(""));
    ask(&sam, &sam.id.to_string()).await.success();
    ask(&sam, &bot).await.refused("Insufficient permission");
    ask(&sam, "9").await.refused("No such bot");
}
