//! Making channels and entering them.

use serde_json::{Value, json};

use super::{ADMINISTRATOR, TYPES, enter, found, heard, kinds, listen, mark, people};
use crate::test_app::TestApp;
use chat_core::model::role::Role;

#[tokio::test]
async fn a_new_channel_is_told_to_who_sees_it_and_a_subscription_to_who_has_it() {
    let app = TestApp::found().await;
    let [sam, bea, gus] = people(&app).await;
    let own = listen(&app, &sam, &[("include_subscribers", "true")]).await;
    let (other, guest) = (listen(&app, &bea, &[]).await, listen(&app, &gus, &[]).await);
    let id = found(&app, &app.ada, "plans", (&[&app.ada, &sam], &[])).await;
    let events = heard(&app, &own).await;
    assert_eq!(kinds(&events), ["stream create", "subscription add"]);
    let created = &events[0]["streams"][0];
    assert_eq!((&created["stream_id"], &created["first_message_id"]), (&json!(id), &Value::Null));
    assert_eq!(created.as_object().unwrap().len(), 19);
    let added = &events[1]["subscriptions"][0];
    assert_eq!((&added["stream_id"], &added["in_home_view"]), (&json!(id), &json!(true)));
    assert_eq!((&added["push_notifications"], &added["subscribers"]), (&json!(false), &json!([9, sam.id])));
    let events = heard(&app, &other).await;
    assert_eq!(kinds(&events), ["stream create", "subscription peer_add"]);
    let peers = json!({"type": "subscription", "op": "peer_add", "stream_ids": [id], "user_ids": [9, sam.id]});
    assert_eq!(events[1], peers);
    assert_eq!(heard(&app, &guest).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_client_is_told_of_notifications_and_subscribers_as_it_asked() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    let nulls = ("client_capabilities", r#"{"notification_settings_null": true}"#);
    let everyone = ("include_subscribers", "true");
    let ears = [
        (listen(&app, &sam, &[]).await, json!(false), false),
        (listen(&app, &sam, &[nulls]).await, Value::Null, false),
        (listen(&app, &sam, &[everyone]).await, json!(false), true),
        (listen(&app, &sam, &[nulls, everyone]).await, Value::Null, true),
    ];
    enter(&app, &sam, "general", &[]).await.success();
    for (queue, notified, listed) in ears {
        let events = heard(&app, &queue).await;
        assert_eq!(kinds(&events), ["subscription add"]);
        let shown = &events[0]["subscriptions"][0];
        assert_eq!((&shown["email_notifications"], shown.get("subscribers").is_some()), (&notified, listed));
    }
}

#[tokio::test]
async fn a_private_channel_is_told_to_its_subscribers_and_administrators_alone() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    let ada = listen(&app, &app.ada, &[]).await;
    let (inside, outside) = (listen(&app, &sam, &[]).await, listen(&app, &bea, &[]).await);
    let id = found(&app, &sam, "secret", (&[&sam], &[("invite_only", "true")])).await;
    assert_eq!(kinds(&heard(&app, &inside).await), ["stream create", "subscription add"]);
    assert_eq!(kinds(&heard(&app, &ada).await), ["stream create", "subscription peer_add"]);
    assert_eq!(heard(&app, &outside).await, Vec::<Value>::new());
    // Who is put into it hears of the channel first.
    enter(&app, &sam, "secret", &[("principals", &json!([bea.email]).to_string())]).await.success();
    let events = heard(&app, &outside).await;
    assert_eq!(kinds(&events), ["stream create", "subscription add"]);
    assert_eq!(events[0]["streams"][0]["stream_id"], json!(id));
    assert_eq!(kinds(&heard(&app, &inside).await)[2..], ["subscription peer_add"]);
}

#[tokio::test]
async fn the_answer_names_people_by_address_and_what_they_were_in_before() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    enter(&app, &sam, "tea", &[]).await.success();
    let subscriptions = r#"[{"name": " Tea "}, {"name": "cake"}, {"name": "CAKE"}]"#;
    let both = json!([sam.id, bea.id]).to_string();
    let parameters = [("subscriptions", subscriptions), ("principals", both.as_str())];
    let response = app.call(&sam, "POST /users/me/subscriptions", &parameters).await.success();
    assert_eq!(response["subscribed"], json!({"sam@example.org": ["cake"], "bea@example.org": ["tea", "cake"]}));
    assert_eq!(response["already_subscribed"], json!({"sam@example.org": ["tea"]}));
    assert_eq!(response.get("unauthorized"), None);
}

#[tokio::test]
async fn channels_that_may_not_be_entered_refuse_all_unless_the_caller_says_otherwise() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    found(&app, &sam, "secret", (&[&sam], &[("invite_only", "true")])).await;
    let before = mark(&app);
    let sent = ("subscriptions", r#"[{"name": "new"}, {"name": "Secret"}]"#);
    let response = app.call(&bea, "POST /users/me/subscriptions", &[sent]).await;
    response.refused("Unable to access channel (Secret).");
    assert_eq!(mark(&app), before);
    let response =
        app.call(&bea, "POST /users/me/subscriptions", &[sent, ("authorization_errors_fatal", "false")]).await;
    let response = response.success();
    assert_eq!(
        (&response["unauthorized"], &response["subscribed"]),
        (&json!(["Secret"]), &json!({"bea@example.org": ["new"]}))
    );
    // An administrator sees it and may not enter it either.
    enter(&app, &app.ada, "secret", &[]).await.refused("Unable to access channel (secret).");
}

#[tokio::test]
async fn what_may_not_be_made_is_refused_and_nothing_is_written() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    let before = mark(&app);
    let queue = listen(&app, &app.ada, &[]).await;
    let long = "x".repeat(61);
    for (name, text) in [
        (" ", "Channel name can't be empty."),
        (&long, "Channel name too long (limit: 60 characters)."),
        ("a\u{7}", "Invalid character in channel name, at position 2!"),
    ] {
        enter(&app, &sam, name, &[]).await.refused(text);
    }
    let cases: [(&[(&str, &str)], &str); 11] = [
        (&[("is_web_public", "true")], "Insufficient permission"),
        (&[("is_web_public", "true"), ("invite_only", "true")], "Invalid parameters"),
        (&[("message_retention_days", "30")], "Must be an organization owner"),
        (&[("message_retention_days", "never")], "Bad value for 'message_retention_days': never"),
        (&[("message_retention_days", "0")], "Bad value for 'message_retention_days': 0"),
        (&[("is_default_stream", "true")], "Insufficient permission"),
        (&[("can_remove_subscribers_group", "999")], "Invalid user group"),
        (
            &[("can_remove_subscribers_group", "1")],
            "'can_remove_subscribers_group' setting cannot be set to 'role:nobody' group.",
        ),
        (&[("stream_post_policy", "5")], "Invalid stream_post_policy: Value error, Not in the list of possible values"),
        (&[("principals", r#"["nobody@example.org"]"#)], "No such user"),
        (&[("principals", "[999]")], "No such user"),
    ];
    for (parameters, text) in cases {
        enter(&app, &sam, "new", parameters).await.refused(text);
    }
    let private = [("invite_only", "true"), ("is_default_stream", "true")];
    enter(&app, &app.ada, "new", &private).await.refused("A default channel cannot be private.");
    assert_eq!(mark(&app), before);
    assert_eq!(heard(&app, &queue).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_wish_that_cannot_be_read_says_where() {
    let app = TestApp::found().await;
    let before = mark(&app);
    for (sent, text) in [
        ("x", "subscriptions is not valid JSON"),
        (r#"{"name": "a"}"#, "subscriptions is not a list"),
        ("[{}]", r#"subscriptions[0]["name"] field is missing: Field required"#),
        (
            r#"[{"name": "a"}, {"name": "b", "color": "red"}]"#,
            "Invalid subscriptions[1]: Value error, add.color is not a valid hex color code",
        ),
        (r#"[{"name": "a", "description": 1}]"#, r#"subscriptions[0]["description"] is not a string"#),
    ] {
        app.call(&app.ada, "POST /users/me/subscriptions", &[("subscriptions", sent)]).await.refused(text);
    }
    let long = json!([{"name": "a", "description": "x".repeat(1025)}]).to_string();
    let response = app.call(&app.ada, "POST /users/me/subscriptions", &[("subscriptions", &long)]).await;
    response.refused(r#"subscriptions[0]["description"] is too long (limit: 1024 characters)"#);
    let none = app.call(&app.ada, "POST /users/me/subscriptions", &[]).await;
    assert_eq!(none.error(), (400, "BAD_REQUEST", "Missing 'subscriptions' argument"));
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn guests_enter_nothing_by_themselves() {
    let app = TestApp::found().await;
    let [_, _, gus] = people(&app).await;
    let before = mark(&app);
    for name in ["general", "new"] {
        enter(&app, &gus, name, &[]).await.refused("Not allowed for guest users");
    }
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn a_private_channel_hides_its_history_unless_it_is_said_to_share_it() {
    let app = TestApp::found().await;
    for (name, shared, expected) in [("a", "null", false), ("b", "false", false), ("c", "true", true)] {
        let parameters = [("invite_only", "true"), ("history_public_to_subscribers", shared)];
        let id = found(&app, &app.ada, name, (&[&app.ada], &parameters)).await;
        let one = app.call(&app.ada, &format!("GET /streams/{id}"), &[]).await.success();
        assert_eq!(one["stream"]["history_public_to_subscribers"], json!(expected), "{name}");
    }
}

#[tokio::test]
async fn channels_new_users_are_put_into_are_chosen_by_administrators_and_told() {
    let app = TestApp::found().await;
    let [sam, _, gus] = people(&app).await;
    let (queue, guest) = (listen(&app, &sam, &[]).await, listen(&app, &gus, &[]).await);
    let id = found(&app, &sam, "club", (&[&sam], &[])).await;
    let secret = found(&app, &app.ada, "secret", (&[&app.ada], &[("invite_only", "true")])).await.to_string();
    let named = id.to_string();
    let before = mark(&app);
    for call in ["POST /default_streams", "DELETE /default_streams"] {
        app.call(&sam, call, &[("stream_id", &named)]).await.refused(ADMINISTRATOR);
        app.call(&app.ada, call, &[("stream_id", "999")]).await.refused("Invalid channel ID");
    }
    let response = app.call(&app.ada, "POST /default_streams", &[("stream_id", &secret)]).await;
    response.refused("Private channels cannot be made default.");
    assert_eq!(mark(&app), before);
    for call in ["POST /default_streams", "POST /default_streams", "DELETE /default_streams", "DELETE /default_streams"]
    {
        app.call(&app.ada, call, &[("stream_id", &named)]).await.success();
    }
    let events = heard(&app, &queue).await;
    let notified: Vec<usize> = events
        .iter()
        .filter(|event| event["type"] == "default_streams")
        .map(|event| event["default_streams"].as_array().unwrap().len())
        .collect();
    assert_eq!(notified, [3, 2]);
    assert_eq!(heard(&app, &guest).await, Vec::<Value>::new());
}

#[tokio::test]
async fn who_enters_and_leaves_in_one_request_does_both_or_neither() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    enter(&app, &sam, "old", &[]).await.success();
    let before = mark(&app);
    app.call(&sam, "PATCH /users/me/subscriptions", &[])
        .await
        .refused(r#"Nothing to do. Specify at least one of "add" or "delete"."#);
    let bad = [("delete", r#"["old"]"#), ("add", r#"[{"name": ""}]"#)];
    app.call(&sam, "PATCH /users/me/subscriptions", &bad).await.refused("Channel name can't be empty.");
    assert_eq!(mark(&app), before);
    let queue = listen(&app, &sam, &[]).await;
    let good = [("delete", r#"["old"]"#), ("add", r#"[{"name": "new"}]"#)];
    let response = app.call(&sam, "PATCH /users/me/subscriptions", &good).await.success();
    assert_eq!(
        (&response["removed"], &response["subscribed"]),
        (&json!(["old"]), &json!({"sam@example.org": ["new"]}))
    );
    let kinds = kinds(&heard(&app, &queue).await);
    assert_eq!(kinds, ["subscription remove", "stream create", "subscription add"], "of {TYPES}");
}
