//! Messages and topics that go.

use super::*;

#[tokio::test]
async fn a_deleted_message_is_told_to_each_client_as_it_understands() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    let id = say(&town, &sam, general, ("lunch", "hi")).await;
    let direct = tell(&town, &sam, &[&town.ada], "hi").await;
    let since = town.store.head();
    town.call(&sam, &format!("DELETE /messages/{id}"), &[]).await.success();
    town.call(&sam, &format!("DELETE /messages/{direct}"), &[]).await.success();
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
        heard_by(&town, &town.ada, (since, true)).await,
        [with(&place, "message_ids", json!([id])), empty.clone(), with(&users, "message_ids", json!([direct]))]
    );
    assert_eq!(
        heard_by(&town, &town.ada, (since, false)).await,
        [with(&place, "message_id", json!(id)), empty, with(&users, "message_id", json!(direct))]
    );
    assert_eq!((message(&town, id).await, message(&town, direct).await), (None, None));
    town.call(&sam, &format!("DELETE /messages/{id}"), &[]).await.refused("Invalid message(s)");
}

#[tokio::test]
async fn others_messages_are_deleted_by_administrators_and_own_ones_for_a_while() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    let of_ada = say(&town, &town.ada, general, ("lunch", "hi")).await;
    let of_sam = say(&town, &sam, general, ("lunch", "hi")).await;
    let delete = async |who: &Person, id: i64| town.call(who, &format!("DELETE /messages/{id}"), &[]).await;
    let head = town.store.head();
    delete(&sam, of_ada).await.refused("You don't have permission to delete this message");
    town.wait_s(1_000);
    delete(&sam, of_sam).await.refused("The time limit for deleting this message has passed");
    assert_eq!(town.store.head(), head);
    delete(&town.ada, of_sam).await.success();
    assert_eq!(message(&town, of_sam).await, None);
    assert!(message(&town, of_ada).await.is_some());
}

#[tokio::test]
async fn a_topic_is_deleted_whole_and_by_administrators() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    let first = say(&town, &sam, general, ("lunch", "hi")).await;
    let other = say(&town, &sam, general, ("dinner", "hi")).await;
    let second = say(&town, &sam, general, ("LUNCH", "hi")).await;
    let delete = async |who: &Person, channel: i64, topic: &str| {
        town.call(who, &format!("POST /streams/{channel}/delete_topic"), &[("topic_name", topic)]).await
    };
    let since = town.store.head();
    delete(&sam, general, "lunch").await.refused("Must be an organization administrator");
    delete(&town.ada, general, "breakfast").await.refused("No such topic 'breakfast'");
    delete(&town.ada, 999, "lunch").await.refused("Invalid channel ID");
    assert_eq!(town.store.head(), since);
    assert_eq!(delete(&town.ada, general, "Lunch").await.success()["complete"], true);
    let told = heard_of_messages(&town, &sam, since).await;
    assert_eq!(told.iter().map(|event| &event["message_ids"]).collect::<Vec<_>>(), [&json!([first, second])]);
    assert!(message(&town, other).await.is_some());
    let hidden = private(&town, "hidden", &[&sam]).await;
    let kept = say(&town, &sam, hidden, ("lunch", "hi")).await;
    delete(&town.ada, hidden, "lunch").await.refused("No such topic 'lunch'");
    assert!(message(&town, kept).await.is_some());
}
