//! Topics that people follow, or hear again, by what they do there: `automatically_follow_topics_policy`,
//! `automatically_unmute_topics_in_muted_streams_policy` and `automatically_follow_topics_where_mentioned`.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use super::{bot, heard, listen, mark, state};
use crate::town::{NOW_S, Person, Town};

const FOLLOW: &str = "automatically_follow_topics_policy";
const UNMUTE: &str = "automatically_unmute_topics_in_muted_streams_policy";
const MENTIONED: &str = "automatically_follow_topics_where_mentioned";

/// Sends to `general`; what the sender is told.
async fn say(town: &Town, who: &Person, (topic, content): (&str, &str)) -> Value {
    let parameters = [("type", "stream"), ("to", "general"), ("topic", topic), ("content", content)];
    town.call(who, "POST /messages", &parameters).await.success()
}

async fn prefer(town: &Town, who: &Person, parameters: &[(&str, &str)]) {
    town.call(who, "PATCH /settings", parameters).await.success();
}

/// Somebody in `general`.
async fn member(town: &Town, name: &str) -> Person {
    let person = town.person(name, Role::Member).await;
    let parameters = [("subscriptions", r#"[{"name": "general"}]"#)];
    town.call(&person, "POST /users/me/subscriptions", &parameters).await.success();
    person
}

async fn mute_general(town: &Town, who: &Person) {
    let id = town.realm().channel_by_name("general").unwrap().id;
    let muted = json!([{"stream_id": id, "property": "is_muted", "value": true}]).to_string();
    let parameters = [("subscription_data", muted.as_str())];
    town.call(who, "POST /users/me/subscriptions/properties", &parameters).await.success();
}

/// The policies of somebody, by topic.
async fn policies(town: &Town, who: &Person) -> Vec<(String, i64)> {
    let topics = state(town, who, "user_topics").await;
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
    let town = Town::found().await;
    let sam = member(&town, "sam").await;
    let ear = listen(&town, &town.ada, r#"["message","user_topic"]"#, &[]).await;
    let told = say(&town, &town.ada, ("Lunch", "soup?")).await;
    assert_eq!(told["automatic_new_visibility_policy"], json!(3));
    let kinds: Vec<_> = heard(&town, &ear).await.iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["message", "user_topic"]);
    assert_eq!(policies(&town, &town.ada).await, followed("Lunch"));

    let again = say(&town, &town.ada, ("lunch", "or stew?")).await;
    let answer = say(&town, &sam, ("LUNCH", "stew")).await;
    let keys = |told: &Value| told.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((keys(&again), keys(&answer)), (vec!["result".into(), "msg".into(), "id".into()], keys(&again)));
    assert_eq!(policies(&town, &sam).await, []);

    prefer(&town, &sam, &[(FOLLOW, "4")]).await;
    say(&town, &sam, ("Dinner", "fish")).await;
    assert_eq!(policies(&town, &sam).await, []);
}

#[tokio::test]
async fn who_sends_to_a_topic_follows_it_when_they_chose_so() {
    let town = Town::found().await;
    let sam = member(&town, "sam").await;
    prefer(&town, &sam, &[(FOLLOW, "2")]).await;
    let id = say(&town, &town.ada, ("Lunch", "soup?")).await["id"].clone();
    react(&town, &sam, &id).await;
    assert_eq!(policies(&town, &sam).await, []);
    assert_eq!(say(&town, &sam, ("lunch", "yes")).await["automatic_new_visibility_policy"], json!(3));
    assert_eq!(policies(&town, &sam).await, followed("lunch"));
}

async fn react(town: &Town, who: &Person, id: &Value) {
    let path = format!("POST /messages/{id}/reactions");
    town.call(who, &path, &[("emoji_name", "smile")]).await.success();
}

#[tokio::test]
async fn who_participates_in_a_topic_follows_it_when_they_chose_so() {
    let town = Town::found().await;
    let sam = member(&town, "sam").await;
    prefer(&town, &sam, &[(FOLLOW, "1")]).await;
    let id = say(&town, &town.ada, ("Lunch", "soup?")).await["id"].clone();
    react(&town, &sam, &id).await;
    assert_eq!(policies(&town, &sam).await, followed("Lunch"));
    let id = say(&town, &town.ada, ("Dinner", "/poll Fish?\nyes\nno")).await["id"].to_string();
    let vote = json!({"type": "vote", "key": "canned,0", "vote": 1}).to_string();
    let parameters = [("message_id", id.as_str()), ("msg_type", "widget"), ("content", vote.as_str())];
    town.call(&sam, "POST /submessage", &parameters).await.success();
    assert_eq!(policies(&town, &sam).await, [("Dinner".to_owned(), 3), ("Lunch".to_owned(), 3)]);
}

#[tokio::test]
async fn a_topic_of_a_muted_channel_is_heard_again_by_who_sends_to_it() {
    let town = Town::found().await;
    let sam = member(&town, "sam").await;
    say(&town, &town.ada, ("Lunch", "soup?")).await;
    mute_general(&town, &sam).await;
    assert_eq!(say(&town, &sam, ("Lunch", "yes")).await["automatic_new_visibility_policy"], json!(2));
    assert_eq!(policies(&town, &sam).await, [("Lunch".to_owned(), 2)]);
    // To follow is more than to hear again.
    assert_eq!(say(&town, &sam, ("Dinner", "fish?")).await["automatic_new_visibility_policy"], json!(3));
    prefer(&town, &sam, &[(FOLLOW, "4"), (UNMUTE, "4")]).await;
    assert_eq!(say(&town, &sam, ("Tea", "scones?")).await.get("automatic_new_visibility_policy"), None);
}

#[tokio::test]
async fn who_is_mentioned_in_a_topic_follows_it_unless_they_chose_otherwise() {
    let town = Town::found().await;
    let (sam, bea) = (member(&town, "sam").await, member(&town, "bea").await);
    let stranger = town.person("eve", Role::Member).await;
    prefer(&town, &bea, &[(MENTIONED, "false")]).await;
    say(&town, &town.ada, ("Lunch", "@**sam** @**bea** @**eve** @**Ada Lovelace** soup?")).await;
    assert_eq!(policies(&town, &sam).await, followed("Lunch"));
    assert_eq!((policies(&town, &bea).await, policies(&town, &stranger).await), (vec![], vec![]));
}

#[tokio::test]
async fn a_topic_that_was_muted_stays_muted() {
    let town = Town::found().await;
    let sam = member(&town, "sam").await;
    prefer(&town, &sam, &[(FOLLOW, "1")]).await;
    let mute = [("stream", "general"), ("topic", "Lunch"), ("op", "add")];
    town.call(&sam, "PATCH /users/me/subscriptions/muted_topics", &mute).await.success();
    say(&town, &town.ada, ("Lunch", "@**sam** soup?")).await;
    assert_eq!(say(&town, &sam, ("Lunch", "no")).await.get("automatic_new_visibility_policy"), None);
    assert_eq!(policies(&town, &sam).await, [("Lunch".to_owned(), 1)]);
}

#[tokio::test]
async fn bots_and_direct_messages_follow_nothing() {
    let town = Town::found().await;
    let robot = bot(&town, "robot").await;
    let told = say(&town, &robot, ("Lunch", "soup")).await;
    assert_eq!((told.get("automatic_new_visibility_policy"), policies(&town, &robot).await), (None, vec![]));
    let before = mark(&town);
    let to = format!("[{}]", robot.id);
    let parameters = [("type", "direct"), ("to", to.as_str()), ("content", "@**robot** hi")];
    let told = town.call(&town.ada, "POST /messages", &parameters).await.success();
    assert_eq!(told.get("automatic_new_visibility_policy"), None);
    assert_eq!(mark(&town).0, before.0 + 1);
}

#[tokio::test]
async fn a_topic_whose_messages_are_gone_is_started_again() {
    let town = Town::found().await;
    let sam = member(&town, "sam").await;
    let id = say(&town, &town.ada, ("Lunch", "soup?")).await["id"].clone();
    say(&town, &sam, ("Lunch", "yes")).await;
    town.call(&town.ada, &format!("DELETE /messages/{id}"), &[]).await.success();
    assert_eq!(say(&town, &sam, ("Lunch", "yes")).await.get("automatic_new_visibility_policy"), None);
    let messages = [("anchor", "newest"), ("num_before", "10"), ("num_after", "0"), ("narrow", "[]")];
    let told = town.call(&sam, "GET /messages", &messages).await.success();
    for message in told["messages"].as_array().unwrap() {
        town.call(&town.ada, &format!("DELETE /messages/{}", message["id"]), &[]).await.success();
    }
    assert_eq!(say(&town, &sam, ("Lunch", "stew?")).await["automatic_new_visibility_policy"], json!(3));
}

#[tokio::test]
async fn what_people_chose_for_a_topic_goes_with_it_when_all_of_it_moves() {
    let town = Town::found().await;
    let sam = member(&town, "sam").await;
    prefer(&town, &sam, &[(FOLLOW, "4")]).await;
    let id = say(&town, &town.ada, ("Lunch", "soup?")).await["id"].clone();
    say(&town, &sam, ("Lunch", "yes")).await;
    let mute = [("stream", "general"), ("topic", "lunch"), ("op", "add")];
    town.call(&sam, "PATCH /users/me/subscriptions/muted_topics", &mute).await.success();
    let rename = async |to: &str, mode: &str| {
        let parameters = [("topic", to), ("propagate_mode", mode)];
        town.call(&town.ada, &format!("PATCH /messages/{id}"), &parameters).await.success();
    };
    // A part of it is no move of the topic.
    rename("Soup", "change_one").await;
    assert_eq!((policies(&town, &town.ada).await, policies(&town, &sam).await[0].1), (followed("Lunch"), 1));
    rename("Lunch", "change_one").await;
    let ear = listen(&town, &sam, r#"["muted_topics"]"#, &[]).await;
    rename("✔ Lunch", "change_all").await;
    assert_eq!(policies(&town, &town.ada).await, followed("✔ Lunch"));
    assert_eq!(policies(&town, &sam).await, [("✔ Lunch".to_owned(), 1)]);
    let muted = heard(&town, &ear).await.into_iter().map(|event| event["muted_topics"].clone());
    assert_eq!(muted.collect::<Vec<_>>(), [json!([]), json!([["general", "✔ Lunch", NOW_S]])]);
    // Who did not mute where it goes hears it there.
    say(&town, &town.ada, ("Dinner", "fish?")).await;
    rename("Dinner", "change_all").await;
    assert_eq!((policies(&town, &town.ada).await, policies(&town, &sam).await), (followed("Dinner"), vec![]));
}
