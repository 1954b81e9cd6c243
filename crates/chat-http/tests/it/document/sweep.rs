//! Every operation, done once; and refused in every way it can be ([`super::bad_input`]).

use std::collections::BTreeSet;

use chat_core::model::role::Role;
use serde_json::Value;

use super::Document;
use super::bad_input::{Right, refuses, survives_long_texts};
use crate::data_exports;
use crate::file_store::{form, png};
use crate::test_app::{NOW_S, Person, TestApp, with_query};

/// A parameter of no operation.
const FOREIGN: &str = "no_such_parameter";

/// Someone who does everything.
struct Sweep<'a> {
    app: &'a TestApp,
    document: &'static Document,
    who: Person,
    done: BTreeSet<String>,
    /// Every call as it was made.
    calls: Vec<(String, Vec<(String, String)>)>,
}

impl Sweep<'_> {
    /// Does it, with a parameter of no operation, which is reported; and is refused in every way it can be done wrong.
    async fn does(&mut self, call: &str, parameters: &[(&str, &str)]) -> Value {
        let place = self.document.find(call).unwrap_or_else(|| panic!("{call} is not described"));
        let with_foreign: Vec<_> = parameters.iter().copied().chain([(FOREIGN, "1")]).collect();
        let response = self.app.call(&self.who, call, &with_foreign).await;
        assert_eq!(response.status, 200, "{call}: {}", response.body);
        let response = response.success();
        assert_eq!(response["ignored_parameters_unsupported"], serde_json::json!([FOREIGN]), "{call}");
        refuses(self.app, self.document, place, Right { who: &self.who, call, parameters }).await;
        let kept = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.calls.push((call.to_owned(), kept.collect()));
        self.done.insert(self.document.operations[place].call.clone());
        response
    }

    /// Makes every call again, with each of its texts longer than any may be.
    async fn exaggerates(&self) {
        for (call, parameters) in &self.calls {
            let parameters: Vec<_> = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let place = self.document.find(call).unwrap();
            let right = Right { who: &self.who, call, parameters: &parameters };
            survives_long_texts(self.app, self.document, place, right).await;
        }
    }

    /// The same with a file.
    async fn does_with_file(&mut self, call: &str, parameters: &[(&str, &str)]) -> Value {
        let place = self.document.find(call).unwrap();
        let file = form(&[("file", "me.png", "image/png", &png(40, 30))]);
        let response = self.app.call_with_files(&self.who, &with_query(call, parameters), file).await.success();
        refuses(self.app, self.document, place, Right { who: &self.who, call, parameters }).await;
        self.done.insert(self.document.operations[place].call.clone());
        response
    }

    async fn number(&mut self, call: &str, parameters: &[(&str, &str)], key: &str) -> String {
        self.does(call, parameters).await[key].to_string()
    }

    /// A channel that is new.
    async fn channel(&mut self, name: &str) -> String {
        let wanted = format!("[{{\"name\":\"{name}\"}}]");
        self.app.call(&self.who, "POST /users/me/subscriptions", &[("subscriptions", &wanted)]).await.success();
        self.app.call(&self.who, "GET /get_stream_id", &[("stream", name)]).await.success()["stream_id"].to_string()
    }

    /// A message that is new.
    async fn message(&mut self, content: &str) -> String {
        let parameters = [("type", "channel"), ("to", "kitchen"), ("topic", "lunch"), ("content", content)];
        self.app.call(&self.who, "POST /messages", &parameters).await.success()["id"].to_string()
    }
}

async fn server(sweep: &mut Sweep<'_>) {
    sweep.does("GET /server_settings", &[]).await;
    sweep.does("POST /fetch_api_key", &[("username", "ada@example.org"), ("password", "ada's")]).await;
    let described = sweep.app.describe().await;
    sweep.document.check("GET /openapi.json", (http::StatusCode::OK, &described));
    sweep.done.insert("GET /openapi.json".to_owned());
    // Nowhere in production.
    let refused = sweep.app.call(&sweep.who, "POST /dev_fetch_api_key", &[("username", "ada@example.org")]).await;
    refused.refused("Endpoint not available in production.");
    sweep.done.insert("POST /dev_fetch_api_key".to_owned());
}

async fn events(sweep: &mut Sweep<'_>) {
    let queue = sweep.does("POST /register", &[]).await;
    let (id, last) = (queue["queue_id"].as_str().unwrap(), queue["last_event_id"].to_string());
    let poll = [("queue_id", id), ("last_event_id", &last), ("dont_block", "true")];
    sweep.does("GET /events", &poll).await;
    sweep.does("DELETE /events", &[("queue_id", id)]).await;
}

async fn messages(sweep: &mut Sweep<'_>, channel: &str) {
    let sending = [("type", "channel"), ("to", "kitchen"), ("topic", "lunch"), ("content", "hi")];
    let id = sweep.number("POST /messages", &sending, "id").await;
    sweep.does("GET /messages", &[("anchor", "newest"), ("num_before", "5"), ("num_after", "5")]).await;
    let narrow = r#"[{"operator": "channel", "operand": "kitchen"}]"#;
    let ids = format!("[{id}]");
    sweep.does("GET /messages/matches_narrow", &[("msg_ids", &ids), ("narrow", narrow)]).await;
    sweep.does("POST /messages/render", &[("content", "hi")]).await;
    sweep.does(&format!("GET /messages/{id}"), &[]).await;
    sweep.does(&format!("PATCH /messages/{id}"), &[("content", "ho")]).await;
    sweep.does(&format!("POST /messages/{id}/typing"), &[("op", "start")]).await;
    sweep.does(&format!("GET /messages/{id}/history"), &[]).await;
    sweep.does(&format!("GET /messages/{id}/read_receipts"), &[]).await;
    sweep.does(&format!("POST /messages/{id}/reactions"), &[("emoji_name", "smile")]).await;
    sweep.does(&format!("DELETE /messages/{id}/reactions"), &[("emoji_name", "smile")]).await;
    sweep.does("POST /messages/flags", &[("messages", &ids), ("op", "add"), ("flag", "starred")]).await;
    let stretch = [("anchor", "newest"), ("num_before", "5"), ("num_after", "0"), ("narrow", narrow)];
    let marked: Vec<_> = stretch.into_iter().chain([("op", "add"), ("flag", "read")]).collect();
    sweep.does("POST /messages/flags/narrow", &marked).await;
    sweep.does("POST /mark_all_as_read", &[]).await;
    sweep.does("POST /mark_stream_as_read", &[("stream_id", channel)]).await;
    sweep.does("POST /mark_topic_as_read", &[("stream_id", channel), ("topic_name", "lunch")]).await;
    let poll = sweep.message("/poll Soup?\nyes\nno").await;
    let option = r#"{"type": "new_option", "idx": 1, "option": "perhaps"}"#;
    sweep.does("POST /submessage", &[("message_id", &poll), ("msg_type", "widget"), ("content", option)]).await;
    sweep.does(&format!("DELETE /messages/{id}"), &[]).await;
    sweep.does(&format!("POST /streams/{channel}/delete_topic"), &[("topic_name", "lunch")]).await;
}

async fn writing(sweep: &mut Sweep<'_>, channel: &str, other: i64) {
    let to = format!("[{other}]");
    sweep.does("POST /typing", &[("op", "start"), ("to", &to)]).await;
    let of_channel = [("type", "channel"), ("op", "start"), ("stream_id", channel), ("topic", "lunch")];
    sweep.does("POST /typing", &of_channel).await;
    let draft = r#"{"type": "", "to": [], "topic": "", "content": "x"}"#;
    let made = sweep.does("POST /drafts", &[("drafts", &format!("[{draft}]"))]).await;
    sweep.does("GET /drafts", &[]).await;
    sweep.does(&format!("PATCH /drafts/{}", made["ids"][0]), &[("draft", draft)]).await;
    sweep.does(&format!("DELETE /drafts/{}", made["ids"][0]), &[]).await;
    let snippet = [("title", "Hello"), ("content", "Good morning")];
    let id = sweep.number("POST /saved_snippets", &snippet, "saved_snippet_id").await;
    sweep.does("GET /saved_snippets", &[]).await;
    sweep.does(&format!("PATCH /saved_snippets/{id}"), &snippet).await;
    sweep.does(&format!("DELETE /saved_snippets/{id}"), &[]).await;
    let view = [("fragment", "narrow/channel/5"), ("is_pinned", "true"), ("name", "Kitchen")];
    sweep.does("POST /navigation_views", &view).await;
    sweep.does("GET /navigation_views", &[]).await;
    sweep.does("PATCH /navigation_views/narrow%2Fchannel%2F5", &[("name", "Cellar")]).await;
    sweep.does("DELETE /navigation_views/narrow%2Fchannel%2F5", &[]).await;
    let due = (NOW_S + 10_000).to_string();
    let later = [("type", "channel"), ("to", channel), ("topic", "a"), ("content", "b")];
    let later: Vec<_> = later.into_iter().chain([("scheduled_delivery_timestamp", due.as_str())]).collect();
    let id = sweep.number("POST /scheduled_messages", &later, "scheduled_message_id").await;
    sweep.does("GET /scheduled_messages", &[]).await;
    sweep.does(&format!("PATCH /scheduled_messages/{id}"), &[("content", "c")]).await;
    sweep.does(&format!("DELETE /scheduled_messages/{id}"), &[]).await;
}

async fn reminders_and_reports(sweep: &mut Sweep<'_>) {
    let (message, due) = (sweep.message("hi").await, (NOW_S + 10_000).to_string());
    let later = [("message_id", message.as_str()), ("scheduled_delivery_timestamp", due.as_str())];
    let id = sweep.number("POST /reminders", &later, "reminder_id").await;
    sweep.does("GET /reminders", &[]).await;
    sweep.does(&format!("DELETE /reminders/{id}"), &[]).await;
    let private = [("name", "moderators"), ("subscribers", "[9]"), ("invite_only", "true")];
    let there = sweep.app.call(&sweep.who, "POST /channels/create", &private).await.success()["id"].to_string();
    let there = [("moderation_request_channel_id", there.as_str())];
    sweep.app.call(&sweep.who, "PATCH /realm", &there).await.success();
    sweep.does(&format!("POST /messages/{message}/report"), &[("report_type", "spam")]).await;
}

async fn channels(sweep: &mut Sweep<'_>, channel: &str) {
    let id = [("stream_id", channel)];
    sweep.does("GET /streams", &[]).await;
    sweep.does(&format!("GET /streams/{channel}"), &[]).await;
    sweep.does(&format!("PATCH /streams/{channel}"), &[("description", "Cooking")]).await;
    sweep.does(&format!("GET /streams/{channel}/members"), &[]).await;
    sweep.does(&format!("GET /streams/{channel}/email_address"), &[]).await;
    sweep.does("POST /channels/create", &[("name", "pantry"), ("subscribers", "[]")]).await;
    let folder = sweep.number("POST /channel_folders/create", &[("name", "House")], "channel_folder_id").await;
    sweep.does("GET /channel_folders", &[]).await;
    sweep.does(&format!("PATCH /channel_folders/{folder}"), &[("description", "Rooms")]).await;
    sweep.does("PATCH /channel_folders", &[("order", &format!("[{folder}]"))]).await;
    sweep.does("GET /get_stream_id", &[("stream", "kitchen")]).await;
    sweep.does("POST /default_streams", &id).await;
    sweep.does("DELETE /default_streams", &id).await;
    sweep.does(&format!("GET /users/me/{channel}/topics"), &[]).await;
    sweep.does("GET /users/me/subscriptions", &[]).await;
    sweep.does("POST /users/me/subscriptions", &[("subscriptions", r#"[{"name": "cellar"}]"#)]).await;
    sweep.does("PATCH /users/me/subscriptions", &[("add", r#"[{"name": "attic"}]"#)]).await;
    let choices = format!(r##"[{{"stream_id": {channel}, "property": "color", "value": "#123456"}}]"##);
    sweep.does("POST /users/me/subscriptions/properties", &[("subscription_data", &choices)]).await;
    let choice = [("property", "is_muted"), ("value", "true")];
    sweep.does(&format!("PATCH /users/me/subscriptions/{channel}"), &choice).await;
    sweep.does(&format!("GET /users/{}/subscriptions/{channel}", sweep.who.id), &[]).await;
    sweep.does("DELETE /users/me/subscriptions", &[("subscriptions", r#"["attic"]"#)]).await;
    let muted = [("stream_id", channel), ("topic", "lunch"), ("op", "add")];
    sweep.does("PATCH /users/me/subscriptions/muted_topics", &muted).await;
    let followed = [("stream_id", channel), ("topic", "lunch"), ("visibility_policy", "3")];
    sweep.does("POST /user_topics", &followed).await;
    let gone = sweep.channel("gone").await;
    sweep.does(&format!("DELETE /streams/{gone}"), &[]).await;
}

async fn users(sweep: &mut Sweep<'_>, other: i64) {
    sweep.does("GET /users", &[]).await;
    let new = [("email", "new@example.org"), ("password", "long enough"), ("full_name", "New")];
    let id = sweep.number("POST /users", &new, "user_id").await;
    sweep.does("GET /users/me", &[]).await;
    sweep.does(&format!("GET /users/{id}"), &[]).await;
    sweep.does(&format!("PATCH /users/{id}"), &[("full_name", "Newer")]).await;
    sweep.does(&format!("DELETE /users/{id}"), &[]).await;
    sweep.does(&format!("POST /users/{id}/reactivate"), &[]).await;
    sweep.does("POST /users/me/status", &[("status_text", "out")]).await;
    sweep.does(&format!("GET /users/{}/status", sweep.who.id), &[]).await;
    sweep.does(&format!("POST /users/{other}/status"), &[("status_text", "out")]).await;
    sweep.does(&format!("POST /users/me/muted_users/{other}"), &[]).await;
    sweep.does(&format!("DELETE /users/me/muted_users/{other}"), &[]).await;
    let words = [("alert_words", r#"["soup"]"#)];
    sweep.does("POST /users/me/alert_words", &words).await;
    sweep.does("GET /users/me/alert_words", &[]).await;
    sweep.does("DELETE /users/me/alert_words", &words).await;
    sweep.does_with_file("POST /users/me/avatar", &[]).await;
    sweep.does("DELETE /users/me/avatar", &[]).await;
    sweep.does("POST /users/me/presence", &[("status", "active")]).await;
    // The server does it within a second, and a refusal in that second would be taken to have done it.
    sweep.app.store.sync_presences().await.unwrap();
    sweep.does(&format!("GET /users/{}/presence", sweep.who.id), &[]).await;
    sweep.does("GET /realm/presence", &[]).await;
    for call in ["PATCH /settings", "PATCH /settings/display", "PATCH /settings/notifications"] {
        sweep.does(call, &[("twenty_four_hour_time", "true")]).await;
    }
}

async fn devices(sweep: &mut Sweep<'_>) {
    for call in ["POST /mobile_push/register", "POST /mobile_push/e2ee/test_notification"] {
        let refused = sweep.app.call(&sweep.who, call, &[]).await;
        assert_eq!(refused.error().1, "PUSH_SERVICE_NOT_CONFIGURED");
        sweep.done.insert(call.to_owned());
    }
    for call in ["apns_device_token", "android_gcm_reg_id"] {
        let token = [("token", "abcdef")];
        sweep.does(&format!("POST /users/me/{call}"), &token).await;
        sweep.does("POST /mobile_push/test_notification", &token).await;
        sweep.does(&format!("DELETE /users/me/{call}"), &token).await;
    }
}

async fn organization(sweep: &mut Sweep<'_>) {
    sweep.does("PATCH /realm", &[("description", "Ours")]).await;
    sweep.does("PATCH /realm/user_settings_defaults", &[("enter_sends", "true")]).await;
    sweep.does("POST /realm/domains", &[("domain", "example.com")]).await;
    sweep.does("GET /realm/domains", &[]).await;
    sweep.does("PATCH /realm/domains/example.com", &[("allow_subdomains", "true")]).await;
    sweep.does("DELETE /realm/domains/example.com", &[]).await;
    let filter = [("pattern", "#(?P<id>[0-9]+)"), ("url_template", "https://example.org/{id}")];
    let id = sweep.number("POST /realm/filters", &filter, "id").await;
    sweep.does("GET /realm/linkifiers", &[]).await;
    sweep.does(&format!("PATCH /realm/filters/{id}"), &filter).await;
    sweep.does("PATCH /realm/linkifiers", &[("ordered_linkifier_ids", &format!("[{id}]"))]).await;
    sweep.does(&format!("DELETE /realm/filters/{id}"), &[]).await;
    let place = [("name", "Play"), ("pygments_language", "Rust"), ("url_template", "https://example.org/{code}")];
    let id = sweep.number("POST /realm/playgrounds", &place, "id").await;
    sweep.does(&format!("DELETE /realm/playgrounds/{id}"), &[]).await;
    sweep.does("POST /export/realm", &[("export_type", "1")]).await;
    sweep.does("GET /export/realm", &[]).await;
    sweep.does("GET /export/realm/consents", &[]).await;
    let id = data_exports::archived(sweep.app).await;
    sweep.does(&format!("DELETE /export/realm/{id}"), &[]).await;
    sweep.does_with_file("POST /realm/emoji/wave2", &[]).await;
    sweep.does("GET /realm/emoji", &[]).await;
    sweep.does_with_file("POST /realm/icon", &[]).await;
    sweep.does("DELETE /realm/icon", &[]).await;
    sweep.does_with_file("POST /realm/logo", &[("night", "true")]).await;
    sweep.does("DELETE /realm/logo", &[("night", "true")]).await;
    sweep.does("DELETE /realm/emoji/wave2", &[]).await;
    let id = sweep.number("POST /realm/profile_fields", &[("name", "Team"), ("field_type", "1")], "id").await;
    sweep.does("GET /realm/profile_fields", &[]).await;
    sweep.does("PATCH /realm/profile_fields", &[("order", &format!("[{id}]"))]).await;
    sweep.does(&format!("PATCH /realm/profile_fields/{id}"), &[("name", "Crew")]).await;
    let answer = format!(r#"[{{"id": {id}, "value": "cooks"}}]"#);
    sweep.does("PATCH /users/me/profile_data", &[("data", &answer)]).await;
    sweep.does("DELETE /users/me/profile_data", &[("data", &format!("[{id}]"))]).await;
    sweep.does(&format!("DELETE /realm/profile_fields/{id}"), &[]).await;
}

async fn bots(sweep: &mut Sweep<'_>) {
    let id = sweep.number("POST /bots", &[("full_name", "Cook"), ("short_name", "cook")], "user_id").await;
    sweep.does("GET /bots", &[]).await;
    sweep.does(&format!("PATCH /bots/{id}"), &[("full_name", "Chef")]).await;
    sweep.does(&format!("POST /bots/{id}/api_key/regenerate"), &[]).await;
    sweep.does(&format!("DELETE /bots/{id}"), &[]).await;
    sweep.does("PUT /bot_storage", &[("storage", r#"{"a": "b"}"#)]).await;
    sweep.does("GET /bot_storage", &[]).await;
    sweep.does("DELETE /bot_storage", &[]).await;
}

async fn invitations(sweep: &mut Sweep<'_>, channel: &str) {
    let channels = format!("[{channel}]");
    sweep.does("POST /invites", &[("invitee_emails", "guest@example.org"), ("stream_ids", &channels)]).await;
    let listed = sweep.does("GET /invites", &[]).await;
    let id = listed["invites"][0]["id"].to_string();
    sweep.does(&format!("POST /invites/{id}/resend"), &[]).await;
    sweep.does(&format!("DELETE /invites/{id}"), &[]).await;
    sweep.does("POST /invites/multiuse", &[]).await;
    let listed = sweep.app.call(&sweep.who, "GET /invites", &[]).await.success();
    let mut links = listed["invites"].as_array().unwrap().iter();
    let link = links.rfind(|invite| invite["is_multiuse"] == true).unwrap()["id"].to_string();
    sweep.does(&format!("DELETE /invites/multiuse/{link}"), &[]).await;
}

async fn groups(sweep: &mut Sweep<'_>, other: i64) {
    let new = |name: &'static str| [("name", name), ("description", "Who cooks"), ("members", "[]")];
    let inner = sweep.number("POST /user_groups/create", &new("washers"), "group_id").await;
    let outer = sweep.number("POST /user_groups/create", &new("cooks"), "group_id").await;
    sweep.does("GET /user_groups", &[]).await;
    sweep.does(&format!("PATCH /user_groups/{outer}"), &[("description", "Who cooks well")]).await;
    let members = format!("/user_groups/{outer}/members");
    sweep.does(&format!("POST {members}"), &[("add", &format!("[{other}]"))]).await;
    sweep.does(&format!("GET {members}"), &[]).await;
    sweep.does(&format!("GET {members}/{other}"), &[]).await;
    let subgroups = format!("/user_groups/{outer}/subgroups");
    sweep.does(&format!("POST {subgroups}"), &[("add", &format!("[{inner}]"))]).await;
    sweep.does(&format!("GET {subgroups}"), &[]).await;
    sweep.does(&format!("POST /user_groups/{outer}/deactivate"), &[]).await;
    sweep.does(&format!("DELETE /user_groups/{outer}"), &[]).await;
}

async fn uploads(sweep: &mut Sweep<'_>) {
    let url = sweep.does_with_file("POST /user_uploads", &[]).await["url"].as_str().unwrap().to_owned();
    let listed = sweep.does("GET /attachments", &[]).await;
    sweep.does(&format!("GET {url}"), &[]).await;
    sweep.does(&format!("DELETE /attachments/{}", listed["attachments"][0]["id"]), &[]).await;
}

#[tokio::test]
async fn every_operation_refuses_what_is_wrong_and_does_what_is_right() {
    let app = TestApp::with_system_bots().await;
    let document = super::of(&app).await;
    let other = app.person("bob", Role::Member).await;
    let mut sweep = Sweep { app: &app, document, who: app.ada.clone(), done: BTreeSet::new(), calls: Vec::new() };
    let channel = sweep.channel("kitchen").await;
    server(&mut sweep).await;
    events(&mut sweep).await;
    messages(&mut sweep, &channel).await;
    writing(&mut sweep, &channel, other.id).await;
    reminders_and_reports(&mut sweep).await;
    channels(&mut sweep, &channel).await;
    users(&mut sweep, other.id).await;
    devices(&mut sweep).await;
    organization(&mut sweep).await;
    bots(&mut sweep).await;
    invitations(&mut sweep, &channel).await;
    groups(&mut sweep, other.id).await;
    uploads(&mut sweep).await;
    sweep.exaggerates().await;
    sweep.does("POST /users/me/api_key/regenerate", &[]).await;
    sweep.who = other;
    sweep.does("DELETE /users/me", &[]).await;
    let all: BTreeSet<_> = document.operations.iter().map(|operation| operation.call.clone()).collect();
    assert_eq!(all.difference(&sweep.done).collect::<Vec<_>>(), Vec::<&String>::new(), "described and not done");
}
