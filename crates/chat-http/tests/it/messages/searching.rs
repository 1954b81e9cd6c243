//! Full-text search: what is found, how it is marked, and that nothing is found that is gone or not for the caller.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::test_app::{Person, TestApp};

async fn send(app: &TestApp, who: &Person, (to, topic): (&str, &str), content: &str) -> i64 {
    let parameters = [("type", "channel"), ("to", to), ("topic", topic), ("content", content)];
    app.call(who, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap()
}

async fn narrowed(app: &TestApp, who: &Person, narrow: &Value) -> Value {
    let narrow = narrow.to_string();
    let parameters = [("anchor", "newest"), ("num_before", "50"), ("num_after", "0"), ("narrow", narrow.as_str())];
    app.call(who, "GET /messages", &parameters).await.success()
}

fn ids(answer: &Value) -> Vec<i64> {
    answer["messages"].as_array().unwrap().iter().map(|message| message["id"].as_i64().unwrap()).collect()
}

async fn found(app: &TestApp, who: &Person, typed: &str) -> Vec<i64> {
    ids(&narrowed(app, who, &json!([{"operator": "search", "operand": typed}])).await)
}

#[tokio::test]
async fn a_search_finds_words_in_any_form_in_texts_and_topics() {
    let app = TestApp::found().await;
    let first = send(&app, &app.ada, ("general", "plans"), "Two **meetings** next week").await;
    let second = send(&app, &app.ada, ("general", "Meeting notes"), "nothing else").await;
    send(&app, &app.ada, ("general", "plans"), "a meter").await;
    assert_eq!(found(&app, &app.ada, "meeting").await, [first, second]);
    assert_eq!(found(&app, &app.ada, "WEEKS meet").await, [first]);
    assert_eq!(found(&app, &app.ada, "\"next week\"").await, [first]);
    assert_eq!(found(&app, &app.ada, "\"week next\"").await, [0_i64; 0]);
    assert_eq!(found(&app, &app.ada, "the").await, [0_i64; 0]);
}

#[tokio::test]
async fn terms_beside_a_search_bound_it_and_its_opposite_leaves_out() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let one = send(&app, &app.ada, ("general", "a"), "apples").await;
    let two = send(&app, &app.ada, ("general", "b"), "apples and pears").await;
    let three = send(&app, &sam, ("general", "b"), "apples").await;
    let search = |typed: &str| json!({"operator": "search", "operand": typed});
    for (narrow, expected) in [
        (json!([search("apple"), {"operator": "topic", "operand": "b"}]), vec![two, three]),
        (json!([search("apple"), {"operator": "sender", "operand": sam.email}]), vec![three]),
        (json!([search("apple"), search("pear")]), vec![two]),
        (json!([search("apple"), {"operator": "search", "operand": "pear", "negated": true}]), vec![one, three]),
        (
            json!([{"operator": "channel", "operand": "general"}, {"operator": "topic", "operand": "b"},
            {"operator": "search", "operand": "pears", "negated": true}]),
            vec![three],
        ),
    ] {
        assert_eq!(ids(&narrowed(&app, &app.ada, &narrow).await), expected, "{narrow}");
    }
}

#[tokio::test]
async fn what_is_found_is_marked_in_match_content_and_match_subject() {
    let app = TestApp::found().await;
    send(&app, &app.ada, ("general", "Q&A <meetings>"), "see `meeting` at https://meeting.example").await;
    let answer = narrowed(&app, &app.ada, &json!([{"operator": "search", "operand": "meeting"}])).await;
    let message = &answer["messages"][0];
    assert_eq!(
        message["match_content"],
        "<p>see <code><span class=\"highlight\">meeting</span></code> at <a href=\"https://meeting.example\">https://\
         <span class=\"highlight\">meeting</span>.example</a></p>"
    );
    assert_eq!(message["match_subject"], "Q&amp;A &lt;<span class=\"highlight\">meetings</span>&gt;");
    let plain = narrowed(&app, &app.ada, &json!([{"operator": "topic", "operand": "Q&A <meetings>"}])).await;
    assert_eq!((plain["messages"][0].get("match_content"), plain["messages"][0].get("match_subject")), (None, None));
}

#[tokio::test]
async fn matches_narrow_marks_as_a_search_does() {
    let app = TestApp::found().await;
    let id = send(&app, &app.ada, ("general", "lunch"), "two soups").await;
    let other = send(&app, &app.ada, ("general", "lunch"), "bread").await;
    let narrow = json!([{"operator": "search", "operand": "soup"}]).to_string();
    let asked = json!([id, other]).to_string();
    let parameters = [("msg_ids", asked.as_str()), ("narrow", narrow.as_str())];
    let answer = app.call(&app.ada, "GET /messages/matches_narrow", &parameters).await.success();
    assert_eq!(
        answer["messages"],
        json!({id.to_string(): {
            "match_content": "<p>two <span class=\"highlight\">soups</span></p>", "match_subject": "lunch",
        }})
    );
}

#[tokio::test]
async fn edited_moved_and_deleted_messages_leave_no_trace() {
    let app = TestApp::found().await;
    let id = send(&app, &app.ada, ("general", "fruit"), "apples").await;
    let path = format!("PATCH /messages/{id}");
    app.call(&app.ada, &path, &[("content", "pears")]).await.success();
    assert_eq!((found(&app, &app.ada, "apples").await, found(&app, &app.ada, "pears").await), (vec![], vec![id]));
    app.call(&app.ada, &path, &[("topic", "harvest"), ("propagate_mode", "change_all")]).await.success();
    assert!(!found(&app, &app.ada, "fruit").await.contains(&id));
    assert_eq!(found(&app, &app.ada, "pear harvest").await, [id]);
    app.call(&app.ada, &format!("DELETE /messages/{id}"), &[]).await.success();
    assert!(found(&app, &app.ada, "pears").await.is_empty());
}

#[tokio::test]
async fn nobody_finds_what_they_may_not_read() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let to = json!([sam.id]).to_string();
    let parameters = [("type", "direct"), ("to", to.as_str()), ("content", "a secret diagnosis")];
    let id = app.call(&app.ada, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap();
    assert_eq!(found(&app, &sam, "secrets").await, [id]);
    for typed in ["diagnosis", "\"secret diagnosis\"", "' OR 1=1 --", "\" OR \"", "diagnosis* NEAR/2 secret"] {
        assert!(found(&app, &eve, typed).await.is_empty(), "{typed}");
    }
}
