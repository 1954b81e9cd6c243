//! Two requests at once that cannot both be granted, each for itself, beside those of the endpoints' own files.

use chat_core::model::role::Role;
use serde_json::json;

use crate::spec::{gather, one_succeeds, say};
use crate::town::Town;

#[tokio::test]
async fn of_two_owners_who_take_each_others_ownership_one_stays_an_owner() {
    let town = Town::found().await;
    let ann = town.person("ann", Role::Owner).await;
    let (ours, theirs) = (format!("PATCH /users/{}", ann.id), format!("PATCH /users/{}", town.ada.id));
    let member = [("role", "400")];
    let (first, second) = tokio::join!(town.call(&town.ada, &ours, &member), town.call(&ann, &theirs, &member));
    assert!(first.status.is_success() != second.status.is_success(), "{first:?} {second:?}");
    assert_eq!(town.realm().users().filter(|user| user.role == Role::Owner).count(), 1);
}

#[tokio::test]
async fn of_two_owners_who_leave_at_once_one_has_to_stay() {
    let town = Town::found().await;
    let ann = town.person("ann", Role::Owner).await;
    let both = tokio::join!(town.call(&town.ada, "DELETE /users/me", &[]), town.call(&ann, "DELETE /users/me", &[]));
    assert_eq!(one_succeeds(both).error().1, "CANNOT_DEACTIVATE_LAST_USER");
}

#[tokio::test]
async fn of_two_accounts_and_two_bots_of_one_address_one_is_made() {
    let town = Town::found().await;
    let ann = town.person("ann", Role::Administrator).await;
    let person = [("email", "eve@example.org"), ("password", "correct horse"), ("full_name", "Eve Moneypenny")];
    let both = tokio::join!(town.call(&town.ada, "POST /users", &person), town.call(&ann, "POST /users", &person));
    one_succeeds(both).refused("Email 'eve@example.org' already in use");
    let robot = [("full_name", "Robot"), ("short_name", "robot")];
    let both = tokio::join!(town.call(&town.ada, "POST /bots", &robot), town.call(&ann, "POST /bots", &robot));
    one_succeeds(both);
    assert_eq!(town.realm().users().filter(|user| user.bot.is_some()).count(), 1);
}

#[tokio::test]
async fn of_two_channels_that_take_one_name_at_once_one_gets_it() {
    let town = Town::found().await;
    let (tea, cake) = (gather(&town, "tea", &[&town.ada], &[]).await, gather(&town, "cake", &[&town.ada], &[]).await);
    let (tea, cake) = (format!("PATCH /streams/{tea}"), format!("PATCH /streams/{cake}"));
    let name = [("new_name", "snacks")];
    let both = tokio::join!(town.call(&town.ada, &tea, &name), town.call(&town.ada, &cake, &name));
    one_succeeds(both).refused("Channel name already in use.");
}

#[tokio::test]
async fn of_two_who_archive_a_channel_or_delete_a_message_at_once_one_does() {
    let town = Town::found().await;
    let tea = gather(&town, "tea", &[&town.ada], &[]).await;
    let message = format!("DELETE /messages/{}", say(&town, &town.ada, tea, ("x", "y")).await);
    let both = tokio::join!(town.call(&town.ada, &message, &[]), town.call(&town.ada, &message, &[]));
    one_succeeds(both).refused("Invalid message(s)");
    let channel = format!("DELETE /streams/{tea}");
    let both = tokio::join!(town.call(&town.ada, &channel, &[]), town.call(&town.ada, &channel, &[]));
    one_succeeds(both).refused("Invalid channel ID");
}

#[tokio::test]
async fn of_two_who_remove_one_thing_at_once_one_is_told_that_it_is_gone() {
    let town = Town::found().await;
    let ada = &town.ada;
    let made = async |call: &str, parameters: &[(&str, &str)]| {
        town.call(ada, call, parameters).await.success()["id"].to_string()
    };
    let linkifier = made("POST /realm/filters", &[("pattern", "#x"), ("url_template", "https://x.example")]).await;
    let play = [("name", "Play"), ("pygments_language", "rust"), ("url_template", "https://x/{code}")];
    let playground = made("POST /realm/playgrounds", &play).await;
    let field = made("POST /realm/profile_fields", &[("name", "Team"), ("field_type", "1")]).await;
    let draft = json!([{"type": "private", "to": [9], "topic": "", "content": "x", "timestamp": 5}]).to_string();
    let draft = town.call(ada, "POST /drafts", &[("drafts", &draft)]).await.success()["ids"][0].to_string();
    for (call, text) in [
        (format!("DELETE /realm/filters/{linkifier}"), "Linkifier not found.".to_owned()),
        (format!("DELETE /realm/playgrounds/{playground}"), "Invalid playground".to_owned()),
        (format!("DELETE /realm/profile_fields/{field}"), format!("Field id {field} not found.")),
        (format!("DELETE /drafts/{draft}"), "Draft does not exist".to_owned()),
    ] {
        let both = tokio::join!(town.call(ada, &call, &[]), town.call(ada, &call, &[]));
        assert_eq!(one_succeeds(both).error().2, text, "{call}");
    }
}

#[tokio::test]
async fn who_is_closed_while_they_act_did_it_before_or_not_at_all() {
    for round in 0..6 {
        let town = Town::found().await;
        let ann = town.person("ann", Role::Administrator).await;
        let close = format!("DELETE /users/{}", ann.id);
        let (told, ()) = tokio::join!(
            town.call(&ann, "POST /realm/filters", &[("pattern", "#x"), ("url_template", "https://x.example")]),
            async {
                for _ in 0..round {
                    tokio::task::yield_now().await;
                }
                town.call(&town.ada, &close, &[]).await.success();
            }
        );
        let listed = town.call(&town.ada, "GET /realm/linkifiers", &[]).await.success();
        let there = listed["linkifiers"].as_array().unwrap().len();
        assert_eq!(there, usize::from(told.status.is_success()));
        assert!(told.status.is_success() || told.error().0 == 401, "{told:?}");
    }
}
