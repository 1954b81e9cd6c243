//! `PATCH /users/me/subscriptions/muted_topics` and `POST /user_topics`, sentence by sentence.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use super::{bot, heard, listen, mark, state};
use crate::town::{NOW_S, Person, Told, Town};

const ADD: (&str, &str) = ("op", "add");
const REMOVE: (&str, &str) = ("op", "remove");
const LUNCH: (&str, &str) = ("topic", "Lunch");
const BY_NAME: (&str, &str) = ("stream", "general");

async fn mute(town: &Town, who: &Person, parameters: &[(&str, &str)]) -> Told {
    town.call(who, "PATCH /users/me/subscriptions/muted_topics", parameters).await
}

async fn choose(town: &Town, who: &Person, (channel, topic, policy): (i64, &str, &str)) -> Told {
    let channel = channel.to_string();
    let parameters = [("stream_id", channel.as_str()), ("topic", topic), ("visibility_policy", policy)];
    town.call(who, "POST /user_topics", &parameters).await
}

fn general(town: &Town) -> i64 {
    town.realm().channel_by_name("general").unwrap().id.0
}

/// A private channel of Ada's.
async fn private(town: &Town) -> i64 {
    let parameters = [("subscriptions", r#"[{"name": "board"}]"#), ("invite_only", "true")];
    town.call(&town.ada, "POST /users/me/subscriptions", &parameters).await.success();
    town.realm().channel_by_name("board").unwrap().id.0
}

fn policy(channel: i64, topic: &str, policy: i64) -> Value {
    json!({"stream_id": channel, "topic_name": topic, "last_updated": NOW_S, "visibility_policy": policy})
}

#[tokio::test]
async fn op_add_mutes_and_op_remove_unmutes() {
    let town = Town::found().await;
    let id = general(&town).to_string();
    for channel in [("stream_id", id.as_str()), BY_NAME] {
        mute(&town, &town.ada, &[channel, LUNCH, ADD]).await.success();
        assert_eq!(state(&town, &town.ada, "muted_topics").await, json!([["general", "Lunch", NOW_S]]));
        assert_eq!(state(&town, &town.ada, "user_topics").await, json!([policy(general(&town), "Lunch", 1)]));
        mute(&town, &town.ada, &[channel, ("topic", "lunch"), REMOVE]).await.success();
        assert_eq!(state(&town, &town.ada, "muted_topics").await, json!([]));
        assert_eq!(state(&town, &town.ada, "user_topics").await, json!([]));
    }
}

#[tokio::test]
async fn repeating_an_op_succeeds() {
    let town = Town::found().await;
    mute(&town, &town.ada, &[BY_NAME, LUNCH, REMOVE]).await.success();
    mute(&town, &town.ada, &[BY_NAME, LUNCH, ADD]).await.success();
    let before = mark(&town);
    town.wait_s(5);
    mute(&town, &town.ada, &[BY_NAME, ("topic", " LUNCH "), ADD]).await.success();
    assert_eq!((mark(&town), state(&town, &town.ada, "muted_topics").await[0][2].clone()), (before, json!(NOW_S)));
}

#[tokio::test]
async fn exactly_one_of_stream_id_and_stream_is_given() {
    let town = Town::found().await;
    let id = general(&town).to_string();
    let before = mark(&town);
    let told = mute(&town, &town.ada, &[("stream_id", &id), BY_NAME, LUNCH, ADD]).await;
    told.refused("Unsupported parameter combination: stream_id, stream");
    assert_eq!(told.body["parameters"], "stream_id, stream");
    mute(&town, &town.ada, &[LUNCH, ADD]).await.refused("Missing 'stream_id' argument");
    assert_eq!(mark(&town), before);
}

#[tokio::test]
async fn topic_and_op_are_required_and_op_is_add_or_remove() {
    let town = Town::found().await;
    let before = mark(&town);
    for (parameters, text) in [
        (&[BY_NAME, ADD][..], "Missing 'topic' argument"),
        (&[BY_NAME, LUNCH], "Missing 'op' argument"),
        (&[BY_NAME, LUNCH, ("op", "toggle")], "Invalid op"),
        (&[BY_NAME, LUNCH, ("op", "\"add\"")], "Invalid op"),
        (&[("stream_id", "general"), LUNCH, ADD], "stream_id is not valid JSON"),
        (&[("stream_id", "\"1\""), LUNCH, ADD], "stream_id is not an integer"),
    ] {
        mute(&town, &town.ada, parameters).await.refused(text);
    }
    let long = "x".repeat(61);
    let told = mute(&town, &town.ada, &[BY_NAME, ("topic", &long), ADD]).await;
    told.refused("topic is too long (limit: 60 characters)");
    assert_eq!(mark(&town), before);
}

#[tokio::test]
async fn the_request_succeeds_even_if_the_topic_has_no_messages() {
    let town = Town::found().await;
    mute(&town, &town.ada, &[BY_NAME, ("topic", "never written"), ADD]).await.success();
    mute(&town, &town.ada, &[BY_NAME, ("topic", ""), ADD]).await.success();
    assert_eq!(state(&town, &town.ada, "muted_topics").await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_channel_that_is_unknown_or_not_seen_is_none() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let board = private(&town).await;
    let before = mark(&town);
    for id in ["999", &board.to_string()] {
        mute(&town, &sam, &[("stream_id", id), LUNCH, ADD]).await.refused("Invalid channel ID");
        mute(&town, &sam, &[("stream_id", id), LUNCH, REMOVE]).await.refused("Topic is not muted");
    }
    for name in ["nowhere", "board"] {
        let told = mute(&town, &sam, &[("stream", name), LUNCH, ADD]).await;
        told.refused(&format!("Invalid channel name '{name}'"));
        mute(&town, &sam, &[("stream", name), LUNCH, REMOVE]).await.refused("Topic is not muted");
    }
    assert_eq!(mark(&town), before);
}

#[tokio::test]
async fn each_policy_can_be_chosen_and_is_told_to_the_callers_own_clients() {
    let town = Town::found().await;
    let (sam, id) = (town.person("sam", Role::Member).await, general(&town));
    let newer = listen(&town, &sam, r#"["user_topic","muted_topics"]"#, &[]).await;
    let older = listen(&town, &sam, r#"["muted_topics"]"#, &[]).await;
    let all = listen(&town, &sam, "null", &[]).await;
    let other = listen(&town, &town.ada, "null", &[]).await;
    for number in ["1", "2", "3", "3", "0", "0"] {
        choose(&town, &sam, (id, "Lunch", number)).await.success();
    }
    let told = |number| {
        let mut event = policy(id, "Lunch", number);
        event["type"] = json!("user_topic");
        event
    };
    assert_eq!(heard(&town, &newer).await, [1, 2, 3, 0].map(told));
    let muted = json!({"type": "muted_topics", "muted_topics": [["general", "Lunch", NOW_S]]});
    let none = json!({"type": "muted_topics", "muted_topics": []});
    assert_eq!(heard(&town, &older).await, [muted, none.clone(), none.clone(), none]);
    assert_eq!((heard(&town, &all).await.len(), heard(&town, &other).await.len()), (8, 0));
}

#[tokio::test]
async fn a_policy_that_is_none_and_a_channel_that_is_none_are_refused() {
    let town = Town::found().await;
    let (sam, id, board) = (town.person("sam", Role::Guest).await, general(&town), private(&town).await);
    let before = mark(&town);
    let listed = "Invalid visibility_policy: Value error, Not in the list of possible values";
    for (wish, text) in [
        ((id, "x", "4"), listed),
        ((id, "x", "-1"), listed),
        ((id, "x", "true"), "visibility_policy is not an integer"),
        ((id, "x", "mute"), "visibility_policy is not valid JSON"),
        ((999, "x", "1"), "Invalid channel ID"),
        ((999, "x", "0"), "Invalid channel ID"),
        ((board, "x", "3"), "Invalid channel ID"),
        // A guest who is in no channel sees none that is not open to the web.
        ((id, "x", "1"), "Invalid channel ID"),
    ] {
        choose(&town, &sam, wish).await.refused(text);
    }
    let long = "x".repeat(61);
    choose(&town, &town.ada, (id, &long, "1")).await.refused("topic is too long (limit: 60 characters)");
    let told = town.call(&town.ada, "POST /user_topics", &[("stream_id", "1"), ("topic", "x")]).await;
    told.refused("Missing 'visibility_policy' argument");
    assert_eq!(mark(&town), before);
}

#[tokio::test]
async fn a_policy_is_let_go_of_in_a_channel_that_is_no_longer_seen() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let board = private(&town).await;
    let invite = [("subscriptions", r#"[{"name": "board"}]"#), ("principals", &format!("[{}]", sam.id))];
    town.call(&town.ada, "POST /users/me/subscriptions", &invite).await.success();
    choose(&town, &sam, (board, "Lunch", "3")).await.success();
    town.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["board"]"#)]).await.success();
    choose(&town, &sam, (board, "Lunch", "1")).await.refused("Invalid channel ID");
    choose(&town, &sam, (board, "Lunch", "0")).await.success();
    choose(&town, &sam, (board, "Lunch", "0")).await.success();
    assert_eq!(state(&town, &sam, "user_topics").await, json!([]));
}

#[tokio::test]
async fn who_left_a_private_channel_does_not_learn_its_new_name_by_what_they_muted() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let board = private(&town).await;
    let invite = [("subscriptions", r#"[{"name": "board"}]"#), ("principals", &format!("[{}]", sam.id))];
    town.call(&town.ada, "POST /users/me/subscriptions", &invite).await.success();
    mute(&town, &sam, &[("stream", "board"), LUNCH, ADD]).await.success();
    town.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["board"]"#)]).await.success();
    town.call(&town.ada, &format!("PATCH /streams/{board}"), &[("new_name", "closing the ward")]).await.success();
    let ear = listen(&town, &sam, r#"["muted_topics"]"#, &[]).await;
    mute(&town, &sam, &[BY_NAME, LUNCH, ADD]).await.success();
    let known = json!([["general", "Lunch", NOW_S]]);
    assert_eq!(state(&town, &sam, "muted_topics").await, known);
    assert_eq!(heard(&town, &ear).await[0]["muted_topics"], known);
}

#[tokio::test]
async fn bots_choose_too_and_nobody_does_not() {
    let town = Town::found().await;
    let robot = bot(&town, "robot").await;
    mute(&town, &robot, &[BY_NAME, LUNCH, ADD]).await.success();
    choose(&town, &robot, (general(&town), "Lunch", "2")).await.success();
    assert_eq!(state(&town, &robot, "user_topics").await, json!([policy(general(&town), "Lunch", 2)]));
    let told = town.call_as_nobody("POST /user_topics", &[]).await;
    assert_eq!((told.error().0, told.error().1), (401, "UNAUTHORIZED"));
}

#[tokio::test]
async fn what_is_unread_again_is_said_to_be_heard_or_not() {
    let town = Town::found().await;
    let id = general(&town);
    let parameters = [("type", "stream"), ("to", "general"), ("topic", "Lunch"), ("content", "soup")];
    let sent = town.call(&town.ada, "POST /messages", &parameters).await.success()["id"].to_string();
    let messages = format!("[{sent}]");
    let mark = async |op: &str| {
        let parameters = [("messages", messages.as_str()), ("op", op), ("flag", "read")];
        town.call(&town.ada, "POST /messages/flags", &parameters).await.success();
    };
    mark("add").await;
    for (policy, is_heard) in [("1", false), ("2", true), ("3", true), ("0", true)] {
        choose(&town, &town.ada, (id, "lunch", policy)).await.success();
        let ear = listen(&town, &town.ada, r#"["update_message_flags"]"#, &[]).await;
        mark("remove").await;
        let told = heard(&town, &ear).await;
        assert_eq!(told[0]["message_details"][&sent]["unmuted_stream_msg"], json!(is_heard), "{policy}");
        mark("add").await;
    }
}
