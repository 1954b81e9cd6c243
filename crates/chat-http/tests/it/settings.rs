//! What people change of their own account.

use chat_core::id::UserId;
use chat_core::role::Role;
use serde_json::json;

use crate::town::Town;

#[tokio::test]
async fn everybody_changes_their_own_name() {
    let town = Town::found().await;
    let gus = town.person("gus", Role::Guest).await;
    let told = town.call(&gus, "PATCH /settings", &[("full_name", " Augustus "), ("enter_sends", "true")]).await;
    assert_eq!(told.success()["ignored_parameters_unsupported"], json!(["enter_sends"]));
    assert_eq!(town.realm().user(UserId(gus.id)).unwrap().full_name, "Augustus");
    let before = town.realm().at();
    for (name, text) in [("A", "Name too short!"), ("A*a", "Invalid characters in name!"), ("A|1", "Invalid format!")] {
        town.call(&gus, "PATCH /settings", &[("full_name", name)]).await.refused(text);
    }
    town.call(&gus, "PATCH /settings", &[("full_name", "")]).await.success();
    assert_eq!(town.realm().at(), before);
}

#[tokio::test]
async fn a_new_password_replaces_the_one_who_asks_knows() {
    let town = Town::found().await;
    let change = [("old_password", "ada's"), ("new_password", "analytical")];
    town.call(&town.ada, "PATCH /settings", &change).await.success();
    let login = |password| [("username", "ada@example.org"), ("password", password)];
    let told = town.call_as_nobody("POST /fetch_api_key", &login("ada's")).await;
    assert_eq!(told.error().0, 401);
    let told = town.call_as_nobody("POST /fetch_api_key", &login("analytical")).await;
    assert_eq!(told.success()["api_key"], json!(town.ada.key));
}

#[tokio::test]
async fn a_password_that_is_weak_or_asked_for_by_a_stranger_stays_as_it_was() {
    let town = Town::found().await;
    let before = town.realm().at();
    let with_name = |old, new| [("full_name", "Countess"), ("old_password", old), ("new_password", new)];
    let told = town.call(&town.ada, "PATCH /settings", &with_name("ada's", "12345")).await;
    told.refused("The password is too weak.");
    town.call(&town.ada, "PATCH /settings", &[("new_password", "analytical")]).await.refused("Wrong password!");
    for _ in 0..4 {
        town.call(&town.ada, "PATCH /settings", &with_name("x", "analytical")).await.refused("Wrong password!");
    }
    let told = town.call(&town.ada, "PATCH /settings", &with_name("ada's", "analytical")).await;
    assert_eq!(told.error(), (429, "RATE_LIMIT_HIT", "API usage exceeded rate limit"));
    assert_eq!(town.realm().at(), before);
    town.wait_s(360);
    let login = [("username", "ada@example.org"), ("password", "ada's")];
    town.call_as_nobody("POST /fetch_api_key", &login).await.success();
}
