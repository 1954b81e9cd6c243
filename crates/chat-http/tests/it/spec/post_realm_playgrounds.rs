//! `POST /realm/playgrounds`
//!
//! - all fields are required: `organization_items::playgrounds::all_three_fields_are_required`
//! - the template has exactly one variable, named `code`:
//!   `organization_items::playgrounds::the_template_has_exactly_one_variable_named_code`
//! - the response adds `id`: `organization_items::playgrounds::a_playground_is_added_and_told_to_everybody`
//! - administrators manage them:
//!   `organization_items::playgrounds::only_administrators_add_and_remove_and_nothing_twice`

use serde_json::json;

use super::{ADMINISTRATOR, one_succeeds};
use crate::personal::{bot, heard, listen, mark};
use crate::test_app::{TestApp, TestResponse};

async fn add(app: &TestApp, language: &str, template: &str) -> TestResponse {
    let parameters = [("name", "Play"), ("pygments_language", language), ("url_template", template)];
    app.call(&app.ada, "POST /realm/playgrounds", &parameters).await
}

#[tokio::test]
async fn the_variable_may_stand_in_every_form_of_rfc_6570_and_more_than_once() {
    let app = TestApp::found().await;
    for (number, template) in
        ["https://x/{code}", "https://x/{+code}", "https://x{?code}", "https://x{&code*}", "https://x/{code:3}/{#code}"]
            .into_iter()
            .enumerate()
    {
        add(&app, &format!("language{number}"), template).await.success();
    }
    let before = mark(&app);
    for template in ["https://x/{Code}", "https://x/{codes}", "https://x/code", "https://x/{code"] {
        assert_eq!(add(&app, "rust", template).await.error().1, "BAD_REQUEST", "{template}");
    }
    let two = add(&app, "rust", "https://x{?code,theme}").await;
    two.refused("\"code\" should be the only variable present in the URL template");
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn of_two_alike_added_at_once_one_is_refused() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["realm_playgrounds"]"#, &[]).await;
    let both = tokio::join!(add(&app, "rust", "https://x/{code}"), add(&app, "rust", "https://x/{code}"));
    let text = "Realm playground with this Realm, Pygments language and Name already exists.";
    let refused = one_succeeds(both);
    refused.refused(text);
    assert_eq!(refused.body["errors"], json!({"__all__": [text]}));
    assert_eq!(heard(&app, &queue).await.len(), 1);
}

#[tokio::test]
async fn a_bot_adds_none_and_neither_does_who_has_no_account() {
    let app = TestApp::found().await;
    let robot = bot(&app, "robot").await;
    let all = [("name", "Play"), ("pygments_language", "rust"), ("url_template", "https://x/{code}")];
    app.call(&robot, "POST /realm/playgrounds", &all).await.refused(ADMINISTRATOR);
    assert_eq!(app.call_as_nobody("POST /realm/playgrounds", &all).await.error().0, 401);
}

#[tokio::test]
async fn a_language_has_at_most_40_characters() {
    let app = TestApp::found().await;
    add(&app, &"l".repeat(40), "https://x/{code}").await.success();
    let response = add(&app, &"l".repeat(41), "https://x/{code}").await;
    assert_eq!(response.error().1, "BAD_REQUEST");
    assert_eq!(response.body["errors"]["pygments_language"].as_array().unwrap().len(), 1);
}
