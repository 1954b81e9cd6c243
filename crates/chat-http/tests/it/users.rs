//! Who there is, and what is done to accounts.

use chat_core::id::{ChannelId, EventId, UserId};
use chat_core::log::event::EventBody;
use chat_core::log::store::EventLog as _;
use chat_core::model::role::Role;
use chat_core::model::user::User;
use serde_json::{Value, json};

use crate::town::{Person, Town};

const CREATION: [(&str, &str); 3] =
    [("email", "eve@example.org"), ("password", "correct horse"), ("full_name", "Eve Moneypenny")];

/// The events told after a place of the log.
pub(crate) async fn told_after(town: &Town, place: EventId) -> Vec<Value> {
    let records = town.store.after(place, 100).await.unwrap().unwrap();
    let events = records.iter().filter_map(|record| record.event.as_ref());
    let plain = events.map(|event| match &event.body {
        EventBody::Plain { event, .. } => event.clone(),
        EventBody::Message(_) | EventBody::Edit { .. } | EventBody::Flagged(_) => json!({"type": "message"}),
    });
    plain.collect()
}

/// The five roles, from owner to guest; the owner is Ada.
pub(crate) async fn everybody(town: &Town) -> [Person; 5] {
    [
        town.ada.clone(),
        town.person("adam", Role::Administrator).await,
        town.person("mona", Role::Moderator).await,
        town.person("mel", Role::Member).await,
        town.person("gus", Role::Guest).await,
    ]
}

fn user(town: &Town, id: i64) -> User {
    User::clone(town.realm().user(UserId(id)).unwrap())
}

/// Asserts that the log is where it was.
#[track_caller]
pub(crate) fn assert_nothing_written(town: &Town, before: EventId, what: &str) {
    assert_eq!(town.realm().at(), before, "{what}");
}

#[tokio::test]
async fn everybody_sees_all_users_with_their_roles() {
    let town = Town::found().await;
    let people = everybody(&town).await;
    for person in &people {
        let told = town.call(person, "GET /users", &[]).await.success();
        let members = told["members"].as_array().unwrap();
        let roles: Vec<_> = members.iter().map(|member| member["role"].as_i64().unwrap()).collect();
        assert_eq!(roles, [100, 200, 300, 400, 600], "{}", person.email);
    }
    let told = town.call(&people[3], "GET /users", &[]).await.success();
    assert_eq!(
        told["members"][3],
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
    let town = Town::found().await;
    let asked = [("client_gravatar", "false"), ("include_custom_profile_fields", "true"), ("user_ids", "[9]")];
    for path in ["GET /users", "GET /users/9", "GET /users/ada@example.org"] {
        let told = town.call(&town.ada, path, &asked).await.success();
        let shown = told.get("user").unwrap_or(&told["members"][0]);
        let picture = shown["avatar_url"].as_str().unwrap();
        assert!(picture.starts_with("https://secure.gravatar.com/avatar/"), "{path} {picture}");
        assert_eq!(shown["profile_data"], json!({}), "{path}");
        assert_eq!(told["ignored_parameters_unsupported"], json!(["user_ids"]), "{path}");
    }
    let told = town.call(&town.ada, "GET /users", &[("client_gravatar", "1")]).await;
    told.refused("client_gravatar is not a boolean");
}

#[tokio::test]
async fn a_user_is_found_by_number_and_by_address() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Guest).await;
    for named in [sam.id.to_string(), "sam@example.org".to_owned(), "SAM%40example.org".to_owned()] {
        let told = town.call(&sam, &format!("GET /users/{named}"), &[]).await.success();
        assert_eq!((&told["user"]["user_id"], &told["user"]["role"]), (&json!(sam.id), &json!(600)), "{named}");
    }
    for unknown in ["999", "nobody@example.org", "-1", "99999999999999999999", "x"] {
        town.call(&sam, &format!("GET /users/{unknown}"), &[]).await.refused("No such user");
    }
}

#[tokio::test]
async fn the_caller_is_shown_flat_with_the_newest_message() {
    let town = Town::found().await;
    let told = town.call(&town.ada, "GET /users/me", &[]).await.success();
    assert_eq!((&told["user_id"], &told["is_owner"], &told["is_active"]), (&json!(9), &json!(true), &json!(true)));
    assert_eq!((&told["max_message_id"], &told["profile_data"]), (&json!(-1), &json!({})));
    assert!(told["avatar_url"].is_string());
}

#[tokio::test]
async fn an_administrator_makes_an_account_that_can_log_in_and_is_in_the_default_channels() {
    let town = Town::found().await;
    let before = town.realm().at();
    let told = town.call(&town.ada, "POST /users", &CREATION).await.success();
    let id = told["user_id"].as_i64().unwrap();
    let eve = user(&town, id);
    assert_eq!((eve.email.as_str(), eve.full_name.as_str(), eve.role), (CREATION[0].1, CREATION[2].1, Role::Member));
    let realm = town.realm();
    let general = realm.channel_by_name("general").unwrap().id;
    let sandbox = realm.channel_by_name("sandbox").unwrap().id;
    let within = |channel: ChannelId| realm.subscription(channel, UserId(id)).is_some();
    assert!(within(general) && within(sandbox));

    let events = told_after(&town, before).await;
    let kinds: Vec<_> = events.iter().map(|event| format!("{} {}", event["type"], event["op"])).collect();
    assert_eq!(kinds[0], "\"realm_user\" \"add\"");
    assert!(kinds.contains(&"\"user_group\" \"add_members\"".to_owned()));
    assert_eq!(kinds.iter().filter(|kind| *kind == "\"subscription\" \"peer_add\"").count(), 2);
    let person = &events[0]["person"];
    assert_eq!((&person["user_id"], &person["role"], &person["is_active"]), (&json!(id), &json!(400), &json!(true)));
    assert!(person["avatar_url"].is_string() && person["date_joined"].is_string());

    let login = [("username", "EVE@example.org"), ("password", "correct horse")];
    let key = town.call_as_nobody("POST /fetch_api_key", &login).await.success()["api_key"].clone();
    let eve = Person { id, email: eve.email, key: key.as_str().unwrap().to_owned() };
    assert_eq!(town.call(&eve, "GET /users/me", &[]).await.success()["user_id"], json!(id));
}

#[tokio::test]
async fn only_administrators_make_accounts() {
    let town = Town::found().await;
    let people = everybody(&town).await;
    let before = town.realm().at();
    for person in &people[2..] {
        let told = town.call(person, "POST /users", &CREATION).await;
        told.refused("Must be an organization administrator");
        assert_nothing_written(&town, before, &person.email);
    }
    town.call(&people[1], "POST /users", &CREATION).await.success();
}

#[tokio::test]
async fn an_account_that_cannot_be_is_not_made() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    town.call(&town.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    let before = town.realm().at();
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
        town.call(&town.ada, "POST /users", &parameters).await.refused(text);
        assert_nothing_written(&town, before, text);
    }
    for (missing, _) in CREATION {
        let rest: Vec<_> = CREATION.into_iter().filter(|(name, _)| *name != missing).collect();
        let told = town.call(&town.ada, "POST /users", &rest).await;
        told.refused(&format!("Missing '{missing}' argument"));
        assert_nothing_written(&town, before, missing);
    }
}

#[tokio::test]
async fn an_administrator_changes_name_and_role_together_and_both_are_told() {
    let town = Town::found().await;
    let people = everybody(&town).await;
    let before = town.realm().at();
    let path = format!("PATCH /users/{}", people[3].id);
    town.call(&people[1], &path, &[("full_name", " Melanie "), ("role", "300")]).await.success();
    let mel = user(&town, people[3].id);
    assert_eq!((mel.full_name.as_str(), mel.role), ("Melanie", Role::Moderator));
    let events = told_after(&town, before).await;
    let persons: Vec<_> = events.iter().filter(|event| event["type"] == "realm_user").collect();
    let update = |person: Value| json!({"type": "realm_user", "op": "update", "person": person});
    assert_eq!(
        persons,
        [&update(json!({"user_id": mel.id, "role": 300})), &update(json!({"user_id": mel.id, "full_name": "Melanie"}))]
    );
    let groups = events.iter().filter(|event| event["type"] == "user_group");
    assert!(groups.clone().any(|event| event["op"] == "remove_members"));
    assert!(groups.clone().any(|event| event["op"] == "add_members" && event["user_ids"] == json!([mel.id])));

    let before = town.realm().at();
    town.call(&people[1], &path, &[("full_name", "Melanie"), ("role", "300")]).await.success();
    town.call(&people[1], &path, &[]).await.success();
    assert_nothing_written(&town, before, "what is so already");
}

#[tokio::test]
async fn each_role_can_be_given_and_shows() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    for role in Role::ALL {
        let number = i64::from(role).to_string();
        let path = format!("PATCH /users/{}", sam.id);
        town.call(&town.ada, &path, &[("role", &number)]).await.success();
        let told = town.call(&sam, "GET /users/me", &[]).await.success();
        assert_eq!((&told["role"], &told["is_owner"]), (&json!(i64::from(role)), &json!(role == Role::Owner)));
    }
}

#[tokio::test]
async fn who_becomes_a_guest_loses_sight_of_public_channels_and_hears_so() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let path = format!("PATCH /users/{}", sam.id);
    for (role, op) in [("600", "delete"), ("400", "create")] {
        let before = town.realm().at();
        town.call(&town.ada, &path, &[("role", role)]).await.success();
        let events = told_after(&town, before).await;
        let streams: Vec<_> = events.iter().filter(|event| event["type"] == "stream").collect();
        assert_eq!((streams.len(), &streams[0]["op"]), (1, &json!(op)));
        assert_eq!(streams[0]["streams"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_change_that_is_not_allowed_changes_nothing() {
    let town = Town::found().await;
    let people = everybody(&town).await;
    let [ada, adam, mona, mel, gus] = &people;
    let before = town.realm().at();
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
        town.call(caller, &format!("PATCH /users/{id}"), &[parameter]).await.refused(text);
        assert_nothing_written(&town, before, text);
    }
    let told = town.call(ada, &format!("PATCH /users/{}", mel.id), &[("role", "200"), ("full_name", "*")]).await;
    told.refused("Name too short!");
    assert_nothing_written(&town, before, "half a change");
    for path in ["PATCH /users/mel@example.org", "DELETE /users/mel@example.org", "POST /users/x/reactivate"] {
        assert_eq!(town.call(ada, path, &[]).await.error(), (404, "BAD_REQUEST", "Not Found"), "{path}");
    }
}

#[tokio::test]
async fn an_account_is_closed_and_reopened() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let updates = |events: Vec<Value>| -> Vec<Value> {
        events.into_iter().filter(|event| event["type"] == "realm_user").map(|event| event["person"].clone()).collect()
    };
    let before = town.realm().at();
    town.call(&town.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    assert_eq!(updates(told_after(&town, before).await), [json!({"user_id": sam.id, "is_active": false})]);
    let refused = town.call(&sam, "GET /users/me", &[]).await;
    assert_eq!(refused.error(), (401, "UNAUTHORIZED", "Account is deactivated"));
    let shown = town.call(&town.ada, &format!("GET /users/{}", sam.id), &[]).await.success();
    assert_eq!(shown["user"]["is_active"], json!(false));
    let before = town.realm().at();
    town.call(&town.ada, &format!("DELETE /users/{}", sam.id), &[]).await.refused("No such user");
    assert_nothing_written(&town, before, "closed twice");

    town.call(&town.ada, &format!("POST /users/{}/reactivate", sam.id), &[]).await.success();
    assert_eq!(updates(told_after(&town, before).await), [json!({"user_id": sam.id, "is_active": true})]);
    town.call(&sam, "GET /users/me", &[]).await.success();
    let before = town.realm().at();
    town.call(&town.ada, &format!("POST /users/{}/reactivate", sam.id), &[]).await.success();
    assert_nothing_written(&town, before, "open already");
}

#[tokio::test]
async fn an_account_that_may_not_be_closed_or_opened_stays_as_it_is() {
    let town = Town::found().await;
    let people = everybody(&town).await;
    let [ada, adam, mona, mel, gus] = &people;
    let before = town.realm().at();
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
        town.call(caller, &call, &[]).await.refused(text);
        assert_nothing_written(&town, before, text);
    }
    town.call(adam, &delete(adam.id), &[]).await.success();
}

#[tokio::test]
async fn people_leave_by_themselves_but_not_the_only_owner() {
    let town = Town::found().await;
    let gus = town.person("gus", Role::Guest).await;
    let before = town.realm().at();
    let told = town.call(&town.ada, "DELETE /users/me", &[]).await;
    let text = "Cannot deactivate the only organization owner.";
    assert_eq!(told.error(), (400, "CANNOT_DEACTIVATE_LAST_USER", text));
    assert_eq!(told.body["is_last_owner"], json!(true));
    assert_eq!(told.body["entity"], json!("organization owner"));
    assert_nothing_written(&town, before, text);
    town.call(&gus, "DELETE /users/me", &[]).await.success();
    assert!(!user(&town, gus.id).is_active);
    let refused = town.call(&gus, "DELETE /users/me", &[]).await;
    assert_eq!(refused.error(), (401, "UNAUTHORIZED", "Account is deactivated"));
}

#[tokio::test]
async fn members_see_the_groups_of_the_system_and_who_stands_in_them() {
    let town = Town::found().await;
    let [ada, adam, .., mel, gus] = everybody(&town).await;
    let told = town.call(&mel, "GET /user_groups", &[]).await.success();
    let groups = told["user_groups"].as_array().unwrap();
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
    town.call(&gus, "GET /user_groups", &[]).await.refused("Not allowed for guest users");
}

#[tokio::test]
async fn strangers_do_nothing_to_accounts() {
    let town = Town::found().await;
    let before = town.realm().at();
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
        assert_eq!(town.call_as_nobody(call, &CREATION).await.status, 401, "{call}");
        assert_nothing_written(&town, before, call);
    }
}

#[tokio::test]
async fn a_blank_name_changes_nothing_and_is_no_error() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let path = format!("PATCH /users/{}", sam.id);
    for blank in ["", "  "] {
        town.call(&town.ada, &path, &[("full_name", blank), ("role", "300")]).await.success();
    }
    let sam = user(&town, sam.id);
    assert_eq!((sam.full_name.as_str(), sam.role), ("sam", Role::Moderator));
}
