//! Permissions of the organization that are given to groups.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::file_store::form;
use crate::personal::{heard, listen, mark, state};
use crate::test_app::{Person, TestApp, TestResponse};

/// A permission as the description of the API has it.
struct Row {
    name: &'static str,
    default: &'static str,
    /// Whether `role:nobody` and `role:everyone` can have it.
    can_have: [bool; 2],
    is_owners_choice: bool,
}

const fn row(name: &'static str, default: &'static str, can_have: [bool; 2]) -> Row {
    Row { name, default, can_have, is_owners_choice: false }
}

const fn owners(name: &'static str, default: &'static str, can_have: [bool; 2]) -> Row {
    Row { is_owners_choice: true, ..row(name, default, can_have) }
}

/// The permissions, except for those that only some system groups can have.
const ROWS: [Row; 22] = [
    row("can_create_public_channel_group", "role:members", [true, false]),
    row("can_create_private_channel_group", "role:members", [true, false]),
    row("direct_message_initiator_group", "role:everyone", [true, true]),
    row("direct_message_permission_group", "role:everyone", [true, true]),
    row("can_delete_any_message_group", "role:administrators", [true, false]),
    row("can_delete_own_message_group", "role:everyone", [true, true]),
    owners("can_create_groups", "role:members", [true, false]),
    owners("can_manage_all_groups", "role:owners", [false, false]),
    row("can_add_custom_emoji_group", "role:members", [true, false]),
    row("can_move_messages_between_channels_group", "role:members", [true, false]),
    owners("create_multiuse_invite_group", "role:administrators", [true, false]),
    row("can_move_messages_between_topics_group", "role:everyone", [true, true]),
    owners("can_invite_users_group", "role:members", [true, false]),
    row("can_add_subscribers_group", "role:members", [true, false]),
    row("can_create_bots_group", "role:members", [true, false]),
    row("can_create_write_only_bots_group", "role:members", [true, false]),
    row("can_summarize_topics_group", "role:everyone", [true, true]),
    row("can_mention_many_users_group", "role:administrators", [true, true]),
    owners("can_manage_billing_group", "role:administrators", [false, false]),
    row("can_resolve_topics_group", "role:everyone", [true, true]),
    row("can_set_topics_policy_group", "role:members", [true, true]),
    row("can_set_delete_message_policy_group", "role:moderators", [true, false]),
];

async fn id_of(app: &TestApp, name: &str) -> i64 {
    let groups = state(app, &app.ada, "realm_user_groups").await;
    let found = groups.as_array().unwrap().iter().find(|group| group["name"] == name).unwrap();
    found["id"].as_i64().unwrap()
}

async fn new_group(app: &TestApp, name: &str, members: &[i64], subgroups: &[i64]) -> i64 {
    let (members, subgroups) = (json!(members).to_string(), json!(subgroups).to_string());
    let new = [("name", name), ("description", ""), ("members", members.as_str()), ("subgroups", subgroups.as_str())];
    app.call(&app.ada, "POST /user_groups/create", &new).await.success()["group_id"].as_i64().unwrap()
}

async fn set(app: &TestApp, who: &Person, name: &str, change: Value) -> TestResponse {
    app.call(who, "PATCH /realm", &[(name, &change.to_string())]).await
}

/// The organization, a member inside the group of a group, and the two groups: one with the member, one without.
struct Clubs {
    app: TestApp,
    sam: Person,
    with: i64,
    without: i64,
}

impl Clubs {
    async fn new() -> Self {
        let app = TestApp::found().await;
        let sam = app.person("sam", Role::Member).await;
        let inner = new_group(&app, "inner", &[sam.id], &[]).await;
        let with = new_group(&app, "with", &[], &[inner]).await;
        let without = new_group(&app, "without", &[app.ada.id], &[]).await;
        Self { app, sam, with, without }
    }

    async fn give(&self, permission: &str, group: i64) {
        set(&self.app, &self.app.ada, permission, json!({"new": group})).await.success();
    }

    /// Says something as a user and returns the message's id.
    async fn say(&self, who: &Person, topic: &str) -> i64 {
        let parameters = [("type", "stream"), ("to", "general"), ("topic", topic), ("content", "hi")];
        self.app.call(who, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap()
    }

    /// Asserts that the member is refused outside the group and not inside it.
    async fn assert_decides<'a>(
        &'a self,
        permission: &str,
        call: impl AsyncFn(&'a Self) -> TestResponse,
        refusal: &str,
    ) {
        self.give(permission, self.without).await;
        let before = mark(&self.app);
        call(self).await.refused(refusal);
        assert_eq!(mark(&self.app), before, "{permission}");
        self.give(permission, self.with).await;
        call(self).await.success();
    }
}

const INSUFFICIENT: &str = "Insufficient permission";

#[tokio::test]
async fn levels_280_to_407_every_permission_is_shown_given_and_heard_of_as_a_group() {
    let Clubs { app, with, .. } = Clubs::new().await;
    let queue = listen(&app, &app.person("gus", Role::Guest).await, r#"["realm"]"#, &[]).await;
    let max = app.person("max", Role::Administrator).await;
    for Row { name, default, is_owners_choice, .. } in ROWS {
        let key = format!("realm_{name}");
        let default = id_of(&app, default).await;
        assert_eq!(state(&app, &app.ada, &key).await, default, "{name}");
        let named = json!({"direct_members": [max.id], "direct_subgroups": [with, default]});
        let mut sorted = named.clone();
        sorted["direct_subgroups"].as_array_mut().unwrap().sort_by_key(Value::as_i64);
        let change = json!({"new": named, "old": default});
        let before = heard(&app, &queue).await.len();
        if is_owners_choice {
            set(&app, &max, name, change.clone()).await.refused("Must be an organization owner");
        }
        let caller = if is_owners_choice { &app.ada } else { &max };
        let answer = set(&app, caller, name, change.clone()).await.success();
        assert_eq!((&answer[name], &state(&app, &app.ada, &key).await), (&sorted, &sorted), "{name}");
        let told = heard(&app, &queue).await.split_off(before);
        let dict = json!({"type": "realm", "op": "update_dict", "property": "default", "data": {name: sorted}});
        assert_eq!(told.iter().filter(|event| **event == dict).count(), 1, "{name} {told:?}");
        // Beside it older clients hear only of their number.
        assert!(told.iter().all(|event| *event == dict || event.to_string().contains("_policy")), "{name} {told:?}");
        let again = mark(&app);
        let same = json!({"new": {"direct_members": [max.id, max.id], "direct_subgroups": [default, with]}});
        set(&app, caller, name, same).await.success();
        assert_eq!(mark(&app), again, "{name}");
        let response = set(&app, caller, name, change).await;
        let (status, code, text) = response.error();
        assert_eq!((status, code), (400, "EXPECTATION_MISMATCH"), "{name}");
        assert_eq!(text, "'old' value does not match the expected value.");
        assert_eq!(response.body["field_name"], "old");
        set(&app, caller, name, json!({"new": default, "old": sorted})).await.success();
        assert_eq!(state(&app, &app.ada, &key).await, default, "{name}");
    }
}

#[tokio::test]
async fn level_309_what_a_permission_cannot_be_is_refused_by_name() {
    let Clubs { app, sam, with, without } = Clubs::new().await;
    app.call(&app.ada, &format!("POST /user_groups/{without}/deactivate"), &[]).await.success();
    let internet = id_of(&app, "role:internet").await;
    let before = mark(&app);
    for Row { name, can_have: [nobody, everyone], .. } in ROWS {
        let mut cases = vec![
            (json!(999), "Invalid user group".to_owned()),
            (json!(without), "User group is deactivated.".to_owned()),
            (json!({"direct_members": [999], "direct_subgroups": [with]}), "Invalid user ID: 999".to_owned()),
            (json!({"direct_members": [sam.id], "direct_subgroups": [999]}), "Invalid user group ID: 999".to_owned()),
            (json!(internet), format!("'{name}' setting cannot be set to 'role:internet' group.")),
        ];
        for (group, is_allowed) in [("role:nobody", nobody), ("role:everyone", everyone)] {
            if !is_allowed {
                let text = format!("'{name}' setting cannot be set to '{group}' group.");
                cases.push((json!(id_of(&app, group).await), text));
            }
        }
        if !nobody {
            let empty = json!({"direct_members": [], "direct_subgroups": []});
            cases.push((empty, format!("'{name}' setting cannot be set to 'role:nobody' group.")));
        }
        for (new, text) in cases {
            set(&app, &app.ada, name, json!({"new": new})).await.refused(&text);
        }
    }
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn level_280_web_public_channels_are_created_by_one_of_four_system_groups() {
    let clubs = Clubs::new().await;
    let name = "can_create_web_public_channel_group";
    let response = set(&clubs.app, &clubs.app.ada, name, json!({"new": clubs.with})).await;
    let text = "'can_create_web_public_channel_group' must be a system user group.";
    assert_eq!(response.error(), (400, "SYSTEM_GROUP_REQUIRED", text));
    assert_eq!(response.body["setting_name"], name);
    let members = id_of(&clubs.app, "role:members").await;
    let refusal = "'can_create_web_public_channel_group' setting cannot be set to 'role:members' group.";
    set(&clubs.app, &clubs.app.ada, name, json!({"new": members})).await.refused(refusal);
    let mona = clubs.app.person("mona", Role::Moderator).await;
    let create = async |channel: &str| {
        let channel = json!([{"name": channel}]).to_string();
        let new = [("subscriptions", channel.as_str()), ("is_web_public", "true")];
        clubs.app.call(&mona, "POST /users/me/subscriptions", &new).await
    };
    for (group, number, may_create) in [
        ("role:moderators", 4, true),
        ("role:administrators", 2, false),
        ("role:owners", 7, false),
        ("role:nobody", 6, false),
    ] {
        clubs.give(name, id_of(&clubs.app, group).await).await;
        assert_eq!(state(&clubs.app, &mona, "realm_create_web_public_stream_policy").await, number);
        assert_eq!(state(&clubs.app, &mona, "can_create_web_public_streams").await, may_create);
        let response = create(&format!("shop {number}")).await;
        if may_create { drop(response.success()) } else { response.refused(INSUFFICIENT) }
    }
}

#[tokio::test]
async fn levels_281_and_291_messages_are_deleted_by_the_groups_that_may() {
    let clubs = Clubs::new().await;
    let delete = async |id: i64| clubs.app.call(&clubs.sam, &format!("DELETE /messages/{id}"), &[]).await;
    let (hers, refusal) =
        (clubs.say(&clubs.app.ada, "Lunch").await, "You don't have permission to delete this message");
    clubs.assert_decides("can_delete_any_message_group", async |_| delete(hers).await, refusal).await;
    clubs.give("can_delete_any_message_group", clubs.without).await;
    let his = clubs.say(&clubs.sam, "Lunch").await;
    clubs.assert_decides("can_delete_own_message_group", async |_| delete(his).await, refusal).await;
}

#[tokio::test]
async fn level_299_user_groups_are_created_by_one_group_and_all_changed_by_another() {
    let clubs = Clubs::new().await;
    let create = async |clubs: &Clubs| {
        let new = [("name", "cooks"), ("description", ""), ("members", "[]")];
        clubs.app.call(&clubs.sam, "POST /user_groups/create", &new).await
    };
    clubs.assert_decides("can_create_groups", create, INSUFFICIENT).await;
    clubs.give("can_create_groups", clubs.without).await;
    let rename = async |clubs: &Clubs| {
        let path = format!("PATCH /user_groups/{}", clubs.without);
        clubs.app.call(&clubs.sam, &path, &[("name", "others")]).await
    };
    clubs.assert_decides("can_manage_all_groups", rename, INSUFFICIENT).await;
}

#[tokio::test]
async fn level_307_custom_emoji_are_added_by_a_group() {
    let clubs = Clubs::new().await;
    let add = async |clubs: &Clubs| {
        let upload = form(&[("file", "wave.png", "image/png", b"not a picture")]);
        clubs.app.call_with_files(&clubs.sam, "POST /realm/emoji/wave", upload).await
    };
    clubs.give("can_add_custom_emoji_group", clubs.without).await;
    add(&clubs).await.refused(INSUFFICIENT);
    clubs.give("can_add_custom_emoji_group", clubs.with).await;
    assert_ne!(add(&clubs).await.error().2, INSUFFICIENT);
}

#[tokio::test]
async fn levels_310_and_316_messages_are_moved_by_the_groups_that_may() {
    let clubs = Clubs::new().await;
    let new = [("subscriptions", r#"[{"name": "news"}]"#)];
    clubs.app.call(&clubs.sam, "POST /users/me/subscriptions", &new).await.success();
    let channels = clubs.app.call(&clubs.sam, "GET /streams", &[]).await.success()["streams"].clone();
    let news = channels.as_array().unwrap().iter().find(|channel| channel["name"] == "news").unwrap();
    let (id, news) = (clubs.say(&clubs.app.ada, "Lunch").await, news["stream_id"].to_string());
    let edit = async |field: &str, value: &str| {
        clubs.app.call(&clubs.sam, &format!("PATCH /messages/{id}"), &[(field, value)]).await
    };
    let refusal = "You don't have permission to edit this message";
    let to_topic = async |_: &Clubs| edit("topic", "Dinner").await;
    clubs.assert_decides("can_move_messages_between_topics_group", to_topic, refusal).await;
    let refusal = "You don't have permission to move this message";
    let to_channel = async |_: &Clubs| edit("stream_id", &news).await;
    clubs.assert_decides("can_move_messages_between_channels_group", to_channel, refusal).await;
}

#[tokio::test]
async fn levels_314_and_321_people_are_invited_by_mail_and_by_link_by_different_groups() {
    let clubs = Clubs::new().await;
    let by_mail = async |clubs: &Clubs| {
        let invitation = [("invitee_emails", "new@acme.org"), ("stream_ids", "[]")];
        clubs.app.call(&clubs.sam, "POST /invites", &invitation).await
    };
    clubs.assert_decides("can_invite_users_group", by_mail, INSUFFICIENT).await;
    assert_eq!(state(&clubs.app, &clubs.sam, "can_invite_others_to_realm").await, true);
    clubs.give("can_invite_users_group", clubs.without).await;
    let by_link = async |clubs: &Clubs| clubs.app.call(&clubs.sam, "POST /invites/multiuse", &[]).await;
    clubs.assert_decides("create_multiuse_invite_group", by_link, INSUFFICIENT).await;
}

#[tokio::test]
async fn level_341_others_are_subscribed_by_a_group() {
    let clubs = Clubs::new().await;
    let mel = clubs.app.person("mel", Role::Member).await;
    let subscribe = async |clubs: &Clubs| {
        let (news, principals) = (json!([{"name": "general"}]).to_string(), json!([mel.id]).to_string());
        let parameters = [("subscriptions", news.as_str()), ("principals", principals.as_str())];
        clubs.app.call(&clubs.sam, "POST /users/me/subscriptions", &parameters).await
    };
    clubs.assert_decides("can_add_subscribers_group", subscribe, INSUFFICIENT).await;
}

#[tokio::test]
async fn level_344_bots_are_created_by_one_group_and_write_only_ones_by_another_too() {
    let clubs = Clubs::new().await;
    let create = async |kind: &str| {
        let bot = [("full_name", "Robot"), ("short_name", "robot"), ("bot_type", kind)];
        clubs.app.call(&clubs.sam, "POST /bots", &bot).await
    };
    for permission in ["can_create_bots_group", "can_create_write_only_bots_group"] {
        clubs.give(permission, clubs.without).await;
    }
    create("2").await.refused(INSUFFICIENT);
    clubs.give("can_create_write_only_bots_group", clubs.with).await;
    // There are no such bots, which is all that is wrong now.
    assert_ne!(create("2").await.error().2, INSUFFICIENT);
    create("1").await.refused(INSUFFICIENT);
    clubs.assert_decides("can_create_bots_group", async |_| create("1").await, INSUFFICIENT).await;
}

#[tokio::test]
async fn level_367_topics_are_resolved_by_a_group_that_need_not_rename_them() {
    let clubs = Clubs::new().await;
    let id = clubs.say(&clubs.app.ada, "Lunch").await;
    let rename = async |topic: &str| {
        let edit = [("topic", topic), ("propagate_mode", "change_all")];
        clubs.app.call(&clubs.sam, &format!("PATCH /messages/{id}"), &edit).await
    };
    clubs.give("can_move_messages_between_topics_group", clubs.without).await;
    let refusal = "You don't have permission to resolve topics in this channel.";
    // No limit of time holds for it.
    clubs.app.wait_s(30 * 86_400);
    clubs.assert_decides("can_resolve_topics_group", async |_| rename("✔ Lunch").await, refusal).await;
    rename("✔ Dinner").await.refused("You don't have permission to edit this message");
    rename("Lunch").await.success();
}

#[tokio::test]
async fn level_290_a_group_that_the_organization_builds_on_stays_in_use() {
    let clubs = Clubs::new().await;
    let inner = id_of(&clubs.app, "inner").await;
    let named = json!({"new": {"direct_members": [clubs.sam.id], "direct_subgroups": [clubs.without]}});
    set(&clubs.app, &clubs.app.ada, "can_invite_users_group", named).await.success();
    clubs.give("can_create_groups", clubs.without).await;
    let deactivate =
        async |id: i64| clubs.app.call(&clubs.app.ada, &format!("POST /user_groups/{id}/deactivate"), &[]).await;
    let response = deactivate(clubs.without).await;
    assert_eq!(response.error().1, "CANNOT_DEACTIVATE_GROUP_IN_USE");
    let objection = json!({"type": "realm", "settings": ["can_create_groups", "can_invite_users_group"]});
    assert_eq!(response.body["objections"], json!([objection]));
    let objections = deactivate(inner).await.body["objections"].clone();
    assert_eq!(objections, json!([{"type": "subgroup", "supergroup_ids": [clubs.with]}]));
    let members = id_of(&clubs.app, "role:members").await;
    clubs.give("can_create_groups", members).await;
    clubs.give("can_invite_users_group", members).await;
    deactivate(clubs.without).await.success();
}

#[tokio::test]
async fn level_326_each_permission_says_which_groups_can_have_it() {
    let app = TestApp::found().await;
    let supported = state(&app, &app.ada, "server_supported_permission_settings").await["realm"].clone();
    for Row { name, default, can_have: [nobody, everyone], .. } in ROWS {
        let entry = &supported[name];
        let expected = json!([false, false, nobody, everyone, default, null, []]);
        let keys = [
            "require_system_group",
            "allow_internet_group",
            "allow_nobody_group",
            "allow_everyone_group",
            "default_group_name",
            "default_for_system_groups",
            "allowed_system_groups",
        ];
        assert_eq!(json!(keys.map(|key| &entry[key])), expected, "{name}");
    }
    let web_public = &supported["can_create_web_public_channel_group"];
    let allowed = json!(["role:moderators", "role:administrators", "role:owners", "role:nobody"]);
    assert_eq!((&web_public["require_system_group"], &web_public["allowed_system_groups"]), (&json!(true), &allowed));
}

#[tokio::test]
async fn levels_310_to_352_an_older_client_sets_the_group_by_its_number_and_is_shown_the_number_of_a_group() {
    let clubs = Clubs::new().await;
    let app = &clubs.app;
    for (policy, name, numbers) in [
        (
            "edit_topic_policy",
            "can_move_messages_between_topics_group",
            &[
                (1, "role:members"),
                (2, "role:administrators"),
                (3, "role:fullmembers"),
                (4, "role:moderators"),
                (5, "role:everyone"),
                (6, "role:nobody"),
            ][..],
        ),
        (
            "wildcard_mention_policy",
            "can_mention_many_users_group",
            &[
                (1, "role:everyone"),
                (2, "role:members"),
                (3, "role:fullmembers"),
                (5, "role:administrators"),
                (6, "role:nobody"),
                (7, "role:moderators"),
            ][..],
        ),
        ("invite_to_realm_policy", "can_invite_users_group", &[(4, "role:moderators"), (6, "role:nobody")][..]),
    ] {
        for (number, group) in numbers {
            let id = id_of(app, group).await;
            app.call(&app.ada, "PATCH /realm", &[(policy, &number.to_string())]).await.success();
            assert_eq!(state(app, &app.ada, &format!("realm_{name}")).await, id, "{policy} {number}");
            clubs.give(name, clubs.with).await;
            assert_eq!(state(app, &app.ada, &format!("realm_{policy}")).await, 1, "{policy}");
            clubs.give(name, id).await;
            assert_eq!(state(app, &app.ada, &format!("realm_{policy}")).await, *number, "{policy}");
        }
    }
}
