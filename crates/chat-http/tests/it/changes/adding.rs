//! `POST /submessage`: polls and lists.

use super::*;

const VOTE: &str = r#"{"type": "vote", "key": "canned,0", "vote": 1}"#;

async fn send(town: &Town, who: &Person, content: &str) -> i64 {
    let channel = channel(town, "general").to_string();
    let parameters = [("type", "stream"), ("to", channel.as_str()), ("topic", "lunch"), ("content", content)];
    town.call(who, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap()
}

async fn add(town: &Town, who: &Person, id: i64, content: &str) -> Told {
    let parameters =
        [("message_id", id.to_string()), ("msg_type", "widget".to_owned()), ("content", content.to_owned())];
    let parameters: Vec<(&str, &str)> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    town.call(who, "POST /submessage", &parameters).await
}

async fn shown(town: &Town, who: &Person, id: i64) -> Value {
    town.call(who, &format!("GET /messages/{id}"), &[]).await.success()["message"]["submessages"].clone()
}

fn object(id: i64, message: i64, sender: &Person, content: &str) -> Value {
    json!({"id": id, "message_id": message, "sender_id": sender.id, "msg_type": "widget", "content": content})
}

#[tokio::test]
async fn a_poll_comes_with_its_first_submessage_and_a_vote_is_told_and_shown() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let since = town.store.head();
    let id = send(&town, &town.ada, "/poll Tea?\n- yes\nno").await;
    let poll = r#"{"widget_type": "poll", "extra_data": {"question": "Tea?", "options": ["yes", "no"]}}"#;
    let first = object(id, id, &town.ada, poll);
    assert_eq!(heard(&town, &town.ada, since).await[0]["message"]["submessages"], json!([first]));
    assert_eq!(shown(&town, &sam, id).await, json!([first]));
    // Read once, so that the vote changes what is in memory.
    let since = town.store.head();
    add(&town, &sam, id, VOTE).await.success();
    let place = town.store.head().0;
    let event = json!({
        "type": "submessage", "msg_type": "widget", "message_id": id, "submessage_id": place, "sender_id": sam.id,
        "content": VOTE,
    });
    assert_eq!(heard(&town, &town.ada, since).await, [event]);
    let second = object(place, id, &sam, VOTE);
    assert_eq!(shown(&town, &sam, id).await, json!([first, second]));
    let narrow = r#"[{"operator": "channel", "operand": "general"}]"#;
    let window = [("narrow", narrow), ("anchor", "newest"), ("num_before", "9"), ("num_after", "0")];
    let page = town.call(&sam, "GET /messages", &window).await.success();
    assert_eq!(page["messages"][0]["submessages"], json!([first, second]));
}

#[tokio::test]
async fn what_takes_no_submessage_is_left_as_it_is() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let (plain, poll) = (send(&town, &town.ada, "hi").await, send(&town, &town.ada, "/poll q").await);
    let hidden = private(&town, "hidden", &[&town.ada]).await;
    let secret = say(&town, &town.ada, hidden, ("t", "/poll q")).await;
    let head = town.store.head();
    add(&town, &sam, plain, VOTE).await.refused("You cannot attach a submessage to this message.");
    add(&town, &sam, poll, "{").await.refused("Invalid json for submessage");
    add(&town, &sam, poll, "[]").await.refused("widget data is not a dict");
    let question = r#"{"type": "question", "question": "x"}"#;
    add(&town, &sam, poll, question).await.refused("You can't edit a question unless you are the author.");
    for id in [secret, 777] {
        add(&town, &sam, id, VOTE).await.refused("Invalid message(s)");
    }
    let other = [("message_id", poll.to_string()), ("msg_type", "game".to_owned()), ("content", VOTE.to_owned())];
    let other: Vec<(&str, &str)> = other.iter().map(|(name, value)| (*name, value.as_str())).collect();
    town.call(&sam, "POST /submessage", &other).await.refused("Invalid msg_type");
    town.call(&sam, "POST /submessage", &[("content", VOTE)]).await.refused("Missing 'message_id' argument");
    assert_eq!(town.store.head(), head);
}

#[tokio::test]
async fn the_text_of_a_poll_is_not_edited_and_what_was_added_goes_with_it() {
    let town = Town::found().await;
    let id = send(&town, &town.ada, "/todo t\na: b").await;
    add(&town, &town.ada, id, r#"{"type": "strike", "key": "0,canned"}"#).await.success();
    let told = town.call(&town.ada, &format!("PATCH /messages/{id}"), &[("content", "x")]).await;
    told.refused("Widgets cannot be edited.");
    town.call(&town.ada, &format!("PATCH /messages/{id}"), &[("topic", "moved")]).await.success();
    assert_eq!(shown(&town, &town.ada, id).await.as_array().unwrap().len(), 2);
    town.call(&town.ada, &format!("DELETE /messages/{id}"), &[]).await.success();
    add(&town, &town.ada, id, VOTE).await.refused("Invalid message(s)");
}
