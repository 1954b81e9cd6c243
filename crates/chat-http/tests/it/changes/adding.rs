//! `POST /submessage`: polls and lists.

use super::*;

const VOTE: &str = r#"{"type": "vote", "key": "canned,0", "vote": 1}"#;

async fn send(app: &TestApp, who: &Person, content: &str) -> i64 {
    let channel = channel(app, "general").to_string();
    let parameters = [("type", "stream"), ("to", channel.as_str()), ("topic", "lunch"), ("content", content)];
    app.call(who, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap()
}

async fn add(app: &TestApp, who: &Person, id: i64, content: &str) -> TestResponse {
    let parameters =
        [("message_id", id.to_string()), ("msg_type", "widget".to_owned()), ("content", content.to_owned())];
    let parameters: Vec<(&str, &str)> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    app.call(who, "POST /submessage", &parameters).await
}

async fn shown(app: &TestApp, who: &Person, id: i64) -> Value {
    app.call(who, &format!("GET /messages/{id}"), &[]).await.success()["message"]["submessages"].clone()
}

fn object(id: i64, message: i64, sender: &Person, content: &str) -> Value {
    json!({"id": id, "message_id": message, "sender_id": sender.id, "msg_type": "widget", "content": content})
}

#[tokio::test]
async fn a_poll_comes_with_its_first_submessage_and_a_vote_is_told_and_shown() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let since = app.store.last_event_id();
    let id = send(&app, &app.ada, "/poll Tea?\n- yes\nno").await;
    let poll = r#"{"widget_type": "poll", "extra_data": {"question": "Tea?", "options": ["yes", "no"]}}"#;
    let first = object(id, id, &app.ada, poll);
    assert_eq!(heard(&app, &app.ada, since).await[0]["message"]["submessages"], json!([first]));
    assert_eq!(shown(&app, &sam, id).await, json!([first]));
    // Read once, so that the vote changes what is in memory.
    let since = app.store.last_event_id();
    add(&app, &sam, id, VOTE).await.success();
    let place = app.store.last_event_id().0;
    let event = json!({
        "type": "submessage", "msg_type": "widget", "message_id": id, "submessage_id": place, "sender_id": sam.id,
        "content": VOTE,
    });
    assert_eq!(heard(&app, &app.ada, since).await, [event]);
    let second = object(place, id, &sam, VOTE);
    assert_eq!(shown(&app, &sam, id).await, json!([first, second]));
    let narrow = r#"[{"operator": "channel", "operand": "general"}]"#;
    let window = [("narrow", narrow), ("anchor", "newest"), ("num_before", "9"), ("num_after", "0")];
    let page = app.call(&sam, "GET /messages", &window).await.success();
    assert_eq!(page["messages"][0]["submessages"], json!([first, second]));
}

#[tokio::test]
async fn what_takes_no_submessage_is_left_as_it_is() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (plain, poll) = (send(&app, &app.ada, "hi").await, send(&app, &app.ada, "/poll q").await);
    let hidden = private(&app, "hidden", &[&app.ada]).await;
    let secret = say(&app, &app.ada, hidden, ("t", "/poll q")).await;
    let head = app.store.last_event_id();
    add(&app, &sam, plain, VOTE).await.refused("You cannot attach a submessage to this message.");
    add(&app, &sam, poll, "{").await.refused("Invalid json for submessage");
    add(&app, &sam, poll, "[]").await.refused("widget data is not a dict");
    let question = r#"{"type": "question", "question": "x"}"#;
    add(&app, &sam, poll, question).await.refused("You can't edit a question unless you are the author.");
    for id in [secret, 777] {
        add(&app, &sam, id, VOTE).await.refused("Invalid message(s)");
    }
    let other = [("message_id", poll.to_string()), ("msg_type", "game".to_owned()), ("content", VOTE.to_owned())];
    let other: Vec<(&str, &str)> = other.iter().map(|(name, value)| (*name, value.as_str())).collect();
    app.call(&sam, "POST /submessage", &other).await.refused("Invalid msg_type");
    app.call(&sam, "POST /submessage", &[("content", VOTE)]).await.refused("Missing 'message_id' argument");
    assert_eq!(app.store.last_event_id(), head);
}

#[tokio::test]
async fn the_text_of_a_poll_is_not_edited_and_what_was_added_goes_with_it() {
    let app = TestApp::found().await;
    let id = send(&app, &app.ada, "/todo t\na: b").await;
    add(&app, &app.ada, id, r#"{"type": "strike", "key": "0,canned"}"#).await.success();
    let response = app.call(&app.ada, &format!("PATCH /messages/{id}"), &[("content", "x")]).await;
    response.refused("Widgets cannot be edited.");
    app.call(&app.ada, &format!("PATCH /messages/{id}"), &[("topic", "moved")]).await.success();
    assert_eq!(shown(&app, &app.ada, id).await.as_array().unwrap().len(), 2);
    app.call(&app.ada, &format!("DELETE /messages/{id}"), &[]).await.success();
    add(&app, &app.ada, id, VOTE).await.refused("Invalid message(s)");
}
