//! `/users/me/alert_words`.

use chat_core::model::role::Role;
use serde_json::json;

use super::{bot, heard, listen, mark, state};
use crate::town::{Person, Told, Town};

const PATH: &str = "/users/me/alert_words";

async fn call(town: &Town, who: &Person, method: &str, words: &str) -> Told {
    town.call(who, &format!("{method} {PATH}"), &[("alert_words", words)]).await
}

#[tokio::test]
async fn words_are_added_and_removed_and_every_answer_has_all_of_them() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Guest).await;
    let (own, other) =
        (listen(&town, &sam, r#"["alert_words"]"#, &[]).await, listen(&town, &town.ada, "null", &[]).await);
    let told = town.call(&sam, &format!("GET {PATH}"), &[]).await.success();
    assert_eq!(told["alert_words"], json!([]));
    let told = call(&town, &sam, "POST", r#"["Sepsis", " room 12 ", "sepsis", "  "]"#).await.success();
    assert_eq!(told["alert_words"], json!(["Sepsis", "room 12"]));
    let told = call(&town, &sam, "DELETE", r#"["SEPSIS", "unknown"]"#).await.success();
    assert_eq!(told["alert_words"], json!(["room 12"]));
    let before = mark(&town);
    call(&town, &sam, "POST", r#"["ROOM 12"]"#).await.success();
    call(&town, &sam, "DELETE", r#"["unknown"]"#).await.success();
    assert_eq!((mark(&town), state(&town, &sam, "alert_words").await), (before, json!(["room 12"])));
    let told = town.call(&sam, &format!("GET {PATH}"), &[]).await.success();
    assert_eq!(told["alert_words"], json!(["room 12"]));
    let events = [json!(["Sepsis", "room 12"]), json!(["room 12"])];
    let events = events.map(|words| json!({"type": "alert_words", "alert_words": words}));
    assert_eq!(heard(&town, &own).await, events);
    assert_eq!(heard(&town, &other).await.len(), 0);
}

#[tokio::test]
async fn a_message_with_a_word_bears_its_flag_from_then_on_and_no_longer() {
    let town = Town::found().await;
    call(&town, &town.ada, "POST", r#"["sepsis"]"#).await.success();
    let sam = town.person("sam", Role::Member).await;
    let alerted = async || {
        let to = format!("[{}]", town.ada.id);
        let parameters = [("type", "direct"), ("to", to.as_str()), ("content", "Is it Sepsis?")];
        let id = town.call(&sam, "POST /messages", &parameters).await.success()["id"].to_string();
        let told = town.call(&town.ada, &format!("GET /messages/{id}"), &[]).await.success();
        told["message"]["flags"].as_array().unwrap().contains(&json!("has_alert_word"))
    };
    assert!(alerted().await);
    call(&town, &town.ada, "DELETE", r#"["sepsis"]"#).await.success();
    assert!(!alerted().await);
}

#[tokio::test]
async fn an_edited_message_bears_the_flag_of_the_words_of_today() {
    let town = Town::found().await;
    let parameters = [("type", "direct"), ("to", "[9]"), ("content", "Is it sepsis?")];
    let id = town.call(&town.ada, "POST /messages", &parameters).await.success()["id"].clone();
    let edited = async |content: &str| {
        town.call(&town.ada, &format!("PATCH /messages/{id}"), &[("content", content)]).await.success();
        let told = town.call(&town.ada, &format!("GET /messages/{id}"), &[]).await.success();
        told["message"]["flags"].as_array().unwrap().contains(&json!("has_alert_word"))
    };
    call(&town, &town.ada, "POST", r#"["sepsis"]"#).await.success();
    assert!(edited("It is sepsis.").await, "a word that was in the text before it was watched for");
    call(&town, &town.ada, "DELETE", r#"["sepsis"]"#).await.success();
    assert!(!edited("It was sepsis.").await, "a word that is in the text and watched for no longer");
}

#[tokio::test]
async fn what_is_no_list_of_words_is_refused_and_nothing_written() {
    let town = Town::found().await;
    let before = mark(&town);
    let long = format!("[\"{}\"]", "a".repeat(101));
    let many = serde_json::to_string(&(0..1_001).map(|number| number.to_string()).collect::<Vec<_>>()).unwrap();
    for (words, text) in [
        ("sepsis", "alert_words is not valid JSON"),
        (r#""sepsis""#, "alert_words is not a list"),
        (r#"["a", 1]"#, "alert_words[1] is not a string"),
        (&long, "alert_words[0] is too long (limit: 100 characters)"),
        (&many, "Too many alert words (maximum 1000)."),
    ] {
        call(&town, &town.ada, "POST", words).await.refused(text);
    }
    for method in ["POST", "DELETE"] {
        let told = town.call(&town.ada, &format!("{method} {PATH}"), &[]).await;
        told.refused("Missing 'alert_words' argument");
    }
    let told = town.call_as_nobody(&format!("GET {PATH}"), &[]).await;
    assert_eq!((told.error().0, told.error().1), (401, "UNAUTHORIZED"));
    assert_eq!(mark(&town), before);
}

#[tokio::test]
async fn bots_watch_for_words_too() {
    let town = Town::found().await;
    let robot = bot(&town, "robot").await;
    call(&town, &robot, "POST", r#"["deploy"]"#).await.success();
    assert_eq!(state(&town, &robot, "alert_words").await, json!(["deploy"]));
    assert_eq!(state(&town, &town.ada, "alert_words").await, json!([]));
}
