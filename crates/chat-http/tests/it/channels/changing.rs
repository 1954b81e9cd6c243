//! Changing and closing channels, and what people choose for theirs.

use serde_json::{Value, json};

use super::{ADMINISTRATOR, found, heard, kinds, listen, mark, names, people};
use crate::test_app::{Person, TestApp, TestResponse};
use chat_core::model::role::Role;

type Parameters<'a> = &'a [(&'a str, &'a str)];

async fn change(app: &TestApp, who: &Person, id: i64, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, &format!("PATCH /streams/{id}"), parameters).await
}

#[tokio::test]
async fn each_property_that_changes_is_told_to_who_sees_the_channel() {
    let app = TestApp::found().await;
    let [sam, _, gus] = people(&app).await;
    let id = found(&app, &sam, "club", (&[&sam], &[])).await;
    let (queue, guest) = (listen(&app, &sam, &[]).await, listen(&app, &gus, &[]).await);
    let update = |property: &str, value: Value, more: Value| {
        let mut event = json!({
            "type": "stream", "op": "update", "stream_id": id, "name": "Guild", "property": property, "value": value,
        });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let values = [
        ("new_name", "Guild"),
        ("description", "of\n*smiths*"),
        ("stream_post_policy", "2"),
        ("message_retention_days", "unlimited"),
        ("can_remove_subscribers_group", "4"),
    ];
    change(&app, &app.ada, id, &values).await.success();
    // A rename is told under the name the channel is known by.
    let renamed = update("name", json!("Guild"), json!({"name": "club"}));
    let html = json!({"rendered_description": "<p>of <em>smiths</em></p>"});
    let expected = [
        renamed,
        update("description", json!("of *smiths*"), html),
        update("stream_post_policy", json!(2), json!({})),
        update("is_announcement_only", json!(true), json!({})),
        update("message_retention_days", json!(-1), json!({})),
        update("can_remove_subscribers_group", json!(4), json!({})),
    ];
    assert_eq!(heard(&app, &queue).await, expected);
    assert_eq!(heard(&app, &guest).await, Vec::<Value>::new());
    let before = mark(&app);
    change(&app, &app.ada, id, &[("stream_post_policy", "2")]).await.success();
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn what_may_not_become_of_a_channel_is_refused_and_nothing_is_written() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    let admin = app.person("max", Role::Administrator).await;
    let club = found(&app, &sam, "club", (&[&sam], &[])).await;
    let secret = found(&app, &sam, "secret", (&[&sam], &[("invite_only", "true")])).await;
    let general = app.realm().channel_by_name("general").unwrap().id.0;
    let before = mark(&app);
    change(&app, &sam, club, &[("new_name", "x")]).await.refused(ADMINISTRATOR);
    change(&app, &bea, secret, &[("new_name", "x")]).await.refused("Invalid channel ID");
    app.call(&sam, &format!("DELETE /streams/{club}"), &[]).await.refused(ADMINISTRATOR);
    app.call(&bea, &format!("DELETE /streams/{secret}"), &[]).await.refused("Invalid channel ID");
    app.call(&admin, "DELETE /streams/999", &[]).await.refused("Invalid channel ID");
    let long = "x".repeat(1025);
    let cases: [(i64, Parameters<'_>, &str); 11] = [
        (club, &[("new_name", "club")], "Channel already has that name."),
        (club, &[("new_name", "GENERAL")], "Channel name already in use."),
        (club, &[("new_name", " ")], "Channel name can't be empty."),
        (club, &[("description", &long)], "description is too long (limit: 1024 characters)"),
        (club, &[("is_private", "true"), ("is_web_public", "true")], "Invalid parameters"),
        (club, &[("history_public_to_subscribers", "false")], "Invalid parameters"),
        (club, &[("is_web_public", "true")], "Insufficient permission"),
        (club, &[("message_retention_days", "7")], "Must be an organization owner"),
        (general, &[("is_private", "true")], "A default channel cannot be private."),
        (secret, &[("is_private", "false")], "Invalid channel ID"),
        (
            club,
            &[("can_remove_subscribers_group", "2")],
            "'can_remove_subscribers_group' setting cannot be set to 'role:owners' group.",
        ),
    ];
    for (id, parameters, text) in cases {
        change(&app, &admin, id, parameters).await.refused(text);
    }
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn a_name_may_change_in_case_alone() {
    let app = TestApp::found().await;
    let id = found(&app, &app.ada, "club", (&[&app.ada], &[])).await;
    change(&app, &app.ada, id, &[("new_name", "Club")]).await.success();
    assert_eq!(app.realm().channel_by_name("club").unwrap().name, "Club");
}

#[tokio::test]
async fn a_channel_that_closes_to_strangers_goes_out_of_their_sight_and_comes_back() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    let id = found(&app, &app.ada, "club", (&[&app.ada, &sam], &[])).await;
    let (inside, outside) = (listen(&app, &sam, &[]).await, listen(&app, &bea, &[]).await);
    change(&app, &app.ada, id, &[("is_private", "true")]).await.success();
    let events = heard(&app, &inside).await;
    let closed = json!({
        "type": "stream", "op": "update", "stream_id": id, "name": "club", "property": "invite_only", "value": true,
        "history_public_to_subscribers": false, "is_web_public": false,
    });
    assert_eq!(events, [closed]);
    assert_eq!(kinds(&heard(&app, &outside).await), ["stream delete"]);
    change(&app, &app.ada, id, &[("is_private", "false")]).await.success();
    let events = heard(&app, &outside).await;
    assert_eq!(kinds(&events)[1..3], ["stream create", "subscription peer_add"]);
    assert_eq!(events[2]["user_ids"], json!([9, sam.id]));
}

#[tokio::test]
async fn an_archived_channel_is_gone_for_all() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    let id = app.realm().channel_by_name("general").unwrap().id.0;
    let queue = listen(&app, &sam, &[]).await;
    app.call(&app.ada, &format!("DELETE /streams/{id}"), &[]).await.success();
    let events = heard(&app, &queue).await;
    assert_eq!(kinds(&events), ["stream delete", "default_streams"]);
    assert_eq!(events[0]["streams"][0]["name"], "general");
    assert_eq!(names(&app, &app.ada, &[("include_all_active", "true")]).await, ["sandbox"]);
    let response = app.call(&app.ada, "GET /users/me/subscriptions", &[]).await.success();
    assert_eq!(response["subscriptions"].as_array().unwrap().len(), 1);
    let again = app.call(&app.ada, &format!("DELETE /streams/{id}"), &[]).await;
    again.refused("Channel is already deactivated");
}

async fn choose(app: &TestApp, who: &Person, data: &Value) -> TestResponse {
    let data = data.to_string();
    app.call(who, "POST /users/me/subscriptions/properties", &[("subscription_data", &data)]).await
}

#[tokio::test]
async fn what_someone_chooses_for_a_channel_is_told_to_their_own_clients() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    let id = app.realm().channel_by_name("general").unwrap().id.0;
    let (queue, other) = (listen(&app, &app.ada, &[]).await, listen(&app, &sam, &[]).await);
    let chosen = |property: &str, value: Value| json!({"stream_id": id, "property": property, "value": value});
    let data = json!([
        chosen("is_muted", json!(true)),
        chosen("color", json!("#ABCDEF")),
        chosen("pin_to_top", json!(false)),
        chosen("push_notifications", json!(true)),
    ]);
    choose(&app, &app.ada, &data).await.success();
    let events = heard(&app, &queue).await;
    let notified: Vec<_> = events.iter().map(|event| (event["property"].as_str().unwrap(), &event["value"])).collect();
    let expected = [
        ("color", &json!("#ABCDEF")),
        ("in_home_view", &json!(false)),
        ("is_muted", &json!(true)),
        ("push_notifications", &json!(true)),
    ];
    assert_eq!(notified, expected);
    assert_eq!((&events[0]["op"], &events[0]["stream_id"]), (&json!("update"), &json!(id)));
    assert_eq!(heard(&app, &other).await, Vec::<Value>::new());
    let path = format!("PATCH /users/me/subscriptions/{id}");
    app.call(&app.ada, &path, &[("property", "in_home_view"), ("value", "true")]).await.success();
    assert!(!app.realm().subscription(chat_core::id::ChannelId(id), chat_core::id::UserId(9)).unwrap().is_muted);
}

#[tokio::test]
async fn a_notification_that_is_null_follows_the_settings_again_and_older_clients_are_told_what_they_say() {
    let app = TestApp::found().await;
    let id = app.realm().channel_by_name("general").unwrap().id.0;
    let properties = [
        ("desktop_notifications", "enable_stream_desktop_notifications", false),
        ("audible_notifications", "enable_stream_audible_notifications", false),
        ("push_notifications", "enable_stream_push_notifications", true),
        ("email_notifications", "enable_stream_email_notifications", false),
        ("wildcard_mentions_notify", "wildcard_mentions_notify", true),
    ];
    app.call(&app.ada, "PATCH /settings", &[("enable_stream_push_notifications", "true")]).await.success();
    let knows_null = [("client_capabilities", r#"{"notification_settings_null": true}"#)];
    for (property, setting, own) in properties {
        let chosen = |value: Value| json!([{"stream_id": id, "property": property, "value": value}]);
        choose(&app, &app.ada, &chosen(json!(!own))).await.success();
        let (new, old) = (listen(&app, &app.ada, &knows_null).await, listen(&app, &app.ada, &[]).await);
        choose(&app, &app.ada, &chosen(Value::Null)).await.success();
        let event = |value: Value| json!([{"type": "subscription", "op": "update", "stream_id": id, "property": property, "value": value}]);
        assert_eq!(json!(heard(&app, &new).await), event(Value::Null), "{property}");
        assert_eq!(json!(heard(&app, &old).await), event(json!(own)), "{property} as {setting}");
        let path = format!("PATCH /users/me/subscriptions/{id}");
        app.call(&app.ada, &path, &[("property", property), ("value", "true")]).await.success();
        app.call(&app.ada, &path, &[("property", property), ("value", "null")]).await.success();
    }
    let state = app.call(&app.ada, "POST /register", &knows_null).await.success();
    let all = state["subscriptions"].as_array().unwrap();
    let general = all.iter().find(|channel| channel["stream_id"] == id).unwrap();
    assert!(properties.iter().all(|(property, ..)| general[property].is_null()), "{general}");
}

#[tokio::test]
async fn a_choice_that_cannot_be_made_is_refused_and_so_are_those_beside_it() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    let realm = app.realm();
    let [general, sandbox] = ["general", "sandbox"].map(|name| realm.channel_by_name(name).unwrap().id.0);
    let before = mark(&app);
    let good = json!({"stream_id": sandbox, "property": "is_muted", "value": true});
    let cases = [
        (json!({"stream_id": 999, "property": "is_muted", "value": true}), "Invalid channel ID"),
        (
            json!({"stream_id": general, "property": "color", "value": "blue"}),
            "Invalid subscription_data[1]: Value error, color is not a valid hex color code",
        ),
        (
            json!({"stream_id": general, "property": "is_muted", "value": 1}),
            r#"subscription_data[1]["value"]["bool"] is not a boolean"#,
        ),
        (
            json!({"stream_id": general, "property": "is_muted", "value": null}),
            "Invalid subscription_data[1]: Value error, is_muted is not a boolean",
        ),
        (
            json!({"stream_id": general, "property": "push_notifications", "value": "true"}),
            "Invalid subscription_data[1]: Value error, push_notifications is not a boolean",
        ),
        (json!({"stream_id": general, "property": "size", "value": true}), "Unknown subscription property: size"),
        (
            json!({"property": "is_muted", "value": true}),
            r#"subscription_data[1]["stream_id"] field is missing: Field required"#,
        ),
    ];
    for (bad, text) in cases {
        choose(&app, &app.ada, &json!([good, bad])).await.refused(text);
    }
    let own = json!([{"stream_id": general, "property": "is_muted", "value": true}]);
    choose(&app, &sam, &own).await.refused(&format!("Not subscribed to channel id {general}"));
    assert_eq!(mark(&app), before);
}
