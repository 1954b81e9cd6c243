//! What existing clients take for granted: the types of the keys they read without asking, and their first calls as
//! they send them.

mod terminal;

use axum::body::Body;
use chat_core::event_log::store::EventQueueStore as _;
use chat_core::model::role::Role;
use http::{HeaderValue, Request};
use serde_json::{Value, json};

use crate::test_app::{NOW_S, Person, TestApp};

/// Asserts that every key is there with a value of its type. A key is written `name:type`, with `?` for a value that
/// may be null.
#[track_caller]
pub(crate) fn assert_typed(object: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        let (name, kind) = key.split_once(':').unwrap();
        let value = object.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        let fits = match kind.trim_end_matches('?') {
            "int" => value.is_i64(),
            "float" => value.is_f64(),
            "bool" => value.is_boolean(),
            "text" => value.is_string(),
            "list" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other} is no type"),
        };
        assert!(fits || (kind.ends_with('?') && value.is_null()), "{name} is {value}, and no {kind}");
    }
}

/// A test app where something was said: in a channel, to one person and to two, with everybody subscribed.
async fn lively() -> (TestApp, Person, Person) {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let eve = app.person("eve", Role::Member).await;
    for who in [&sam, &eve] {
        let parameters = [("subscriptions", r#"[{"name": "general"}]"#)];
        app.call(who, "POST /users/me/subscriptions", &parameters).await.success();
    }
    let group = format!("[{}, {}]", app.ada.id, eve.id);
    let ada = format!("[{}]", app.ada.id);
    for parameters in [
        [("type", "stream"), ("to", "general"), ("topic", "lunch"), ("content", "@**Ada Lovelace** soup")],
        [("type", "direct"), ("to", &ada), ("topic", ""), ("content", "hi")],
        [("type", "direct"), ("to", &group), ("topic", ""), ("content", "hi")],
    ] {
        app.call(&sam, "POST /messages", &parameters).await.success();
    }
    (app, sam, eve)
}

pub(crate) const CHANNEL: &str = "stream_id:int name:text description:text rendered_description:text date_created:int
    creator_id:int? first_message_id:int? invite_only:bool is_web_public:bool is_announcement_only:bool is_archived:bool
    history_public_to_subscribers:bool message_retention_days:int? stream_post_policy:int stream_weekly_traffic:int?
    can_remove_subscribers_group:int";
pub(crate) const SUBSCRIPTION: &str = "color:text is_muted:bool in_home_view:bool pin_to_top:bool
    desktop_notifications:bool? audible_notifications:bool? push_notifications:bool? email_notifications:bool?
    wildcard_mentions_notify:bool?";
const USER: &str = "user_id:int email:text delivery_email:text? full_name:text date_joined:text is_owner:bool
    is_admin:bool is_guest:bool is_bot:bool bot_type:int? bot_owner_id:int? role:int timezone:text avatar_url:text?
    avatar_version:int";

/// What both a terminal client and a mobile one read of the whole state.
const STATE: &str = "queue_id:text last_event_id:int zulip_version:text zulip_merge_base:text zulip_feature_level:int
    service_version:text service_merge_base:text service_feature_level:int
    max_message_id:int user_id:int email:text full_name:text is_admin:bool realm_name:text presences:object
    realm_users:list realm_non_active_users:list cross_realm_bots:list subscriptions:list unsubscribed:list
    never_subscribed:list streams:list realm_user_groups:list unread_msgs:object realm_emoji:object
    user_settings:object starred_messages:list custom_profile_fields:list custom_profile_field_types:object
    realm_message_retention_days:int realm_allow_message_editing:bool realm_message_content_edit_limit_seconds:int?
    realm_message_content_delete_limit_seconds:int? realm_allow_edit_history:bool alert_words:list muted_users:list
    user_topics:list muted_topics:list user_status:object recent_private_conversations:list drafts:list
    scheduled_messages:list realm_linkifiers:list realm_playgrounds:list realm_default_streams:list
    max_stream_name_length:int max_stream_description_length:int max_topic_length:int max_message_length:int
    max_file_upload_size_mib:int server_presence_ping_interval_seconds:int
    server_presence_offline_threshold_seconds:int server_typing_started_expiry_period_milliseconds:int
    server_typing_stopped_wait_period_milliseconds:int server_typing_started_wait_period_milliseconds:int
    realm_wildcard_mention_policy:int realm_waiting_period_threshold:int realm_enable_read_receipts:bool
    realm_icon_url:text realm_presence_disabled:bool realm_default_external_accounts:object realm_mandatory_topics:bool
    server_emoji_data_url:text event_queue_longpoll_timeout_seconds:int realm_url:text realm_uri:text
    realm_can_create_public_channel_group:int realm_can_create_private_channel_group:int
    realm_direct_message_initiator_group:int realm_direct_message_permission_group:int server_timestamp:float";

#[tokio::test]
async fn every_key_a_client_reads_of_the_state_has_its_type() {
    let (app, ..) = lively().await;
    let parameters = [("include_subscribers", "true"), ("client_gravatar", "false")];
    let state = app.call(&app.ada, "POST /register", &parameters).await.success();
    assert_typed(&state, STATE);
    for subscription in state["subscriptions"].as_array().unwrap() {
        assert_typed(subscription, CHANNEL);
        assert_typed(subscription, SUBSCRIPTION);
        // Without the capability, a choice that was not made is what it comes to.
        assert_typed(subscription, "subscribers:list desktop_notifications:bool wildcard_mentions_notify:bool");
        let color = subscription["color"].as_str().unwrap();
        assert!(color.len() == 7 && color.to_lowercase() == color, "{color}");
    }
    state["streams"].as_array().unwrap().iter().for_each(|channel| assert_typed(channel, CHANNEL));
    for user in state["realm_users"].as_array().unwrap() {
        assert_typed(user, USER);
        assert_typed(user, "avatar_url:text profile_data:object");
    }
    for group in state["realm_user_groups"].as_array().unwrap() {
        let keys = "id:int name:text description:text members:list direct_subgroup_ids:list is_system_group:bool";
        assert_typed(group, keys);
    }
    let settings = "twenty_four_hour_time:bool starred_message_counts:bool display_emoji_reaction_users:bool
        emojiset:text presence_enabled:bool send_private_typing_notifications:bool
        pm_content_in_desktop_notifications:bool emojiset_choices:list available_notification_sounds:list";
    assert_typed(&state["user_settings"], settings);
}

#[tokio::test]
async fn unread_messages_have_every_key_clients_read() {
    let (app, sam, eve) = lively().await;
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    let unread = &state["unread_msgs"];
    assert_typed(unread, "count:int pms:list streams:list huddles:list mentions:list old_unreads_missing:bool");
    assert_eq!(unread["count"], 3);
    let ids = |object: &Value| object["unread_message_ids"].clone();
    let channel = &unread["streams"][0];
    assert_typed(channel, "stream_id:int topic:text unread_message_ids:list");
    assert_eq!((&channel["topic"], &ids(channel)), (&json!("lunch"), &unread["mentions"]));
    assert_eq!(unread["pms"][0]["sender_id"], sam.id);
    assert_eq!(unread["huddles"][0]["user_ids_string"], format!("{},{},{}", app.ada.id, sam.id, eve.id));
    assert_eq!([&ids(&unread["pms"][0]), &ids(&unread["huddles"][0])].map(|ids| ids.as_array().unwrap().len()), [1, 1]);
}

#[tokio::test]
async fn a_terminal_client_reads_its_first_messages_as_it_asks_for_them() {
    let (app, ..) = lively().await;
    let parameters = [
        ("anchor", "0"),
        ("use_first_unread_anchor", "true"),
        ("num_before", "30"),
        ("num_after", "10"),
        ("apply_markdown", "true"),
        ("client_gravatar", "true"),
        ("narrow", "[]"),
    ];
    let response = app.call(&app.ada, "GET /messages", &parameters).await.success();
    assert_typed(
        &response,
        "messages:list anchor:int found_anchor:bool found_oldest:bool found_newest:bool history_limited:bool",
    );
    assert_eq!(response.get("ignored_parameters_unsupported"), None);
    let messages = response["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &response["anchor"]), (3, &messages[0]["id"]));
    for message in messages {
        assert_typed(
            message,
            "id:int sender_id:int timestamp:int recipient_id:int type:text content:text content_type:text
            subject:text topic_links:list sender_email:text sender_full_name:text sender_realm_str:text
            avatar_url:text? client:text is_me_message:bool reactions:list submessages:list flags:list",
        );
        if message["type"] == "stream" {
            assert_typed(message, "stream_id:int display_recipient:text");
        } else {
            assert_typed(message, "display_recipient:list");
            assert_typed(&message["display_recipient"][0], "id:int email:text full_name:text is_mirror_dummy:bool");
        }
        assert_eq!(message.get("edit_history"), None);
    }
}

#[tokio::test]
async fn what_an_endpoint_does_not_read_it_reports_whatever_it_answers() {
    let (app, sam, _) = lively().await;
    let state = app.call(&sam, "POST /register", &[]).await.success();
    let queue = state["queue_id"].as_str().unwrap();
    let last = state["last_event_id"].to_string();
    let page = [("anchor", "newest"), ("num_before", "1"), ("num_after", "0")];
    let id = app.call(&sam, "GET /messages", &page).await.success()["messages"][0]["id"].to_string();
    let ids = format!("[{id}]");
    let one = |action: &str| format!("{action}/{id}");
    let calls: [(&str, &[(&str, &str)]); 16] = [
        ("GET /events", &[("queue_id", queue), ("last_event_id", &last), ("dont_block", "true")]),
        ("GET /messages", &page),
        (&one("GET /messages"), &[]),
        (&one("PATCH /messages"), &[("content", "edited")]),
        (&format!("GET /messages/{id}/history"), &[]),
        (&format!("POST /messages/{id}/reactions"), &[("emoji_name", "tada")]),
        ("POST /messages/flags", &[("messages", &ids), ("op", "add"), ("flag", "starred")]),
        ("POST /messages/render", &[("content", "x")]),
        ("POST /messages", &[("type", "direct"), ("to", "[9]"), ("content", "x")]),
        ("POST /register", &[("fetch_event_types", "[]")]),
        ("GET /users", &[]),
        ("GET /users/me", &[]),
        ("GET /streams", &[]),
        ("GET /users/me/subscriptions", &[]),
        ("GET /user_groups", &[]),
        ("DELETE /events", &[("queue_id", queue)]),
    ];
    for (call, parameters) in calls {
        let unread = [("zebra", "1"), ("aardvark", "[]"), ("client", "Test")];
        let response = app.call(&sam, call, &[parameters, &unread].concat()).await.success();
        assert_eq!(response["ignored_parameters_unsupported"], json!(["aardvark", "zebra"]), "{call}");
    }
    let response = app.call_as_nobody("GET /server_settings", &[("zebra", "1")]).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["zebra"]));
}

#[tokio::test]
async fn no_queue_outlives_the_log_however_long_its_client_asks() {
    const KEPT_S: i64 = 86_400;
    let app = TestApp::found().await;
    for (asked_s, kept_s) in
        [("604800", KEPT_S), ("9223372036854775807", KEPT_S), ("0", KEPT_S), ("-1", KEPT_S), ("600", 600), ("1", 90)]
    {
        let parameters = [("queue_lifespan_secs", asked_s), ("fetch_event_types", "[]")];
        let state = app.call(&app.ada, "POST /register", &parameters).await.success();
        let queue = state["queue_id"].as_str().unwrap();
        app.store.delete_expired_queues(NOW_S + kept_s - 1).await.unwrap();
        assert!(app.store.find_queue(queue).await.unwrap().is_some(), "{asked_s}");
        app.store.delete_expired_queues(NOW_S + kept_s + 1).await.unwrap();
        assert!(app.store.find_queue(queue).await.unwrap().is_none(), "{asked_s}");
    }
}

#[tokio::test]
async fn web_public_access_is_told_once_there_is_a_channel_for_it_and_until_it_is_archived() {
    let app = TestApp::found().await;
    let is_open = async || {
        app.call_as_nobody("GET /server_settings", &[]).await.success()["realm_web_public_access_enabled"].clone()
    };
    assert_eq!(is_open().await, false);
    let parameters = [("subscriptions", r#"[{"name": "open"}]"#), ("is_web_public", "true")];
    app.call(&app.ada, "POST /users/me/subscriptions", &parameters).await.success();
    assert_eq!(is_open().await, true);
    let id = app.call(&app.ada, "GET /get_stream_id", &[("stream", "open")]).await.success()["stream_id"].to_string();
    app.call(&app.ada, &format!("DELETE /streams/{id}"), &[]).await.success();
    assert_eq!(is_open().await, false);
}

#[tokio::test]
async fn a_channel_of_announcements_is_made_told_of_and_written_to_by_administrators() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let principals = format!("[{}, {}]", app.ada.id, sam.id);
    let parameters =
        [("subscriptions", r#"[{"name": "news"}]"#), ("stream_post_policy", "2"), ("principals", &principals)];
    app.call(&app.ada, "POST /users/me/subscriptions", &parameters).await.success();
    let response = app.call(&sam, "GET /streams", &[("include_public", "false")]).await.success();
    let news = &response["streams"][0];
    assert_eq!(
        (&news["name"], &news["is_announcement_only"], &news["stream_post_policy"]),
        (&json!("news"), &json!(true), &json!(2))
    );
    let message = [("type", "channel"), ("to", "news"), ("topic", "t"), ("content", "x")];
    let refusal = "Only organization administrators can send to this channel.";
    app.call(&sam, "POST /messages", &message).await.refused(refusal);
    app.call(&app.ada, "POST /messages", &message).await.success();
}

#[tokio::test]
async fn every_picture_clients_are_told_of_is_there_for_everybody() {
    let app = TestApp::found().await;
    let settings = app.call_as_nobody("GET /server_settings", &[]).await.success();
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    let pictures =
        [&settings["realm_icon"], &state["realm_icon_url"], &state["realm_logo_url"], &state["realm_night_logo_url"]];
    for picture in pictures {
        let path = picture.as_str().unwrap().strip_prefix("https://chat.example.org").unwrap();
        let (status, headers, _) = app.fetch(path, &[]).await;
        assert_eq!((status, &headers["content-type"]), (200, &"image/png".parse().unwrap()), "{path}");
    }
    let (status, ..) = app.fetch("/static/nothing.png", &[]).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn the_desktop_app_takes_the_server_for_one_shows_its_icon_and_sees_that_it_answers() {
    let app = TestApp::found().await;
    let ask = async |method: &str, address: &str| {
        let path = address.strip_prefix("https://chat.example.org").unwrap_or(address);
        app.respond(Request::builder().method(method).uri(path).body(Body::empty()).unwrap()).await
    };
    // Adding an organization.
    let (status, _, body) = ask("GET", "/api/v1/server_settings").await;
    let settings: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, 200);
    assert_typed(
        &settings,
        "realm_name:text realm_uri:text realm_icon:text zulip_version:text zulip_feature_level:int",
    );
    assert_eq!(settings["realm_uri"], "https://chat.example.org");
    let (status, headers, icon) = ask("GET", settings["realm_icon"].as_str().unwrap()).await;
    assert_eq!(
        (status.as_u16(), &headers["content-type"], icon.is_empty()),
        (200, &HeaderValue::from_static("image/png"), false)
    );
    // Connecting again after sleep.
    let (status, _, body) = ask("HEAD", "/api/v1/server_settings").await;
    assert_eq!((status.as_u16(), body.len()), (200, 0));
    // The frame around the client.
    for path in ["/", "/login/"] {
        assert_eq!(ask("GET", path).await.0, 200, "{path}");
    }
}
