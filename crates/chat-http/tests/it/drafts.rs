//! `/drafts`.

use chat_core::event_log::event::EventBody;
use chat_core::event_log::store::EventLog as _;
use chat_core::id::EventId;
use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

async fn create(app: &TestApp, who: &Person, drafts: &Value) -> TestResponse {
    app.call(who, "POST /drafts", &[("drafts", &drafts.to_string())]).await
}

async fn list(app: &TestApp, who: &Person) -> Value {
    app.call(who, "GET /drafts", &[]).await.success()
}

fn direct(to: &[i64], content: &str) -> Value {
    json!({"type": "private", "to": to, "topic": "", "content": content, "timestamp": 1_700_000_000})
}

fn in_channel(channel: i64, topic: &str) -> Value {
    json!({"type": "stream", "to": [channel], "topic": topic, "content": "x", "timestamp": 1_700_000_001})
}

fn general(app: &TestApp) -> i64 {
    app.realm().channel_by_name("general").unwrap().id.0
}

/// The events of drafts since, whoever they are for.
async fn draft_events(app: &TestApp, since: EventId) -> Vec<Value> {
    let records = app.store.records_after(since, 1_000).await.unwrap().unwrap();
    let drafts = records.iter().filter(|record| record.event_type() == "drafts");
    drafts
        .filter_map(|record| match &record.event.as_ref()?.body {
            EventBody::Plain { event, .. } => Some(event.clone()),
            _ => None,
        })
        .collect()
}

fn with_id(mut draft: Value, id: &Value) -> Value {
    draft["id"] = id.clone();
    draft
}

#[tokio::test]
async fn drafts_are_kept_listed_told_changed_and_deleted() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let since = app.store.last_event_id();
    let (first, second) = (direct(&[sam.id], "psst"), in_channel(general(&app), "lunch"));
    let ids = create(&app, &app.ada, &json!([first, second])).await.success()["ids"].clone();
    let (first, second) = (with_id(first, &ids[0]), with_id(second, &ids[1]));
    let all = list(&app, &app.ada).await;
    assert_eq!((&all["count"], &all["drafts"]), (&json!(2), &json!([first, second])));
    assert_eq!(list(&app, &sam).await["count"], 0);
    let path = format!("/drafts/{}", ids[0]);
    let other = direct(&[], "else");
    app.call(&app.ada, &format!("PATCH {path}"), &[("draft", &other.to_string())]).await.success();
    let other = with_id(other, &ids[0]);
    assert_eq!(list(&app, &app.ada).await["drafts"][0], other);
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    assert_eq!(state["drafts"], json!([other, second]));
    app.call(&app.ada, &format!("DELETE {path}"), &[]).await.success();
    assert_eq!(list(&app, &app.ada).await["drafts"], json!([second]));
    assert_eq!(
        draft_events(&app, since).await,
        [
            json!({"type": "drafts", "op": "add", "drafts": [first]}),
            json!({"type": "drafts", "op": "add", "drafts": [second]}),
            json!({"type": "drafts", "op": "update", "draft": other}),
            json!({"type": "drafts", "op": "remove", "draft_id": ids[0]}),
        ]
    );
}

#[tokio::test]
async fn a_draft_may_have_no_place_and_no_time_yet() {
    let app = TestApp::found().await;
    let nowhere = json!({"type": "", "to": [], "topic": "t", "content": "x"});
    let fraction = json!({"type": "stream", "to": [general(&app)], "topic": " ", "content": "y", "timestamp": 5.75});
    let ids = create(&app, &app.ada, &json!([nowhere, fraction])).await.success()["ids"].clone();
    let drafts = list(&app, &app.ada).await["drafts"].clone();
    assert_eq!(drafts[1], json!({"id": ids[0], "type": "", "to": [], "topic": "", "content": "x", "timestamp": NOW_S}));
    assert_eq!((&drafts[0]["timestamp"], &drafts[0]["topic"]), (&json!(5), &json!("")));
}

#[tokio::test]
async fn what_is_no_draft_is_refused_and_none_of_its_list_is_kept() {
    let app = TestApp::found().await;
    let good = direct(&[app.ada.id], "good");
    let with = |key: &str, value: Value| {
        let mut draft = good.clone();
        draft[key] = value;
        json!([good, draft])
    };
    let without = |key: &str| {
        let mut draft = good.clone();
        draft.as_object_mut().unwrap().remove(key);
        json!([draft])
    };
    for (drafts, text) in [
        (with("type", json!("draft")), r#"Invalid drafts[1]["type"]"#),
        (with("content", json!(" ")), r#"drafts[1]["content"] cannot be blank"#),
        (with("foo", json!(1)), r#"Argument "foo" at drafts[1]["foo"] is unexpected"#),
        (with("to", json!(9)), r#"drafts[1]["to"] is not a list"#),
        (with("to", json!([777])), "Invalid user ID 777"),
        (with("to", json!((0..300).collect::<Vec<_>>())), "Too many recipients (maximum 200)."),
        (with("timestamp", json!("now")), r#"drafts[1]["timestamp"] is not an integer"#),
        (with("timestamp", json!(-1)), "Timestamp must not be negative."),
        (with("type", json!("stream")), "Invalid channel ID"),
        (json!([in_channel(777, "t")]), "Invalid channel ID"),
        (
            json!([{"type": "stream", "to": [], "topic": "", "content": "x"}]),
            "Must specify exactly 1 channel ID for channel messages",
        ),
        (json!([in_channel(general(&app), "a\u{7}")]), "Invalid character in topic, at position 2!"),
        (without("to"), r#"drafts[0]["to"] field is missing: Field required"#),
        (json!({}), "drafts is not a list"),
        (json!([1]), "drafts[0] is not a dict"),
    ] {
        create(&app, &app.ada, &drafts).await.refused(text);
    }
    app.call(&app.ada, "POST /drafts", &[]).await.refused("Missing 'drafts' argument");
    let many: Vec<&Value> = std::iter::repeat_n(&good, 1_001).collect();
    create(&app, &app.ada, &json!(many)).await.refused("Too many drafts (maximum 1000).");
    assert_eq!(list(&app, &app.ada).await["count"], 0);
}

#[tokio::test]
async fn nobody_changes_a_draft_that_is_not_theirs() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = create(&app, &app.ada, &json!([direct(&[], "x")])).await.success()["ids"][0].clone();
    let none = (404, "BAD_REQUEST", "Draft does not exist");
    let draft = direct(&[], "y").to_string();
    let response = app.call(&sam, &format!("PATCH /drafts/{id}"), &[("draft", &draft)]).await;
    assert_eq!(response.error(), none);
    assert_eq!(app.call(&sam, &format!("DELETE /drafts/{id}"), &[]).await.error(), none);
    assert_eq!(app.call(&app.ada, "DELETE /drafts/1", &[]).await.error(), none);
    assert_eq!(list(&app, &app.ada).await["drafts"][0]["content"], "x");
}

#[tokio::test]
async fn that_a_draft_is_not_there_is_said_before_what_it_could_not_become() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = create(&app, &app.ada, &json!([direct(&[], "x")])).await.success()["ids"][0].clone();
    let early = json!({"type": "", "to": [], "topic": "", "content": "x", "timestamp": -1});
    for (draft, text) in [
        (in_channel(777, "t"), "Invalid channel ID"),
        (direct(&[777], "y"), "Invalid user ID 777"),
        (early, "Timestamp must not be negative."),
    ] {
        let draft = draft.to_string();
        let patch =
            async |who: &Person, id: &Value| app.call(who, &format!("PATCH /drafts/{id}"), &[("draft", &draft)]).await;
        patch(&app.ada, &id).await.refused(text);
        for response in [patch(&sam, &id).await, patch(&app.ada, &json!(1)).await] {
            assert_eq!(response.error(), (404, "BAD_REQUEST", "Draft does not exist"), "{draft}");
        }
    }
    // What is no draft at all is refused before anybody looks for one.
    let blank = direct(&[], " ").to_string();
    let response = app.call(&app.ada, "PATCH /drafts/1", &[("draft", &blank)]).await;
    response.refused(r#"draft["content"] cannot be blank"#);
    assert_eq!(list(&app, &app.ada).await["drafts"][0]["content"], "x");
}

#[tokio::test]
async fn when_enable_drafts_synchronization_is_disabled_drafts_stored_on_the_server_are_deleted() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    for who in [&app.ada, &sam] {
        create(&app, who, &json!([direct(&[], "x")])).await.success();
    }
    let choose = async |value: &str| {
        app.call(&app.ada, "PATCH /settings", &[("enable_drafts_synchronization", value)]).await.success()
    };
    choose("false").await;
    let disabled = "User has disabled synchronizing drafts.";
    app.call(&app.ada, "GET /drafts", &[]).await.refused(disabled);
    create(&app, &app.ada, &json!([direct(&[], "y")])).await.refused(disabled);
    let draft = direct(&[], "y").to_string();
    app.call(&app.ada, "PATCH /drafts/1", &[("draft", &draft)]).await.refused(disabled);
    app.call(&app.ada, "DELETE /drafts/1", &[]).await.refused(disabled);
    assert_eq!(app.call(&app.ada, "POST /register", &[]).await.success()["drafts"], json!([]));
    choose("true").await;
    assert_eq!((&list(&app, &app.ada).await["count"], &list(&app, &sam).await["count"]), (&json!(0), &json!(1)));
}
