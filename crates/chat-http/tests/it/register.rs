//! The state a client begins with.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::test_app::{NOW_S, TestApp};

/// What a terminal client reads at its start without asking whether it is there.
const TERMINAL: &str =
    "zulip_version queue_id last_event_id max_message_id user_id email full_name realm_name presences
    realm_users cross_realm_bots subscriptions muted_topics realm_user_groups unread_msgs realm_emoji user_settings
    realm_message_retention_days starred_messages custom_profile_fields realm_allow_message_editing
    realm_message_content_edit_limit_seconds realm_allow_edit_history";

/// What a mobile client reads at its start without asking whether it is there.
const MOBILE: &str =
    "last_event_id zulip_feature_level zulip_version zulip_merge_base alert_words custom_profile_fields
    max_stream_name_length max_topic_length server_presence_ping_interval_seconds
    server_presence_offline_threshold_seconds muted_users presences realm_emoji realm_user_groups
    recent_private_conversations subscriptions unread_msgs starred_messages streams user_status user_settings
    user_topics realm_wildcard_mention_policy realm_name realm_waiting_period_threshold realm_allow_message_editing
    realm_enable_read_receipts realm_icon_url realm_presence_disabled realm_default_external_accounts
    max_file_upload_size_mib server_emoji_data_url event_queue_longpoll_timeout_seconds realm_users
    realm_non_active_users cross_realm_bots";

#[track_caller]
fn assert_has(state: &Value, keys: &str) {
    let missing: Vec<_> = keys.split_whitespace().filter(|key| state.get(*key).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?} are missing");
}

#[tokio::test]
async fn a_terminal_client_finds_what_it_needs() {
    let app = TestApp::found().await;
    let types = r#"["realm", "presence", "subscription", "message", "starred_messages", "update_message_flags",
        "muted_topics", "realm_user", "realm_user_groups", "user_settings", "realm_emoji", "custom_profile_fields",
        "zulip_version"]"#;
    let parameters = [
        ("event_types", r#"["message"]"#),
        ("fetch_event_types", types),
        ("include_subscribers", "true"),
        ("apply_markdown", "true"),
    ];
    let state = app.call(&app.ada, "POST /register", &parameters).await.success();
    assert_has(&state, TERMINAL);
    let general = &state["subscriptions"][0];
    assert_eq!((&general["name"], &general["subscribers"]), (&json!("general"), &json!([app.ada.id])));
    assert_eq!((&general["desktop_notifications"], &general["color"]), (&json!(false), &json!("#76ce90")));
    assert_eq!(state["max_message_id"], -1);
    assert_eq!(state["user_settings"]["twenty_four_hour_time"], false);
    // Not asked for.
    for key in ["streams", "user_topics", "alert_words", "realm_linkifiers"] {
        assert!(state.get(key).is_none(), "{key}");
    }
}

#[tokio::test]
async fn a_mobile_client_finds_what_it_needs() {
    let app = TestApp::found().await;
    let capabilities = r#"{"notification_settings_null": true, "bulk_message_deletion": true,
        "user_avatar_url_field_optional": true, "stream_typing_notifications": true, "user_settings_object": true,
        "include_deactivated_groups": true, "empty_topic_name": true, "individual_emoji_changes": true}"#;
    let parameters = [
        ("apply_markdown", "true"),
        ("client_gravatar", "false"),
        ("slim_presence", "true"),
        ("client_capabilities", capabilities),
    ];
    let state = app.call(&app.ada, "POST /register", &parameters).await.success();
    assert_has(&state, MOBILE);
    assert_eq!(state.get("ignored_parameters_unsupported"), None);
    assert!([1, 2, 3, 5, 6, 7].map(Value::from).contains(&state["realm_wildcard_mention_policy"]));
    let unread = json!({
        "count": 0, "pms": [], "huddles": [], "streams": [], "mentions": [], "old_unreads_missing": false,
    });
    assert_eq!(state["unread_msgs"], unread);
    assert_eq!(state["subscriptions"][0]["desktop_notifications"], Value::Null);
    assert_eq!(state["user_settings"]["emojiset"], "google");
    // One by one they are for clients without the object.
    assert_eq!(state.get("emojiset"), None);
    let group = &state["realm_user_groups"][1];
    assert_eq!((&group["name"], &group["members"]), (&json!("role:owners"), &json!([app.ada.id])));
    assert!(state["server_timestamp"].is_f64());
    let user = &state["realm_users"][0];
    for key in ["user_id", "email", "full_name", "date_joined", "is_bot", "role", "timezone", "avatar_version"] {
        assert!(user.get(key).is_some(), "{key}");
    }
}

#[tokio::test]
async fn only_what_is_asked_for_is_told() {
    let app = TestApp::found().await;
    let keys = |state: Value| state.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let state = app.call(&app.ada, "POST /register", &[("fetch_event_types", "[]")]).await.success();
    let always = [
        "result",
        "msg",
        "queue_id",
        "last_event_id",
        "event_queue_longpoll_timeout_seconds",
        "service_version",
        "service_merge_base",
        "service_feature_level",
        "zulip_version",
        "zulip_merge_base",
        "zulip_feature_level",
    ];
    assert_eq!(keys(state), always);
    let state = app.call(&app.ada, "POST /register", &[("event_types", r#"["alert_words"]"#)]).await.success();
    assert_eq!(state["alert_words"], json!([]));
    assert_eq!(keys(state).len(), always.len() + 1);
    let both = r#"["user_topic", "muted_topics"]"#;
    let state = app.call(&app.ada, "POST /register", &[("fetch_event_types", both)]).await.success();
    assert_eq!((&state["user_topics"], state.get("muted_topics")), (&json!([]), None));
}

#[tokio::test]
async fn unread_messages_stand_where_they_are_and_in_order() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let eve = app.person("eve", Role::Member).await;
    let send = |to: String| {
        let (app, sam) = (&app, &sam);
        async move {
            let parameters = [("type", "direct"), ("to", to.as_str()), ("content", "hi")];
            app.call(sam, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap()
        }
    };
    let first = send(format!("[{}]", app.ada.id)).await;
    let group = send(format!("[{}, {}]", app.ada.id, eve.id)).await;
    let second = send(format!("[{}]", app.ada.id)).await;
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    let unread = &state["unread_msgs"];
    assert_eq!(
        unread["pms"],
        json!([{"other_user_id": sam.id, "sender_id": sam.id, "unread_message_ids": [first, second]}])
    );
    let everybody = format!("{},{},{}", app.ada.id, sam.id, eve.id);
    assert_eq!(unread["huddles"], json!([{"user_ids_string": everybody, "unread_message_ids": [group]}]));
    assert_eq!((&unread["count"], &state["max_message_id"]), (&json!(3), &json!(second)));
    assert_eq!(
        state["recent_private_conversations"],
        json!([{"user_ids": [sam.id], "max_message_id": second}, {"user_ids": [sam.id, eve.id], "max_message_id": group}])
    );
}

#[tokio::test]
async fn a_guest_is_told_of_no_channel_they_are_not_in() {
    let app = TestApp::found().await;
    let guest = app.person("gus", Role::Guest).await;
    let state = app.call(&guest, "POST /register", &[]).await.success();
    for key in ["streams", "subscriptions", "unsubscribed", "never_subscribed", "realm_default_streams"] {
        assert_eq!(state[key], json!([]), "{key}");
    }
    let member = app.person("sam", Role::Member).await;
    let state = app.call(&member, "POST /register", &[]).await.success();
    assert_eq!(state["never_subscribed"].as_array().unwrap().len(), 2);
    assert_eq!((&state["can_create_public_streams"], &state["is_admin"]), (&json!(true), &json!(false)));
    assert_eq!(state["server_timestamp"], json!(1_800_000_000.0));
    assert_eq!(NOW_S, 1_800_000_000);
}

#[tokio::test]
async fn the_emoji_document_is_for_everybody_and_told_once() {
    let app = TestApp::found().await;
    let (status, headers, body) = app.fetch("/static/emoji-data.json", &[]).await;
    assert_eq!((status, &headers["content-type"]), (200, &"application/json".parse().unwrap()));
    assert_eq!(body["code_to_names"]["1f44d"][0], "+1");
    let tag = headers["etag"].to_str().unwrap();
    let (status, _, body) = app.fetch("/static/emoji-data.json", &[("if-none-match", tag)]).await;
    assert_eq!((status, body), (304, Value::Null));
}

#[tokio::test]
async fn the_state_promises_nothing_that_the_server_does_not_do() {
    let app = TestApp::found().await;
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    assert_eq!(state["jitsi_server_url"], "");
    assert_eq!((&state["realm_jitsi_server_url"], &state["server_jitsi_server_url"]), (&Value::Null, &Value::Null));
    for key in ["realm_inline_image_preview", "server_inline_image_preview", "is_billing_admin"] {
        assert_eq!(state[key], false, "{key}");
    }
    for settings in ["user_settings", "realm_user_settings_defaults"] {
        assert_eq!(state[settings]["enable_offline_email_notifications"], false, "{settings}");
    }
    assert_eq!(state["server_generation"], NOW_S);
}

#[tokio::test]
async fn the_state_says_which_groups_each_permission_can_be_given_to() {
    let app = TestApp::found().await;
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    let supported = &state["server_supported_permission_settings"];
    let names = |of: &str| supported[of].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        (names("stream"), names("group")),
        (vec!["can_remove_subscribers_group".to_owned()], vec!["can_mention_group".to_owned()])
    );
    let mention = json!({
        "require_system_group": false, "allow_internet_group": false, "allow_owners_group": false,
        "allow_nobody_group": true, "allow_everyone_group": true, "default_group_name": "role:everyone",
        "default_for_system_groups": "role:nobody", "id_field_name": "can_mention_group_id",
        "allowed_system_groups": [],
    });
    assert_eq!(supported["group"]["can_mention_group"], mention);
    // Each permission of the organization that the state names is described, and what is described is what is accepted.
    let groups = state["realm_user_groups"].as_array().unwrap();
    let id_of = |name: &str| groups.iter().find(|group| group["name"] == name).unwrap()["id"].to_string();
    for name in names("realm") {
        assert!(state[format!("realm_{name}")].is_i64(), "{name}");
        let response = &supported["realm"][&name];
        if !response["allowed_system_groups"].as_array().unwrap().is_empty() {
            continue;
        }
        for (key, group) in [
            ("allow_internet_group", "role:internet"),
            ("allow_owners_group", "role:owners"),
            ("allow_nobody_group", "role:nobody"),
            ("allow_everyone_group", "role:everyone"),
        ] {
            let answer = app.call(&app.ada, "PATCH /realm", &[(&name, &id_of(group))]).await;
            assert_eq!(answer.status.is_success(), response[key] == true, "{name} {group}");
        }
    }
}

#[tokio::test]
async fn a_server_that_was_started_again_tells_every_queue() {
    let app = TestApp::found().await;
    let queue = app.call(&app.ada, "POST /register", &[("event_types", r#"["restart"]"#)]).await.success();
    let other = app.call(&app.ada, "POST /register", &[("event_types", r#"["message"]"#)]).await.success();
    app.wait_s(5);
    app.restart().await;
    let events = async |queue: &Value| {
        let id = queue["queue_id"].as_str().unwrap();
        let asked = [("queue_id", id), ("last_event_id", "-1"), ("dont_block", "true")];
        app.call(&app.ada, "GET /events", &asked).await.success()["events"].clone()
    };
    let notified = events(&queue).await;
    let expected = json!([{
        "id": notified[0]["id"], "type": "restart", "zulip_version": "9.0", "zulip_merge_base": "9.0",
        "zulip_feature_level": 277, "service_merge_base": "9.0", "service_feature_level": 277,
        "service_version": "9.0+1.2.3", "server_generation": NOW_S + 5,
    }]);
    assert_eq!(notified, expected);
    assert_eq!(events(&other).await, json!([]));
}

#[tokio::test]
async fn unread_messages_of_a_muted_channel_are_told_and_not_counted() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    app.call(&sam, "POST /users/me/subscriptions", &[("subscriptions", r#"[{"name": "general"}]"#)]).await.success();
    let general = app.realm().channel_by_name("general").unwrap().id.to_string();
    let send = async |topic: &str| {
        let parameters = [("type", "stream"), ("to", "general"), ("topic", topic), ("content", "hi")];
        app.call(&app.ada, "POST /messages", &parameters).await.success()
    };
    send("lunch").await;
    send("work").await;
    let counted = async || {
        let unread = app.call(&sam, "POST /register", &[]).await.success()["unread_msgs"].clone();
        (unread["count"].clone(), unread["streams"].as_array().unwrap().len())
    };
    assert_eq!(counted().await, (json!(2), 2));
    let follow = [("stream_id", general.as_str()), ("topic", "work"), ("visibility_policy", "2")];
    app.call(&sam, "POST /user_topics", &follow).await.success();
    let muted = format!(r#"[{{"stream_id": {general}, "property": "is_muted", "value": true}}]"#);
    app.call(&sam, "POST /users/me/subscriptions/properties", &[("subscription_data", &muted)]).await.success();
    assert_eq!(counted().await, (json!(1), 2));
}

#[tokio::test]
async fn who_left_the_organization_is_no_subscriber_any_more() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    app.call(&sam, "POST /users/me/subscriptions", &[("subscriptions", r#"[{"name": "general"}]"#)]).await.success();
    let subscribers = async || {
        let asked = [("include_subscribers", "true")];
        let state = app.call(&app.ada, "GET /users/me/subscriptions", &asked).await.success();
        let channels = state["subscriptions"].as_array().unwrap().clone();
        channels.iter().find(|channel| channel["name"] == "general").unwrap()["subscribers"].clone()
    };
    assert_eq!(subscribers().await, json!([app.ada.id, sam.id]));
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    assert_eq!(subscribers().await, json!([app.ada.id]));
}
