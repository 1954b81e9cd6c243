//! `message_retention_days`: old messages go, and nothing of them stays.

use chat_core::messages::retention::expire;

use super::*;

const DAY_S: i64 = 86_400;

/// From now on messages of `general` go after so many days, by the owner's word.
async fn keep_days(town: &Town, days: &str) {
    let id = channel(town, "general");
    town.call(&town.ada, &format!("PATCH /streams/{id}"), &[("message_retention_days", days)]).await.success();
}

#[tokio::test]
async fn what_is_older_than_its_channel_keeps_goes_and_its_readers_are_told() {
    let town = Town::found().await;
    let (general, sandbox) = (channel(&town, "general"), channel(&town, "sandbox"));
    let lunch = say(&town, &town.ada, general, ("lunch", "hi")).await;
    let more = say(&town, &town.ada, general, ("Lunch", "ho")).await;
    let dinner = say(&town, &town.ada, general, ("dinner", "hm")).await;
    let kept = [say(&town, &town.ada, sandbox, ("lunch", "hi")).await, tell(&town, &town.ada, &[], "note").await];
    keep_days(&town, "2").await;
    let since = town.store.head();
    assert_eq!(expire(town.store.as_ref(), NOW_S + 2 * DAY_S).await.unwrap(), 0);
    assert_eq!(town.store.head(), since);
    assert_eq!(expire(town.store.as_ref(), NOW_S + 2 * DAY_S + 1).await.unwrap(), 3);
    for id in [lunch, more, dinner] {
        assert!(message(&town, id).await.is_none());
        town.call(&town.ada, &format!("GET /messages/{id}"), &[]).await.refused("Invalid message(s)");
    }
    for id in kept {
        assert!(message(&town, id).await.is_some());
    }
    let gone = |topic: &str, ids: &[i64]| {
        json!({
            "type": "delete_message", "message_type": "stream", "stream_id": general, "topic": topic,
            "message_ids": ids,
        })
    };
    let empty = json!({
        "type": "stream", "op": "update", "stream_id": general, "name": "general",
        "property": "first_message_id", "value": null,
    });
    let told = [gone("dinner", &[dinner]), gone("lunch", &[lunch, more]), empty];
    assert_eq!(heard(&town, &town.ada, since).await, told);
    assert_eq!(expire(town.store.as_ref(), NOW_S + 3 * DAY_S).await.unwrap(), 0);
}

#[tokio::test]
async fn what_went_leaves_nothing_in_flags_unread_messages_topics_and_history() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    subscribe(&town, &sam, general).await;
    let id = say(&town, &town.ada, general, ("lunch", "/poll hi")).await;
    react(&town, &sam, id, &[("emoji_name", "tada")]).await.success();
    let list = format!("[{id}]");
    town.call(&sam, "POST /messages/flags", &[("messages", &list), ("op", "add"), ("flag", "starred")]).await.success();
    town.call(&town.ada, &format!("PATCH /messages/{id}"), &[("topic", "moved")]).await.success();
    keep_days(&town, "1").await;
    assert_eq!(expire(town.store.as_ref(), NOW_S + 2 * DAY_S).await.unwrap(), 1);
    let state = town.call(&sam, "POST /register", &[]).await.success();
    assert_eq!((&state["unread_msgs"]["count"], &state["starred_messages"]), (&json!(0), &json!([])));
    assert!(town.store.flagged(UserId(sam.id), Flag::Starred).await.unwrap().is_empty());
    let topics = town.call(&sam, &format!("GET /users/me/{general}/topics"), &[]).await.success();
    assert_eq!(topics["topics"], json!([]));
    assert!(town.store.edits(MessageId(id)).await.unwrap().is_empty());
    let unstar = [("messages", list.as_str()), ("op", "remove"), ("flag", "starred")];
    assert_eq!(town.call(&sam, "POST /messages/flags", &unstar).await.success()["messages"], json!([id]));
}

#[tokio::test]
async fn a_long_past_goes_in_many_steps_and_what_is_young_stays() {
    let town = Town::found().await;
    let general = channel(&town, "general");
    keep_days(&town, "1").await;
    for place in 0..450 {
        say(&town, &town.ada, general, (&format!("t{}", place % 7), "old")).await;
    }
    town.wait_s(DAY_S);
    let parameters = [("type", "stream"), ("to", "general"), ("topic", "t1"), ("content", "young")];
    let young = town.call(&town.ada, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap();
    assert_eq!(expire(town.store.as_ref(), NOW_S + DAY_S + 1).await.unwrap(), 450);
    assert!(message(&town, young).await.is_some());
    keep_days(&town, "\"unlimited\"").await;
    assert_eq!(expire(town.store.as_ref(), NOW_S + 999 * DAY_S).await.unwrap(), 0);
}

#[tokio::test]
async fn the_organization_says_it_for_channels_that_say_nothing_and_for_messages_between_users() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&town, "general"), channel(&town, "sandbox"));
    let realm = async |days: &str| {
        let told = town.call(&town.ada, "PATCH /realm", &[("message_retention_days", days)]).await.success();
        let state = town.call(&sam, "POST /register", &[("fetch_event_types", r#"["realm"]"#)]).await.success();
        (told["message_retention_days"].clone(), state["realm_message_retention_days"].clone())
    };
    let kept = say(&town, &town.ada, general, ("lunch", "for ever")).await;
    keep_days(&town, "unlimited").await;
    let old = [
        say(&town, &town.ada, sandbox, ("lunch", "hi")).await,
        tell(&town, &town.ada, &[&sam], "between us").await,
        tell(&town, &town.ada, &[&sam], "between us too").await,
        tell(&town, &town.ada, &[], "note").await,
    ];
    assert_eq!(expire(town.store.as_ref(), NOW_S + 900 * DAY_S).await.unwrap(), 0);
    assert_eq!(realm("30").await, (json!(30), json!(30)));
    assert_eq!(expire(town.store.as_ref(), NOW_S + 30 * DAY_S).await.unwrap(), 0);
    assert_eq!(expire(town.store.as_ref(), NOW_S + 30 * DAY_S + 1).await.unwrap(), 4);
    for id in old {
        assert!(message(&town, id).await.is_none());
    }
    assert!(message(&town, kept).await.is_some());
    assert_eq!(realm("\"unlimited\"").await, (json!(-1), json!(-1)));
    tell(&town, &town.ada, &[&sam], "kept").await;
    assert_eq!(expire(town.store.as_ref(), NOW_S + 900 * DAY_S).await.unwrap(), 0);
}

#[tokio::test]
async fn how_long_the_organization_keeps_messages_is_the_owners_choice_in_days_or_for_ever() {
    let town = Town::found().await;
    let admin = town.person("admin", Role::Administrator).await;
    let choose =
        async |who: &Person, days: &str| town.call(who, "PATCH /realm", &[("message_retention_days", days)]).await;
    choose(&admin, "30").await.refused("Must be an organization owner");
    for (days, shown) in [("0", "0"), ("-1", "-1"), ("\"never\"", "never")] {
        choose(&town.ada, days).await.refused(&format!("Bad value for 'message_retention_days': {shown}"));
    }
    let state = town.call(&admin, "POST /register", &[("fetch_event_types", r#"["realm"]"#)]).await.success();
    assert_eq!(state["realm_message_retention_days"], -1);
    let since = town.store.head();
    choose(&town.ada, "7").await.success();
    let event = json!({"type": "realm", "op": "update", "property": "message_retention_days", "value": 7});
    assert_eq!(heard(&town, &admin, since).await, [event]);
}

#[tokio::test]
async fn who_sees_a_channel_is_told_when_it_begins_with_another_message() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&town, "general"), channel(&town, "sandbox"));
    let (first, second) =
        (say(&town, &town.ada, general, ("a", "one")).await, say(&town, &town.ada, general, ("a", "two")).await);
    let third = say(&town, &town.ada, sandbox, ("b", "three")).await;
    let begins = |id: i64, name: &str, value: Option<i64>| {
        json!({
            "type": "stream", "op": "update", "stream_id": id, "name": name,
            "property": "first_message_id", "value": value,
        })
    };
    let told = async |since| {
        let mut events = heard(&town, &sam, since).await;
        events.retain(|event| event["type"] == "stream");
        events
    };
    let since = town.store.head();
    town.call(&town.ada, &format!("DELETE /messages/{first}"), &[]).await.success();
    assert_eq!(told(since).await, [begins(general, "general", Some(second))]);
    let since = town.store.head();
    let there = sandbox.to_string();
    let quiet = ("send_notification_to_new_thread", "false");
    let to = [("stream_id", there.as_str()), quiet, ("send_notification_to_old_thread", "false")];
    town.call(&town.ada, &format!("PATCH /messages/{second}"), &to).await.success();
    assert_eq!(told(since).await, [begins(general, "general", None), begins(sandbox, "sandbox", Some(second))]);
    let since = town.store.head();
    town.call(&town.ada, &format!("PATCH /messages/{second}"), &[("topic", "c")]).await.success();
    town.call(&town.ada, &format!("DELETE /messages/{third}"), &[]).await.success();
    assert_eq!(told(since).await, Vec::<Value>::new());
}
