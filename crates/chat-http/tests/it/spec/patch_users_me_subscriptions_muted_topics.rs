//! `PATCH /users/me/subscriptions/muted_topics`
//!
//! - `op` `add` mutes and `remove` unmutes: `personal::topics::op_add_mutes_and_op_remove_unmutes`
//! - exactly one of `stream_id` and `stream`: `personal::topics::exactly_one_of_stream_id_and_stream_is_given`
//! - `topic` and `op` are required: `personal::topics::topic_and_op_are_required_and_op_is_add_or_remove`
//! - it succeeds even if the topic has no messages:
//!   `personal::topics::the_request_succeeds_even_if_the_topic_has_no_messages`
//! - from feature level 169 repeating an op succeeds: `personal::topics::repeating_an_op_succeeds`
//! - a channel that is not there: `personal::topics::a_channel_that_is_unknown_or_not_seen_is_none`
//! - its successor is `POST /user_topics`:
//!   `personal::topics::each_policy_can_be_chosen_and_is_told_to_the_callers_own_clients`

use chat_core::model::role::Role;
use serde_json::json;

use super::{archive, channel, gather, say};
use crate::personal::{heard, listen, mark, state};
use crate::town::{NOW_S, Person, Told, Town};

async fn mute(town: &Town, who: &Person, op: &str, channel: (&str, &str)) -> Told {
    town.call(who, "PATCH /users/me/subscriptions/muted_topics", &[channel, ("topic", "lunch"), ("op", op)]).await
}

#[tokio::test]
async fn a_channel_that_is_archived_is_none() {
    let town = Town::found().await;
    let id = gather(&town, "old", &[&town.ada], &[]).await.to_string();
    mute(&town, &town.ada, "add", ("stream", "old")).await.success();
    archive(&town, channel(&town, "old")).await;
    let before = mark(&town);
    let told = town
        .call(
            &town.ada,
            "PATCH /users/me/subscriptions/muted_topics",
            &[("stream_id", &id), ("topic", "dinner"), ("op", "add")],
        )
        .await;
    told.refused("Invalid channel ID");
    assert_eq!(mark(&town), before);
    // What was muted in it can be let go of.
    mute(&town, &town.ada, "remove", ("stream_id", &id)).await.success();
    assert_eq!(state(&town, &town.ada, "user_topics").await, json!([]));
}

#[tokio::test]
async fn a_guest_mutes_in_a_web_public_channel_and_where_they_are() {
    let town = Town::found().await;
    let gus = town.person("gus", Role::Guest).await;
    gather(&town, "open", &[&town.ada], &[("is_web_public", "true")]).await;
    mute(&town, &gus, "add", ("stream", "general")).await.refused("Invalid channel name 'general'");
    mute(&town, &gus, "add", ("stream", "open")).await.success();
    gather(&town, "general", &[&gus], &[]).await;
    mute(&town, &gus, "add", ("stream", "general")).await.success();
    assert_eq!(state(&town, &gus, "muted_topics").await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn of_two_that_mute_at_once_one_is_told() {
    let town = Town::found().await;
    let ear = listen(&town, &town.ada, r#"["user_topic"]"#, &[]).await;
    let general = ("stream", "general");
    let (first, second) = tokio::join!(mute(&town, &town.ada, "add", general), mute(&town, &town.ada, "add", general));
    first.success();
    second.success();
    let event = json!({
        "type": "user_topic", "stream_id": channel(&town, "general"), "topic_name": "lunch", "last_updated": NOW_S,
        "visibility_policy": 1,
    });
    assert_eq!(heard(&town, &ear).await, [event]);
}

#[tokio::test]
async fn a_muted_topic_is_not_at_home() {
    let town = Town::found().await;
    let general = channel(&town, "general");
    say(&town, &town.ada, general, ("Lunch", "soup")).await;
    say(&town, &town.ada, general, ("tea", "cake")).await;
    let home = [
        ("anchor", "newest"),
        ("num_before", "10"),
        ("num_after", "0"),
        ("narrow", r#"[{"operator": "in", "operand": "home"}]"#),
    ];
    let count =
        async || town.call(&town.ada, "GET /messages", &home).await.success()["messages"].as_array().unwrap().len();
    assert_eq!(count().await, 2);
    mute(&town, &town.ada, "add", ("stream", "general")).await.success();
    assert_eq!(count().await, 1);
    mute(&town, &town.ada, "remove", ("stream", "general")).await.success();
    assert_eq!(count().await, 2);
}

#[tokio::test]
async fn a_stream_id_is_not_null_and_the_name_a_raw_string() {
    let town = Town::found().await;
    mute(&town, &town.ada, "add", ("stream_id", "null")).await.refused("stream_id is not an integer");
    mute(&town, &town.ada, "add", ("stream", "\"general\"")).await.refused("Invalid channel name '\"general\"'");
    mute(&town, &town.ada, "add", ("stream", "")).await.refused("Invalid channel name ''");
}
