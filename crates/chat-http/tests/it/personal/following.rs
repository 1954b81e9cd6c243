//! Topics that people follow, or hear again, by what they do there: `automatically_follow_topics_policy`,
//! `automatically_unmute_topics_in_muted_streams_policy` and `automatically_follow_topics_where_mentioned`.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use super::{bot, heard, listen, mark, state};
use crate::test_app::{NOW_S, Person, TestApp};

const FOLLOW: &str = "automatically_follow_topics_policy";
const UNMUTE: &str = "automatically_unmute_topics_in_muted_streams_policy";
const MENTIONED: &str = "automatically_follow_topics_where_mentioned";

/// Sends to `general`; what the sender is told.
async fn say(app: &TestApp, who: &Person, (topic, content): (&str, &str)) -> Value {
    let parameters = [("type", "stream"), ("to", "general"), ("topic", topic), ("content", content)];
    app.call(who, "POST /messages", &parameters).await.success()
}

async fn prefer(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) {
    app.call(who, "PATCH /settings", parameters).await.success();
}

/// A user in `general`.
async fn member(app: &TestApp, name: &str) -> Person {
    let person = app.person(name, Role::Member).await;
    let parameters = [("subscriptions", r#"[{"name": "general"}]"#)];
    app.call(&person, "POST /users/me/subscriptions", &parameters).await.success();
    person
}

async fn mute_general(app: &TestApp, who: &Person) {
    let id = app.realm().channel_by_name("general").unwrap().id;
    let muted = json!([{"stream_id": id, "property": "is_muted", "value": true}]).to_string();
    let parameters = [("subscription_data", muted.as_str())];
    app.call(who, "POST /users/me/subscriptions/properties", &parameters).await.success();
}

/// The policies of a user, by topic.
async fn policies(app: &TestApp, who: &Person) -> Vec<(String, i64)> {
    let topics = state(app, who, "user_topics").await;
    let policy = |topic: &Value| {
        (topic["topic_name"].as_str().unwrap().to_owned(), topic["visibility_policy"].as_i64().unwrap())
    };
    topics.as_array().unwrap().iter().map(policy).collect()
}

fn followed(topic: &str) -> Vec<(String, i64)> {
    vec![(topic.to_owned(), 3)]
}

#[tokio::test]
async fn who_starts_a_topic_follows_it_unless_they_chose_otherwise() {
    let app = TestApp::found().await;
    let sam = member(&app, "sam").await;
    let queue = listen(&app, &app.ada, r#"["message","user_topic"]"#, &[]).await;
    let response = say(&app, &app.ada, ("Lunch", "soup?")).await;
    assert_eq!(response["automatic_new_visibility_policy"], json!(3));
    let kinds: Vec<_> = heard(&app, &queue).await.iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["message", "user_topic"]);
    assert_eq!(policies(&app, &app.ada).await, followed("Lunch"));

    let again = say(&app, &app.ada, ("lunch", "or stew?")).await;
    let answer = say(&app, &sam, ("LUNCH", "stew")).await;
    let keys = |response: &Value| response.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((keys(&again), keys(&answer)), (vec!["result".into(), "msg".into(), "id".into()], keys(&again)));
    assert_eq!(policies(&app, &sam).await, []);

    prefer(&app, &sam, &[(FOLLOW, "4")]).await;
    say(&app, &sam, ("Dinner", "fish")).await;
    assert_eq!(policies(&app, &sam).await, []);
}

#[tokio::test]
async fn who_sends_to_a_topic_follows_it_when_they_chose_so() {
    let app = TestApp::found().await;
    let sam = member(&app, "sam").await;
    prefer(&app, &sam, &[(FOLLOW, "2")]).await;
    let id = say(&app, &app.ada, ("Lunch", "soup?")).await["id"].clone();
    react(&app, &sam, &id).await;
    assert_eq!(policies(&app, &sam).await, []);
    assert_eq!(say(&app, &sam, ("lunch", "yes")).await["automatic_new_visibility_policy"], json!(3));
    assert_eq!(policies(&app, &sam).await, followed("lunch"));
}

async fn react(app: &TestApp, who: &Person, id: &Value) {
    let path = format!("POST /messages/{id}/reactions");
    app.call(who, &path, &[("emoji_name", "smile")]).await.success();
}

#[tokio::test]
async fn who_participates_in_a_topic_follows_it_when_they_chose_so() {
    let app = TestApp::found().await;
    let sam = member(&app, "sam").await;
    prefer(&app, &sam, &[(FOLLOW, "1")]).await;
    let id = say(&app, &app.ada, ("Lunch", "soup?")).await["id"].clone();
    react(&app, &sam, &id).await;
    assert_eq!(policies(&app, &sam).await, followed("Lunch"));
    let id = say(&app, &app.ada, ("Dinner", "/poll Fish?\nyes\nno")).await["id"].to_string();
    let vote = json!({"type": "vote", "key": "canned,0", "vote": 1}).to_string();
    let parameters = [("message_id", id.as_str()), ("msg_type", "widget"), ("content", vote.as_str())];
    app.call(&sam, "POST /submessage", &parameters).await.success();
    assert_eq!(policies(&app, &sam).await, [("Dinner".to_owned(), 3), ("Lunch".to_owned(), 3)]);
}

#[tokio::test]
async fn a_topic_of_a_muted_channel_is_heard_again_by_who_sends_to_it() {
    let app = TestApp::found().await;
    let sam = member(&app, "sam").await;
    say(&app, &app.ada, ("Lunch", "soup?")).await;
    mute_general(&app, &sam).await;
    assert_eq!(say(&app, &sam, ("Lunch", "yes")).await["automatic_new_visibility_policy"], json!(2));
    assert_eq!(policies(&app, &sam).await, [("Lunch".to_owned(), 2)]);
    // To follow is more than to hear again.
    assert_eq!(say(&app, &sam, ("Dinner", "fish?")).await["automatic_new_visibility_policy"], json!(3));
    prefer(&app, &sam, &[(FOLLOW, "4"), (UNMUTE, "4")]).await;
    assert_eq!(say(&app, &sam, ("Tea", "scones?")).await.get("automatic_new_visibility_policy"), None);
}

#[tokio::test]
async fn who_is_mentioned_in_a_topic_follows_it_unless_they_chose_otherwise() {
    let app = TestApp::found().await;
    let (sam, bea) = (member(&app, "sam").await, member(&app, "bea").await);
    let stranger = app.person("eve", Role::Member).await;
    prefer(&app, &bea, &[(MENTIONED, "false")]).await;
    say(&app, &app.ada, ("Lunch", "@**sam** @**bea** @**eve** @**Ada Lovelace** soup?")).await;
    assert_eq!(policies(&app, &sam).await, followed("Lunch"));
    assert_eq!((policies(&app, &bea).await, policies(&app, &stranger).await), (vec![], vec![]));
}

#[tokio::test]
async fn a_topic_that_was_muted_stays_muted() {
    let app = TestApp::found().await;
    let sam = member(&app, "sam").await;
    prefer(&app, &sam, &[(FOLLOW, "1")]).await;
    let mute = [("stream", "general"), ("topic", "Lunch"), ("op", "add")];
    app.call(&sam, "PATCH /users/me/subscriptions/muted_topics", &mute).await.success();
    say(&app, &app.ada, ("Lunch", "@**sam** soup?")).await;
    assert_eq!(say(&app, &sam, ("Lunch", "no")).await.get("automatic_new_visibility_policy"), None);
    assert_eq!(policies(&app, &sam).await, [("Lunch".to_owned(), 1)]);
}

#[tokio::test]
async fn bots_and_direct_messages_follow_nothing() {
    let app = TestApp::found().await;
    let robot = bot(&app, "robot").await;
    let response = say(&app, &robot, ("Lunch", "soup")).await;
    assert_eq!((response.get("automatic_new_visibility_policy"), policies(&app, &robot).await), (None, vec![]));
    let before = mark(&app);
    let to = format!("[{}]", robot.id);
    let parameters = [("type", "direct"), ("to", to.as_str()), ("content", "@**robot** hi")];
    let response = app.call(&app.ada, "POST /messages", &parameters).await.success();
    assert_eq!(response.get("automatic_new_visibility_policy"), None);
    assert_eq!(mark(&app).0, before.0 + 1);
}

#[tokio::test]
async fn a_topic_whose_messages_are_gone_is_started_again() {
    let app = TestApp::found().await;
    let sam = member(&app, "sam").await;
    let id = say(&app, &app.ada, ("Lunch", "soup?")).await["id"].clone();
    say(&app, &sam, ("Lunch", "yes")).await;
    app.call(&app.ada, &format!("DELETE /messages/{id}"), &[]).await.success();
    assert_eq!(say(&app, &sam, ("Lunch", "yes")).await.get("automatic_new_visibility_policy"), None);
    let messages = [("anchor", "newest"), ("num_before", "10"), ("num_after", "0"), ("narrow", "[]")];
    let response = app.call(&sam, "GET /messages", &messages).await.success();
    for message in response["messages"].as_array().unwrap() {
        app.call(&app.ada, &format!("DELETE /messages/{}", message["id"]), &[]).await.success();
    }
    assert_eq!(say(&app, &sam, ("Lunch", "stew?")).await["automatic_new_visibility_policy"], json!(3));
}

#[tokio::test]
async fn what_people_chose_for_a_topic_goes_with_it_when_all_of_it_moves() {
    let app = TestApp::found().await;
    let sam = member(&app, "sam").await;
    prefer(&app, &sam, &[(FOLLOW, "4")]).await;
    let id = say(&app, &app.ada, ("Lunch", "soup?")).await["id"].clone();
    say(&app, &sam, ("Lunch", "yes")).await;
    let mute = [("stream", "general"), ("topic", "lunch"), ("op", "add")];
    app.call(&sam, "PATCH /users/me/subscriptions/muted_topics", &mute).await.success();
    let rename = async |to: &str, mode: &str| {
        let parameters = [("topic", to), ("propagate_mode", mode)];
        app.call(&app.ada, &format!("PATCH /messages/{id}"), &parameters).await.success();
    };
    // A part of it is no move of the topic.
    rename("Soup", "change_one").await;
    assert_eq!((policies(&app, &app.ada).await, policies(&app, &sam).await[0].1), (followed("Lunch"), 1));
    rename("Lunch", "change_one").await;
    let queue = listen(&app, &sam, r#"["muted_topics"]"#, &[]).await;
    rename("✔ Lunch", "change_all").await;
    assert_eq!(policies(&app, &app.ada).await, followed("✔ Lunch"));
    assert_eq!(policies(&app, &sam).await, [("✔ Lunch".to_owned(), 1)]);
    let muted = heard(&app, &queue).await.into_iter().map(|event| event["muted_topics"].clone());
    assert_eq!(muted.collect::<Vec<_>>(), [json!([]), json!([["general", "✔ Lunch", NOW_S]])]);
    // Who did not mute where it goes hears it there.
    say(&app, &app.ada, ("Dinner", "fish?")).await;
    rename("Dinner", "change_all").await;
    assert_eq!((policies(&app, &app.ada).await, policies(&app, &sam).await), (followed("Dinner"), vec![]));
}
