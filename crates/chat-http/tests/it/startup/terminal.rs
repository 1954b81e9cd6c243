//! A day of the client for terminals, newer than its last release: each call with the parameters it sends, and every
//! key it reads of the answer. The release itself is run by the black-box checks.

use serde_json::{Value, json};

use super::{assert_typed, lively};
use crate::test_app::{Person, TestApp};

/// What it wants to hear of.
const EVENTS: &str = r#"["message", "update_message", "reaction", "submessage", "subscription", "typing",
    "update_message_flags", "user_settings", "realm_emoji", "realm_user"]"#;
/// What it wants to know at first.
const STATE: &str = r#"["realm", "presence", "subscription", "message", "starred_messages", "update_message_flags",
    "muted_topics", "realm_user", "realm_user_groups", "user_settings", "realm_emoji", "custom_profile_fields",
    "zulip_version"]"#;

/// A call, its parameters, and the keys it reads of the answer.
type Call<'a> = (String, &'a [(&'a str, &'a str)], &'a str);

/// Registers as it does: without capabilities.
async fn register(app: &TestApp, who: &Person) -> Value {
    let parameters = [
        ("event_types", EVENTS),
        ("fetch_event_types", STATE),
        ("client_gravatar", "true"),
        ("apply_markdown", "true"),
        ("include_subscribers", "true"),
    ];
    app.call_by("ZulipTerminal/0.7.0 Linux (debian; 12)", who, ("POST /register", &parameters)).await.success()
}

#[tokio::test]
async fn it_alone_gets_an_address_of_mail_with_each_channel() {
    let (app, sam, _) = lively().await;
    let everyone = [("event_types", r#"["subscription"]"#)];
    let others = app.call(&app.ada, "POST /register", &everyone).await.success();
    let with_null = [everyone[0], ("client_capabilities", r#"{"notification_settings_null": true}"#)];
    let newer = app.call(&app.ada, "POST /register", &with_null).await.success();
    let its_own = register(&app, &app.ada).await;
    let made = [("subscriptions", r#"[{"name": "letters"}]"#), ("principals", &json!([app.ada.id]).to_string())];
    app.call(&sam, "POST /users/me/subscriptions", &made).await.success();
    for (state, expected) in [(&others, None), (&newer, None), (&its_own, Some(json!("")))] {
        for subscription in state["subscriptions"].as_array().unwrap() {
            assert_eq!(subscription.get("email_address"), expected.as_ref());
        }
        let events = heard(&app, &app.ada, state).await;
        let added: Vec<_> =
            events.iter().filter(|event| event["type"] == "subscription" && event["op"] == "add").collect();
        assert_eq!(added.len(), 1, "{events:?}");
        assert_eq!(added[0]["subscriptions"][0].get("email_address"), expected.as_ref());
    }
}

/// The events of its queue so far.
async fn heard(app: &TestApp, who: &Person, state: &Value) -> Vec<Value> {
    let last = state["last_event_id"].to_string();
    let parameters =
        [("queue_id", state["queue_id"].as_str().unwrap()), ("last_event_id", &last), ("dont_block", "true")];
    let response = app.call(who, "GET /events", &parameters).await.success();
    response["events"].as_array().unwrap().clone()
}

/// The one event of a type.
#[track_caller]
fn of<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let found: Vec<_> = events.iter().filter(|event| event["type"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind} in {events:?}");
    found[0]
}

#[tokio::test]
async fn it_signs_in_by_password_without_an_account() {
    let (app, ..) = lively().await;
    let settings = app.call_as_nobody("GET /server_settings", &[]).await.success();
    assert_typed(
        &settings,
        "realm_uri:text require_email_format_usernames:bool email_auth_enabled:bool zulip_version:text
        zulip_feature_level:int",
    );
    let parameters = [("username", "ada@example.org"), ("password", "ada's")];
    let response = app.call_as_nobody("POST /fetch_api_key", &parameters).await.success();
    assert_eq!(response["api_key"], app.ada.key);
}

#[tokio::test]
async fn the_state_it_asks_for_has_every_key_it_reads() {
    let (app, sam, _) = lively().await;
    let emoji = [("status", "active"), ("new_user_input", "true")];
    app.call(&sam, "POST /users/me/presence", &emoji).await.success();
    let state = register(&app, &app.ada).await;
    assert_typed(
        &state,
        "zulip_version:text zulip_feature_level:int queue_id:text last_event_id:int max_message_id:int user_id:int
        email:text full_name:text realm_name:text presences:object realm_users:list cross_realm_bots:list
        subscriptions:list muted_topics:list realm_user_groups:list unread_msgs:object realm_emoji:object
        user_settings:object realm_message_retention_days:int starred_messages:list custom_profile_fields:list
        realm_allow_message_editing:bool realm_message_content_edit_limit_seconds:int? realm_allow_edit_history:bool
        max_stream_name_length:int max_topic_length:int max_message_length:int
        server_typing_started_expiry_period_milliseconds:int server_typing_stopped_wait_period_milliseconds:int
        server_typing_started_wait_period_milliseconds:int server_presence_ping_interval_seconds:int
        server_presence_offline_threshold_seconds:int realm_edit_topic_policy:int",
    );
    assert_typed(&state["presences"]["sam@example.org"]["aggregated"], "client:text status:text timestamp:int");
    assert_typed(&state["presences"]["sam@example.org"]["website"], "status:text timestamp:int");
    for user in state["realm_users"].as_array().unwrap() {
        assert_typed(user, "user_id:int full_name:text email:text is_bot:bool date_joined:text timezone:text role:int");
    }
    for subscription in state["subscriptions"].as_array().unwrap() {
        assert_typed(
            subscription,
            "stream_id:int name:text color:text description:text rendered_description:text invite_only:bool
            pin_to_top:bool is_muted:bool in_home_view:bool desktop_notifications:bool message_retention_days:int?
            subscribers:list is_web_public:bool date_created:int history_public_to_subscribers:bool
            stream_post_policy:int stream_weekly_traffic:int? email_address:text",
        );
    }
    state["realm_user_groups"].as_array().unwrap().iter().for_each(|group| assert_typed(group, "id:int name:text"));
    assert_typed(&state["unread_msgs"], "mentions:list pms:list streams:list huddles:list");
    assert_typed(&state["unread_msgs"]["pms"][0], "sender_id:int unread_message_ids:list");
    assert_typed(&state["unread_msgs"]["streams"][0], "stream_id:int topic:text unread_message_ids:list");
    assert_typed(&state["unread_msgs"]["huddles"][0], "user_ids_string:text unread_message_ids:list");
    assert_typed(
        &state["user_settings"],
        "send_private_typing_notifications:bool twenty_four_hour_time:bool pm_content_in_desktop_notifications:bool",
    );
    assert_eq!(state.get("ignored_parameters_unsupported"), None);
}

#[tokio::test]
async fn muted_topics_and_emoji_have_the_form_it_reads() {
    let (app, ..) = lively().await;
    let mute = [("stream", "general"), ("topic", "lunch"), ("op", "add")];
    app.call(&app.ada, "PATCH /users/me/subscriptions/muted_topics", &mute).await.success();
    let state = register(&app, &app.ada).await;
    let muted = state["muted_topics"][0].as_array().unwrap();
    assert_eq!((muted.len(), &muted[..2]), (3, &[json!("general"), json!("lunch")][..]));
    assert!(muted[2].is_i64(), "{muted:?}");
}

#[tokio::test]
async fn every_call_of_its_day_is_answered_with_the_keys_it_reads() {
    let (app, sam, _) = lively().await;
    let ada = &app.ada;
    let state = register(&app, ada).await;
    let general = state["subscriptions"].as_array().unwrap().iter().find(|channel| channel["name"] == "general");
    let channel = general.unwrap()["stream_id"].to_string();
    let sent =
        [("type", "stream"), ("to", "general"), ("subject", "soup"), ("content", "hot"), ("read_by_sender", "true")];
    let id = app.call(ada, "POST /messages", &sent).await.success()["id"].to_string();
    let (ids, to) = (format!("[{id}]"), format!("[{}]", sam.id));
    let property =
        |name: &str, value: &str| format!(r#"[{{"stream_id": {channel}, "property": "{name}", "value": {value}}}]"#);
    let [muted, pinned, notifying] = [("is_muted", "true"), ("pin_to_top", "true"), ("desktop_notifications", "true")]
        .map(|(name, on)| property(name, on));
    let emoji = [("emoji_name", "tada"), ("emoji_code", "1f389"), ("reaction_type", "unicode_emoji")];
    let calls: [Call<'_>; 17] = [
        (
            "POST /messages".to_owned(),
            &[("type", "private"), ("to", &to), ("content", "x"), ("read_by_sender", "true")],
            "id:int",
        ),
        (format!("GET /messages/{id}"), &[], "raw_content:text message:object"),
        (format!("GET /messages/{id}/history"), &[], "message_history:list"),
        (
            format!("PATCH /messages/{id}"),
            &[("content", "cold"), ("topic", "soup"), ("propagate_mode", "change_one")],
            "",
        ),
        (format!("POST /messages/{id}/reactions"), &emoji, ""),
        (format!("DELETE /messages/{id}/reactions"), &emoji, ""),
        ("POST /messages/flags".to_owned(), &[("messages", &ids), ("flag", "starred"), ("op", "add")], "messages:list"),
        ("POST /messages/flags".to_owned(), &[("messages", &ids), ("flag", "read"), ("op", "add")], "messages:list"),
        ("POST /typing".to_owned(), &[("to", &to), ("op", "start")], ""),
        (format!("GET /users/me/{channel}/topics"), &[], "topics:list"),
        ("POST /users/me/subscriptions/properties".to_owned(), &[("subscription_data", &muted)], ""),
        ("POST /users/me/subscriptions/properties".to_owned(), &[("subscription_data", &pinned)], ""),
        ("POST /users/me/subscriptions/properties".to_owned(), &[("subscription_data", &notifying)], ""),
        (format!("GET /streams/{channel}/email_address"), &[], "email:text"),
        (format!("GET /users/{}", sam.id), &[("include_custom_profile_fields", "true")], "user:object"),
        ("POST /users/me/presence".to_owned(), &[("status", "idle"), ("new_user_input", "false")], "presences:object"),
        ("DELETE /events".to_owned(), &[("queue_id", state["queue_id"].as_str().unwrap())], ""),
    ];
    for (call, parameters, keys) in calls {
        let response = app.call(ada, &call, parameters).await.success();
        assert_typed(&response, keys);
        assert_eq!(response.get("ignored_parameters_unsupported"), None, "{call}");
    }
}

#[tokio::test]
async fn every_narrow_it_sends_is_understood() {
    let (app, sam, _) = lively().await;
    let narrows = [
        (json!([["stream", "general"]]), 1),
        (json!([["stream", "general"], ["topic", "lunch"]]), 1),
        (json!([["pm-with", sam.email]]), 1),
        (json!([["pm_with", format!("{}, eve@example.org", sam.email)]]), 1),
        (json!([["is", "private"]]), 2),
        (json!([["is", "starred"]]), 0),
        (json!([["is", "mentioned"]]), 1),
        (json!([["search", "soup"]]), 1),
        (json!([["stream", "general"], ["search", "soup"]]), 1),
    ];
    for (narrow, count) in narrows {
        let narrow = narrow.to_string();
        let parameters = [
            ("anchor", "10000000000"),
            ("num_before", "30"),
            ("num_after", "0"),
            ("apply_markdown", "true"),
            ("use_first_unread_anchor", "false"),
            ("client_gravatar", "true"),
            ("narrow", &narrow),
        ];
        let response = app.call(&app.ada, "GET /messages", &parameters).await.success();
        assert_eq!(response["messages"].as_array().unwrap().len(), count, "{narrow}");
        assert_typed(&response, "anchor:int found_newest:bool");
    }
}

#[tokio::test]
async fn every_event_it_handles_has_the_keys_it_reads() {
    let (app, sam, _) = lively().await;
    let state = register(&app, &app.ada).await;
    let sent = [("type", "stream"), ("to", "general"), ("topic", "tea"), ("content", "green")];
    let id = app.call(&sam, "POST /messages", &sent).await.success()["id"].to_string();
    let edit = [("content", "black"), ("topic", "coffee")];
    app.call(&sam, &format!("PATCH /messages/{id}"), &edit).await.success();
    app.call(&sam, &format!("POST /messages/{id}/reactions"), &[("emoji_name", "tada")]).await.success();
    let flags = [("messages", &*format!("[{id}]")), ("op", "add"), ("flag", "starred")];
    app.call(&app.ada, "POST /messages/flags", &flags).await.success();
    app.call(&app.ada, "PATCH /settings", &[("twenty_four_hour_time", "true")]).await.success();
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["general"]"#)]).await.success();
    app.call(&sam, "PATCH /settings", &[("full_name", "Sam the Second")]).await.success();
    let typing = [("to", &*format!("[{}]", app.ada.id)), ("op", "start")];
    app.call(&sam, "POST /typing", &typing).await.success();
    let events = heard(&app, &app.ada, &state).await;
    let message = of(&events, "message");
    assert_typed(message, "id:int flags:list message:object");
    assert_typed(
        &message["message"],
        "id:int type:text stream_id:int display_recipient:text subject:text sender_id:int sender_email:text
        sender_full_name:text timestamp:int content:text reactions:list client:text is_me_message:bool
        submessages:list topic_links:list",
    );
    assert_typed(
        of(&events, "update_message"),
        "message_id:int message_ids:list rendered_content:text is_me_message:bool subject:text stream_id:int
        orig_subject:text user_id:int",
    );
    let reaction = of(&events, "reaction");
    assert_typed(
        reaction,
        "op:text message_id:int user_id:int user:object reaction_type:text emoji_code:text emoji_name:text",
    );
    assert_typed(&reaction["user"], "user_id:int email:text full_name:text");
    assert_typed(of(&events, "update_message_flags"), "op:text operation:text all:bool flag:text messages:list");
    assert_typed(of(&events, "subscription"), "op:text stream_ids:list user_ids:list");
    assert_typed(of(&events, "user_settings"), "op:text property:text value:bool");
    assert_typed(&of(&events, "realm_user")["person"], "user_id:int full_name:text");
    let typing = of(&events, "typing");
    assert_typed(typing, "op:text sender:object recipients:list");
    assert_typed(&typing["sender"], "user_id:int email:text");
}
