//! Messages and topics that go.

use super::*;

#[tokio::test]
async fn a_deleted_message_is_told_to_each_client_as_it_understands() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    let id = say(&app, &sam, general, ("lunch", "hi")).await;
    let direct = tell(&app, &sam, &[&app.ada], "hi").await;
    let since = app.store.last_event_id();
    app.call(&sam, &format!("DELETE /messages/{id}"), &[]).await.success();
    app.call(&sam, &format!("DELETE /messages/{direct}"), &[]).await.success();
    let place = json!({"type": "delete_message", "message_type": "stream", "stream_id": general, "topic": "lunch"});
    let users = json!({"type": "delete_message", "message_type": "private"});
    let with = |event: &Value, key: &str, value: Value| {
        let mut event = event.clone();
        event[key] = value;
        event
    };
    let empty = json!({
        "type": "stream", "op": "update", "stream_id": general, "name": "general",
        "property": "first_message_id", "value": null,
    });
    assert_eq!(
        heard_by(&app, &app.ada, (since, true)).await,
        [with(&place, "message_ids", json!([id])), empty.clone(), with(&users, "message_ids", json!([direct]))]
    );
    assert_eq!(
        heard_by(&app, &app.ada, (since, false)).await,
        [with(&place, "message_id", json!(id)), empty, with(&users, "message_id", json!(direct))]
    );
    assert_eq!((message(&app, id).await, message(&app, direct).await), (None, None));
    app.call(&sam, &format!("DELETE /messages/{id}"), &[]).await.refused("Invalid message(s)");
}

#[tokio::test]
async fn others_messages_are_deleted_by_administrators_and_own_ones_for_a_while() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    let of_ada = say(&app, &app.ada, general, ("lunch", "hi")).await;
    let of_sam = say(&app, &sam, general, ("lunch", "hi")).await;
    let delete = async |who: &Person, id: i64| app.call(who, &format!("DELETE /messages/{id}"), &[]).await;
    let head = app.store.last_event_id();
    delete(&sam, of_ada).await.refused("You don't have permission to delete this message");
    app.wait_s(1_000);
    delete(&sam, of_sam).await.refused("The time limit for deleting this message has passed");
    assert_eq!(app.store.last_event_id(), head);
    delete(&app.ada, of_sam).await.success();
    assert_eq!(message(&app, of_sam).await, None);
    assert!(message(&app, of_ada).await.is_some());
}

#[tokio::test]
async fn a_topic_is_deleted_whole_and_by_administrators() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    let first = say(&app, &sam, general, ("lunch", "hi")).await;
    let other = say(&app, &sam, general, ("dinner", "hi")).await;
    let second = say(&app, &sam, general, ("LUNCH", "hi")).await;
    let delete = async |who: &Person, channel: i64, topic: &str| {
        app.call(who, &format!("POST /streams/{channel}/delete_topic"), &[("topic_name", topic)]).await
    };
    let since = app.store.last_event_id();
    delete(&sam, general, "lunch").await.refused("Must be an organization administrator");
    delete(&app.ada, general, "breakfast").await.refused("No such topic 'breakfast'");
    delete(&app.ada, 999, "lunch").await.refused("Invalid channel ID");
    assert_eq!(app.store.last_event_id(), since);
    assert_eq!(delete(&app.ada, general, "Lunch").await.success()["complete"], true);
    let events = heard_of_messages(&app, &sam, since).await;
    assert_eq!(events.iter().map(|event| &event["message_ids"]).collect::<Vec<_>>(), [&json!([first, second])]);
    assert!(message(&app, other).await.is_some());
    let hidden = private(&app, "hidden", &[&sam]).await;
    let kept = say(&app, &sam, hidden, ("lunch", "hi")).await;
    delete(&app.ada, hidden, "lunch").await.refused("No such topic 'lunch'");
    assert!(message(&app, kept).await.is_some());
}
