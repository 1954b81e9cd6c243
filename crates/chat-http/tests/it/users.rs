//! Who there is, and what is done to accounts.

use chat_core::event_log::event::EventBody;
use chat_core::event_log::store::EventLog as _;
use chat_core::id::{ChannelId, EventId, UserId};
use chat_core::model::role::Role;
use chat_core::model::user::User;
use serde_json::{Value, json};

use crate::test_app::{Person, TestApp};

const CREATION: [(&str, &str); 3] =
    [("email", "eve@example.org"), ("password", "correct horse"), ("full_name", "Eve Moneypenny")];

/// The events told after a place of the log.
pub(crate) async fn events_after(app: &TestApp, place: EventId) -> Vec<Value> {
    let records = app.store.records_after(place, 100).await.unwrap().unwrap();
    let events = records.iter().filter_map(|record| record.event.as_ref());
    let plain = events.map(|event| match &event.body {
        EventBody::Plain { event, .. } => event.clone(),
        EventBody::Message(_) | EventBody::Edit { .. } | EventBody::Flagged(_) => json!({"type": "message"}),
    });
    plain.collect()
}

/// The five roles, from owner to guest; the owner is Ada.
pub(crate) async fn everybody(app: &TestApp) -> [Person; 5] {
    [
        app.ada.clone(),
        app.person("adam", Role::Administrator).await,
        app.person("mona", Role::Moderator).await,
        app.person("mel", Role::Member).await,
        app.person("gus", Role::Guest).await,
    ]
}

fn user(app: &TestApp, id: i64) -> User {
    User::clone(app.realm().user(UserId(id)).unwrap())
}

/// Asserts that the log is where it was.
#[track_caller]
pub(crate) fn assert_nothing_written(app: &TestApp, before: EventId, what: &str) {
    assert_eq!(app.realm().log_position(), before, "{what}");
}

#[tokio::test]
async fn everybody_sees_all_users_with_their_roles() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    for person in &people {
        let response = app.call(person, "GET /users", &[]).await.success();
        let members = response["members"].as_array().unwrap();
        let roles: Vec<_> = members.iter().map(|member| member["role"].as_i64().unwrap()).collect();
        assert_eq!(roles, [100, 200, 300, 400, 600], "{}", person.email);
    }
    let response = app.call(&people[3], "GET /users", &[]).await.success();
    assert_eq!(
        response["members"][3],
        json!({
            "user_id": people[3].id,
            "email": "mel@example.org",
            "delivery_email": "mel@example.org",
            "full_name": "mel",
            "date_joined": "2027-01-15T07:43+00:00",
            "is_owner": false,
            "is_admin": false,
            "is_guest": false,
            "is_billing_admin": false,
            "is_bot": false,
            "bot_type": null,
            "bot_owner_id": null,
            "role": 400,
            "timezone": "",
            "avatar_url": null,
            "avatar_version": 1,
            "is_active": true,
        })
    );
}

#[tokio::test]
async fn pictures_and_profiles_are_shown_to_who_asks() {
    let app = TestApp::found().await;
    let asked = [("client_gravatar", "false"), ("include_custom_profile_fields", "true"), ("user_names", "[9]")];
    for path in ["GET /users", "GET /users/9", "GET /users/ada@example.org"] {
        let response = app.call(&app.ada, path, &asked).await.success();
        let shown = response.get("user").unwrap_or(&response["members"][0]);
        let picture = shown["avatar_url"].as_str().unwrap();
        assert!(picture.starts_with("https://secure.gravatar.com/avatar/"), "{path} {picture}");
        assert_eq!(shown["profile_data"], json!({}), "{path}");
        assert_eq!(response["ignored_parameters_unsupported"], json!(["user_names"]), "{path}");
    }
    let response = app.call(&app.ada, "GET /users", &[("client_gravatar", "1")]).await;
    response.refused("client_gravatar is not a boolean");
}

#[tokio::test]
async fn a_user_is_found_by_number_and_by_address() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Guest).await;
    for named in [sam.id.to_string(), "sam@example.org".to_owned(), "SAM%40example.org".to_owned()] {
        let response = app.call(&sam, &format!("GET /users/{named}"), &[]).await.success();
        assert_eq!((&response["user"]["user_id"], &response["user"]["role"]), (&json!(sam.id), &json!(600)), "{named}");
    }
    for unknown in ["999", "nobody@example.org", "-1", "99999999999999999999", "x"] {
        app.call(&sam, &format!("GET /users/{unknown}"), &[]).await.refused("No such user");
    }
}

#[tokio::test]
async fn the_caller_is_shown_flat_with_the_newest_message() {
    let app = TestApp::found().await;
    let response = app.call(&app.ada, "GET /users/me", &[]).await.success();
    assert_eq!(
        (&response["user_id"], &response["is_owner"], &response["is_active"]),
        (&json!(9), &json!(true), &json!(true))
    );
    assert_eq!((&response["max_message_id"], &response["profile_data"]), (&json!(-1), &json!({})));
    assert!(response["avatar_url"].is_string());
}

#[tokio::test]
async fn an_administrator_makes_an_account_that_can_log_in_and_is_in_the_default_channels() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    let response = app.call(&app.ada, "POST /users", &CREATION).await.success();
    let id = response["user_id"].as_i64().unwrap();
    let eve = user(&app, id);
    assert_eq!((eve.email.as_str(), eve.full_name.as_str(), eve.role), (CREATION[0].1, CREATION[2].1, Role::Member));
    let realm = app.realm();
    let general = realm.channel_by_name("general").unwrap().id;
    let sandbox = realm.channel_by_name("sandbox").unwrap().id;
    let within = |channel: ChannelId| realm.subscription(channel, UserId(id)).is_some();
    assert!(within(general) && within(sandbox));

    let events = events_after(&app, before).await;
    let kinds: Vec<_> = events.iter().map(|event| format!("{} {}", event["type"], event["op"])).collect();
    assert_eq!(kinds[0], "\"realm_user\" \"add\"");
    assert!(kinds.contains(&"\"user_group\" \"add_members\"".to_owned()));
    assert_eq!(kinds.iter().filter(|kind| *kind == "\"subscription\" \"peer_add\"").count(), 2);
    let person = &events[0]["person"];
    assert_eq!((&person["user_id"], &person["role"], &person["is_active"]), (&json!(id), &json!(400), &json!(true)));
    assert!(person["avatar_url"].is_string() && person["date_joined"].is_string());

    let login = [("username", "EVE@example.org"), ("password", "correct horse")];
    let key = app.call_as_nobody("POST /fetch_api_key", &login).await.success()["api_key"].clone();
    let eve = Person { id, email: eve.email, key: key.as_str().unwrap().to_owned() };
    assert_eq!(app.call(&eve, "GET /users/me", &[]).await.success()["user_id"], json!(id));
}

#[tokio::test]
async fn only_administrators_make_accounts() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let before = app.realm().log_position();
    for person in &people[2..] {
        let response = app.call(person, "POST /users", &CREATION).await;
        response.refused("Must be an organization administrator");
        assert_nothing_written(&app, before, &person.email);
    }
    app.call(&people[1], "POST /users", &CREATION).await.success();
}

#[tokio::test]
async fn an_account_that_cannot_be_is_not_made() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    let before = app.realm().log_position();
    let with = |name, value| CREATION.map(|(key, own)| (key, if key == name { value } else { own }));
    let long = "x".repeat(101);
    let cases = [
        ("email", "ADA@example.org", "Email 'ADA@example.org' already in use"),
        ("email", "sam@example.org", "Email 'sam@example.org' already in use"),
        ("email", "eve", "Bad name or username"),
        ("email", "", "Bad name or username"),
        ("email", "e:ve@example.org", "Bad name or username"),
        ("full_name", "E", "Name too short!"),
        ("full_name", "", "Name too short!"),
        ("full_name", &long, "Name too long!"),
        ("full_name", "E*ve", "Invalid characters in name!"),
        ("full_name", "Eve|12", "Invalid format!"),
        ("password", "", "The password is too weak."),
        ("password", "12345", "The password is too weak."),
    ];
    for (name, value, text) in cases {
        let parameters = with(name, value);
        app.call(&app.ada, "POST /users", &parameters).await.refused(text);
        assert_nothing_written(&app, before, text);
    }
    for (missing, _) in CREATION {
        let rest: Vec<_> = CREATION.into_iter().filter(|(name, _)| *name != missing).collect();
        let response = app.call(&app.ada, "POST /users", &rest).await;
        response.refused(&format!("Missing '{missing}' argument"));
        assert_nothing_written(&app, before, missing);
    }
}

#[tokio::test]
async fn an_administrator_changes_name_and_role_together_and_both_are_told() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let before = app.realm().log_position();
    let path = format!("PATCH /users/{}", people[3].id);
    app.call(&people[1], &path, &[("full_name", " Melanie "), ("role", "300")]).await.success();
    let mel = user(&app, people[3].id);
    assert_eq!((mel.full_name.as_str(), mel.role), ("Melanie", Role::Moderator));
    let events = events_after(&app, before).await;
    let persons: Vec<_> = events.iter().filter(|event| event["type"] == "realm_user").collect();
    let update = |person: Value| json!({"type": "realm_user", "op": "update", "person": person});
    assert_eq!(
        persons,
        [&update(json!({"user_id": mel.id, "role": 300})), &update(json!({"user_id": mel.id, "full_name": "Melanie"}))]
    );
    let groups = events.iter().filter(|event| event["type"] == "user_group");
    assert!(groups.clone().any(|event| event["op"] == "remove_members"));
    assert!(groups.clone().any(|event| event["op"] == "add_members" && event["user_ids"] == json!([mel.id])));

    let before = app.realm().log_position();
    app.call(&people[1], &path, &[("full_name", "Melanie"), ("role", "300")]).await.success();
    app.call(&people[1], &path, &[]).await.success();
    assert_nothing_written(&app, before, "what is so already");
}

#[tokio::test]
async fn each_role_can_be_given_and_shows() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    for role in Role::ALL {
        let number = i64::from(role).to_string();
        let path = format!("PATCH /users/{}", sam.id);
        app.call(&app.ada, &path, &[("role", &number)]).await.success();
        let response = app.call(&sam, "GET /users/me", &[]).await.success();
        assert_eq!((&response["role"], &response["is_owner"]), (&json!(i64::from(role)), &json!(role == Role::Owner)));
    }
}

#[tokio::test]
async fn who_becomes_a_guest_loses_sight_of_public_channels_and_hears_so() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let path = format!("PATCH /users/{}", sam.id);
    for (role, op) in [("600", "delete"), ("400", "create")] {
        let before = app.realm().log_position();
        app.call(&app.ada, &path, &[("role", role)]).await.success();
        let events = events_after(&app, before).await;
        let streams: Vec<_> = events.iter().filter(|event| event["type"] == "stream").collect();
        assert_eq!((streams.len(), &streams[0]["op"]), (1, &json!(op)));
        assert_eq!(streams[0]["streams"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_change_that_is_not_allowed_changes_nothing() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let [ada, adam, mona, mel, gus] = &people;
    let before = app.realm().log_position();
    let not_listed = "Invalid role: Value error, Not in the list of possible values";
    let owner_required = "Must be an organization owner";
    let last = "The owner permission cannot be removed from the only organization owner.";
    let cases = [
        (mona, mel.id, ("full_name", "Eve"), "Insufficient permission"),
        (mel, mel.id, ("full_name", "Eve"), "Insufficient permission"),
        (mel, mel.id, ("role", "100"), "Insufficient permission"),
        (gus, mel.id, ("role", "600"), "Insufficient permission"),
        (adam, mel.id, ("role", "100"), owner_required),
        (adam, adam.id, ("role", "100"), owner_required),
        (adam, ada.id, ("role", "400"), owner_required),
        (ada, ada.id, ("role", "200"), last),
        (ada, mel.id, ("role", "500"), not_listed),
        (ada, mel.id, ("role", "0"), not_listed),
        (ada, mel.id, ("role", "\"400\""), "role is not an integer"),
        (ada, mel.id, ("role", "owner"), "role is not valid JSON"),
        (ada, mel.id, ("full_name", "E"), "Name too short!"),
        (ada, mel.id, ("full_name", "E`ve"), "Invalid characters in name!"),
        (ada, 999, ("full_name", "Eve"), "No such user"),
        (mel, 999, ("full_name", "Eve"), "No such user"),
    ];
    for (caller, id, parameter, text) in cases {
        app.call(caller, &format!("PATCH /users/{id}"), &[parameter]).await.refused(text);
        assert_nothing_written(&app, before, text);
    }
    let response = app.call(ada, &format!("PATCH /users/{}", mel.id), &[("role", "200"), ("full_name", "*")]).await;
    response.refused("Name too short!");
    assert_nothing_written(&app, before, "half a change");
    for path in ["DELETE /users/mel@example.org", "POST /users/x/reactivate"] {
        assert_eq!(app.call(ada, path, &[]).await.error(), (404, "BAD_REQUEST", "Not Found"), "{path}");
    }
}

#[tokio::test]
async fn an_account_is_closed_and_reopened() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let updates = |events: Vec<Value>| -> Vec<Value> {
        events.into_iter().filter(|event| event["type"] == "realm_user").map(|event| event["person"].clone()).collect()
    };
    let before = app.realm().log_position();
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    assert_eq!(updates(events_after(&app, before).await), [json!({"user_id": sam.id, "is_active": false})]);
    let refused = app.call(&sam, "GET /users/me", &[]).await;
    assert_eq!(refused.error(), (401, "UNAUTHORIZED", "Account is deactivated"));
    let shown = app.call(&app.ada, &format!("GET /users/{}", sam.id), &[]).await.success();
    assert_eq!(shown["user"]["is_active"], json!(false));
    let before = app.realm().log_position();
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.refused("No such user");
    assert_nothing_written(&app, before, "closed twice");

    app.call(&app.ada, &format!("POST /users/{}/reactivate", sam.id), &[]).await.success();
    assert_eq!(updates(events_after(&app, before).await), [json!({"user_id": sam.id, "is_active": true})]);
    app.call(&sam, "GET /users/me", &[]).await.success();
    let before = app.realm().log_position();
    app.call(&app.ada, &format!("POST /users/{}/reactivate", sam.id), &[]).await.success();
    assert_nothing_written(&app, before, "open already");
}

#[tokio::test]
async fn an_account_that_may_not_be_closed_or_opened_stays_as_it_is() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let [ada, adam, mona, mel, gus] = &people;
    let before = app.realm().log_position();
    let administrator = "Must be an organization administrator";
    let delete = |id: i64| format!("DELETE /users/{id}");
    let cases = [
        (mona, delete(mel.id), administrator),
        (mel, delete(mel.id), administrator),
        (gus, delete(999), administrator),
        (mel, format!("POST /users/{}/reactivate", mel.id), administrator),
        (adam, delete(ada.id), "Must be an organization owner"),
        (ada, delete(ada.id), "Cannot deactivate the only organization owner"),
        (ada, delete(999), "No such user"),
        (ada, "POST /users/999/reactivate".to_owned(), "No such user"),
    ];
    for (caller, call, text) in cases {
        app.call(caller, &call, &[]).await.refused(text);
        assert_nothing_written(&app, before, text);
    }
    app.call(adam, &delete(adam.id), &[]).await.success();
}

#[tokio::test]
async fn people_leave_by_themselves_but_not_the_only_owner() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    let before = app.realm().log_position();
    let response = app.call(&app.ada, "DELETE /users/me", &[]).await;
    let text = "Cannot deactivate the only organization owner.";
    assert_eq!(response.error(), (400, "CANNOT_DEACTIVATE_LAST_USER", text));
    assert_eq!(response.body["is_last_owner"], json!(true));
    assert_eq!(response.body["entity"], json!("organization owner"));
    assert_nothing_written(&app, before, text);
    app.call(&gus, "DELETE /users/me", &[]).await.success();
    assert!(!user(&app, gus.id).is_active);
    let refused = app.call(&gus, "DELETE /users/me", &[]).await;
    assert_eq!(refused.error(), (401, "UNAUTHORIZED", "Account is deactivated"));
}

#[tokio::test]
async fn members_see_the_groups_of_the_system_and_who_stands_in_them() {
    let app = TestApp::found().await;
    let [ada, adam, .., mel, gus] = everybody(&app).await;
    let response = app.call(&mel, "GET /user_groups", &[]).await.success();
    let groups = response["user_groups"].as_array().unwrap();
    let of = |name: &str| groups.iter().find(|group| group["name"] == name).unwrap();
    let names: Vec<_> = groups.iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["role:nobody", "role:owners", "role:administrators"]);
    assert_eq!(of("role:owners")["members"], json!([ada.id]));
    assert_eq!(of("role:everyone")["members"], json!([gus.id]));
    let administrators = of("role:administrators");
    assert_eq!(administrators["members"], json!([adam.id]));
    assert_eq!(administrators["direct_subgroup_ids"], json!([of("role:owners")["id"]]));
    assert_eq!(administrators["can_mention_group"], of("role:nobody")["id"]);
    assert_eq!(administrators["is_system_group"], json!(true));
    app.call(&gus, "GET /user_groups", &[]).await.refused("Not allowed for guest users");
}

#[tokio::test]
async fn strangers_do_nothing_to_accounts() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    for call in [
        "GET /users",
        "POST /users",
        "GET /users/me",
        "DELETE /users/me",
        "GET /users/9",
        "PATCH /users/9",
        "DELETE /users/9",
        "POST /users/9/reactivate",
        "POST /users/me/api_key/regenerate",
        "GET /user_groups",
    ] {
        assert_eq!(app.call_as_nobody(call, &CREATION).await.status, 401, "{call}");
        assert_nothing_written(&app, before, call);
    }
}

#[tokio::test]
async fn a_blank_name_changes_nothing_and_is_no_error() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let path = format!("PATCH /users/{}", sam.id);
    for blank in ["", "  "] {
        app.call(&app.ada, &path, &[("full_name", blank), ("role", "300")]).await.success();
    }
    let sam = user(&app, sam.id);
    assert_eq!((sam.full_name.as_str(), sam.role), ("sam", Role::Moderator));
}
