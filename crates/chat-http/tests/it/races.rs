//! Two requests at once that cannot both be granted, each for itself, beside those of the endpoints' own files.

use chat_core::model::role::Role;
use serde_json::json;

use crate::spec::{gather, one_succeeds, say};
use crate::test_app::TestApp;

#[tokio::test]
async fn of_two_owners_who_take_each_others_ownership_one_stays_an_owner() {
    let app = TestApp::found().await;
    let ann = app.person("ann", Role::Owner).await;
    let (ours, theirs) = (format!("PATCH /users/{}", ann.id), format!("PATCH /users/{}", app.ada.id));
    let member = [("role", "400")];
    let (first, second) = tokio::join!(app.call(&app.ada, &ours, &member), app.call(&ann, &theirs, &member));
    assert!(first.status.is_success() != second.status.is_success(), "{first:?} {second:?}");
    assert_eq!(app.realm().users().filter(|user| user.role == Role::Owner).count(), 1);
}

#[tokio::test]
async fn of_two_owners_who_leave_at_once_one_has_to_stay() {
    let app = TestApp::found().await;
    let ann = app.person("ann", Role::Owner).await;
    let both = tokio::join!(app.call(&app.ada, "DELETE /users/me", &[]), app.call(&ann, "DELETE /users/me", &[]));
    assert_eq!(one_succeeds(both).error().1, "CANNOT_DEACTIVATE_LAST_USER");
}

#[tokio::test]
async fn of_two_accounts_and_two_bots_of_one_address_one_is_made() {
    let app = TestApp::found().await;
    let ann = app.person("ann", Role::Administrator).await;
    let person = [("email", "eve@example.org"), ("password", "correct horse"), ("full_name", "Eve Moneypenny")];
    let both = tokio::join!(app.call(&app.ada, "POST /users", &person), app.call(&ann, "POST /users", &person));
    one_succeeds(both).refused("Email 'eve@example.org' already in use");
    let robot = [("full_name", "Robot"), ("short_name", "robot")];
    let both = tokio::join!(app.call(&app.ada, "POST /bots", &robot), app.call(&ann, "POST /bots", &robot));
    one_succeeds(both);
    assert_eq!(app.realm().users().filter(|user| user.bot.is_some()).count(), 1);
}

#[tokio::test]
async fn of_two_channels_that_take_one_name_at_once_one_gets_it() {
    let app = TestApp::found().await;
    let (tea, cake) = (gather(&app, "tea", &[&app.ada], &[]).await, gather(&app, "cake", &[&app.ada], &[]).await);
    let (tea, cake) = (format!("PATCH /streams/{tea}"), format!("PATCH /streams/{cake}"));
    let name = [("new_name", "snacks")];
    let both = tokio::join!(app.call(&app.ada, &tea, &name), app.call(&app.ada, &cake, &name));
    one_succeeds(both).refused("Channel name already in use.");
}

#[tokio::test]
async fn of_two_who_archive_a_channel_or_delete_a_message_at_once_one_does() {
    let app = TestApp::found().await;
    let tea = gather(&app, "tea", &[&app.ada], &[]).await;
    let message = format!("DELETE /messages/{}", say(&app, &app.ada, tea, ("x", "y")).await);
    let both = tokio::join!(app.call(&app.ada, &message, &[]), app.call(&app.ada, &message, &[]));
    one_succeeds(both).refused("Invalid message(s)");
    let channel = format!("DELETE /streams/{tea}");
    let both = tokio::join!(app.call(&app.ada, &channel, &[]), app.call(&app.ada, &channel, &[]));
    one_succeeds(both).refused("Channel is already deactivated");
}

#[tokio::test]
async fn of_two_who_remove_one_thing_at_once_one_is_told_that_it_is_gone() {
    let app = TestApp::found().await;
    let ada = &app.ada;
    let made = async |call: &str, parameters: &[(&str, &str)]| {
        app.call(ada, call, parameters).await.success()["id"].to_string()
    };
    let linkifier = made("POST /realm/filters", &[("pattern", "#x"), ("url_template", "https://x.example")]).await;
    let play = [("name", "Play"), ("pygments_language", "rust"), ("url_template", "https://x/{code}")];
    let playground = made("POST /realm/playgrounds", &play).await;
    let field = made("POST /realm/profile_fields", &[("name", "Team"), ("field_type", "1")]).await;
    let draft = json!([{"type": "private", "to": [9], "topic": "", "content": "x", "timestamp": 5}]).to_string();
    let draft = app.call(ada, "POST /drafts", &[("drafts", &draft)]).await.success()["ids"][0].to_string();
    for (call, text) in [
        (format!("DELETE /realm/filters/{linkifier}"), "Linkifier not found.".to_owned()),
        (format!("DELETE /realm/playgrounds/{playground}"), "Invalid playground".to_owned()),
        (format!("DELETE /realm/profile_fields/{field}"), format!("Field id {field} not found.")),
        (format!("DELETE /drafts/{draft}"), "Draft does not exist".to_owned()),
    ] {
        let both = tokio::join!(app.call(ada, &call, &[]), app.call(ada, &call, &[]));
        assert_eq!(one_succeeds(both).error().2, text, "{call}");
    }
}

#[tokio::test]
async fn who_is_closed_while_they_act_did_it_before_or_not_at_all() {
    for round in 0..6 {
        let app = TestApp::found().await;
        let ann = app.person("ann", Role::Administrator).await;
        let close = format!("DELETE /users/{}", ann.id);
        let (response, ()) = tokio::join!(
            app.call(&ann, "POST /realm/filters", &[("pattern", "#x"), ("url_template", "https://x.example")]),
            async {
                for _ in 0..round {
                    tokio::task::yield_now().await;
                }
                app.call(&app.ada, &close, &[]).await.success();
            }
        );
        let listed = app.call(&app.ada, "GET /realm/linkifiers", &[]).await.success();
        let there = listed["linkifiers"].as_array().unwrap().len();
        assert_eq!(there, usize::from(response.status.is_success()));
        assert!(response.status.is_success() || response.error().0 == 401, "{response:?}");
    }
}
