//! Making channels and entering them.

use serde_json::{Value, json};

use super::{ADMINISTRATOR, TYPES, enter, found, heard, kinds, listen, mark, people};
use crate::town::Town;
use chat_core::model::role::Role;

#[tokio::test]
async fn a_new_channel_is_told_to_who_sees_it_and_a_subscription_to_who_has_it() {
    let town = Town::found().await;
    let [sam, bea, gus] = people(&town).await;
    let own = listen(&town, &sam, &[("include_subscribers", "true")]).await;
    let (other, guest) = (listen(&town, &bea, &[]).await, listen(&town, &gus, &[]).await);
    let id = found(&town, &town.ada, "plans", (&[&town.ada, &sam], &[])).await;
    let events = heard(&town, &own).await;
    assert_eq!(kinds(&events), ["stream create", "subscription add"]);
    let created = &events[0]["streams"][0];
    assert_eq!((&created["stream_id"], &created["first_message_id"]), (&json!(id), &Value::Null));
    assert_eq!(created.as_object().unwrap().len(), 15);
    let added = &events[1]["subscriptions"][0];
    assert_eq!((&added["stream_id"], &added["in_home_view"]), (&json!(id), &json!(true)));
    assert_eq!((&added["push_notifications"], &added["subscribers"]), (&json!(false), &json!([9, sam.id])));
    let events = heard(&town, &other).await;
    assert_eq!(kinds(&events), ["stream create", "subscription peer_add"]);
    let peers = json!({"type": "subscription", "op": "peer_add", "stream_ids": [id], "user_ids": [9, sam.id]});
    assert_eq!(events[1], peers);
    assert_eq!(heard(&town, &guest).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_client_is_told_of_notifications_and_subscribers_as_it_asked() {
    let town = Town::found().await;
    let [sam, ..] = people(&town).await;
    let nulls = ("client_capabilities", r#"{"notification_settings_null": true}"#);
    let everyone = ("include_subscribers", "true");
    let ears = [
        (listen(&town, &sam, &[]).await, json!(false), false),
        (listen(&town, &sam, &[nulls]).await, Value::Null, false),
        (listen(&town, &sam, &[everyone]).await, json!(false), true),
        (listen(&town, &sam, &[nulls, everyone]).await, Value::Null, true),
    ];
    enter(&town, &sam, "general", &[]).await.success();
    for (ear, notified, listed) in ears {
        let events = heard(&town, &ear).await;
        assert_eq!(kinds(&events), ["subscription add"]);
        let shown = &events[0]["subscriptions"][0];
        assert_eq!((&shown["email_notifications"], shown.get("subscribers").is_some()), (&notified, listed));
    }
}

#[tokio::test]
async fn a_private_channel_is_told_to_its_subscribers_and_administrators_alone() {
    let town = Town::found().await;
    let [sam, bea, _] = people(&town).await;
    let ada = listen(&town, &town.ada, &[]).await;
    let (inside, outside) = (listen(&town, &sam, &[]).await, listen(&town, &bea, &[]).await);
    let id = found(&town, &sam, "secret", (&[&sam], &[("invite_only", "true")])).await;
    assert_eq!(kinds(&heard(&town, &inside).await), ["stream create", "subscription add"]);
    assert_eq!(kinds(&heard(&town, &ada).await), ["stream create", "subscription peer_add"]);
    assert_eq!(heard(&town, &outside).await, Vec::<Value>::new());
    // Who is put into it hears of the channel first.
    enter(&town, &sam, "secret", &[("principals", &json!([bea.email]).to_string())]).await.success();
    let events = heard(&town, &outside).await;
    assert_eq!(kinds(&events), ["stream create", "subscription add"]);
    assert_eq!(events[0]["streams"][0]["stream_id"], json!(id));
    assert_eq!(kinds(&heard(&town, &inside).await)[2..], ["subscription peer_add"]);
}

#[tokio::test]
async fn the_answer_names_people_by_address_and_what_they_were_in_before() {
    let town = Town::found().await;
    let [sam, bea, _] = people(&town).await;
    enter(&town, &sam, "tea", &[]).await.success();
    let subscriptions = r#"[{"name": " Tea "}, {"name": "cake"}, {"name": "CAKE"}]"#;
    let both = json!([sam.id, bea.id]).to_string();
    let parameters = [("subscriptions", subscriptions), ("principals", both.as_str())];
    let told = town.call(&sam, "POST /users/me/subscriptions", &parameters).await.success();
    assert_eq!(told["subscribed"], json!({"sam@example.org": ["cake"], "bea@example.org": ["tea", "cake"]}));
    assert_eq!(told["already_subscribed"], json!({"sam@example.org": ["tea"]}));
    assert_eq!(told.get("unauthorized"), None);
}

#[tokio::test]
async fn channels_that_may_not_be_entered_refuse_all_unless_the_caller_says_otherwise() {
    let town = Town::found().await;
    let [sam, bea, _] = people(&town).await;
    found(&town, &sam, "secret", (&[&sam], &[("invite_only", "true")])).await;
    let before = mark(&town);
    let wish = ("subscriptions", r#"[{"name": "new"}, {"name": "Secret"}]"#);
    let told = town.call(&bea, "POST /users/me/subscriptions", &[wish]).await;
    told.refused("Unable to access channel (Secret).");
    assert_eq!(mark(&town), before);
    let told = town.call(&bea, "POST /users/me/subscriptions", &[wish, ("authorization_errors_fatal", "false")]).await;
    let told = told.success();
    assert_eq!(
        (&told["unauthorized"], &told["subscribed"]),
        (&json!(["Secret"]), &json!({"bea@example.org": ["new"]}))
    );
    // An administrator sees it and may not enter it either.
    enter(&town, &town.ada, "secret", &[]).await.refused("Unable to access channel (secret).");
}

#[tokio::test]
async fn what_may_not_be_made_is_refused_and_nothing_is_written() {
    let town = Town::found().await;
    let [sam, ..] = people(&town).await;
    let before = mark(&town);
    let ear = listen(&town, &town.ada, &[]).await;
    let long = "x".repeat(61);
    for (name, text) in [
        (" ", "Channel name can't be empty."),
        (&long, "Channel name too long (limit: 60 characters)."),
        ("a\u{7}", "Invalid character in channel name, at position 2!"),
    ] {
        enter(&town, &sam, name, &[]).await.refused(text);
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
        enter(&town, &sam, "new", parameters).await.refused(text);
    }
    let private = [("invite_only", "true"), ("is_default_stream", "true")];
    enter(&town, &town.ada, "new", &private).await.refused("A default channel cannot be private.");
    assert_eq!(mark(&town), before);
    assert_eq!(heard(&town, &ear).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_wish_that_cannot_be_read_says_where() {
    let town = Town::found().await;
    let before = mark(&town);
    for (wish, text) in [
        ("x", "subscriptions is not valid JSON"),
        (r#"{"name": "a"}"#, "subscriptions is not a list"),
        ("[{}]", r#"subscriptions[0]["name"] field is missing: Field required"#),
        (
            r#"[{"name": "a"}, {"name": "b", "color": "red"}]"#,
            "Invalid subscriptions[1]: Value error, add.color is not a valid hex color code",
        ),
        (r#"[{"name": "a", "description": 1}]"#, r#"subscriptions[0]["description"] is not a string"#),
    ] {
        town.call(&town.ada, "POST /users/me/subscriptions", &[("subscriptions", wish)]).await.refused(text);
    }
    let long = json!([{"name": "a", "description": "x".repeat(1025)}]).to_string();
    let told = town.call(&town.ada, "POST /users/me/subscriptions", &[("subscriptions", &long)]).await;
    told.refused(r#"subscriptions[0]["description"] is too long (limit: 1024 characters)"#);
    let none = town.call(&town.ada, "POST /users/me/subscriptions", &[]).await;
    assert_eq!(none.error(), (400, "BAD_REQUEST", "Missing 'subscriptions' argument"));
    assert_eq!(mark(&town), before);
}

#[tokio::test]
async fn guests_enter_nothing_by_themselves() {
    let town = Town::found().await;
    let [_, _, gus] = people(&town).await;
    let before = mark(&town);
    for name in ["general", "new"] {
        enter(&town, &gus, name, &[]).await.refused("Not allowed for guest users");
    }
    assert_eq!(mark(&town), before);
}

#[tokio::test]
async fn a_private_channel_hides_its_history_unless_it_is_said_to_share_it() {
    let town = Town::found().await;
    for (name, shared, expected) in [("a", "null", false), ("b", "false", false), ("c", "true", true)] {
        let parameters = [("invite_only", "true"), ("history_public_to_subscribers", shared)];
        let id = found(&town, &town.ada, name, (&[&town.ada], &parameters)).await;
        let one = town.call(&town.ada, &format!("GET /streams/{id}"), &[]).await.success();
        assert_eq!(one["stream"]["history_public_to_subscribers"], json!(expected), "{name}");
    }
}

#[tokio::test]
async fn channels_new_users_are_put_into_are_chosen_by_administrators_and_told() {
    let town = Town::found().await;
    let [sam, _, gus] = people(&town).await;
    let (ear, guest) = (listen(&town, &sam, &[]).await, listen(&town, &gus, &[]).await);
    let id = found(&town, &sam, "club", (&[&sam], &[])).await;
    let secret = found(&town, &town.ada, "secret", (&[&town.ada], &[("invite_only", "true")])).await.to_string();
    let named = id.to_string();
    let before = mark(&town);
    for call in ["POST /default_streams", "DELETE /default_streams"] {
        town.call(&sam, call, &[("stream_id", &named)]).await.refused(ADMINISTRATOR);
        town.call(&town.ada, call, &[("stream_id", "999")]).await.refused("Invalid channel ID");
    }
    let told = town.call(&town.ada, "POST /default_streams", &[("stream_id", &secret)]).await;
    told.refused("Private channels cannot be made default.");
    assert_eq!(mark(&town), before);
    for call in ["POST /default_streams", "POST /default_streams", "DELETE /default_streams", "DELETE /default_streams"]
    {
        town.call(&town.ada, call, &[("stream_id", &named)]).await.success();
    }
    let events = heard(&town, &ear).await;
    let told: Vec<usize> = events
        .iter()
        .filter(|event| event["type"] == "default_streams")
        .map(|event| event["default_streams"].as_array().unwrap().len())
        .collect();
    assert_eq!(told, [3, 2]);
    assert_eq!(heard(&town, &guest).await, Vec::<Value>::new());
}

#[tokio::test]
async fn who_enters_and_leaves_in_one_request_does_both_or_neither() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    enter(&town, &sam, "old", &[]).await.success();
    let before = mark(&town);
    town.call(&sam, "PATCH /users/me/subscriptions", &[])
        .await
        .refused(r#"Nothing to do. Specify at least one of "add" or "delete"."#);
    let bad = [("delete", r#"["old"]"#), ("add", r#"[{"name": ""}]"#)];
    town.call(&sam, "PATCH /users/me/subscriptions", &bad).await.refused("Channel name can't be empty.");
    assert_eq!(mark(&town), before);
    let ear = listen(&town, &sam, &[]).await;
    let good = [("delete", r#"["old"]"#), ("add", r#"[{"name": "new"}]"#)];
    let told = town.call(&sam, "PATCH /users/me/subscriptions", &good).await.success();
    assert_eq!((&told["removed"], &told["subscribed"]), (&json!(["old"]), &json!({"sam@example.org": ["new"]})));
    let kinds = kinds(&heard(&town, &ear).await);
    assert_eq!(kinds, ["subscription remove", "stream create", "subscription add"], "of {TYPES}");
}
