//! `POST /user_groups/create`
//!
//! - `name`, `description` and `members` are required: `groups::name_description_and_members_are_required`,
//!   `groups::a_group_is_made_of_a_name_a_description_and_user_ids`
//! - `can_mention_group` is a group id or an object: `groups::who_may_mention_a_group_is_a_group_id_or_an_object`
//! - it cannot be `role:internet` or `role:owners`:
//!   `groups::who_may_mention_a_group_cannot_be_role_internet_or_role_owners_or_what_is_not_there`
//! - it was named `can_mention_group_id` before level 198:
//!   `groups::the_name_can_mention_group_had_before_level_198_is_not_supported`
//! - `BAD_REQUEST` for an unknown user id: `groups::an_unknown_user_id_is_a_bad_request`
//! - names: `groups::a_name_has_bounds_and_belongs_to_one_group_alone`
//! - who may: `groups::guests_make_no_groups_and_members_only_where_the_realm_lets_them`
//! - who made it is a member only when named: `groups::who_makes_a_group_is_in_it_only_when_they_say_so`

use serde_json::{Value, json};

use super::one_succeeds;
use crate::personal::{bot, close, heard, listen, mark};
use crate::test_app::{Person, TestApp, TestResponse};
use chat_core::model::group::SystemGroup;
use chat_core::model::role::Role;

async fn create(app: &TestApp, who: &Person, members: &Value, parameters: &[(&str, &str)]) -> TestResponse {
    let members = members.to_string();
    let usual = [("name", "cooks"), ("description", ""), ("members", members.as_str())];
    let usual = usual.into_iter().filter(|(name, _)| parameters.iter().all(|(given, _)| given != name));
    let all: Vec<_> = usual.chain(parameters.iter().copied()).collect();
    app.call(who, "POST /user_groups/create", &all).await
}

fn system(app: &TestApp, group: SystemGroup) -> i64 {
    app.realm().system_group(group).unwrap().id.0
}

#[tokio::test]
async fn guests_hear_of_a_new_group_with_every_field() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    let queue = listen(&app, &gus, r#"["user_group"]"#, &[]).await;
    let id = create(&app, &app.ada, &json!([gus.id]), &[]).await.success()["group_id"].clone();
    let events = heard(&app, &queue).await;
    assert_eq!((events.len(), &events[0]["type"], &events[0]["op"]), (1, &json!("user_group"), &json!("add")));
    let group = &events[0]["group"];
    let everyone = system(&app, SystemGroup::Everyone);
    for (key, value) in [
        ("id", id),
        ("name", json!("cooks")),
        ("description", json!("")),
        ("members", json!([gus.id])),
        ("direct_subgroup_ids", json!([])),
        ("is_system_group", json!(false)),
        ("can_mention_group", json!(everyone)),
    ] {
        assert_eq!(group[key], value, "{key}");
    }
}

#[tokio::test]
async fn of_two_groups_of_one_name_made_at_once_one_is_refused() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["user_group"]"#, &[]).await;
    let none = json!([]);
    let both = tokio::join!(create(&app, &app.ada, &none, &[]), create(&app, &app.ada, &none, &[]));
    one_succeeds(both).refused("User group 'cooks' already exists.");
    assert_eq!(heard(&app, &queue).await.len(), 1);
}

#[tokio::test]
async fn a_closed_account_is_no_member_and_a_bot_may_be_one() {
    let app = TestApp::found().await;
    let (robot, gone) = (bot(&app, "robot").await, app.person("gone", Role::Member).await);
    close(&app, &gone).await;
    let before = mark(&app);
    let response = create(&app, &app.ada, &json!([9, gone.id]), &[]).await;
    response.refused(&format!("Invalid user ID: {}", gone.id));
    assert_eq!(mark(&app), before);
    create(&app, &app.ada, &json!([9, robot.id]), &[]).await.success();
}

#[tokio::test]
async fn members_and_can_mention_group_have_their_types() {
    let app = TestApp::found().await;
    let before = mark(&app);
    for (parameter, text) in [
        (("members", "9"), "members is not a list"),
        (("members", "null"), "members is not a list"),
        (("members", "[\"ada@example.org\"]"), "members[0] is not an integer"),
        (("members", "[999]"), "Invalid user ID: 999"),
        (("can_mention_group", "everyone"), "can_mention_group is not valid JSON"),
        (("can_mention_group", "null"), "can_mention_group[\"int\"] is not an integer"),
        (("can_mention_group", "{\"direct_members\": [9]}"), "can_mention_group[\"int\"] is not an integer"),
        (("can_mention_group", "999"), "Invalid user group"),
        (("can_mention_group", "{\"direct_members\": [], \"direct_subgroups\": [999]}"), "Invalid user group"),
        (("can_mention_group", "{\"direct_members\": [999], \"direct_subgroups\": []}"), "Invalid user ID: 999"),
    ] {
        create(&app, &app.ada, &json!([]), &[parameter]).await.refused(text);
    }
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn an_object_of_one_system_group_alone_is_that_group_and_refused_like_it() {
    let app = TestApp::found().await;
    for (group, name) in [(SystemGroup::Internet, "role:internet"), (SystemGroup::Owners, "role:owners")] {
        let id = system(&app, group);
        let text = format!("'can_mention_group' setting cannot be set to '{name}' group.");
        let object = json!({"direct_members": [], "direct_subgroups": [id]}).to_string();
        for values in [id.to_string(), object] {
            create(&app, &app.ada, &json!([]), &[("can_mention_group", &values)]).await.refused(&text);
        }
    }
    let moderators = system(&app, SystemGroup::Moderators);
    let object = json!({"direct_members": [], "direct_subgroups": [moderators]}).to_string();
    create(&app, &app.ada, &json!([]), &[("can_mention_group", &object)]).await.success();
    let response = app.call(&app.ada, "GET /user_groups", &[]).await.success();
    let made = response["user_groups"].as_array().unwrap().iter().find(|group| group["name"] == "cooks").unwrap();
    assert_eq!(made["can_mention_group"], json!(moderators));
}
