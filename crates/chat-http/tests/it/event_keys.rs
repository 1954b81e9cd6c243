//! Events as existing clients read them: every type that is told has the keys they take for granted, with their types.

use std::collections::BTreeSet;

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::file_store::{form, png};
use crate::personal::{TestQueue, bot, heard, listen};
use crate::startup::{CHANNEL, SUBSCRIPTION, assert_typed};
use crate::test_app::{NOW_S, Person, TestApp};

/// Each type with its operation, and the keys.
const KEYS: [(&str, &str); 76] = [
    ("message", "message:object flags:list"),
    (
        "update_message",
        "user_id:int? rendering_only:bool message_id:int message_ids:list flags:list edit_timestamp:int",
    ),
    ("delete_message", "message_type:text"),
    ("update_message_flags add", "operation:text flag:text messages:list all:bool"),
    ("update_message_flags remove", "operation:text flag:text messages:list all:bool"),
    ("reaction add", REACTION),
    ("reaction remove", REACTION),
    ("submessage", "msg_type:text content:text message_id:int sender_id:int submessage_id:int"),
    ("typing start", "message_type:text sender:object"),
    ("typing stop", "message_type:text sender:object"),
    ("typing_edit_message start", "sender_id:int message_id:int recipient:object"),
    ("typing_edit_message stop", "sender_id:int message_id:int recipient:object"),
    ("attachment add", "attachment:object upload_space_used:int"),
    ("attachment update", "attachment:object upload_space_used:int"),
    ("attachment remove", "attachment:object upload_space_used:int"),
    ("alert_words", "alert_words:list"),
    ("user_settings update", "property:text"),
    ("update_display_settings", "user:text setting_name:text"),
    ("update_global_notifications", "user:text notification_name:text"),
    ("user_topic", "stream_id:int topic_name:text last_updated:int visibility_policy:int"),
    ("muted_topics", "muted_topics:list"),
    ("muted_users", "muted_users:list"),
    ("drafts add", "drafts:list"),
    ("drafts update", "draft:object"),
    ("drafts remove", "draft_id:int"),
    ("reminders add", "reminders:list"),
    ("reminders remove", "reminder_id:int"),
    ("scheduled_messages add", "scheduled_messages:list"),
    ("scheduled_messages update", "scheduled_message:object"),
    ("scheduled_messages remove", "scheduled_message_id:int"),
    ("saved_snippets add", "saved_snippet:object"),
    ("saved_snippets update", "saved_snippet:object"),
    ("saved_snippets remove", "saved_snippet_id:int"),
    ("channel_folder add", "channel_folder:object"),
    ("channel_folder update", "channel_folder_id:int data:object"),
    ("channel_folder reorder", "order:list"),
    ("navigation_view add", "navigation_view:object"),
    ("navigation_view update", "fragment:text data:object"),
    ("navigation_view remove", "fragment:text"),
    ("realm_user add", "person:object"),
    ("realm_user update", "person:object"),
    ("realm_bot add", "bot:object"),
    ("realm_bot update", "bot:object"),
    ("user_status", "user_id:int"),
    ("presence", "user_id:int server_timestamp:float presence:object"),
    ("user_group add", "group:object"),
    ("user_group update", "group_id:int data:object"),
    ("user_group add_members", "group_id:int user_ids:list"),
    ("user_group remove_members", "group_id:int user_ids:list"),
    ("user_group add_subgroups", "group_id:int direct_subgroup_ids:list"),
    ("user_group remove_subgroups", "group_id:int direct_subgroup_ids:list"),
    ("user_group remove", "group_id:int"),
    ("stream create", "streams:list"),
    ("stream delete", "streams:list stream_ids:list"),
    ("stream update", "stream_id:int name:text property:text"),
    ("subscription add", "subscriptions:list"),
    ("subscription remove", "subscriptions:list"),
    ("subscription update", "stream_id:int property:text"),
    ("subscription peer_add", "stream_ids:list user_ids:list"),
    ("subscription peer_remove", "stream_ids:list user_ids:list"),
    ("default_streams", "default_streams:list"),
    ("realm update", "property:text"),
    ("realm update_dict", "property:text data:object"),
    ("realm_emoji update", "realm_emoji:object"),
    ("realm_linkifiers", "realm_linkifiers:list"),
    ("realm_playgrounds", "realm_playgrounds:list"),
    ("realm_domains add", "realm_domain:object"),
    ("realm_domains change", "realm_domain:object"),
    ("realm_domains remove", "domain:text"),
    ("realm_user_settings_defaults update", "property:text"),
    ("custom_profile_fields", "fields:list"),
    ("invites_changed", ""),
    ("realm_export", "exports:list"),
    ("realm_export_consent", "user_id:int consented:bool"),
    (
        "restart",
        "zulip_version:text zulip_merge_base:text zulip_feature_level:int service_version:text service_merge_base:text
            service_feature_level:int server_generation:int",
    ),
    ("heartbeat", ""),
];

const REACTION: &str = "emoji_name:text emoji_code:text reaction_type:text user_id:int message_id:int user:object";

/// What is inside some of them: type and operation, the key of the object or of the list of objects, and its keys.
const INSIDE: [(&str, &str, &str); 28] = [
    ("reaction add", "user", "user_id:int email:text full_name:text"),
    ("typing start", "sender", "user_id:int email:text"),
    ("attachment add", "attachment", "id:int name:text path_id:text size:int create_time:int messages:list"),
    ("attachment update", "attachment", "id:int name:text path_id:text size:int create_time:int messages:list"),
    ("attachment remove", "attachment", "id:int"),
    ("saved_snippets add", "saved_snippet", "id:int title:text content:text date_created:int"),
    ("saved_snippets update", "saved_snippet", "id:int title:text content:text date_created:int"),
    (
        "channel_folder add",
        "channel_folder",
        "id:int name:text description:text rendered_description:text order:int date_created:int creator_id:int?
         is_archived:bool",
    ),
    ("navigation_view add", "navigation_view", "fragment:text is_pinned:bool name:text?"),
    ("drafts add", "drafts", "id:int type:text to:list topic:text content:text timestamp:int"),
    ("drafts update", "draft", "id:int type:text to:list topic:text content:text timestamp:int"),
    (
        "realm_user add",
        "person",
        "user_id:int email:text full_name:text date_joined:text is_bot:bool role:int timezone:text avatar_version:int
         is_active:bool",
    ),
    ("realm_user update", "person", "user_id:int"),
    ("realm_bot update", "bot", "user_id:int"),
    (
        "user_group add",
        "group",
        "id:int name:text description:text members:list direct_subgroup_ids:list is_system_group:bool",
    ),
    ("subscription remove", "subscriptions", "stream_id:int name:text"),
    ("muted_users", "muted_users", "id:int timestamp:int"),
    ("stream create", "streams", CHANNEL),
    ("stream delete", "streams", CHANNEL),
    ("default_streams", "default_streams", CHANNEL),
    ("subscription add", "subscriptions", CHANNEL),
    ("subscription add", "subscriptions", SUBSCRIPTION),
    (
        "realm_bot add",
        "bot",
        "user_id:int full_name:text email:text bot_type:int is_active:bool avatar_url:text owner_id:int
         default_sending_stream:text? default_events_register_stream:text? default_all_public_streams:bool services:list",
    ),
    ("reminders add", "reminders", REMINDER),
    ("scheduled_messages add", "scheduled_messages", SCHEDULED),
    ("scheduled_messages update", "scheduled_message", SCHEDULED),
    (
        "realm_export",
        "exports",
        "id:int acting_user_id:int export_time:int export_type:int export_url:text? deleted_timestamp:int?
         failed_timestamp:int? pending:bool",
    ),
    ("custom_profile_fields", "fields", "id:int name:text type:int hint:text field_data:text order:int required:bool"),
];

const REMINDER: &str = "reminder_id:int type:text to:list content:text rendered_content:text
    scheduled_delivery_timestamp:int failed:bool reminder_target_message_id:int";
const SCHEDULED: &str = "scheduled_message_id:int type:text content:text rendered_content:text
    scheduled_delivery_timestamp:int failed:bool";

fn kind(event: &Value) -> String {
    let word = |key: &str| event[key].as_str().unwrap_or_default();
    format!("{} {}", word("type"), word("op")).trim_end().to_owned()
}

#[track_caller]
fn check(event: &Value) -> String {
    let kind = kind(event);
    let keys = KEYS.iter().find(|(known, _)| *known == kind).unwrap_or_else(|| panic!("nobody knows {event}"));
    assert_typed(event, keys.1);
    for (_, inside, keys) in INSIDE.iter().filter(|(known, ..)| *known == kind) {
        match &event[inside] {
            Value::Array(objects) => objects.iter().for_each(|object| assert_typed(object, keys)),
            object => assert_typed(object, keys),
        }
    }
    match kind.as_str() {
        "update_message" => check_edit(event),
        "delete_message" if event["message_type"] == "stream" => assert_typed(event, "stream_id:int topic:text"),
        "update_message_flags remove" if event["flag"] == "read" => assert_typed(event, "message_details:object"),
        "user_settings update" | "realm_user_settings_defaults update" | "stream update" | "subscription update" => {
            assert!(event.get("value").is_some(), "{event}");
        }
        "update_display_settings" | "update_global_notifications" => {
            assert!(event.get("setting").is_some(), "{event}");
        }
        _ => {}
    }
    kind
}

/// A text comes with what it was before, a move with where it was before, and neither with what belongs to the other.
#[track_caller]
fn check_edit(event: &Value) {
    let has = |key: &str| event.get(key).is_some();
    if has("rendered_content") {
        let keys = "content:text orig_content:text orig_rendered_content:text is_me_message:bool
                    prev_rendered_content_version:int";
        assert_typed(event, keys);
    }
    if has("propagate_mode") {
        assert_typed(event, "stream_id:int stream_name:text orig_subject:text propagate_mode:text");
        assert!(has("subject") || has("new_stream_id"), "{event}");
        assert!(!has("subject") || has("topic_links"), "{event}");
    } else {
        assert!(!has("subject") && !has("orig_subject") && !has("new_stream_id"), "{event}");
    }
}

/// Does something as a user, which has to succeed. The answer.
async fn does(app: &TestApp, who: &Person, call: &str, parameters: &[(&str, &str)]) -> Value {
    app.call(who, call, parameters).await.success()
}

/// The number an answer has under a key.
fn number(answer: &Value, key: &str) -> i64 {
    answer[key].as_i64().unwrap()
}

async fn messages(app: &TestApp, sam: &Person) {
    let ada = &app.ada;
    let lunch = [("type", "stream"), ("to", "general"), ("topic", "lunch"), ("content", "/poll Soup?\nyes\nno")];
    let poll = number(&does(app, ada, "POST /messages", &lunch).await, "id");
    let vote = r#"{"type":"vote","key":"canned,0","vote":1}"#;
    let poll = poll.to_string();
    let vote = [("message_id", poll.as_str()), ("msg_type", "widget"), ("content", vote)];
    does(app, ada, "POST /submessage", &vote).await;
    let soup = [("type", "stream"), ("to", "general"), ("topic", "lunch"), ("content", "soup")];
    let id = number(&does(app, ada, "POST /messages", &soup).await, "id");
    let one = format!("/messages/{id}");
    let sandbox = app.realm().channel_by_name("sandbox").unwrap().id.to_string();
    does(app, ada, &format!("PATCH {one}"), &[("content", "hot soup")]).await;
    does(app, ada, &format!("PATCH {one}"), &[("topic", "dinner"), ("propagate_mode", "change_one")]).await;
    does(app, ada, &format!("PATCH {one}"), &[("stream_id", &sandbox)]).await;
    let smile = [("emoji_name", "smile")];
    does(app, ada, &format!("POST {one}/reactions"), &smile).await;
    does(app, ada, &format!("DELETE {one}/reactions"), &smile).await;
    let list = format!("[{id}]");
    for (op, flag) in [("add", "starred"), ("remove", "starred"), ("add", "read"), ("remove", "read")] {
        does(app, ada, "POST /messages/flags", &[("messages", &list), ("op", op), ("flag", flag)]).await;
    }
    does(app, ada, &format!("DELETE {one}"), &[]).await;
    let to = format!("[{}]", sam.id);
    let note =
        number(&does(app, ada, "POST /messages", &[("type", "direct"), ("to", &to), ("content", "hi")]).await, "id");
    does(app, ada, &format!("DELETE /messages/{note}"), &[]).await;
}

/// What of typing is told. It is forgotten within seconds, so it is asked for at once.
async fn typing(app: &TestApp, sam: &Person) -> Vec<Value> {
    let queue = listen(app, sam, r#"["typing", "typing_edit_message"]"#, &[]).await;
    let to = format!("[{}]", sam.id);
    let note = does(app, &app.ada, "POST /messages", &[("type", "direct"), ("to", &to), ("content", "hi")]).await;
    let mut events = Vec::new();
    for op in ["start", "stop"] {
        does(app, &app.ada, "POST /typing", &[("op", op), ("to", &to)]).await;
        does(app, &app.ada, &format!("POST /messages/{}/typing", note["id"]), &[("op", op)]).await;
        events.extend(heard(app, &queue).await);
    }
    events
}

async fn own_things(app: &TestApp, sam: &Person) {
    let ada = &app.ada;
    let general = app.realm().channel_by_name("general").unwrap().id.to_string();
    let upload = form(&[("file", "log.txt", "text/plain", b"All is well.")]);
    let uri =
        app.call_with_files(ada, "POST /user_uploads", upload).await.success()["uri"].as_str().unwrap().to_owned();
    let content = format!("[log]({uri})");
    let sent = [("type", "stream"), ("to", "general"), ("topic", "logs"), ("content", content.as_str())];
    does(app, ada, "POST /messages", &sent).await;
    let attachments = does(app, ada, "GET /attachments", &[]).await;
    does(app, ada, &format!("DELETE /attachments/{}", attachments["attachments"][0]["id"]), &[]).await;
    does(app, ada, "POST /users/me/alert_words", &[("alert_words", r#"["soup"]"#)]).await;
    for setting in [("color_scheme", "2"), ("enable_sounds", "false"), ("default_language", "de")] {
        does(app, ada, "PATCH /settings", &[setting]).await;
    }
    let topic = [("stream_id", general.as_str()), ("topic", "x"), ("visibility_policy", "1")];
    does(app, ada, "POST /user_topics", &topic).await;
    does(app, ada, &format!("POST /users/me/muted_users/{}", sam.id), &[]).await;
    does(app, ada, &format!("DELETE /users/me/muted_users/{}", sam.id), &[]).await;
    let draft = json!({"type": "private", "to": [9], "topic": "", "content": "x", "timestamp": 5});
    let made = does(app, ada, "POST /drafts", &[("drafts", &json!([draft]).to_string())]).await;
    let one = format!("/drafts/{}", made["ids"][0]);
    does(app, ada, &format!("PATCH {one}"), &[("draft", &draft.to_string())]).await;
    does(app, ada, &format!("DELETE {one}"), &[]).await;
    let snippet = [("title", "Hello"), ("content", "Good morning")];
    let id = number(&does(app, ada, "POST /saved_snippets", &snippet).await, "saved_snippet_id");
    does(app, ada, &format!("PATCH /saved_snippets/{id}"), &[("title", "Morning")]).await;
    does(app, ada, &format!("DELETE /saved_snippets/{id}"), &[]).await;
    does(app, ada, "POST /navigation_views", &[("fragment", "inbox"), ("is_pinned", "true")]).await;
    does(app, ada, "PATCH /navigation_views/inbox", &[("is_pinned", "false")]).await;
    does(app, ada, "DELETE /navigation_views/inbox", &[]).await;
    let at = (NOW_S + 60).to_string();
    let later = [("type", "direct"), ("to", "[9]"), ("content", "x"), ("scheduled_delivery_timestamp", at.as_str())];
    let id = number(&does(app, ada, "POST /scheduled_messages", &later).await, "scheduled_message_id");
    does(app, ada, &format!("PATCH /scheduled_messages/{id}"), &[("content", "y")]).await;
    does(app, ada, &format!("DELETE /scheduled_messages/{id}"), &[]).await;
    let note = [("type", "direct"), ("to", "[9]"), ("content", "x")];
    let message = number(&does(app, ada, "POST /messages", &note).await, "id").to_string();
    let later = [("message_id", message.as_str()), ("scheduled_delivery_timestamp", at.as_str())];
    let id = number(&does(app, ada, "POST /reminders", &later).await, "reminder_id");
    does(app, ada, &format!("DELETE /reminders/{id}"), &[]).await;
    does(app, ada, "POST /users/me/status", &[("status_text", "here"), ("emoji_name", "smile"), ("away", "true")])
        .await;
    does(app, sam, "POST /users/me/presence", &[("status", "active")]).await;
}

async fn people(app: &TestApp, sam: &Person) {
    let ada = &app.ada;
    let new = [("email", "eve@example.org"), ("password", "correct horse"), ("full_name", "Eve Moneypenny")];
    let eve = number(&does(app, ada, "POST /users", &new).await, "user_id");
    let one = format!("/users/{eve}");
    does(app, ada, &format!("PATCH {one}"), &[("full_name", "Eve M"), ("role", "300")]).await;
    does(app, ada, &format!("DELETE {one}"), &[]).await;
    does(app, ada, &format!("POST {one}/reactivate"), &[]).await;
    let robot = [("full_name", "Robot"), ("short_name", "robot")];
    let robot = number(&does(app, ada, "POST /bots", &robot).await, "user_id");
    does(app, ada, &format!("PATCH /bots/{robot}"), &[("full_name", "Robbie")]).await;
    does(app, ada, &format!("DELETE /bots/{robot}"), &[]).await;
    let members = format!("[{}]", sam.id);
    let new = [("name", "cooks"), ("description", ""), ("members", members.as_str())];
    let cooks = number(&does(app, ada, "POST /user_groups/create", &new).await, "group_id");
    let new = [("name", "bakers"), ("description", ""), ("members", "[]")];
    let bakers = number(&does(app, ada, "POST /user_groups/create", &new).await, "group_id");
    let one = format!("/user_groups/{cooks}");
    does(app, ada, &format!("PATCH {one}"), &[("name", "chefs")]).await;
    for op in ["delete", "add"] {
        does(app, ada, &format!("POST {one}/members"), &[(op, &members)]).await;
    }
    for op in ["add", "delete"] {
        does(app, ada, &format!("POST {one}/subgroups"), &[(op, &format!("[{bakers}]"))]).await;
    }
    does(app, ada, &format!("DELETE {one}"), &[]).await;
    let picture = form(&[("file", "red.png", "image/png", &png(20, 20))]);
    app.call_with_files(ada, "POST /users/me/avatar", picture).await.success();
    let field =
        number(&does(app, ada, "POST /realm/profile_fields", &[("name", "Team"), ("field_type", "1")]).await, "id");
    let data = json!([{"id": field, "value": "Ward"}]).to_string();
    does(app, ada, "PATCH /users/me/profile_data", &[("data", &data)]).await;
}

async fn channels(app: &TestApp, sam: &Person) {
    let ada = &app.ada;
    let principals = format!("[9, {}]", sam.id);
    let both = [("subscriptions", r#"[{"name": "news"}]"#), ("principals", principals.as_str())];
    does(app, ada, "POST /users/me/subscriptions", &both).await;
    let id = app.realm().channel_by_name("news").unwrap().id;
    let one = format!("/streams/{id}");
    for change in [
        ("new_name", "headlines"),
        ("description", "All the *news*"),
        ("stream_post_policy", "2"),
        ("message_retention_days", "30"),
        ("is_private", "true"),
    ] {
        does(app, ada, &format!("PATCH {one}"), &[change]).await;
    }
    does(app, ada, &format!("PATCH {one}"), &[("is_private", "false")]).await;
    let properties = json!([
        {"stream_id": id, "property": "color", "value": "#aabbcc"},
        {"stream_id": id, "property": "is_muted", "value": true},
        {"stream_id": id, "property": "pin_to_top", "value": true},
    ]);
    let values = [("subscription_data", properties.to_string())];
    does(
        app,
        ada,
        "POST /users/me/subscriptions/properties",
        &values.each_ref().map(|(name, value)| (*name, value.as_str())),
    )
    .await;
    for method in ["POST", "DELETE"] {
        does(app, ada, &format!("{method} /default_streams"), &[("stream_id", &id.to_string())]).await;
    }
    let gone = [("subscriptions", r#"["headlines"]"#)];
    does(app, sam, "DELETE /users/me/subscriptions", &gone).await;
    does(app, ada, "DELETE /users/me/subscriptions", &gone).await;
    does(app, sam, "POST /users/me/subscriptions", &[("subscriptions", r#"[{"name": "headlines"}]"#)]).await;
    // What is archived is not told of any more, so it is another channel.
    does(app, ada, "POST /users/me/subscriptions", &[("subscriptions", r#"[{"name": "old"}]"#)]).await;
    let old = app.realm().channel_by_name("old").unwrap().id;
    does(app, ada, &format!("DELETE /streams/{old}"), &[]).await;
}

async fn organization(app: &TestApp) {
    let ada = &app.ada;
    does(app, ada, "PATCH /realm", &[("name", "Clinic"), ("allow_message_editing", "true")]).await;
    does(app, ada, "PATCH /realm", &[("message_content_edit_limit_seconds", "60")]).await;
    let picture = form(&[("filename", "x.png", "image/png", &png(8, 8))]);
    app.call_with_files(ada, "POST /realm/emoji/tick", picture.clone()).await.success();
    app.call_with_files(ada, "POST /realm/icon", picture).await.success();
    let mut folders = Vec::new();
    for name in ["Work", "Play"] {
        let made = does(app, ada, "POST /channel_folders/create", &[("name", name)]).await;
        folders.push(number(&made, "channel_folder_id"));
    }
    does(app, ada, &format!("PATCH /channel_folders/{}", folders[0]), &[("name", "Works")]).await;
    folders.reverse();
    does(app, ada, "PATCH /channel_folders", &[("order", &format!("{folders:?}"))]).await;
    does(app, ada, "POST /realm/filters", &[("pattern", "#x"), ("url_template", "https://x.example")]).await;
    let play = [("name", "Play"), ("pygments_language", "rust"), ("url_template", "https://x/{code}")];
    does(app, ada, "POST /realm/playgrounds", &play).await;
    let domain = [("domain", "example.org"), ("allow_subdomains", "false")];
    does(app, ada, "POST /realm/domains", &domain).await;
    does(app, ada, "PATCH /realm/domains/example.org", &[("allow_subdomains", "true")]).await;
    does(app, ada, "DELETE /realm/domains/example.org", &[]).await;
    does(app, ada, "PATCH /realm/user_settings_defaults", &[("enter_sends", "true")]).await;
    does(app, ada, "POST /export/realm", &[]).await;
    does(app, ada, "POST /invites", &[("invitee_emails", "new@example.net"), ("stream_ids", "[]")]).await;
}

#[tokio::test]
async fn every_event_has_the_keys_clients_take_for_granted() {
    let app = TestApp::found().await;
    let (sam, robot) = (app.person("sam", Role::Member).await, bot(&app, "watch").await);
    does(&app, &sam, "POST /users/me/subscriptions", &[("subscriptions", r#"[{"name": "general"}]"#)]).await;
    let newest = json!({
        "notification_settings_null": true, "bulk_message_deletion": true, "user_avatar_url_field_optional": true,
        "stream_typing_notifications": true, "user_settings_object": true, "linkifier_url_template": true,
        "user_list_incomplete": true, "include_deactivated_groups": true,
    })
    .to_string();
    let newest = [("client_capabilities", newest.as_str()), ("apply_markdown", "true")];
    let mut queues: Vec<TestQueue> = Vec::new();
    for who in [&app.ada, &sam, &robot] {
        queues.push(listen(&app, who, "null", &newest).await);
        queues.push(listen(&app, who, "null", &[]).await);
        queues.push(listen(&app, who, "null", &[("slim_presence", "true"), ("include_subscribers", "true")]).await);
    }
    messages(&app, &sam).await;
    own_things(&app, &sam).await;
    people(&app, &sam).await;
    channels(&app, &sam).await;
    organization(&app).await;
    app.restart().await;
    let mut kinds: BTreeSet<_> = typing(&app, &sam).await.iter().map(check).collect();
    // Told to who waits for a minute.
    kinds.insert("heartbeat".to_owned());
    for queue in &queues {
        kinds.extend(heard(&app, queue).await.iter().map(check));
    }
    let never: Vec<_> = KEYS.iter().filter(|(kind, _)| !kinds.contains(*kind)).collect();
    assert!(never.is_empty(), "never told: {never:?}");
}

#[tokio::test]
async fn every_kind_of_event_is_described_by_its_members() {
    let document = TestApp::found().await.describe().await;
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let described = schemas.keys().filter_map(|name| name.strip_prefix("Event.")).map(|kind| kind.replace('.', " "));
    // A bot that another user answers for now: no other event of that operation is known.
    let response = KEYS.iter().map(|(kind, _)| *kind).chain(["realm_bot delete"]);
    assert_eq!(described.collect::<BTreeSet<_>>(), response.map(str::to_owned).collect());
    let named = schemas["Event"]["anyOf"].as_array().unwrap().iter().map(|one| one["$ref"].as_str().unwrap());
    let named: BTreeSet<_> = named.map(|one| one.trim_start_matches("#/components/schemas/Event.")).collect();
    assert_eq!(named.len(), KEYS.len() + 1);
}
