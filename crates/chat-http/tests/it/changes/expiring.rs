//! `message_retention_days`: old messages go, and nothing of them stays.

use chat_core::messages::retention::delete_expired_messages;

use super::*;

const DAY_S: i64 = 86_400;

/// From now on messages of `general` go after so many days, by the owner's word.
async fn keep_days(app: &TestApp, days: &str) {
    let id = channel(app, "general");
    app.call(&app.ada, &format!("PATCH /streams/{id}"), &[("message_retention_days", days)]).await.success();
}

#[tokio::test]
async fn what_is_older_than_its_channel_keeps_goes_and_its_readers_are_told() {
    let app = TestApp::found().await;
    let (general, sandbox) = (channel(&app, "general"), channel(&app, "sandbox"));
    let lunch = say(&app, &app.ada, general, ("lunch", "hi")).await;
    let more = say(&app, &app.ada, general, ("Lunch", "ho")).await;
    let dinner = say(&app, &app.ada, general, ("dinner", "hm")).await;
    let kept = [say(&app, &app.ada, sandbox, ("lunch", "hi")).await, tell(&app, &app.ada, &[], "note").await];
    keep_days(&app, "2").await;
    let since = app.store.last_event_id();
    assert_eq!(delete_expired_messages(app.store.as_ref(), NOW_S + 2 * DAY_S).await.unwrap(), 0);
    assert_eq!(app.store.last_event_id(), since);
    assert_eq!(delete_expired_messages(app.store.as_ref(), NOW_S + 2 * DAY_S + 1).await.unwrap(), 3);
    for id in [lunch, more, dinner] {
        assert!(message(&app, id).await.is_none());
        app.call(&app.ada, &format!("GET /messages/{id}"), &[]).await.refused("Invalid message(s)");
    }
    for id in kept {
        assert!(message(&app, id).await.is_some());
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
    let expected = [gone("dinner", &[dinner]), gone("lunch", &[lunch, more]), empty];
    assert_eq!(heard(&app, &app.ada, since).await, expected);
    assert_eq!(delete_expired_messages(app.store.as_ref(), NOW_S + 3 * DAY_S).await.unwrap(), 0);
}

#[tokio::test]
async fn what_went_leaves_nothing_in_flags_unread_messages_topics_and_history() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    subscribe(&app, &sam, general).await;
    let id = say(&app, &app.ada, general, ("lunch", "/poll hi")).await;
    react(&app, &sam, id, &[("emoji_name", "tada")]).await.success();
    let list = format!("[{id}]");
    app.call(&sam, "POST /messages/flags", &[("messages", &list), ("op", "add"), ("flag", "starred")]).await.success();
    app.call(&app.ada, &format!("PATCH /messages/{id}"), &[("topic", "moved")]).await.success();
    keep_days(&app, "1").await;
    assert_eq!(delete_expired_messages(app.store.as_ref(), NOW_S + 2 * DAY_S).await.unwrap(), 1);
    let state = app.call(&sam, "POST /register", &[]).await.success();
    assert_eq!((&state["unread_msgs"]["count"], &state["starred_messages"]), (&json!(0), &json!([])));
    assert!(app.store.flagged_message_ids(UserId(sam.id), MessageFlag::Starred).await.unwrap().is_empty());
    let topics = app.call(&sam, &format!("GET /users/me/{general}/topics"), &[]).await.success();
    assert_eq!(topics["topics"], json!([]));
    assert!(app.store.edit_history(MessageId(id)).await.unwrap().is_empty());
    let unstar = [("messages", list.as_str()), ("op", "remove"), ("flag", "starred")];
    assert_eq!(app.call(&sam, "POST /messages/flags", &unstar).await.success()["messages"], json!([id]));
}

#[tokio::test]
async fn a_long_past_goes_in_many_steps_and_what_is_young_stays() {
    let app = TestApp::found().await;
    let general = channel(&app, "general");
    keep_days(&app, "1").await;
    for place in 0..450 {
        say(&app, &app.ada, general, (&format!("t{}", place % 7), "old")).await;
    }
    app.wait_s(DAY_S);
    let parameters = [("type", "stream"), ("to", "general"), ("topic", "t1"), ("content", "young")];
    let young = app.call(&app.ada, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap();
    assert_eq!(delete_expired_messages(app.store.as_ref(), NOW_S + DAY_S + 1).await.unwrap(), 450);
    assert!(message(&app, young).await.is_some());
    keep_days(&app, "\"unlimited\"").await;
    assert_eq!(delete_expired_messages(app.store.as_ref(), NOW_S + 999 * DAY_S).await.unwrap(), 0);
}

#[tokio::test]
async fn the_organization_says_it_for_channels_that_say_nothing_and_for_messages_between_users() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&app, "general"), channel(&app, "sandbox"));
    let realm = async |days: &str| {
        let response = app.call(&app.ada, "PATCH /realm", &[("message_retention_days", days)]).await.success();
        let state = app.call(&sam, "POST /register", &[("fetch_event_types", r#"["realm"]"#)]).await.success();
        (response["message_retention_days"].clone(), state["realm_message_retention_days"].clone())
    };
    let kept = say(&app, &app.ada, general, ("lunch", "for ever")).await;
    keep_days(&app, "unlimited").await;
    let old = [
        say(&app, &app.ada, sandbox, ("lunch", "hi")).await,
        tell(&app, &app.ada, &[&sam], "between us").await,
        tell(&app, &app.ada, &[&sam], "between us too").await,
        tell(&app, &app.ada, &[], "note").await,
    ];
    assert_eq!(delete_expired_messages(app.store.as_ref(), NOW_S + 900 * DAY_S).await.unwrap(), 0);
    assert_eq!(realm("30").await, (json!(30), json!(30)));
    assert_eq!(delete_expired_messages(app.store.as_ref(), NOW_S + 30 * DAY_S).await.unwrap(), 0);
    assert_eq!(delete_expired_messages(app.store.as_ref(), NOW_S + 30 * DAY_S + 1).await.unwrap(), 4);
    for id in old {
        assert!(message(&app, id).await.is_none());
    }
    assert!(message(&app, kept).await.is_some());
    assert_eq!(realm("\"unlimited\"").await, (json!(-1), json!(-1)));
    tell(&app, &app.ada, &[&sam], "kept").await;
    assert_eq!(delete_expired_messages(app.store.as_ref(), NOW_S + 900 * DAY_S).await.unwrap(), 0);
}

#[tokio::test]
async fn how_long_the_organization_keeps_messages_is_the_owners_choice_in_days_or_for_ever() {
    let app = TestApp::found().await;
    let admin = app.person("admin", Role::Administrator).await;
    let choose =
        async |who: &Person, days: &str| app.call(who, "PATCH /realm", &[("message_retention_days", days)]).await;
    choose(&admin, "30").await.refused("Must be an organization owner");
    for (days, shown) in [("0", "0"), ("-1", "-1"), ("\"never\"", "never")] {
        choose(&app.ada, days).await.refused(&format!("Bad value for 'message_retention_days': {shown}"));
    }
    let state = app.call(&admin, "POST /register", &[("fetch_event_types", r#"["realm"]"#)]).await.success();
    assert_eq!(state["realm_message_retention_days"], -1);
    let since = app.store.last_event_id();
    choose(&app.ada, "7").await.success();
    let event = json!({"type": "realm", "op": "update", "property": "message_retention_days", "value": 7});
    assert_eq!(heard(&app, &admin, since).await, [event]);
}

#[tokio::test]
async fn who_sees_a_channel_is_told_when_it_begins_with_another_message() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&app, "general"), channel(&app, "sandbox"));
    let (first, second) =
        (say(&app, &app.ada, general, ("a", "one")).await, say(&app, &app.ada, general, ("a", "two")).await);
    let third = say(&app, &app.ada, sandbox, ("b", "three")).await;
    let begins = |id: i64, name: &str, value: Option<i64>| {
        json!({
            "type": "stream", "op": "update", "stream_id": id, "name": name,
            "property": "first_message_id", "value": value,
        })
    };
    let changed_since = async |since| {
        let mut events = heard(&app, &sam, since).await;
        events.retain(|event| event["type"] == "stream");
        events
    };
    let since = app.store.last_event_id();
    app.call(&app.ada, &format!("DELETE /messages/{first}"), &[]).await.success();
    assert_eq!(changed_since(since).await, [begins(general, "general", Some(second))]);
    let since = app.store.last_event_id();
    let there = sandbox.to_string();
    let quiet = ("send_notification_to_new_thread", "false");
    let to = [("stream_id", there.as_str()), quiet, ("send_notification_to_old_thread", "false")];
    app.call(&app.ada, &format!("PATCH /messages/{second}"), &to).await.success();
    assert_eq!(
        changed_since(since).await,
        [begins(general, "general", None), begins(sandbox, "sandbox", Some(second))]
    );
    let since = app.store.last_event_id();
    app.call(&app.ada, &format!("PATCH /messages/{second}"), &[("topic", "c")]).await.success();
    app.call(&app.ada, &format!("DELETE /messages/{third}"), &[]).await.success();
    assert_eq!(changed_since(since).await, Vec::<Value>::new());
}
