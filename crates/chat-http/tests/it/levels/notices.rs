//! Notices of the server's own bots: what they say, who gets them, and what asks for them.

use chat_core::id::UserId;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::User;
use serde_json::{Value, json};

use crate::personal::{heard, listen, mark, put, state};
use crate::test_app::{NOW_S, Person, TestApp};

/// The messages that someone reads, the oldest first: sender, topic and text.
async fn read(app: &TestApp, who: &Person, narrow: Value) -> Vec<(String, String, String)> {
    let narrow = narrow.to_string();
    let window = [("anchor", "newest"), ("num_before", "100"), ("num_after", "0"), ("apply_markdown", "false")];
    let found = app.call(who, "GET /messages", &[&window[..], &[("narrow", narrow.as_str())]].concat()).await.success();
    let text = |message: &Value, key: &str| message[key].as_str().unwrap().to_owned();
    let shown =
        |message: &Value| (text(message, "sender_full_name"), text(message, "subject"), text(message, "content"));
    found["messages"].as_array().unwrap().iter().map(shown).collect()
}

pub(super) async fn of_bots(app: &TestApp, who: &Person, narrow: Value) -> Vec<(String, String)> {
    let all = read(app, who, narrow).await.into_iter();
    all.filter(|(sender, ..)| sender.ends_with(" Bot")).map(|(_, topic, content)| (topic, content)).collect()
}

pub(super) fn channel(name: &str) -> Value {
    json!([{"operator": "channel", "operand": name}])
}

pub(super) fn dms() -> Value {
    json!([{"operator": "is", "operand": "dm"}])
}

fn notice(topic: &str, content: &str) -> (String, String) {
    (topic.to_owned(), content.to_owned())
}

pub(super) async fn say(app: &TestApp, who: &Person, topic: &str) -> String {
    let message = [("type", "channel"), ("to", "general"), ("topic", topic), ("content", "hi")];
    app.call(who, "POST /messages", &message).await.success()["id"].to_string()
}

async fn subscribe(app: &TestApp, who: &Person, name: &str, more: &[(&str, &str)]) -> Value {
    let channels = json!([{"name": name, "description": "all of it"}]).to_string();
    let subscriptions = [("subscriptions", channels.as_str())];
    app.call(who, "POST /users/me/subscriptions", &[&subscriptions[..], more].concat()).await.success()
}

#[tokio::test]
async fn a_new_organization_has_bots_of_its_own_that_are_nobody_and_open_nothing() {
    let app = TestApp::with_system_bots().await;
    let bots = state(&app, &app.ada, "cross_realm_bots").await;
    let of = |key: &str| bots.as_array().unwrap().iter().map(|bot| bot[key].clone()).collect::<Value>();
    assert_eq!(of("full_name"), json!(["Notification Bot", "Welcome Bot"]));
    assert_eq!((of("user_id"), of("is_system_bot")), (json!([12, 13]), json!([true, true])));
    assert_eq!(state(&app, &app.ada, "realm_users").await.as_array().unwrap().len(), 1);
    let bot = Person { id: 12, email: "notification-bot@zulip.com".to_owned(), key: "x".repeat(32) };
    assert_eq!(app.call(&bot, "GET /users/me", &[]).await.error().0, 401);
    let people = json!([12]).to_string();
    let added = [("subscriptions", r#"[{"name":"general"}]"#), ("principals", people.as_str())];
    app.call(&app.ada, "POST /users/me/subscriptions", &added).await.refused("No such user");
}

#[tokio::test]
async fn a_move_is_reported_where_the_request_wants_it() {
    let app = TestApp::with_system_bots().await;
    let mut ids = Vec::new();
    for topic in ["lunch", "lunch", "lunch", "tea"] {
        ids.push(say(&app, &app.ada, topic).await);
    }
    let edit = async |id: &str, parameters: &[(&str, &str)]| {
        app.call(&app.ada, &format!("PATCH /messages/{id}"), parameters).await.success();
    };
    edit(&ids[2], &[("topic", "later"), ("propagate_mode", "change_one")]).await;
    let quiet = [("send_notification_to_new_thread", "false"), ("send_notification_to_old_thread", "true")];
    let rest = [("topic", "dinner"), ("propagate_mode", "change_all")];
    edit(&ids[0], &[&rest[..], &quiet[..]].concat()).await;
    edit(&ids[3], &[("topic", "coffee"), quiet[0]]).await;
    let ada = "@_**Ada Lovelace|9**";
    let expected = [
        notice("later", &format!("{ada} moved a message here from #**general>lunch**.")),
        notice("lunch", &format!("{ada} moved this topic to #**general>dinner**.")),
    ];
    assert_eq!(of_bots(&app, &app.ada, channel("general")).await, expected);
}

#[tokio::test]
async fn level_385_a_resolved_topic_says_so_and_arrives_read_unless_it_is_followed() {
    let app = TestApp::with_system_bots().await;
    let sam = app.person("sam", Role::Member).await;
    subscribe(&app, &sam, "general", &[]).await;
    let id = say(&app, &app.ada, "lunch").await;
    let unread = async |who: &Person| state(&app, who, "unread_msgs").await["count"].as_i64().unwrap();
    let before = (unread(&app.ada).await, unread(&sam).await);
    // Who starts a topic follows it.
    let resolve = async |topic: &str| {
        let parameters = [("topic", topic), ("propagate_mode", "change_all")];
        app.call(&app.ada, &format!("PATCH /messages/{id}"), &parameters).await.success();
    };
    resolve("✔ lunch").await;
    resolve("lunch").await;
    let ada = "@_**Ada Lovelace|9**";
    let expected =
        ["resolved", "unresolved"].map(|state| notice("lunch", &format!("{ada} has marked this topic as {state}.")));
    assert_eq!(of_bots(&app, &sam, channel("general")).await, expected);
    assert_eq!((unread(&app.ada).await, unread(&sam).await), (before.0 + 2, before.1));
    let never = [("resolved_topic_notice_auto_read_policy", "never")];
    app.call(&sam, "PATCH /settings", &never).await.success();
    resolve("✔ lunch").await;
    assert_eq!((unread(&app.ada).await, unread(&sam).await), (before.0 + 3, before.1 + 1));
    let unknown = [("resolved_topic_notice_auto_read_policy", "sometimes")];
    app.call(&sam, "PATCH /settings", &unknown).await.refused("Invalid resolved_topic_notice_auto_read_policy");
    let all = app.call(&app.ada, "PATCH /realm/user_settings_defaults", &never).await.success();
    assert_eq!(all["ignored_parameters_unsupported"], Value::Null);
    let lea = app.person("lea", Role::Member).await;
    assert_eq!(state(&app, &lea, "user_settings").await["resolved_topic_notice_auto_read_policy"], "except_followed");
}

#[tokio::test]
async fn a_channel_says_who_made_and_changed_it_and_is_announced_where_the_organization_wants_it() {
    let app = TestApp::with_system_bots().await;
    let general = app.realm().channel_by_name("general").unwrap().id.to_string();
    let queue = listen(&app, &app.ada, r#"["realm"]"#, &[]).await;
    let there = [("new_stream_announcements_stream_id", general.as_str())];
    app.call(&app.ada, "PATCH /realm", &there).await.success();
    let value: i64 = general.parse().unwrap();
    let event = json!({"type": "realm", "op": "update", "property": there[0].0, "value": value});
    assert_eq!(heard(&app, &queue).await, [event]);
    subscribe(&app, &app.ada, "quiet", &[]).await;
    subscribe(&app, &app.ada, "news", &[("announce", "true")]).await;
    let hidden = [("name", "hidden"), ("subscribers", "[9]"), ("announce", "true"), ("invite_only", "true")];
    app.call(&app.ada, "POST /channels/create", &hidden).await.success();
    let ada = "@_**Ada Lovelace|9**";
    let announced = [notice("new channels", &format!("{ada} created a new channel #**news**."))];
    assert_eq!(of_bots(&app, &app.ada, channel("general")).await, announced);

    let news = app.realm().channel_by_name("news").unwrap().id;
    let change = [("new_name", "old news"), ("description", "none of it"), ("is_private", "true")];
    app.call(&app.ada, &format!("PATCH /streams/{news}"), &change).await.success();
    let quoted = |text: &str| format!("````quote\n{text}\n````");
    let (before, after) = (quoted("all of it"), quoted("none of it"));
    let topic = |content: String| ("channel events".to_owned(), content);
    let mut found = of_bots(&app, &app.ada, channel("old news")).await;
    found[1..].sort();
    assert_eq!(
        found,
        [
            topic(format!("{ada} created this channel: **Public**. Its description:\n{before}")),
            topic(format!("{ada} changed the description of this channel.\n\nBefore:\n{before}\n\nNow:\n{after}")),
            topic(format!(
                "{ada} changed who can read this channel from **Public** to **Private, protected history**."
            )),
            topic(format!("{ada} renamed this channel from **news** to **old news**.")),
        ]
    );
}

#[tokio::test]
async fn a_channel_of_announcements_is_one_that_is_there_and_none_once_it_is_archived() {
    let app = TestApp::with_system_bots().await;
    let sandbox = app.realm().channel_by_name("sandbox").unwrap().id.to_string();
    let keys = ["new_stream_announcements_stream_id", "signup_announcements_stream_id"];
    let both = keys.map(|key| (key, sandbox.as_str()));
    app.call(&app.ada, "PATCH /realm", &both).await.success();
    let before = mark(&app);
    let unknown = app.call(&app.ada, "PATCH /realm", &[(keys[0], "999")]).await;
    unknown.refused("Invalid channel ID");
    assert_eq!(mark(&app), before);
    let queue = listen(&app, &app.ada, r#"["realm"]"#, &[]).await;
    app.call(&app.ada, &format!("DELETE /streams/{sandbox}"), &[]).await.success();
    let gone = keys.map(|key| json!({"type": "realm", "op": "update_dict", "property": "default", "data": {key: -1}}));
    assert_eq!(heard(&app, &queue).await, gone);
    assert_eq!(state(&app, &app.ada, &format!("realm_{}", keys[1])).await, json!(-1));
    app.call(&app.ada, "PATCH /realm", &[(keys[0], sandbox.as_str())]).await.refused("Invalid channel ID");
    app.call(&app.ada, "PATCH /realm", &[(keys[0], "-1")]).await.success();
}

#[tokio::test]
async fn level_397_those_whom_others_subscribe_are_told_unless_there_are_too_many() {
    let app = TestApp::with_system_bots().await;
    assert_eq!(state(&app, &app.ada, "max_bulk_new_subscription_messages").await, json!(100));
    let (sam, lea) = (app.person("sam", Role::Member).await, app.person("lea", Role::Guest).await);
    let both = json!([sam.id, lea.id, 9]).to_string();
    let others = |more: &[(&'static str, &'static str)]| {
        let mut all = vec![("principals", both.clone())];
        all.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        all
    };
    let enter = async |name: &str, parameters: Vec<(&'static str, String)>| {
        let parameters: Vec<_> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        subscribe(&app, &app.ada, name, &parameters).await
    };
    let sent = "new_subscription_messages_sent";
    assert_eq!(enter("sandbox", others(&[])).await[sent], json!(true));
    assert_eq!(enter("general", others(&[("send_new_subscription_messages", "false")])).await[sent], Value::Null);
    // Subscribers of a new channel get no message.
    assert_eq!(enter("brand new", others(&[])).await[sent], json!(true));
    let told = [notice("", "@_**Ada Lovelace|9** subscribed you to the channel #**sandbox**.")];
    for person in [&sam, &lea] {
        assert_eq!(of_bots(&app, person, dms()).await, told);
    }
    assert_eq!(of_bots(&app, &app.ada, dms()).await, []);
    let tim = app.person("tim", Role::Member).await;
    let like = app.realm().user(UserId(tim.id)).unwrap().as_ref().clone();
    let crowd = (1..=100).map(|number| {
        let (id, email) = (UserId(tim.id + number), format!("crowd{number}@example.org"));
        RealmChange::User(Box::new(User { id, email, ..like.clone() }))
    });
    put(&app, crowd.collect()).await;
    let ids = json!((0..=100).map(|number| tim.id + number).collect::<Vec<_>>()).to_string();
    assert_eq!(enter("sandbox", vec![("principals", ids)]).await[sent], json!(false));
    assert_eq!(of_bots(&app, &tim, dms()).await, []);
}

#[tokio::test]
async fn the_notification_bot_says_that_a_scheduled_message_failed() {
    let app = TestApp::with_system_bots().await;
    let sam = app.person("sam", Role::Member).await;
    let general = app.realm().channel_by_name("general").unwrap().id.to_string();
    let at = (NOW_S + 60).to_string();
    let later = [("type", "channel"), ("to", general.as_str()), ("topic", "lunch"), ("content", "hi")];
    let later = [&later[..], &[("scheduled_delivery_timestamp", at.as_str())]].concat();
    app.call(&sam, "POST /scheduled_messages", &later).await.success();
    app.call(&app.ada, &format!("DELETE /streams/{general}"), &[]).await.success();
    app.wait_s(61);
    app.send_due().await;
    let found = of_bots(&app, &sam, dms()).await;
    assert_eq!(found.len(), 1);
    assert!(found[0].1.contains("was not sent because of the following error"), "{found:?}");
    assert_eq!(state(&app, &sam, "unread_msgs").await["count"], json!(1));
}

#[tokio::test]
async fn a_new_user_is_welcomed_and_announced() {
    let app = TestApp::with_system_bots().await;
    let sandbox = app.realm().channel_by_name("sandbox").unwrap().id.to_string();
    app.call(&app.ada, "PATCH /realm", &[("signup_announcements_stream_id", sandbox.as_str())]).await.success();
    let new = [("email", "sam@example.org"), ("password", "a good one 5"), ("full_name", "Sam")];
    let id = app.call(&app.ada, "POST /users", &new).await.success()["user_id"].as_i64().unwrap();
    let key = app.call_as_nobody("POST /fetch_api_key", &[("username", new[0].1), ("password", new[1].1)]).await;
    let key = key.success()["api_key"].as_str().unwrap().to_owned();
    let sam = Person { id, email: new[0].1.to_owned(), key };
    let welcome = read(&app, &sam, dms()).await;
    assert_eq!((welcome.len(), welcome[0].0.as_str()), (1, "Welcome Bot"));
    assert!(welcome[0].2.starts_with("Hello, and welcome to Example!"), "{welcome:?}");
    let announced = [notice("signups", &format!("@_**Sam|{id}** joined the organization."))];
    assert_eq!(of_bots(&app, &app.ada, channel("sandbox")).await, announced);
}
