//! `/users/me/alert_words`.

use chat_core::model::role::Role;
use serde_json::json;

use super::{bot, heard, listen, mark, state};
use crate::test_app::{Person, TestApp, TestResponse};

const PATH: &str = "/users/me/alert_words";

async fn call(app: &TestApp, who: &Person, method: &str, words: &str) -> TestResponse {
    app.call(who, &format!("{method} {PATH}"), &[("alert_words", words)]).await
}

#[tokio::test]
async fn words_are_added_and_removed_and_every_answer_has_all_of_them() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Guest).await;
    let (own, other) = (listen(&app, &sam, r#"["alert_words"]"#, &[]).await, listen(&app, &app.ada, "null", &[]).await);
    let response = app.call(&sam, &format!("GET {PATH}"), &[]).await.success();
    assert_eq!(response["alert_words"], json!([]));
    let response = call(&app, &sam, "POST", r#"["Sepsis", " room 12 ", "sepsis", "  "]"#).await.success();
    assert_eq!(response["alert_words"], json!(["Sepsis", "room 12"]));
    let response = call(&app, &sam, "DELETE", r#"["SEPSIS", "unknown"]"#).await.success();
    assert_eq!(response["alert_words"], json!(["room 12"]));
    let before = mark(&app);
    call(&app, &sam, "POST", r#"["ROOM 12"]"#).await.success();
    call(&app, &sam, "DELETE", r#"["unknown"]"#).await.success();
    assert_eq!((mark(&app), state(&app, &sam, "alert_words").await), (before, json!(["room 12"])));
    let response = app.call(&sam, &format!("GET {PATH}"), &[]).await.success();
    assert_eq!(response["alert_words"], json!(["room 12"]));
    let events = [json!(["Sepsis", "room 12"]), json!(["room 12"])];
    let events = events.map(|words| json!({"type": "alert_words", "alert_words": words}));
    assert_eq!(heard(&app, &own).await, events);
    assert_eq!(heard(&app, &other).await.len(), 0);
}

#[tokio::test]
async fn a_message_with_a_word_bears_its_flag_from_then_on_and_no_longer() {
    let app = TestApp::found().await;
    call(&app, &app.ada, "POST", r#"["sepsis"]"#).await.success();
    let sam = app.person("sam", Role::Member).await;
    let alerted = async || {
        let to = format!("[{}]", app.ada.id);
        let parameters = [("type", "direct"), ("to", to.as_str()), ("content", "Is it Sepsis?")];
        let id = app.call(&sam, "POST /messages", &parameters).await.success()["id"].to_string();
        let response = app.call(&app.ada, &format!("GET /messages/{id}"), &[]).await.success();
        response["message"]["flags"].as_array().unwrap().contains(&json!("has_alert_word"))
    };
    assert!(alerted().await);
    call(&app, &app.ada, "DELETE", r#"["sepsis"]"#).await.success();
    assert!(!alerted().await);
}

#[tokio::test]
async fn an_edited_message_bears_the_flag_of_the_words_of_today() {
    let app = TestApp::found().await;
    let parameters = [("type", "direct"), ("to", "[9]"), ("content", "Is it sepsis?")];
    let id = app.call(&app.ada, "POST /messages", &parameters).await.success()["id"].clone();
    let edited = async |content: &str| {
        app.call(&app.ada, &format!("PATCH /messages/{id}"), &[("content", content)]).await.success();
        let response = app.call(&app.ada, &format!("GET /messages/{id}"), &[]).await.success();
        response["message"]["flags"].as_array().unwrap().contains(&json!("has_alert_word"))
    };
    call(&app, &app.ada, "POST", r#"["sepsis"]"#).await.success();
    assert!(edited("It is sepsis.").await, "a word that was in the text before it was watched for");
    call(&app, &app.ada, "DELETE", r#"["sepsis"]"#).await.success();
    assert!(!edited("It was sepsis.").await, "a word that is in the text and watched for no longer");
}

#[tokio::test]
async fn what_is_no_list_of_words_is_refused_and_nothing_written() {
    let app = TestApp::found().await;
    let before = mark(&app);
    let long = format!("[\"{}\"]", "a".repeat(101));
    let many = serde_json::to_string(&(0..1_001).map(|number| number.to_string()).collect::<Vec<_>>()).unwrap();
    for (words, text) in [
        ("sepsis", "alert_words is not valid JSON"),
        (r#""sepsis""#, "alert_words is not a list"),
        (r#"["a", 1]"#, "alert_words[1] is not a string"),
        (&long, "alert_words[0] is too long (limit: 100 characters)"),
        (&many, "Too many alert words (maximum 1000)."),
    ] {
        call(&app, &app.ada, "POST", words).await.refused(text);
    }
    for method in ["POST", "DELETE"] {
        let response = app.call(&app.ada, &format!("{method} {PATH}"), &[]).await;
        response.refused("Missing 'alert_words' argument");
    }
    let response = app.call_as_nobody(&format!("GET {PATH}"), &[]).await;
    assert_eq!((response.error().0, response.error().1), (401, "UNAUTHORIZED"));
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn bots_watch_for_words_too() {
    let app = TestApp::found().await;
    let robot = bot(&app, "robot").await;
    call(&app, &robot, "POST", r#"["deploy"]"#).await.success();
    assert_eq!(state(&app, &robot, "alert_words").await, json!(["deploy"]));
    assert_eq!(state(&app, &app.ada, "alert_words").await, json!([]));
}
