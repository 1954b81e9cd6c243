//! User groups: who makes them, who is in them, who may mention them, and what everybody hears of it.

use chat_core::event_log::event::{ClientCapability, EventBody, QueueCondition};
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{UserGroupId, UserId};
use chat_core::model::group::SystemGroup;
use chat_core::model::realm::Realm;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::test_app::{NOW_S, Person, TestApp};
use crate::users::{assert_nothing_written, events_after, everybody};

const CREATE: &str = "POST /user_groups/create";

/// Parameters of a call.
type Sent<'a> = &'a [(&'a str, &'a str)];

/// A group by its name, as members are shown it.
async fn shown(app: &TestApp, name: &str) -> Option<Value> {
    let parameters = [("include_deactivated_groups", "true")];
    let response = app.call(&app.ada, "GET /user_groups", &parameters).await.success();
    response["user_groups"].as_array().unwrap().iter().find(|group| group["name"] == name).cloned()
}

/// Makes a group as someone and returns its number.
async fn made(app: &TestApp, who: &Person, name: &str, members: &[&Person]) -> i64 {
    let members = json!(members.iter().map(|person| person.id).collect::<Vec<_>>()).to_string();
    let parameters = [("name", name), ("description", ""), ("members", members.as_str())];
    app.call(who, CREATE, &parameters).await.success()["group_id"].as_i64().unwrap()
}

/// What an empty group is made of.
fn plain(name: &str) -> [(&str, &str); 3] {
    [("name", name), ("description", ""), ("members", "[]")]
}

fn system(app: &TestApp, group: SystemGroup) -> i64 {
    app.realm().system_group(group).unwrap().id.0
}

/// Lets the realm choose who makes groups.
async fn let_make(app: &TestApp, policy: SystemGroup) {
    let realm = app.realm();
    let mut document = Realm::clone(realm.realm().unwrap());
    document.rules.edit_groups = policy.into();
    let changes = vec![RealmChange::Realm(Box::new(document))];
    let commit = RealmCommit { decided_at: realm.changed_at(), at_s: NOW_S, changes, ..RealmCommit::default() };
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
}

#[tokio::test]
async fn a_group_is_made_of_a_name_a_description_and_user_ids() {
    let app = TestApp::found().await;
    let [ada, .., mel, gus] = everybody(&app).await;
    let before = app.realm().log_position();
    let members = json!([gus.id, ada.id, gus.id]).to_string();
    let parameters = [("name", " cooks "), ("description", "Who *cooks*"), ("members", members.as_str())];
    let response = app.call(&mel, CREATE, &parameters).await.success();
    let group = json!({
        "id": response["group_id"],
        "name": "cooks",
        "description": "Who *cooks*",
        "members": [ada.id, gus.id],
        "direct_subgroup_ids": [],
        "is_system_group": false,
        "can_mention_group": system(&app, SystemGroup::Everyone),
        "deactivated": false,
        "creator_id": mel.id,
        "date_created": NOW_S,
    });
    assert_eq!(shown(&app, "cooks").await.as_ref(), Some(&group));
    assert_eq!(events_after(&app, before).await, [json!({"type": "user_group", "op": "add", "group": group})]);
}

#[tokio::test]
async fn who_makes_a_group_is_in_it_only_when_they_say_so() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    made(&app, &mel, "empty", &[]).await;
    assert_eq!(shown(&app, "empty").await.unwrap()["members"], json!([]));
}

#[tokio::test]
async fn name_description_and_members_are_required() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    let all = [("name", "cooks"), ("description", ""), ("members", "[]")];
    for missing in ["name", "description", "members"] {
        let rest: Vec<_> = all.into_iter().filter(|(name, _)| *name != missing).collect();
        app.call(&app.ada, CREATE, &rest).await.refused(&format!("Missing '{missing}' argument"));
    }
    assert_nothing_written(&app, before, "a group of too little");
}

#[tokio::test]
async fn an_unknown_user_id_is_a_bad_request() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    let before = app.realm().log_position();
    let closed = json!([app.ada.id, sam.id]).to_string();
    let cases = [
        ("[9, 998, 999]", "Invalid user ID: 998".to_owned()),
        ("[-1]", "Invalid user ID: -1".to_owned()),
        (closed.as_str(), format!("Invalid user ID: {}", sam.id)),
        ("9", "members is not a list".to_owned()),
        ("[\"9\"]", "members[0] is not an integer".to_owned()),
        ("9,", "members is not valid JSON".to_owned()),
    ];
    for (members, text) in cases {
        let parameters = [("name", "cooks"), ("description", ""), ("members", members)];
        app.call(&app.ada, CREATE, &parameters).await.refused(&text);
        assert_nothing_written(&app, before, members);
    }
}

#[tokio::test]
async fn a_name_has_bounds_and_belongs_to_one_group_alone() {
    let app = TestApp::found().await;
    made(&app, &app.ada, "team", &[]).await;
    let before = app.realm().log_position();
    let long = "x".repeat(101);
    let cases = [
        ("", "User group name can't be empty!"),
        ("  ", "User group name can't be empty!"),
        (long.as_str(), "User group name cannot exceed 100 characters."),
        ("@cooks", "User group name cannot start with '@'."),
        ("role:cooks", "User group name cannot start with 'role:'."),
        ("user:1", "User group name cannot start with 'user:'."),
        ("stream:1", "User group name cannot start with 'stream:'."),
        ("channel:1", "User group name cannot start with 'channel:'."),
        ("team", "User group 'team' already exists."),
        (" team ", "User group 'team' already exists."),
    ];
    for (name, text) in cases {
        let parameters = [("name", name), ("description", ""), ("members", "[]")];
        app.call(&app.ada, CREATE, &parameters).await.refused(text);
        assert_nothing_written(&app, before, name);
    }
    let long = "x".repeat(1_025);
    let parameters = [("name", "cooks"), ("description", long.as_str()), ("members", "[]")];
    app.call(&app.ada, CREATE, &parameters).await.refused("description is too long (limit: 1024 characters)");
    assert_nothing_written(&app, before, "a long description");
    // Names are compared with regard to case.
    made(&app, &app.ada, "TEAM", &[]).await;
    made(&app, &app.ada, &"x".repeat(100), &[]).await;
}

#[tokio::test]
async fn who_may_mention_a_group_is_a_group_id_or_an_object() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    let (moderators, members) = (system(&app, SystemGroup::Moderators), system(&app, SystemGroup::Members));
    let cases = [
        (json!(moderators), json!(moderators)),
        (json!({"direct_members": [], "direct_subgroups": [members]}), json!(members)),
        (
            json!({"direct_members": [mel.id, app.ada.id, mel.id], "direct_subgroups": [moderators]}),
            json!({"direct_members": [app.ada.id, mel.id], "direct_subgroups": [moderators]}),
        ),
        (json!({"direct_members": [], "direct_subgroups": []}), json!(system(&app, SystemGroup::Nobody))),
    ];
    for (place, (sent, kept)) in cases.into_iter().enumerate() {
        let (name, sent) = (format!("group {place}"), sent.to_string());
        let parameters =
            [("name", name.as_str()), ("description", ""), ("members", "[]"), ("can_mention_group", &sent)];
        app.call(&app.ada, CREATE, &parameters).await.success();
        assert_eq!(shown(&app, &name).await.unwrap()["can_mention_group"], kept, "{sent}");
    }
}

#[tokio::test]
async fn who_may_mention_a_group_cannot_be_role_internet_or_role_owners_or_what_is_not_there() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    let (internet, owners) = (system(&app, SystemGroup::Internet), system(&app, SystemGroup::Owners));
    let not_an_integer = r#"can_mention_group["int"] is not an integer"#;
    let refused_internet = "'can_mention_group' setting cannot be set to 'role:internet' group.";
    let refused_owners = "'can_mention_group' setting cannot be set to 'role:owners' group.";
    let cases = [
        (json!(internet), refused_internet),
        (json!({"direct_members": [], "direct_subgroups": [internet]}), refused_internet),
        (json!(owners), refused_owners),
        (json!({"direct_members": [], "direct_subgroups": [owners]}), refused_owners),
        (json!(999), "Invalid user group"),
        (json!({"direct_members": [], "direct_subgroups": [999]}), "Invalid user group"),
        (json!({"direct_members": [999], "direct_subgroups": []}), "Invalid user ID: 999"),
        (json!({"direct_members": []}), not_an_integer),
        (json!({"direct_members": ["9"], "direct_subgroups": []}), not_an_integer),
        (json!({"direct_members": [], "direct_subgroups": [], "x": 1}), not_an_integer),
        (json!("1"), not_an_integer),
        (json!(null), not_an_integer),
        (json!(1.5), not_an_integer),
    ];
    for (sent, text) in cases {
        let sent = sent.to_string();
        let parameters = [("name", "cooks"), ("description", ""), ("members", "[]"), ("can_mention_group", &sent)];
        app.call(&app.ada, CREATE, &parameters).await.refused(text);
        assert_nothing_written(&app, before, &sent);
    }
}

#[tokio::test]
async fn the_name_can_mention_group_had_before_level_198_is_not_supported() {
    let app = TestApp::found().await;
    let parameters = [("name", "cooks"), ("description", ""), ("members", "[]"), ("can_mention_group_id", "2")];
    let response = app.call(&app.ada, CREATE, &parameters).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["can_mention_group_id"]));
}

#[tokio::test]
async fn who_may_not_mention_a_group_is_told_so_and_who_may_reaches_its_members() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let only_sam = json!({"direct_members": [sam.id], "direct_subgroups": []}).to_string();
    let inside = json!([eve.id]).to_string();
    let parameters =
        [("name", "cooks"), ("description", ""), ("members", inside.as_str()), ("can_mention_group", &only_sam)];
    app.call(&app.ada, CREATE, &parameters).await.success();
    let to = json!([sam.id, eve.id]).to_string();
    let message = [("type", "direct"), ("to", to.as_str()), ("content", "@*cooks* soup")];
    let response = app.call(&eve, "POST /messages", &message).await;
    response.refused("You are not allowed to mention user group 'cooks'.");
    let id = app.call(&sam, "POST /messages", &message).await.success()["id"].clone();
    let response = app.call(&eve, &format!("GET /messages/{id}"), &[]).await.success();
    assert!(response["message"]["flags"].as_array().unwrap().contains(&json!("mentioned")), "{response}");
}

#[tokio::test]
async fn guests_make_no_groups_and_members_only_where_the_realm_lets_them() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let before = app.realm().log_position();
    app.call(&people[4], CREATE, &plain("guests")).await.refused("Not allowed for guest users");
    assert_eq!(app.call_as_nobody(CREATE, &plain("strangers")).await.status, 401);
    assert_nothing_written(&app, before, "groups of guests");
    for (policy, makers) in [(SystemGroup::Members, 4), (SystemGroup::Moderators, 3), (SystemGroup::Administrators, 2)]
    {
        let_make(&app, policy).await;
        for (place, person) in people.iter().take(4).enumerate() {
            let name = format!("{policy:?} {place}");
            let response = app.call(person, CREATE, &plain(&name)).await;
            if place < makers {
                response.success();
            } else {
                response.refused("Insufficient permission");
            }
        }
    }
}

#[tokio::test]
async fn name_description_and_who_mentions_are_changed_together_and_told_once() {
    let app = TestApp::found().await;
    let mona = app.person("mona", Role::Moderator).await;
    let id = made(&app, &app.ada, "cooks", &[]).await;
    let path = format!("PATCH /user_groups/{id}");
    let everyone = system(&app, SystemGroup::Everyone);
    let nobody = system(&app, SystemGroup::Nobody);
    let change = json!({"new": nobody, "old": everyone}).to_string();
    let before = app.realm().log_position();
    let parameters = [("name", " chefs "), ("description", "Who cooks"), ("can_mention_group", change.as_str())];
    app.call(&mona, &path, &parameters).await.success();
    let data = json!({"name": "chefs", "description": "Who cooks", "can_mention_group": nobody});
    let event = json!({"type": "user_group", "op": "update", "group_id": id, "data": data});
    assert_eq!(events_after(&app, before).await, [event]);
    assert_eq!(shown(&app, "cooks").await, None);
    assert_eq!(shown(&app, "chefs").await.unwrap()["can_mention_group"], json!(nobody));

    let before = app.realm().log_position();
    app.call(&mona, &path, &[("name", "chefs"), ("description", "Who cooks")]).await.success();
    assert_nothing_written(&app, before, "what is so already");
}

#[tokio::test]
async fn a_change_of_a_group_that_cannot_be_made_changes_nothing() {
    let app = TestApp::found().await;
    let id = made(&app, &app.ada, "cooks", &[]).await;
    made(&app, &app.ada, "team", &[]).await;
    let path = format!("PATCH /user_groups/{id}");
    let before = app.realm().log_position();
    let owners = json!({"new": system(&app, SystemGroup::Owners)}).to_string();
    let cases: [(&str, Sent<'_>, &str); 10] = [
        (&path, &[], "No new data supplied"),
        (&path, &[("name", "")], "User group name can't be empty!"),
        (&path, &[("name", "role:x")], "User group name cannot start with 'role:'."),
        (&path, &[("description", "x"), ("name", "team")], "User group 'team' already exists."),
        (&path, &[("can_mention_group", "2")], "can_mention_group is not a dict"),
        (&path, &[("can_mention_group", "{}")], r#"can_mention_group["new"] field is missing: Field required"#),
        (&path, &[("can_mention_group", r#"{"new": "x"}"#)], r#"can_mention_group["new"]["int"] is not an integer"#),
        (&path, &[("can_mention_group", r#"{"new": 999}"#)], "Invalid user group"),
        (&path, &[("can_mention_group", &owners)], "'can_mention_group' setting cannot be set to 'role:owners' group."),
        ("PATCH /user_groups/999", &[("name", "x")], "Invalid user group"),
    ];
    for (path, parameters, text) in cases {
        app.call(&app.ada, path, parameters).await.refused(text);
        assert_nothing_written(&app, before, text);
    }
    let stale = json!({"new": 1, "old": {"direct_members": [9], "direct_subgroups": []}}).to_string();
    let response = app.call(&app.ada, &path, &[("can_mention_group", &stale)]).await;
    assert_eq!(response.error(), (400, "EXPECTATION_MISMATCH", "'old' value does not match the expected value."));
    assert_nothing_written(&app, before, "a change of something else");
}

#[tokio::test]
async fn groups_are_changed_by_moderators_and_by_those_in_them() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let [_, adam, mona, mel, gus] = &people;
    let sam = app.person("sam", Role::Member).await;
    let id = made(&app, &app.ada, "cooks", &[mel]).await;
    let calls: [(String, &str, &str); 5] = [
        (format!("PATCH /user_groups/{id}"), "name", "x"),
        (format!("POST /user_groups/{id}/members"), "add", "[9]"),
        (format!("POST /user_groups/{id}/subgroups"), "add", "[1]"),
        (format!("DELETE /user_groups/{id}"), "x", ""),
        (format!("POST /user_groups/{id}/deactivate"), "x", ""),
    ];
    let before = app.realm().log_position();
    for (call, name, value) in &calls {
        app.call(&sam, call, &[(name, value)]).await.refused("Insufficient permission");
        app.call(gus, call, &[(name, value)]).await.refused("Not allowed for guest users");
        assert_eq!(app.call_as_nobody(call, &[(name, value)]).await.status, 401, "{call}");
        assert_nothing_written(&app, before, call);
    }
    for (place, person) in [&app.ada, adam, mona, mel].into_iter().enumerate() {
        let name = format!("cooks {place}");
        app.call(person, &calls[0].0, &[("name", &name)]).await.success();
    }
    let_make(&app, SystemGroup::Moderators).await;
    app.call(mel, &calls[0].0, &[("name", "x")]).await.refused("Insufficient permission");
}

#[tokio::test]
async fn groups_of_the_system_are_changed_by_nobody() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    let id = system(&app, SystemGroup::Members);
    for (call, name, value) in [
        (format!("PATCH /user_groups/{id}"), "name", "x"),
        (format!("POST /user_groups/{id}/members"), "add", "[9]"),
        (format!("POST /user_groups/{id}/subgroups"), "add", "[1]"),
        (format!("DELETE /user_groups/{id}"), "x", ""),
        (format!("POST /user_groups/{id}/deactivate"), "x", ""),
    ] {
        app.call(&app.ada, &call, &[(name, value)]).await.refused("Insufficient permission");
        assert_nothing_written(&app, before, &call);
    }
}

#[tokio::test]
async fn members_come_and_go_together() {
    let app = TestApp::found().await;
    let [ada, adam, mona, mel, gus] = everybody(&app).await;
    let id = made(&app, &ada, "cooks", &[&mel]).await;
    let path = format!("POST /user_groups/{id}/members");
    let before = app.realm().log_position();
    let (add, delete) = (json!([gus.id, adam.id]).to_string(), json!([mel.id]).to_string());
    app.call(&mona, &path, &[("add", &add), ("delete", &delete)]).await.success();
    let event = |op: &str, ids: &[i64]| json!({"type": "user_group", "op": op, "group_id": id, "user_ids": ids});
    assert_eq!(
        events_after(&app, before).await,
        [event("add_members", &[adam.id, gus.id]), event("remove_members", &[mel.id])]
    );
    assert_eq!(shown(&app, "cooks").await.unwrap()["members"], json!([adam.id, gus.id]));
    let response = app.call(&mel, &format!("GET /user_groups/{id}/members"), &[]).await.success();
    assert_eq!(response["members"], json!([adam.id, gus.id]));
    // Who closed their account stays until a user takes them out.
    app.call(&ada, &format!("DELETE /users/{}", gus.id), &[]).await.success();
    app.call(&ada, &path, &[("delete", &json!([gus.id]).to_string())]).await.success();
    assert_eq!(shown(&app, "cooks").await.unwrap()["members"], json!([adam.id]));
}

#[tokio::test]
async fn members_that_cannot_come_or_go_change_nothing() {
    let app = TestApp::found().await;
    let (mel, sam) = (app.person("mel", Role::Member).await, app.person("sam", Role::Member).await);
    let id = made(&app, &app.ada, "cooks", &[&mel]).await;
    let path = format!("POST /user_groups/{id}/members");
    let before = app.realm().log_position();
    let (mel_in, sam_in) = (json!([mel.id]).to_string(), json!([sam.id]).to_string());
    let nothing = "Nothing to do. Specify at least one of \"add\" or \"delete\".".to_owned();
    let cases: [(Sent<'_>, String); 8] = [
        (&[], nothing.clone()),
        (&[("add", "[]"), ("delete", "[]")], nothing),
        (&[("add", &mel_in)], format!("User {} is already a member of this group", mel.id)),
        (&[("delete", &sam_in)], format!("There is no member '{}' in this user group", sam.id)),
        (&[("add", &sam_in), ("delete", "[9]")], "There is no member '9' in this user group".to_owned()),
        (&[("add", "[999]")], "Invalid user ID: 999".to_owned()),
        (&[("delete", "[999]")], "Invalid user ID: 999".to_owned()),
        (&[("add", "[true]")], "add[0] is not an integer".to_owned()),
    ];
    for (parameters, text) in cases {
        app.call(&app.ada, &path, parameters).await.refused(&text);
        assert_nothing_written(&app, before, &text);
    }
    app.call(&app.ada, "POST /user_groups/999/members", &[("add", &sam_in)]).await.refused("Invalid user group");
}

#[tokio::test]
async fn subgroups_bring_their_members_and_never_themselves() {
    let app = TestApp::found().await;
    let (mel, sam) = (app.person("mel", Role::Member).await, app.person("sam", Role::Member).await);
    let inner = made(&app, &app.ada, "bakers", &[&mel]).await;
    let outer = made(&app, &app.ada, "cooks", &[&sam]).await;
    let owners = system(&app, SystemGroup::Owners);
    let path = format!("POST /user_groups/{outer}/subgroups");
    let before = app.realm().log_position();
    let add = json!([inner, owners]).to_string();
    app.call(&app.ada, &path, &[("add", &add)]).await.success();
    let event =
        |op: &str, ids: &[i64]| json!({"type": "user_group", "op": op, "group_id": outer, "direct_subgroup_ids": ids});
    assert_eq!(events_after(&app, before).await, [event("add_subgroups", &[owners, inner])]);

    let members = format!("GET /user_groups/{outer}/members");
    let response = app.call(&sam, &members, &[]).await.success();
    assert_eq!(response["members"], json!([app.ada.id, mel.id, sam.id]));
    let response = app.call(&sam, &members, &[("direct_member_only", "true")]).await.success();
    assert_eq!(response["members"], json!([sam.id]));
    for (direct, is_inside) in [("true", false), ("false", true)] {
        let path = format!("GET /user_groups/{outer}/members/{}", mel.id);
        let response = app.call(&sam, &path, &[("direct_member_only", direct)]).await.success();
        assert_eq!(response["is_user_group_member"], json!(is_inside), "{direct}");
    }

    let before = app.realm().log_position();
    let text = format!("User group {inner} is already a subgroup of one of the passed subgroups.");
    for group in [outer, inner] {
        let add = json!([group]).to_string();
        let path = format!("POST /user_groups/{inner}/subgroups");
        app.call(&app.ada, &path, &[("add", &add)]).await.refused(&text);
        assert_nothing_written(&app, before, "a group inside itself");
    }
    app.call(&app.ada, &path, &[("delete", &add)]).await.success();
    assert_eq!(events_after(&app, before).await, [event("remove_subgroups", &[owners, inner])]);
    let response = app.call(&sam, &members, &[]).await.success();
    assert_eq!(response["members"], json!([sam.id]));
}

#[tokio::test]
async fn subgroups_are_told_with_or_without_what_is_inside_them() {
    let app = TestApp::found().await;
    let outer = made(&app, &app.ada, "cooks", &[]).await;
    let administrators = system(&app, SystemGroup::Administrators);
    let add = json!([administrators]).to_string();
    app.call(&app.ada, &format!("POST /user_groups/{outer}/subgroups"), &[("add", &add)]).await.success();
    let path = format!("GET /user_groups/{outer}/subgroups");
    let response = app.call(&app.ada, &path, &[("direct_subgroup_only", "true")]).await.success();
    assert_eq!(response["subgroups"], json!([administrators]));
    let response = app.call(&app.ada, &path, &[]).await.success();
    assert_eq!(response["subgroups"], json!([system(&app, SystemGroup::Owners), administrators]));
}

#[tokio::test]
async fn subgroups_that_cannot_come_or_go_change_nothing() {
    let app = TestApp::found().await;
    let id = made(&app, &app.ada, "cooks", &[]).await;
    let path = format!("POST /user_groups/{id}/subgroups");
    app.call(&app.ada, &path, &[("add", "[2]")]).await.success();
    let before = app.realm().log_position();
    let cases: [(Sent<'_>, &str); 5] = [
        (&[], "Nothing to do. Specify at least one of \"add\" or \"delete\"."),
        (&[("add", "[2]")], "User group 2 is already a subgroup of this group."),
        (&[("delete", "[3]")], "User group 3 is not a subgroup of this group."),
        (&[("add", "[3]"), ("delete", "[999]")], "User group 999 is not a subgroup of this group."),
        (&[("add", "[999]")], "Invalid user group ID: 999"),
    ];
    for (parameters, text) in cases {
        app.call(&app.ada, &path, parameters).await.refused(text);
        assert_nothing_written(&app, before, text);
    }
}

#[tokio::test]
async fn guests_are_not_told_who_is_in_groups() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    for path in ["GET /user_groups/2/members", "GET /user_groups/2/members/9", "GET /user_groups/2/subgroups"] {
        app.call(&gus, path, &[]).await.refused("Not allowed for guest users");
        assert_eq!(app.call_as_nobody(path, &[]).await.status, 401, "{path}");
        let unknown = path.replace("/2/", "/999/");
        app.call(&app.ada, &unknown, &[]).await.refused("Invalid user group");
    }
    app.call(&app.ada, "GET /user_groups/2/members/999", &[]).await.refused("No such user");
}

#[tokio::test]
async fn a_removed_group_is_gone_and_its_name_free() {
    let app = TestApp::found().await;
    let id = made(&app, &app.ada, "cooks", &[]).await;
    let before = app.realm().log_position();
    app.call(&app.ada, &format!("DELETE /user_groups/{id}"), &[]).await.success();
    let event = json!({"type": "user_group", "op": "remove", "group_id": id});
    assert_eq!(events_after(&app, before).await, [event]);
    assert_eq!(shown(&app, "cooks").await, None);
    app.call(&app.ada, &format!("DELETE /user_groups/{id}"), &[]).await.refused("Invalid user group");
    assert_ne!(made(&app, &app.ada, "cooks", &[]).await, id, "a number is given once");
}

#[tokio::test]
async fn a_deactivated_group_is_kept_out_of_sight_and_out_of_reach() {
    let app = TestApp::found().await;
    let id = made(&app, &app.ada, "cooks", &[&app.ada]).await;
    let before = app.realm().log_position();
    app.call(&app.ada, &format!("POST /user_groups/{id}/deactivate"), &[]).await.success();
    let records = app.store.records_after(before, 10).await.unwrap().unwrap();
    let events: Vec<_> = records.iter().filter_map(|record| record.event.as_ref()).collect();
    let knows = ClientCapability::IncludeDeactivatedGroups;
    assert_eq!([events[0].gate, events[1].gate], [QueueCondition::With(knows), QueueCondition::Without(knows)]);
    let event = |place: usize| match &events[place].body {
        EventBody::Plain { event, .. } => event.clone(),
        EventBody::Message(_) | EventBody::Edit { .. } | EventBody::Flagged(_) => Value::Null,
    };
    let update = json!({"type": "user_group", "op": "update", "group_id": id, "data": {"deactivated": true}});
    let remove = json!({"type": "user_group", "op": "remove", "group_id": id});
    assert_eq!([event(0), event(1)], [update, remove]);

    assert_eq!(shown(&app, "cooks").await.unwrap()["deactivated"], json!(true));
    let response = app.call(&app.ada, "GET /user_groups", &[]).await.success();
    assert!(response["user_groups"].as_array().unwrap().iter().all(|group| group["id"] != id));
    for (capabilities, count) in [("{}", 8), (r#"{"include_deactivated_groups": true}"#, 9)] {
        let capabilities = capabilities.replace('{', r#"{"notification_settings_null": true, "#).replace(", }", "}");
        let parameters = [("client_capabilities", capabilities.as_str())];
        let state = app.call(&app.ada, "POST /register", &parameters).await.success();
        assert_eq!(state["realm_user_groups"].as_array().unwrap().len(), count, "{capabilities}");
    }

    let before = app.realm().log_position();
    let text = "User group is deactivated.";
    app.call(&app.ada, &format!("POST /user_groups/{id}/deactivate"), &[]).await.refused(text);
    let setting = id.to_string();
    let parameters =
        [("name", "cooks"), ("description", ""), ("members", "[]"), ("can_mention_group", setting.as_str())];
    app.call(&app.ada, CREATE, &parameters).await.refused(text);
    app.call(&app.ada, CREATE, &parameters[..3]).await.refused("User group 'cooks' already exists.");
    assert_nothing_written(&app, before, "a group out of use");
    let message = [("type", "direct"), ("to", "[9]"), ("content", "@*cooks*")];
    let sent = app.call(&app.ada, "POST /messages", &message).await.success()["id"].clone();
    let response = app.call(&app.ada, &format!("GET /messages/{sent}"), &[]).await.success();
    assert!(!response["message"]["content"].as_str().unwrap().contains("user-group-mention"), "{response}");
    app.call(&app.ada, &format!("DELETE /user_groups/{id}"), &[]).await.success();
    assert_eq!(shown(&app, "cooks").await, None);
}

#[tokio::test]
async fn a_group_others_build_on_stays() {
    let app = TestApp::found().await;
    let inner = made(&app, &app.ada, "bakers", &[]).await;
    let outer = made(&app, &app.ada, "cooks", &[]).await;
    let add = json!([inner]).to_string();
    app.call(&app.ada, &format!("POST /user_groups/{outer}/subgroups"), &[("add", &add)]).await.success();
    let change = json!({"new": inner}).to_string();
    app.call(&app.ada, &format!("PATCH /user_groups/{outer}"), &[("can_mention_group", &change)]).await.success();
    let before = app.realm().log_position();
    for call in [format!("DELETE /user_groups/{inner}"), format!("POST /user_groups/{inner}/deactivate")] {
        let response = app.call(&app.ada, &call, &[]).await;
        let text = "Cannot deactivate user group in use.";
        assert_eq!(response.error(), (400, "CANNOT_DEACTIVATE_GROUP_IN_USE", text));
        let objections = json!([
            {"type": "subgroup", "supergroup_ids": [outer]},
            {"type": "user_group", "group_id": outer, "settings": ["can_mention_group"]},
        ]);
        assert_eq!(response.body["objections"], objections);
        assert_nothing_written(&app, before, &call);
    }
    app.call(&app.ada, &format!("DELETE /user_groups/{outer}"), &[]).await.success();
    app.call(&app.ada, &format!("DELETE /user_groups/{inner}"), &[]).await.success();
    assert!(app.realm().group(UserGroupId(inner)).is_none());
}

#[tokio::test]
async fn a_group_outlives_the_account_of_who_made_it() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    let id = made(&app, &mel, "cooks", &[&mel]).await;
    app.call(&mel, "DELETE /users/me", &[]).await.success();
    assert_eq!(app.realm().group(UserGroupId(id)).unwrap().members, [UserId(mel.id)]);
}
