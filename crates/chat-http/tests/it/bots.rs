//! Bots, and what their programs keep.

use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::UserId;
use chat_core::model::group::SystemGroup;
use chat_core::model::realm::Realm;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::{BotKind, BotProperties, User};
use serde_json::{Value, json};

use crate::test_app::{NOW_S, Person, TestApp};
use crate::users::{assert_nothing_written, events_after, everybody};

const NEW: [(&str, &str); 2] = [("full_name", "Weather"), ("short_name", "weather")];

/// Parameters of a call.
type Sent<'a> = &'a [(&'a str, &'a str)];

/// Makes a bot as someone.
async fn made(app: &TestApp, who: &Person, name: &str) -> Person {
    let parameters = [("full_name", name), ("short_name", name)];
    let response = app.call(who, "POST /bots", &parameters).await.success();
    Person {
        id: response["user_id"].as_i64().unwrap(),
        email: format!("{name}-bot@chat.example.org"),
        key: response["api_key"].as_str().unwrap().to_owned(),
    }
}

fn of_type(events: &[Value], kind: &str) -> Vec<Value> {
    events.iter().filter(|event| event["type"] == kind).cloned().collect()
}

#[tokio::test]
async fn a_bot_of_the_server_is_no_user_of_the_organization_and_nobody_manages_it() {
    let app = TestApp::found().await;
    let owner = app.person("owner", Role::Owner).await;
    let welcome = app.person("welcome", Role::Member).await;
    let realm = app.realm();
    let mut commit = RealmCommit { decided_at: realm.changed_at(), at_s: NOW_S, ..RealmCommit::default() };
    let bot = Some(BotProperties { kind: BotKind::System, owner_id: None });
    let account = User { bot, ..User::clone(realm.user(UserId(welcome.id)).unwrap()) };
    commit.changes.push(RealmChange::User(Box::new(account)));
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));

    let state = app.call(&owner, "POST /register", &[]).await.success();
    let bots = state["cross_realm_bots"].as_array().unwrap();
    assert_eq!((bots.len(), &bots[0]["user_id"], &bots[0]["bot_type"]), (1, &json!(welcome.id), &json!(1)));
    assert_eq!((&bots[0]["is_system_bot"], &bots[0]["is_active"]), (&json!(true), &json!(true)));
    let is_there = |list: &Value| list.as_array().unwrap().iter().any(|user| user["user_id"] == json!(welcome.id));
    let members = app.call(&owner, "GET /users", &[]).await.success();
    for list in [&state["realm_users"], &state["realm_non_active_users"], &state["realm_bots"], &members["members"]] {
        assert!(!is_there(list), "{list}");
    }
    let groups = state["realm_user_groups"].as_array().unwrap();
    assert!(groups.iter().all(|group| !group["members"].as_array().unwrap().contains(&json!(welcome.id))));
    let own = |call: &str| call.replace("ID", &welcome.id.to_string());
    for (call, parameters, error) in [
        ("PATCH /users/ID", &[("full_name", "Mine")][..], "No such user"),
        ("DELETE /users/ID", &[], "No such user"),
        ("POST /users/ID/reactivate", &[], "No such user"),
        ("PATCH /bots/ID", &[("full_name", "Mine")], "No such bot"),
        ("DELETE /bots/ID", &[], "No such bot"),
        ("POST /bots/ID/api_key/regenerate", &[], "No such bot"),
    ] {
        app.call(&owner, &own(call), parameters).await.refused(error);
    }
    let to = json!([welcome.id]).to_string();
    app.call(&owner, "POST /messages", &[("type", "direct"), ("to", &to), ("content", "hello")]).await.success();
}

#[tokio::test]
async fn a_bot_is_made_with_a_key_that_works_and_a_members_rights() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    let before = app.realm().log_position();
    let response = app.call(&mel, "POST /bots", &NEW).await.success();
    for key in ["default_sending_stream", "default_events_register_stream"] {
        assert_eq!(response[key], Value::Null, "{key}");
    }
    assert_eq!(response["default_all_public_streams"], json!(false));
    assert!(response["avatar_url"].is_string());
    let (id, key) = (response["user_id"].as_i64().unwrap(), response["api_key"].as_str().unwrap().to_owned());
    let bot = Person { id, email: "weather-bot@chat.example.org".to_owned(), key: key.clone() };
    let shown = app.call(&bot, "GET /users/me", &[]).await.success();
    let fact = |name: &str| shown[name].clone();
    assert_eq!([fact("is_bot"), fact("bot_type"), fact("bot_owner_id")], [json!(true), json!(1), json!(mel.id)]);
    assert_eq!([fact("role"), fact("full_name"), fact("user_id")], [json!(400), json!("Weather"), json!(id)]);

    let events = events_after(&app, before).await;
    assert_eq!(of_type(&events, "realm_user")[0]["person"]["email"], json!(bot.email));
    let notified = of_type(&events, "realm_bot");
    assert_eq!(
        (notified.len(), &notified[0]["op"], &notified[0]["bot"]["owner_id"]),
        (1, &json!("add"), &json!(mel.id))
    );
    assert!(!json!(events).to_string().contains(&key), "the key is in the log");
    let state = app.call(&mel, "POST /register", &[]).await.success();
    assert_eq!(state["realm_bots"], json!([notified[0]["bot"]]));
}

#[tokio::test]
async fn a_bot_that_cannot_be_made_is_not() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let bot = made(&app, &app.ada, "weather").await;
    let before = app.realm().log_position();
    let other = [("full_name", "Other"), ("short_name", "other")];
    let cases: [(&Person, Sent<'_>, &str); 13] = [
        (&people[4], &other, "Not allowed for guest users"),
        (&bot, &other, "This endpoint does not accept bot requests."),
        (&people[3], &other[..1], "Missing 'short_name' argument"),
        (&people[3], &other[1..], "Missing 'full_name' argument"),
        (&people[3], &[("full_name", "x"), other[1]], "Name too short!"),
        (&people[3], &[("full_name", "x*y"), other[1]], "Invalid characters in name!"),
        (&people[3], &[("full_name", "weather"), other[1]], "Name is already in use!"),
        (&people[3], &[other[0], ("short_name", "weather")], "Username already in use"),
        (&people[3], &[other[0], ("short_name", "a b")], "Bad name or username"),
        (&people[3], &[other[0], ("short_name", "a@b")], "Bad name or username"),
        (&people[3], &[other[0], other[1], ("bot_type", "4")], "Invalid bot type"),
        (&people[3], &[other[0], other[1], ("bot_type", "2")], "Invalid bot type"),
        (&people[3], &[other[0], other[1], ("bot_type", "x")], "bot_type is not valid JSON"),
    ];
    for (who, parameters, text) in cases {
        app.call(who, "POST /bots", parameters).await.refused(text);
        assert_nothing_written(&app, before, text);
    }
    assert_eq!(app.call_as_nobody("POST /bots", &other).await.status, 401);
}

#[tokio::test]
async fn the_realm_chooses_who_makes_bots() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let realm = app.realm();
    let mut document = Realm::clone(realm.realm().unwrap());
    document.rules.create_bots = SystemGroup::Administrators.into();
    let changes = vec![RealmChange::Realm(Box::new(document))];
    let commit = RealmCommit { decided_at: realm.changed_at(), at_s: NOW_S, changes, ..RealmCommit::default() };
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    made(&app, &people[1], "first").await;
    for person in &people[2..4] {
        app.call(person, "POST /bots", &NEW).await.refused("Insufficient permission");
    }
}

#[tokio::test]
async fn owners_are_told_their_own_bots_in_use_with_the_keys() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    let (bot, gone) = (made(&app, &mel, "weather").await, made(&app, &mel, "gone").await);
    made(&app, &app.ada, "other").await;
    app.call(&mel, &format!("DELETE /bots/{}", gone.id), &[]).await.success();
    let response = app.call(&mel, "GET /bots", &[]).await.success();
    let bots = response["bots"].as_array().unwrap();
    assert_eq!(bots.len(), 1);
    assert_eq!((&bots[0]["username"], &bots[0]["api_key"]), (&json!(bot.email), &json!(bot.key)));
    assert_eq!((&bots[0]["full_name"], &bots[0]["user_id"]), (&json!("weather"), &json!(bot.id)));
    assert_eq!(app.call(&bot, "GET /bots", &[]).await.success()["bots"], json!([]));
    let gus = app.person("gus", Role::Guest).await;
    app.call(&gus, "GET /bots", &[]).await.refused("Not allowed for guest users");
}

#[tokio::test]
async fn a_bot_is_renamed_and_handed_over() {
    let app = TestApp::found().await;
    let (mel, sam) = (app.person("mel", Role::Member).await, app.person("sam", Role::Member).await);
    let bot = made(&app, &mel, "weather").await;
    let path = format!("PATCH /bots/{}", bot.id);
    let before = app.realm().log_position();
    let owner = sam.id.to_string();
    let response = app.call(&mel, &path, &[("full_name", " Climate "), ("bot_owner_id", &owner)]).await.success();
    assert_eq!((&response["full_name"], &response["bot_owner"]), (&json!("Climate"), &json!("sam@example.org")));
    let events = events_after(&app, before).await;
    let person = |fact: Value| json!({"type": "realm_user", "op": "update", "person": fact});
    assert_eq!(
        of_type(&events, "realm_user"),
        [
            person(json!({"user_id": bot.id, "full_name": "Climate"})),
            person(json!({"user_id": bot.id, "bot_owner_id": sam.id})),
        ]
    );
    let ops: Vec<_> = of_type(&events, "realm_bot").iter().map(|event| event["op"].clone()).collect();
    assert_eq!(ops, ["update", "delete", "add", "update"]);
    app.call(&mel, &path, &[("full_name", "Mine")]).await.refused("Insufficient permission");
    let before = app.realm().log_position();
    app.call(&sam, &path, &[("full_name", "Climate"), ("bot_owner_id", &owner)]).await.success();
    app.call(&sam, &path, &[]).await.success();
    assert_nothing_written(&app, before, "what is so already");
    app.call(&app.ada, &path, &[("full_name", "Weather")]).await.success();
}

#[tokio::test]
async fn a_bot_is_changed_by_its_owner_and_administrators_alone() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let [_, adam, mona, mel, gus] = &people;
    let bot = made(&app, mel, "weather").await;
    let sam = app.person("sam", Role::Member).await;
    let calls = [
        format!("PATCH /bots/{}", bot.id),
        format!("POST /bots/{}/api_key/regenerate", bot.id),
        format!("DELETE /bots/{}", bot.id),
    ];
    let before = app.realm().log_position();
    for call in &calls {
        for who in [mona, &sam] {
            app.call(who, call, &[("full_name", "Mine")]).await.refused("Insufficient permission");
        }
        app.call(gus, call, &[("full_name", "Mine")]).await.refused("Not allowed for guest users");
        assert_eq!(app.call_as_nobody(call, &[]).await.status, 401, "{call}");
        for unknown in ["999".to_owned(), sam.id.to_string()] {
            let call = call.replace(&bot.id.to_string(), &unknown);
            app.call(&app.ada, &call, &[("full_name", "Mine")]).await.refused("No such bot");
        }
    }
    let to = |id: i64| id.to_string();
    for (owner, text) in [
        (to(999), "Failed to change owner, no such user"),
        (to(bot.id), "Failed to change owner, bots can't own other bots"),
        (to(gus.id), "Not allowed for guest users"),
        ("x".to_owned(), "bot_owner_id is not valid JSON"),
    ] {
        app.call(mel, &calls[0], &[("bot_owner_id", &owner)]).await.refused(text);
    }
    app.call(mel, &calls[0], &[("full_name", "sam")]).await.refused("Name is already in use!");
    assert_nothing_written(&app, before, "a bot of somebody else");
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    let response = app.call(adam, &calls[0], &[("bot_owner_id", &to(sam.id))]).await;
    response.refused("Failed to change owner, user is deactivated");
    for call in &calls {
        app.call(adam, call, &[("full_name", "Ours")]).await.success();
    }
}

#[tokio::test]
async fn a_new_key_ends_the_one_before() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    let bot = made(&app, &mel, "weather").await;
    let before = app.realm().log_position();
    let response = app.call(&mel, &format!("POST /bots/{}/api_key/regenerate", bot.id), &[]).await.success();
    let key = response["api_key"].as_str().unwrap().to_owned();
    assert_eq!(app.call(&bot, "GET /users/me", &[]).await.error().0, 401);
    let renewed = Person { key: key.clone(), ..bot };
    app.call(&renewed, "GET /users/me", &[]).await.success();
    assert!(!json!(events_after(&app, before).await).to_string().contains(&key));
}

#[tokio::test]
async fn a_closed_bot_opens_nothing_until_an_administrator_reopens_it() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    let bot = made(&app, &mel, "weather").await;
    let before = app.realm().log_position();
    app.call(&mel, &format!("DELETE /bots/{}", bot.id), &[]).await.success();
    let events = of_type(&events_after(&app, before).await, "realm_bot");
    let expected = json!({"type": "realm_bot", "op": "update", "bot": {"user_id": bot.id, "is_active": false}});
    assert_eq!(events, [expected]);
    assert_eq!(app.call(&bot, "GET /users/me", &[]).await.error(), (401, "UNAUTHORIZED", "Account is deactivated"));
    let before = app.realm().log_position();
    app.call(&mel, &format!("DELETE /bots/{}", bot.id), &[]).await.success();
    assert_nothing_written(&app, before, "closed twice");
    app.call(&app.ada, &format!("POST /users/{}/reactivate", bot.id), &[]).await.success();
    app.call(&bot, "GET /users/me", &[]).await.success();
}

#[tokio::test]
async fn a_bot_answers_no_profile_field() {
    let app = TestApp::found().await;
    let bot = made(&app, &app.ada, "weather").await;
    let field = [("name", "One"), ("field_type", "1")];
    let id = app.call(&app.ada, "POST /realm/profile_fields", &field).await.success()["id"].clone();
    let data = json!([{"id": id, "value": "x"}]).to_string();
    let before = app.realm().log_position();
    let response = app.call(&bot, "PATCH /users/me/profile_data", &[("data", &data)]).await;
    response.refused("This endpoint does not accept bot requests.");
    let response = app.call(&app.ada, &format!("PATCH /users/{}", bot.id), &[("profile_data", &data)]).await;
    response.refused("No such user");
    assert_nothing_written(&app, before, "an answer of a bot");
}

#[tokio::test]
async fn a_bot_keeps_texts_that_nobody_else_reads() {
    let app = TestApp::found().await;
    let bot = made(&app, &app.ada, "weather").await;
    let storage = [("storage", r#"{"a": "1", "b": "\"x\""}"#)];
    app.call(&bot, "PUT /bot_storage", &storage).await.success();
    let response = app.call(&bot, "GET /bot_storage", &[]).await.success();
    assert_eq!(response["storage"], json!({"a": "1", "b": "\"x\""}));
    let response = app.call(&bot, "GET /bot_storage", &[("keys", r#"["b", "b"]"#)]).await.success();
    assert_eq!(response["storage"], json!({"b": "\"x\""}));
    assert_eq!(app.call(&app.ada, "GET /bot_storage", &[]).await.success()["storage"], json!({}));
    for call in ["GET /bot_storage", "DELETE /bot_storage"] {
        app.call(&bot, call, &[("keys", r#"["a", "c"]"#)]).await.refused("Key does not exist.");
    }
    app.call(&bot, "DELETE /bot_storage", &[("keys", r#"["a"]"#)]).await.success();
    assert_eq!(app.call(&bot, "GET /bot_storage", &[]).await.success()["storage"], json!({"b": "\"x\""}));
    app.call(&bot, "DELETE /bot_storage", &[]).await.success();
    assert_eq!(app.call(&bot, "GET /bot_storage", &[]).await.success()["storage"], json!({}));
    for call in ["GET /bot_storage", "PUT /bot_storage", "DELETE /bot_storage"] {
        assert_eq!(app.call_as_nobody(call, &storage).await.status, 401, "{call}");
    }
}

#[tokio::test]
async fn what_a_bot_cannot_keep_is_refused() {
    let app = TestApp::found().await;
    let bot = made(&app, &app.ada, "weather").await;
    let long = "k".repeat(256);
    let (long_key, too_long) =
        (json!({&long: ""}).to_string(), format!("storage[\"{long}\"] is too long (limit: 255 characters)"));
    let cases: [(Sent<'_>, &str); 5] = [
        (&[], "Missing 'storage' argument"),
        (&[("storage", "[]")], "storage is not a dict"),
        (&[("storage", r#"{"a": 1}"#)], r#"storage["a"] is not a string"#),
        (&[("storage", "{")], "storage is not valid JSON"),
        (&[("storage", &long_key)], &too_long),
    ];
    for (parameters, text) in cases {
        app.call(&bot, "PUT /bot_storage", parameters).await.refused(text);
    }
    app.call(&bot, "GET /bot_storage", &[("keys", "a")]).await.refused("keys is not valid JSON");
    assert_eq!(app.call(&bot, "GET /bot_storage", &[]).await.success()["storage"], json!({}));
}

#[tokio::test]
async fn a_bot_keeps_ten_million_characters_and_no_more() {
    let app = TestApp::found().await;
    let bot = made(&app, &app.ada, "weather").await;
    let text = "x".repeat(999_990);
    for place in 0..10 {
        let storage = json!({format!("{place:010}"): text}).to_string();
        app.call(&bot, "PUT /bot_storage", &[("storage", &storage)]).await.success();
    }
    let response = app.call(&bot, "PUT /bot_storage", &[("storage", r#"{"k": "more"}"#)]).await;
    response.refused("Request exceeds storage limit by 5 characters. The limit is 10000000 characters.");
    assert_eq!(app.realm().user(UserId(bot.id)).unwrap().full_name, "weather");
    let response = app.call(&bot, "GET /bot_storage", &[("keys", r#"["0000000009"]"#)]).await.success();
    assert_eq!(response["storage"]["0000000009"].as_str().unwrap().len(), 999_990);
}
