//! `GET /messages/matches_narrow`
//!
//! - `msg_ids` and `narrow` are required, and `messages` is keyed by id with `match_content` and `match_subject`:
//!   `messages::reading::those_of_some_messages_that_match_are_told_with_their_text`
//! - the format matches `GET /messages`: `messages::searching::matches_narrow_marks_as_a_search_does`

use chat_core::model::role::Role;
use serde_json::{Value, json};

use super::{channel, gather, private, say, tell};
use crate::test_app::{Person, TestApp, TestResponse};

async fn matches(app: &TestApp, who: &Person, ids: &Value, narrow: &Value) -> TestResponse {
    let (ids, narrow) = (ids.to_string(), narrow.to_string());
    app.call(who, "GET /messages/matches_narrow", &[("msg_ids", &ids), ("narrow", &narrow)]).await
}

/// The numbers of those that match.
async fn matching(app: &TestApp, who: &Person, ids: &[i64], narrow: Value) -> Vec<i64> {
    let response = matches(app, who, &json!(ids), &narrow).await.success();
    let mut found: Vec<i64> = response["messages"].as_object().unwrap().keys().map(|id| id.parse().unwrap()).collect();
    found.sort_unstable();
    found
}

#[tokio::test]
async fn narrow_is_an_array_of_operator_and_operand() {
    let app = TestApp::found().await;
    let general = channel(&app, "general");
    let soup = say(&app, &app.ada, general, ("lunch", "soup")).await;
    let cake = say(&app, &app.ada, general, ("tea", "cake")).await;
    let note = tell(&app, &app.ada, &[&app.ada], "note").await;
    let all = [soup, cake, note];
    for (narrow, found) in [
        (json!([]), &all[..]),
        (json!([{"operator": "channel", "operand": "general"}]), &all[..2]),
        (json!([{"operator": "channel", "operand": general}, {"operator": "topic", "operand": "TEA"}]), &all[1..2]),
        (json!([{"operator": "topic", "operand": "tea", "negated": true}]), &[soup, note]),
        (json!([["is", "dm"]]), &all[2..]),
        (json!([{"operator": "dm", "operand": [9]}]), &all[2..]),
        (json!([{"operator": "sender", "operand": 9}]), &all[..]),
        (json!([{"operator": "id", "operand": cake}]), &all[1..2]),
        (json!([{"operator": "near", "operand": cake}]), &all[..]),
        (json!([{"operator": "search", "operand": "soups"}]), &all[..1]),
        (json!([{"operator": "is", "operand": "starred"}]), &[]),
    ] {
        assert_eq!(matching(&app, &app.ada, &all, narrow.clone()).await, found, "{narrow}");
    }
}

#[tokio::test]
async fn of_messages_named_twice_that_are_gone_or_never_were_nothing_is_told() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, channel(&app, "general"), ("lunch", "soup")).await;
    assert_eq!(matching(&app, &app.ada, &[id, id, 0, -1, i64::MAX], json!([])).await, [id]);
    assert_eq!(matching(&app, &app.ada, &[], json!([])).await, [0; 0]);
    app.call(&app.ada, &format!("DELETE /messages/{id}"), &[]).await.success();
    assert_eq!(matching(&app, &app.ada, &[id], json!([])).await, [0; 0]);
}

#[tokio::test]
async fn messages_of_others_are_not_told() {
    let app = TestApp::found().await;
    let (sam, gus) = (app.person("sam", Role::Member).await, app.person("gus", Role::Guest).await);
    let den = private(&app, "den", &[&app.ada]).await;
    let ids = [
        say(&app, &app.ada, den, ("x", "secret")).await,
        tell(&app, &app.ada, &[&app.ada], "note").await,
        say(&app, &app.ada, channel(&app, "general"), ("x", "public")).await,
    ];
    for who in [&sam, &gus] {
        assert_eq!(matching(&app, who, &ids, json!([])).await, [0; 0]);
        let narrow = json!([{"operator": "channel", "operand": den}]);
        let response = matches(&app, who, &json!(ids), &narrow).await;
        let text = format!("Invalid narrow operator: unknown channel {den}");
        assert_eq!(response.error(), (400, "BAD_NARROW", text.as_str()));
        assert_eq!(response.body["desc"], json!(format!("unknown channel {den}")));
    }
}

#[tokio::test]
async fn match_content_is_html_and_match_subject_a_string_without_a_search_too() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, channel(&app, "general"), ("a & b", "1 < 2")).await;
    let note = tell(&app, &app.ada, &[&app.ada], "*note*").await;
    let response = matches(&app, &app.ada, &json!([id, note]), &json!([])).await.success();
    let expected = json!({
        id.to_string(): {"match_content": "<p>1 &lt; 2</p>", "match_subject": "a &amp; b"},
        note.to_string(): {"match_content": "<p><em>note</em></p>", "match_subject": ""},
    });
    assert_eq!(response["messages"], expected);
}

#[tokio::test]
async fn what_is_no_list_of_numbers_and_no_narrow_is_refused() {
    let app = TestApp::found().await;
    let many: Vec<i64> = (1..=5_001).collect();
    for (ids, narrow, text) in [
        (json!(1), json!([]), "msg_ids is not a list"),
        (json!(null), json!([]), "msg_ids is not a list"),
        (json!([1.5]), json!([]), "msg_ids[0] is not an integer"),
        (json!(many), json!([]), "Too many messages requested (maximum 5000)."),
        (json!([1]), json!(null), "narrow is not a list"),
        (json!([1]), json!({}), "narrow is not a list"),
        (json!([1]), json!([{"operator": "is"}]), "Invalid narrow[0]: Value error, operand is missing"),
        (json!([1]), json!([{"operand": "x"}]), "Invalid narrow[0]: Value error, operator is missing"),
        (json!([1]), json!(["is"]), "Invalid narrow[0]: Value error, dict or list required"),
        (json!([1]), json!([["is"]]), "Invalid narrow[0]: Value error, element is not a string pair"),
        (json!([1]), json!([{"operator": "search", "operand": " "}]), "operand cannot be blank."),
    ] {
        matches(&app, &app.ada, &ids, &narrow).await.refused(text);
    }
    let response = matches(&app, &app.ada, &json!([1]), &json!([["nothing", "x"]])).await;
    assert_eq!(response.error(), (400, "BAD_NARROW", "Invalid narrow operator: unknown operator nothing"));
}

#[tokio::test]
async fn who_was_in_a_channel_sees_what_they_received_there_and_no_more() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let den = private(&app, "den", &[&app.ada]).await;
    let early = say(&app, &app.ada, den, ("x", "early")).await;
    gather(&app, "den", &[&sam], &[]).await;
    let mine = say(&app, &app.ada, den, ("x", "mine")).await;
    assert_eq!(matching(&app, &sam, &[early, mine], json!([])).await, [mine]);
}
