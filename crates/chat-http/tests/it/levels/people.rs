//! Users, groups and channels.

use chat_core::id::UserId;
use chat_core::model::realm_change::{RealmChange, UserItemKind};
use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::file_store::form;
use crate::personal::{bot, close, heard, listen, mark, put};
use crate::test_app::{NOW_S, Person, TestApp};

#[tokio::test]
async fn level_286_an_upload_has_its_file_name_beside_its_address() {
    let app = TestApp::found().await;
    let upload = form(&[("file", "Lab report.txt", "text/plain", b"All is well.")]);
    let answer = app.call_with_files(&app.ada, "POST /user_uploads", upload).await.success();
    assert_eq!((&answer["filename"], &answer["uri"]), (&json!("Lab report.txt"), &answer["url"]));
}

#[tokio::test]
async fn levels_302_and_313_a_user_is_read_and_changed_by_an_address_that_the_caller_may_see() {
    let app = TestApp::found().await;
    let (sam, gus) = (app.person("sam", Role::Member).await, app.person("gus", Role::Guest).await);
    let hidden = format!("user{}@hidden.invalid", sam.id);
    let read = async |who: &Person, address: &str| {
        let answer = app.call(who, &format!("GET /users/{address}"), &[]).await;
        if answer.status == 200 { answer.body["user"]["user_id"].as_i64() } else { None }
    };
    assert_eq!(read(&gus, &sam.email).await, Some(sam.id));
    assert_eq!(read(&gus, &hidden).await, Some(sam.id));
    app.call(&sam, "PATCH /settings", &[("email_address_visibility", "3")]).await.success();
    assert_eq!((read(&gus, &sam.email).await, read(&gus, &hidden).await), (None, Some(sam.id)));
    assert_eq!((read(&app.ada, &sam.email).await, read(&sam, &sam.email).await), (Some(sam.id), Some(sam.id)));
    for (address, name) in [(&sam.email, "Samuel"), (&hidden, "Sam S.")] {
        let change = [("full_name", name)];
        app.call(&app.ada, &format!("PATCH /users/{address}"), &change).await.success();
        let shown = app.call(&app.ada, &format!("GET /users/{}", sam.id), &[]).await.success();
        assert_eq!(shown["user"]["full_name"], name);
        let before = mark(&app);
        app.call(&gus, &format!("PATCH /users/{hidden}"), &change).await.refused("Insufficient permission");
        assert_eq!(mark(&app), before);
    }
    app.call(&app.ada, "PATCH /users/nobody@example.org", &[("full_name", "x")]).await.refused("No such user");
}

#[tokio::test]
async fn level_303_closed_accounts_are_in_no_group_until_they_are_open_again() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = new_group(&app, "cooks", &[]).await;
    let add = json!([sam.id]).to_string();
    app.call(&app.ada, &format!("POST /user_groups/{id}/members"), &[("add", &add)]).await.success();
    let members = app.realm().system_group(chat_core::model::group::SystemGroup::Members).unwrap().id.0;
    let is_in = async |id: i64| group(&app, id).await["members"].as_array().unwrap().contains(&json!(sam.id));
    assert!(is_in(id).await && is_in(members).await);
    let queue = listen(&app, &app.ada, r#"["user_group", "realm_user"]"#, &[]).await;
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    assert!(!is_in(id).await && !is_in(members).await);
    app.call(&app.ada, &format!("POST /users/{}/reactivate", sam.id), &[]).await.success();
    assert!(is_in(id).await && is_in(members).await);
    let told = heard(&app, &queue).await;
    let update = |is_active: bool| {
        let person = json!({"user_id": sam.id, "is_active": is_active});
        json!({"type": "realm_user", "op": "update", "person": person})
    };
    assert_eq!(told[..2], [update(false), update(true)]);
    let joined: Vec<_> = told[2..].iter().map(|event| (event["op"].clone(), event["group_id"].clone())).collect();
    for group_id in [id, members] {
        assert!(joined.contains(&(json!("add_members"), json!(group_id))), "{joined:?}");
    }
    assert!(told[2..].iter().all(|event| event["user_ids"] == json!([sam.id])), "{told:?}");
}

#[tokio::test]
async fn level_322_an_invitation_leads_into_groups_that_its_inviter_may_fill() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (id, old) = (new_group(&app, "cooks", &[]).await, deactivated_group(&app, "old").await);
    let members = app.realm().system_group(chat_core::model::group::SystemGroup::Members).unwrap().id.0;
    let invite = async |who: &Person, path: &str, groups: &[i64]| {
        let groups = json!(groups).to_string();
        let new = [("invitee_emails", "new@example.org"), ("stream_ids", "[]"), ("group_ids", groups.as_str())];
        app.call(who, path, &new[usize::from(path.ends_with("multiuse"))..]).await
    };
    for path in ["POST /invites", "POST /invites/multiuse"] {
        invite(&app.ada, path, &[id, 99_999]).await.refused("Invalid user group");
        invite(&app.ada, path, &[members]).await.refused("Insufficient permission");
        invite(&app.ada, path, &[old]).await.refused("User group is deactivated.");
    }
    invite(&sam, "POST /invites", &[id]).await.refused("Insufficient permission");
    assert!(crate::invites::letters(&app).await.is_empty());
    invite(&app.ada, "POST /invites/multiuse", &[id]).await.success();
    invite(&app.ada, "POST /invites", &[id, id]).await.success();
    let queue = listen(&app, &app.ada, r#"["user_group"]"#, &[]).await;
    let letter = crate::invites::letters(&app).await.remove(0);
    let form = [("full_name", "New"), ("password", "correct horse")];
    app.browse(&format!("POST {}", crate::invites::path_in(&letter)), &form).await;
    let new = app.realm().user_by_email("new@example.org").unwrap().id.0;
    assert_eq!(group(&app, id).await["members"].as_array().unwrap().last(), Some(&json!(new)));
    let joined = json!({"type": "user_group", "op": "add_members", "group_id": id, "user_ids": [new]});
    assert!(heard(&app, &queue).await.contains(&joined));
}

#[tokio::test]
async fn level_377_those_who_see_a_channel_hear_that_a_closed_account_is_not_in_it_first() {
    let app = TestApp::found().await;
    let (sam, gus) = (app.person("sam", Role::Member).await, app.person("gus", Role::Guest).await);
    let general = app.realm().channel_by_name("general").unwrap().id;
    app.call(&sam, "POST /users/me/subscriptions", &[("subscriptions", r#"[{"name": "general"}]"#)]).await.success();
    let queue = listen(&app, &app.ada, r#"["subscription", "realm_user"]"#, &[]).await;
    let outside = listen(&app, &gus, r#"["subscription"]"#, &[]).await;
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    let told: Vec<_> = heard(&app, &queue).await.iter().map(|event| event["op"].clone()).collect();
    assert_eq!(told.last(), Some(&json!("update")));
    assert_eq!(told[0], "peer_remove");
    assert!(heard(&app, &outside).await.is_empty());
    app.call(&app.ada, &format!("POST /users/{}/reactivate", sam.id), &[]).await.success();
    let back = heard(&app, &queue).await;
    let peer = json!({"type": "subscription", "op": "peer_add", "stream_ids": [general], "user_ids": [sam.id]});
    assert!(back.contains(&peer), "{back:?}");
}

async fn new_group(app: &TestApp, name: &str, more: &[(&str, &str)]) -> i64 {
    let new = [("name", name), ("description", ""), ("members", "[]")];
    let new: Vec<_> = new.into_iter().chain(more.iter().copied()).collect();
    app.call(&app.ada, "POST /user_groups/create", &new).await.success()["group_id"].as_i64().unwrap()
}

async fn group(app: &TestApp, id: i64) -> Value {
    let groups = app.call(&app.ada, "GET /user_groups", &[]).await.success()["user_groups"].clone();
    groups.as_array().unwrap().iter().find(|group| group["id"] == id).unwrap().clone()
}

const KNOWS: (&str, &str) =
    ("client_capabilities", r#"{"notification_settings_null": true, "include_deactivated_groups": true}"#);

/// What a queue that knows of groups out of use hears of a group, and what another hears.
struct GroupQueues([crate::personal::TestQueue; 2]);

impl GroupQueues {
    async fn new(app: &TestApp) -> Self {
        let types = r#"["user_group"]"#;
        Self([listen(app, &app.ada, types, &[KNOWS]).await, listen(app, &app.ada, types, &[]).await])
    }

    async fn heard(&self, app: &TestApp) -> [Vec<Value>; 2] {
        [heard(app, &self.0[0]).await, heard(app, &self.0[1]).await]
    }
}

async fn deactivated_group(app: &TestApp, name: &str) -> i64 {
    let id = new_group(app, name, &[]).await;
    app.call(&app.ada, &format!("POST /user_groups/{id}/deactivate"), &[]).await.success();
    id
}

#[tokio::test]
async fn levels_290_and_294_a_group_out_of_use_is_one_to_clients_that_know_and_gone_to_others() {
    let app = TestApp::found().await;
    let id = new_group(&app, "cooks", &[]).await;
    let queues = GroupQueues::new(&app).await;
    app.call(&app.ada, &format!("POST /user_groups/{id}/deactivate"), &[]).await.success();
    let update = json!({"type": "user_group", "op": "update", "group_id": id, "data": {"deactivated": true}});
    let remove = json!({"type": "user_group", "op": "remove", "group_id": id});
    assert_eq!(queues.heard(&app).await, [vec![update], vec![remove]]);
    let listed = async |name: &'static str| {
        let groups = app.call(&app.ada, "GET /user_groups", &[(name, "true")]).await.success()["user_groups"].clone();
        groups.as_array().unwrap().iter().any(|group| group["id"] == id)
    };
    assert_eq!([listed("include_deactivated_groups").await, listed("allow_deactivated").await], [true, false]);
}

#[tokio::test]
async fn level_340_name_and_settings_of_a_group_out_of_use_change_for_those_who_know_of_it() {
    let app = TestApp::found().await;
    let id = deactivated_group(&app, "cooks").await;
    let queues = GroupQueues::new(&app).await;
    let change = [("name", "chefs"), ("description", "Who cook")];
    app.call(&app.ada, &format!("PATCH /user_groups/{id}"), &change).await.success();
    let data = json!({"name": "chefs", "description": "Who cook"});
    let update = json!({"type": "user_group", "op": "update", "group_id": id, "data": data});
    assert_eq!(queues.heard(&app).await, [vec![update], Vec::new()]);
}

#[tokio::test]
async fn level_386_a_group_comes_into_use_again_with_its_members() {
    let app = TestApp::found().await;
    let id = new_group(&app, "cooks", &[]).await;
    let add = json!([app.ada.id]).to_string();
    app.call(&app.ada, &format!("POST /user_groups/{id}/members"), &[("add", &add)]).await.success();
    let path = format!("PATCH /user_groups/{id}");
    // It is in use, and this endpoint puts no group out of use.
    let before = mark(&app);
    for value in ["true", "false"] {
        let response = app.call(&app.ada, &path, &[("deactivated", value)]).await;
        assert_eq!((response.status.is_success(), mark(&app)), (value == "false", before));
    }
    app.call(&app.ada, &format!("POST /user_groups/{id}/deactivate"), &[]).await.success();
    let queues = GroupQueues::new(&app).await;
    app.call(&app.ada, &path, &[("deactivated", "false")]).await.success();
    let update = json!({"type": "user_group", "op": "update", "group_id": id, "data": {"deactivated": false}});
    let add = json!({"type": "user_group", "op": "add", "group": group(&app, id).await});
    assert_eq!(queues.heard(&app).await, [vec![update], vec![add]]);
    assert_eq!(group(&app, id).await["members"], json!([app.ada.id]));
}

#[tokio::test]
async fn level_391_members_of_a_group_out_of_use_change_and_it_is_no_subgroup() {
    let app = TestApp::found().await;
    let (id, inner) = (deactivated_group(&app, "cooks").await, new_group(&app, "inner", &[]).await);
    let queues = GroupQueues::new(&app).await;
    let (ada, inside) = (json!([app.ada.id]), json!([inner]));
    let change = [("add", ada.to_string()), ("add_subgroups", inside.to_string())];
    let change = change.each_ref().map(|(name, value)| (*name, value.as_str()));
    app.call(&app.ada, &format!("POST /user_groups/{id}/members"), &change).await.success();
    let told = vec![
        json!({"type": "user_group", "op": "add_members", "group_id": id, "user_ids": ada}),
        json!({"type": "user_group", "op": "add_subgroups", "group_id": id, "direct_subgroup_ids": inside}),
    ];
    assert_eq!(queues.heard(&app).await, [told, Vec::new()]);
    let outer = new_group(&app, "outer", &[]).await;
    let add = json!([id]).to_string();
    let refused = app.call(&app.ada, &format!("POST /user_groups/{outer}/subgroups"), &[("add", &add)]).await;
    refused.refused(&format!("Invalid user group ID: {id}"));
}

#[tokio::test]
async fn level_292_a_group_has_its_creator_and_its_time_and_one_of_the_system_has_none() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["user_group"]"#, &[]).await;
    app.wait_s(7);
    let id = new_group(&app, "cooks", &[]).await;
    let origin = |group: &Value| (group["creator_id"].clone(), group["date_created"].clone());
    let expected = (json!(app.ada.id), json!(NOW_S + 7));
    assert_eq!(origin(&group(&app, id).await), expected);
    assert_eq!(origin(&heard(&app, &queue).await[0]["group"]), expected);
    let groups = crate::personal::state(&app, &app.ada, "realm_user_groups").await;
    assert_eq!(origin(&groups[0]), (Value::Null, Value::Null));
    assert_eq!(origin(groups.as_array().unwrap().last().unwrap()), expected);
}

#[tokio::test]
async fn level_296_a_field_that_administrators_answer_is_answered_by_them_alone() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let queue = listen(&app, &sam, r#"["custom_profile_fields"]"#, &[]).await;
    let new = [("name", "Team"), ("field_type", "1"), ("editable_by_user", "false")];
    let id = app.call(&app.ada, "POST /realm/profile_fields", &new).await.success()["id"].clone();
    let listed = app.call(&sam, "GET /realm/profile_fields", &[]).await.success()["custom_fields"].clone();
    assert_eq!(
        (&listed[0]["editable_by_user"], &heard(&app, &queue).await[0]["fields"][0]),
        (&json!(false), &listed[0])
    );
    let (data, ids) = (json!([{"id": id, "value": "Ward"}]).to_string(), json!([id]).to_string());
    let before = mark(&app);
    let refused = "You are not allowed to change this field. Contact an administrator to update it.";
    app.call(&sam, "PATCH /users/me/profile_data", &[("data", &data)]).await.refused(refused);
    app.call(&sam, "DELETE /users/me/profile_data", &[("data", &ids)]).await.refused(refused);
    assert_eq!(mark(&app), before);
    app.call(&app.ada, "PATCH /users/me/profile_data", &[("data", &data)]).await.success();
    app.call(&app.ada, &format!("PATCH /users/{}", sam.id), &[("profile_data", &data)]).await.success();
    let change = format!("PATCH /realm/profile_fields/{id}");
    app.call(&app.ada, &change, &[("editable_by_user", "true")]).await.success();
    app.call(&sam, "DELETE /users/me/profile_data", &[("data", &ids)]).await.success();
    let usual = app.call(&app.ada, "POST /realm/profile_fields", &[("name", "Floor"), ("field_type", "1")]).await;
    usual.success();
    let listed = app.call(&sam, "GET /realm/profile_fields", &[]).await.success()["custom_fields"].clone();
    assert_eq!(listed[1]["editable_by_user"], true);
}

#[tokio::test]
async fn level_311_a_group_is_made_with_subgroups_and_changed_with_users_in_one_request() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (inner, other) = (new_group(&app, "inner", &[]).await, new_group(&app, "other", &[]).await);
    let outer = new_group(&app, "outer", &[("subgroups", &json!([inner, inner]).to_string())]).await;
    assert_eq!(group(&app, outer).await["direct_subgroup_ids"], json!([inner]));
    let queue = listen(&app, &app.ada, r#"["user_group"]"#, &[]).await;
    let (add, add_subgroups, delete_subgroups) =
        (json!([sam.id]).to_string(), json!([other]).to_string(), json!([inner]).to_string());
    let change = [("add", add.as_str()), ("add_subgroups", &add_subgroups), ("delete_subgroups", &delete_subgroups)];
    app.call(&app.ada, &format!("POST /user_groups/{outer}/members"), &change).await.success();
    let now = group(&app, outer).await;
    assert_eq!((&now["members"], &now["direct_subgroup_ids"]), (&json!([sam.id]), &json!([other])));
    let told = [
        json!({"type": "user_group", "op": "add_members", "group_id": outer, "user_ids": [sam.id]}),
        json!({"type": "user_group", "op": "add_subgroups", "group_id": outer, "direct_subgroup_ids": [other]}),
        json!({"type": "user_group", "op": "remove_subgroups", "group_id": outer, "direct_subgroup_ids": [inner]}),
    ];
    assert_eq!(heard(&app, &queue).await, told);
}

#[tokio::test]
async fn level_311_a_change_of_users_and_subgroups_is_made_whole_or_not_at_all() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (inner, outer) = (new_group(&app, "inner", &[]).await, new_group(&app, "outer", &[]).await);
    let before = mark(&app);
    let add = json!([sam.id]).to_string();
    let inside = json!([inner]).to_string();
    for (change, text) in [
        (("delete_subgroups", inside.as_str()), format!("User group {inner} is not a subgroup of this group.")),
        (("add_subgroups", "[99999]"), "Invalid user group ID: 99999".to_owned()),
    ] {
        let both = [("add", add.as_str()), change];
        app.call(&app.ada, &format!("POST /user_groups/{outer}/members"), &both).await.refused(&text);
    }
    let new = [("name", "third"), ("description", ""), ("members", "[]"), ("subgroups", "[99999]")];
    app.call(&app.ada, "POST /user_groups/create", &new).await.refused("Invalid user group ID: 99999");
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn level_317_making_a_group_is_answered_with_its_number() {
    let app = TestApp::found().await;
    let id = new_group(&app, "cooks", &[]).await;
    assert_eq!(group(&app, id).await["name"], "cooks");
}

#[tokio::test]
async fn level_343_a_channel_that_goes_out_of_sight_is_named_by_its_number() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["stream"]"#, &[]).await;
    let general = app.realm().channel_by_name("general").unwrap().id;
    app.call(&app.ada, &format!("DELETE /streams/{general}"), &[]).await.success();
    let told = heard(&app, &queue).await;
    assert_eq!((&told[0]["op"], &told[0]["stream_ids"]), (&json!("delete"), &json!([general])));
    assert_eq!(told[0]["streams"][0]["stream_id"], json!(general));
}

#[tokio::test]
async fn level_384_users_are_listed_by_their_numbers_and_unknown_ones_are_left_out() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Guest).await);
    close(&app, &eve).await;
    let listed = async |ids: Value| {
        let response = app.call(&sam, "GET /users", &[("user_ids", &ids.to_string())]).await.success();
        response["members"].as_array().unwrap().iter().map(|user| user["user_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(json!([eve.id, 99_999, app.ada.id, eve.id])).await, [json!(app.ada.id), json!(eve.id)]);
    assert_eq!(listed(json!([])).await, Vec::<Value>::new());
    let response = app.call(&sam, "GET /users", &[("user_ids", r#"["x"]"#)]).await;
    response.refused("user_ids[0] is not an integer");
}

#[tokio::test]
async fn level_407_an_administrator_sets_the_status_of_a_person_and_nobody_else_does() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Moderator).await);
    let robot = bot(&app, "robot").await;
    let queue = listen(&app, &sam, r#"["user_status"]"#, &[]).await;
    let path = |of: &Person| format!("POST /users/{}/status", of.id);
    let status = [("status_text", "on leave"), ("emoji_name", "car")];
    app.call(&app.ada, &path(&sam), &status).await.success();
    let shown = app.call(&eve, &format!("GET /users/{}/status", sam.id), &[]).await.success()["status"].clone();
    assert_eq!((&shown["status_text"], &shown["emoji_name"]), (&json!("on leave"), &json!("car")));
    let told = heard(&app, &queue).await;
    assert_eq!((told.len(), &told[0]["user_id"], &told[0]["status_text"]), (1, &json!(sam.id), &json!("on leave")));
    let before = mark(&app);
    for caller in [&sam, &eve, &robot] {
        app.call(caller, &path(&sam), &status).await.refused("Insufficient permission");
    }
    app.call(&app.ada, &path(&robot), &status).await.refused("No such user");
    app.call(&app.ada, "POST /users/99999/status", &status).await.refused("No such user");
    assert_eq!(mark(&app), before);
    close(&app, &eve).await;
    app.call(&app.ada, &path(&eve), &status).await.refused("User is deactivated");
    let away = app.call(&app.ada, &path(&sam), &[("status_text", "back"), ("away", "true")]).await.success();
    assert_eq!(away["ignored_parameters_unsupported"], json!(["away"]));
}

#[tokio::test]
async fn level_356_channels_are_listed_that_the_caller_knows_or_reads() {
    let app = TestApp::found().await;
    let (admin, gus) = (app.person("max", Role::Administrator).await, app.person("gus", Role::Guest).await);
    let new = [("subscriptions", r#"[{"name": "hidden"}]"#), ("invite_only", "true")];
    app.call(&app.ada, "POST /users/me/subscriptions", &new).await.success();
    let listed = async |who: &Person, group: &'static str| {
        let asked = [("include_public", "false"), ("include_subscribed", "false"), (group, "true")];
        let streams = app.call(who, "GET /streams", &asked).await.success()["streams"].clone();
        streams.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (all, readable) = ("include_all", "include_can_access_content");
    // An administrator knows of a private channel and does not read it.
    assert_eq!(listed(&admin, all).await, ["general", "sandbox", "hidden"]);
    assert_eq!(listed(&admin, readable).await, ["general", "sandbox"]);
    assert_eq!(listed(&app.ada, readable).await, ["general", "sandbox", "hidden"]);
    assert_eq!((listed(&gus, all).await, listed(&gus, readable).await), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn level_313_an_administrator_whom_the_operator_lets_gives_others_addresses() {
    let app = TestApp::found().await;
    let boss = app.person("boss", Role::Administrator).await;
    let sam = app.person("sam", Role::Member).await;
    let give = async |who: &Person, to: i64, address: &str| {
        app.call(who, &format!("PATCH /users/{to}"), &[("new_email", address)]).await
    };
    let before = mark(&app);
    let refusal = "User not authorized to change user emails";
    give(&boss, sam.id, "new@example.org").await.refused(refusal);
    assert_eq!(mark(&app), before);
    let document = Some(json!({}));
    let (kind, key) = (UserItemKind::AddressAdministrator, String::new());
    put(&app, vec![RealmChange::UserItem { user_id: UserId(boss.id), kind, key, document }]).await;
    let queue = listen(&app, &app.ada, r#"["realm_user"]"#, &[]).await;
    let before = mark(&app);
    give(&boss, sam.id, "nowhere").await.refused("Invalid new email address.");
    give(&boss, sam.id, &boss.email).await.refused("New email value error: Email 'boss@example.org' already in use");
    give(&boss, app.ada.id, "new@example.org").await.refused("Must be an organization owner");
    assert_eq!(mark(&app), before);
    give(&boss, sam.id, "new@example.org").await.success();
    let told = |key: &str| json!({"type": "realm_user", "op": "update", "person": {"user_id": sam.id, key: "new@example.org"}});
    let heard = heard(&app, &queue).await;
    assert_eq!(heard[..2], [told("delivery_email"), told("new_email")], "{heard:?}");
    assert_eq!(app.call(&boss, "GET /users/new@example.org", &[]).await.success()["user"]["user_id"], json!(sam.id));
    let moved = Person { email: "new@example.org".to_owned(), ..sam };
    app.call(&moved, "GET /users/me", &[]).await.success();
}
