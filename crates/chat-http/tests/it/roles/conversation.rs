//! Messages, channels, and what people keep of them.
//!
//! # Source
//! Specification, "Endpoints"; where it is silent about a role, what existing servers answer.

use super::rows::{Enclosed, ErrorResponse, Row, row, with_file};
use ErrorResponse::{
    Administrators, AdministratorsElse, AdministratorsWhereSeen, All, Everybody, Members, None, NotGuests,
};

const NO_CHANNEL: ErrorResponse = NotGuests("Invalid channel ID");
const NOT_THEIRS: &str = "You don't have permission to delete this message";
const NO_REPORTS: &str = "Moderation request channel must be specified to enable message reporting.";
const TO_SQUARE: [(&str, &str); 4] =
    [("type", "channel"), ("to", "{square}"), ("topic", "t {number}"), ("content", "x")];
const WINDOW: [(&str, &str); 3] = [("anchor", "newest"), ("num_before", "5"), ("num_after", "0")];
const IN_SQUARE: [(&str, &str); 2] = [("stream_id", "{square}"), ("topic", "t")];
const STRETCH: [(&str, &str); 6] =
    [("anchor", "newest"), ("num_before", "5"), ("num_after", "0"), ("narrow", "[]"), ("op", "add"), ("flag", "read")];
const SCHEDULED: [(&str, &str); 4] =
    [("type", "direct"), ("to", "[{me}]"), ("content", "x"), ("scheduled_delivery_timestamp", "{soon}")];
const DRAFT: &str = r#"{"type": "", "to": [], "topic": "", "content": "y"}"#;
const DRAFTS: &str = r#"[{"type": "", "to": [], "topic": "", "content": "y"}]"#;
const VOTE: &str = r#"{"type": "vote", "key": "canned,0", "vote": 1}"#;

pub(crate) const ROWS: &[Row] = &[
    // Queues.
    row("POST /register", &[], All),
    row("POST /register", &[("all_public_streams", "true")], NotGuests("User not authorized for this query")),
    row("GET /events", &[("queue_id", "{queue}"), ("last_event_id", "{last}"), ("dont_block", "true")], All),
    row("DELETE /events", &[("queue_id", "{queue}")], All),
    row("GET /server_settings", &[], Everybody),
    row("GET /openapi.json", &[], Everybody),
    // Messages.
    row("GET /messages", &WINDOW, All),
    row("POST /messages", &TO_SQUARE, All),
    row("POST /messages", &[("type", "direct"), ("to", "[{person}]"), ("content", "x")], All),
    row("GET /messages/matches_narrow", &[("msg_ids", "[{own}]"), ("narrow", "[]")], All),
    row("POST /messages/render", &[("content", "x")], All),
    row("GET /messages/{others}", &[], All),
    row("PATCH /messages/{own}", &[("content", "y")], All),
    row("PATCH /messages/{others}", &[("content", "y")], None("You don't have permission to edit this message")),
    row("PATCH /messages/{others}", &[("topic", "another {number}")], All),
    row(
        "PATCH /messages/{others}",
        &[("stream_id", "{entered}")],
        NotGuests("You don't have permission to move this message"),
    ),
    row("DELETE /messages/{own}", &[], All),
    row("DELETE /messages/{others}", &[], AdministratorsElse(NOT_THEIRS)),
    row("GET /messages/{others}/history", &[], All),
    row("GET /messages/{others}/read_receipts", &[], All),
    row("POST /messages/{others}/report", &[("report_type", "spam")], None(NO_REPORTS)),
    row("POST /messages/{others}/reactions", &[("emoji_name", "tada")], All),
    row("DELETE /messages/{reacted}/reactions", &[("emoji_name", "tada")], All),
    row("POST /submessage", &[("message_id", "{poll}"), ("msg_type", "widget"), ("content", VOTE)], All),
    row("POST /typing", &[("op", "start"), ("to", "[{person}]")], All),
    row("POST /messages/{own}/typing", &[("op", "start")], All),
    row("POST /typing", &[("op", "start"), ("type", "channel"), ("stream_id", "{square}"), ("topic", "t")], All),
    // Marks.
    row("POST /messages/flags", &[("messages", "[{others}]"), ("op", "add"), ("flag", "read")], All),
    row("POST /messages/flags/narrow", &STRETCH, All),
    row("POST /mark_all_as_read", &[], All),
    row("POST /mark_stream_as_read", &[("stream_id", "{square}")], All),
    row("POST /mark_topic_as_read", &[("stream_id", "{square}"), ("topic_name", "")], All),
    // For later.
    row("GET /drafts", &[], All),
    row("POST /drafts", &[("drafts", DRAFTS)], All),
    row("PATCH /drafts/{draft}", &[("draft", DRAFT)], All),
    row("DELETE /drafts/{draft}", &[], All),
    row("GET /saved_snippets", &[], All),
    row("POST /saved_snippets", &[("title", "x"), ("content", "y")], All),
    row("PATCH /saved_snippets/{snippet}", &[("title", "z")], All),
    row("DELETE /saved_snippets/{snippet}", &[], All),
    row("GET /navigation_views", &[], All),
    row("POST /navigation_views", &[("fragment", "inbox"), ("is_pinned", "true")], All),
    row("PATCH /navigation_views/{view}", &[("is_pinned", "true")], All),
    row("DELETE /navigation_views/{view}", &[], All),
    row("GET /reminders", &[], All),
    row("POST /reminders", &[("message_id", "{others}"), ("scheduled_delivery_timestamp", "{soon}")], All),
    row("DELETE /reminders/{reminder}", &[], All),
    row("GET /scheduled_messages", &[], All),
    row("POST /scheduled_messages", &SCHEDULED, All),
    row("PATCH /scheduled_messages/{scheduled}", &[("content", "y")], All),
    row("DELETE /scheduled_messages/{scheduled}", &[], All),
    // Files.
    with_file("POST /user_uploads", Enclosed::Text, All),
    row("GET /user_uploads/{realm}/{file}", &[], All),
    row("GET /attachments", &[], All),
    row("DELETE /attachments/{attachment}", &[], All),
    // Channels: public ones that the caller is not in, which guests do not see.
    row("GET /streams", &[], All),
    row("GET /streams", &[("include_all_active", "true")], AdministratorsElse("User not authorized for this query")),
    row("GET /streams/{channel}", &[], NO_CHANNEL),
    row("PATCH /streams/{channel}", &[("description", "x")], AdministratorsWhereSeen),
    row("DELETE /streams/{channel}", &[], AdministratorsWhereSeen),
    row("GET /streams/{channel}/members", &[], NO_CHANNEL),
    row("GET /streams/{channel}/email_address", &[], NO_CHANNEL),
    row("GET /get_stream_id", &[("stream", "dock")], NotGuests("Invalid channel name 'dock'")),
    row("POST /default_streams", &[("stream_id", "{channel}")], Administrators),
    row("DELETE /default_streams", &[("stream_id", "{channel}")], Administrators),
    row("GET /users/me/{channel}/topics", &[], NO_CHANNEL),
    row("POST /streams/{square}/delete_topic", &[("topic_name", "{topic}")], Administrators),
    row("POST /channels/create", &[("name", "quay {number}"), ("subscribers", "[]")], Members),
    row("GET /channel_folders", &[], All),
    row("POST /channel_folders/create", &[("name", "shelf {number}")], Administrators),
    row("PATCH /channel_folders", &[("order", "[]")], Administrators),
    row("PATCH /channel_folders/{folder}", &[("description", "x")], Administrators),
    // Subscriptions.
    row("GET /users/me/subscriptions", &[], All),
    row("POST /users/me/subscriptions", &[("subscriptions", r#"[{"name": "new {number}"}]"#)], Members),
    row("DELETE /users/me/subscriptions", &[("subscriptions", r#"["square"]"#)], All),
    row("PATCH /users/me/subscriptions", &[("add", r#"[{"name": "new {number}"}]"#)], Members),
    row("PATCH /users/me/subscriptions", &[("delete", r#"["square"]"#)], All),
    row(
        "POST /users/me/subscriptions/properties",
        &[("subscription_data", r#"[{"stream_id": {square}, "property": "pin_to_top", "value": true}]"#)],
        All,
    ),
    row("PATCH /users/me/subscriptions/{square}", &[("property", "pin_to_top"), ("value", "true")], All),
    row("GET /users/{me}/subscriptions/{square}", &[], All),
    row("PATCH /users/me/subscriptions/muted_topics", &MUTED_TOPIC, All),
    row("POST /user_topics", &[IN_SQUARE[0], IN_SQUARE[1], ("visibility_policy", "1")], All),
];

const MUTED_TOPIC: [(&str, &str); 3] = [IN_SQUARE[0], IN_SQUARE[1], ("op", "add")];
