//! The events, each kind with its members.
//!
//! A kind is a `type` and, where there is one, an `op`. The document has a schema for each, `Event.message` and
//! `Event.reaction.add`, and `Event`, which is any of them.
//!
//! # Source
//! Specification, the events of each operation; the rest as existing clients know it.

use super::schemas::{channel, integers, integers_or_null, message_members, switches, texts, user as user_members};
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};

/// A kind of event: its type, its operation, and what it has beside those and its number.
type EventKind = (&'static str, Option<&'static str>, Vec<SchemaMember>);

/// Returns the schemas of all kinds by their names, and `Event`.
pub(super) fn all() -> Vec<(String, JsonSchema)> {
    let mut named: Vec<_> = kinds().map(named_schema).collect();
    let any = JsonSchema::any_of(named.iter().map(|(name, _)| JsonSchema::reference_to(name)));
    let meaning = "What happened. `type` and, where there is one, `op` say which of these it is.";
    named.push(("Event".to_owned(), any.with_description(meaning)));
    named
}

fn named_schema((kind, op, members): EventKind) -> (String, JsonSchema) {
    let first = integers(["id"]).chain([required_schema_member("type", JsonSchema::one_of_words([kind]))]);
    let op_schema = op.map(|op| required_schema_member("op", JsonSchema::one_of_words([op])));
    let name = ["Event", kind].into_iter().chain(op).collect::<Vec<_>>().join(".");
    (name, JsonSchema::object(first.chain(op_schema).chain(members)))
}

fn kinds() -> impl Iterator<Item = EventKind> {
    messages()
        .into_iter()
        .chain(drafts_and_files())
        .chain(own_choices())
        .chain(saved_snippets())
        .chain(navigation_views())
        .chain(channel_folders())
        .chain(people())
        .chain(groups())
        .chain(channels())
        .chain(organization())
}

fn messages() -> [EventKind; 13] {
    let reaction = || {
        let user =
            JsonSchema::object(integers(["user_id"]).chain(texts(["email", "full_name"])).chain(switches([MIRROR])));
        let members = integers(["message_id", "user_id"]).chain(texts(["emoji_name", "emoji_code", "reaction_type"]));
        members.chain([required_schema_member("user", user)]).collect()
    };
    let flagged = |op| {
        let members = [
            required_schema_member("flag", JsonSchema::string()),
            required_schema_member("operation", JsonSchema::one_of_words([op])),
            required_schema_member("messages", numbers()),
        ];
        members.into_iter().chain(switches(["all"]))
    };
    let local = optional_schema_member(
        "local_message_id",
        JsonSchema::string().with_description("What the queue that sent it called it."),
    );
    let said = [required_schema_member("message", JsonSchema::object(message_members())), flags(), local];
    let submessage = integers(["message_id", "submessage_id", "sender_id"]).chain(texts(["msg_type", "content"]));
    let unread = optional_schema_member(
        "message_details",
        JsonSchema::map(unread()).with_description("Of those that are unread again."),
    );
    [
        ("message", None, said.into()),
        ("update_message", None, edited()),
        ("delete_message", None, deleted()),
        ("update_message_flags", Some("add"), flagged("add").collect()),
        ("update_message_flags", Some("remove"), flagged("remove").chain([unread]).collect()),
        ("reaction", Some("add"), reaction()),
        ("reaction", Some("remove"), reaction()),
        ("submessage", None, submessage.collect()),
        ("typing", Some("start"), typing()),
        ("typing", Some("stop"), typing()),
        ("typing_edit_message", Some("start"), typing_edit()),
        ("typing_edit_message", Some("stop"), typing_edit()),
        ("heartbeat", None, Vec::new()),
    ]
}

/// Kept for existing clients.
const MIRROR: &str = "is_mirror_dummy";

fn numbers() -> JsonSchema {
    JsonSchema::list(JsonSchema::integer())
}

fn flags() -> SchemaMember {
    required_schema_member(
        "flags",
        JsonSchema::list(JsonSchema::string()).with_description("The reader's flags of the message."),
    )
}

/// A text comes with what it was before, a move with where it was before.
fn edited() -> Vec<SchemaMember> {
    let links = JsonSchema::list(JsonSchema::object(texts(["text", "url"])));
    let optional = ["stream_name", "orig_content", "orig_rendered_content", "content", "rendered_content"];
    let moved = ["propagate_mode", "orig_subject", "subject"];
    let optional = optional.into_iter().chain(moved).map(|key| optional_schema_member(key, JsonSchema::string()));
    let numbers_of = ["stream_id", "new_stream_id", "prev_rendered_content_version"];
    [
        required_schema_member("user_id", JsonSchema::integer().nullable()),
        required_schema_member("message_ids", numbers()),
        flags(),
    ]
    .into_iter()
    .chain(switches(["rendering_only"]))
    .chain(integers(["message_id", "edit_timestamp"]))
    .chain(optional)
    .chain(numbers_of.map(|key| optional_schema_member(key, JsonSchema::integer())))
    .chain([
        optional_schema_member("is_me_message", JsonSchema::boolean()),
        optional_schema_member("topic_links", links),
    ])
    .collect()
}

/// One message, or all at once for clients that know `bulk_message_deletion`.
fn deleted() -> Vec<SchemaMember> {
    let kind = required_schema_member("message_type", JsonSchema::one_of_words(["stream", "private"]));
    let each =
        [optional_schema_member("message_id", JsonSchema::integer()), optional_schema_member("message_ids", numbers())];
    let place = [
        optional_schema_member("stream_id", JsonSchema::integer()),
        optional_schema_member("topic", JsonSchema::string()),
    ];
    [kind].into_iter().chain(each).chain(place).collect()
}

fn unread() -> JsonSchema {
    JsonSchema::object([
        required_schema_member("type", JsonSchema::one_of_words(["stream", "private"])),
        optional_schema_member("mentioned", JsonSchema::boolean()),
        optional_schema_member("stream_id", JsonSchema::integer()),
        optional_schema_member("topic", JsonSchema::string()),
        optional_schema_member("unmuted_stream_msg", JsonSchema::boolean()),
        optional_schema_member("user_ids", numbers().with_description("The others of the conversation.")),
    ])
}

fn typing() -> Vec<SchemaMember> {
    let user = || JsonSchema::object(integers(["user_id"]).chain(texts(["email"])));
    vec![
        required_schema_member("message_type", JsonSchema::one_of_words(["direct", "stream"])),
        required_schema_member("sender", user()),
        optional_schema_member("recipients", JsonSchema::list(user())),
        optional_schema_member("stream_id", JsonSchema::integer()),
        optional_schema_member("topic", JsonSchema::string()),
    ]
}

fn typing_edit() -> Vec<SchemaMember> {
    let recipient = JsonSchema::object([
        required_schema_member("type", JsonSchema::one_of_words(["channel", "direct"])),
        optional_schema_member("channel_id", JsonSchema::integer()),
        optional_schema_member("topic", JsonSchema::string()),
        optional_schema_member("user_ids", numbers()),
    ]);
    integers(["sender_id", "message_id"]).chain([required_schema_member("recipient", recipient)]).collect()
}

fn drafts_and_files() -> [EventKind; 11] {
    let used = || {
        required_schema_member(
            "upload_space_used",
            JsonSchema::integer().with_description("Bytes, of all files of the organization."),
        )
    };
    let file = || vec![required_schema_member("attachment", JsonSchema::reference_to("Attachment")), used()];
    let list = |key, of| vec![required_schema_member(key, JsonSchema::list(JsonSchema::reference_to(of)))];
    let gone = vec![required_schema_member("attachment", JsonSchema::object(integers(["id"]))), used()];
    [
        ("attachment", Some("add"), file()),
        ("attachment", Some("update"), file()),
        ("attachment", Some("remove"), gone),
        ("drafts", Some("add"), list("drafts", "Draft")),
        ("drafts", Some("update"), vec![required_schema_member("draft", JsonSchema::reference_to("Draft"))]),
        ("drafts", Some("remove"), integers(["draft_id"]).collect()),
        ("reminders", Some("add"), list("reminders", "Reminder")),
        ("reminders", Some("remove"), integers(["reminder_id"]).collect()),
        ("scheduled_messages", Some("add"), list("scheduled_messages", "ScheduledMessage")),
        (
            "scheduled_messages",
            Some("update"),
            vec![required_schema_member("scheduled_message", JsonSchema::reference_to("ScheduledMessage"))],
        ),
        ("scheduled_messages", Some("remove"), integers(["scheduled_message_id"]).collect()),
    ]
}

/// Returns the events of a user's own settings, for their own clients.
fn own_choices() -> [EventKind; 7] {
    let language =
        || optional_schema_member("language_name", JsonSchema::string().with_description("Of `default_language`."));
    let value = |key| required_schema_member(key, JsonSchema::any().with_description("What the preference is now."));
    let older = |name| texts(["user", name]).chain([value("setting"), language()]).collect();
    let muted = JsonSchema::object(integers(["id", "timestamp"]));
    let place = JsonSchema::any_of([JsonSchema::string(), JsonSchema::integer()]);
    let muted_topic = JsonSchema::list(place).with_description("Channel, topic, and since when.");
    let topic = integers(["stream_id", "last_updated", "visibility_policy"]).chain(texts(["topic_name"]));
    [
        ("alert_words", None, vec![required_schema_member("alert_words", JsonSchema::list(JsonSchema::string()))]),
        ("user_settings", Some("update"), texts(["property"]).chain([value("value"), language()]).collect()),
        ("update_display_settings", None, older("setting_name")),
        ("update_global_notifications", None, older("notification_name")),
        ("user_topic", None, topic.collect()),
        ("muted_topics", None, vec![required_schema_member("muted_topics", JsonSchema::list(muted_topic))]),
        ("muted_users", None, vec![required_schema_member("muted_users", JsonSchema::list(muted))]),
    ]
}

fn saved_snippets() -> [EventKind; 3] {
    let snippet = || vec![required_schema_member("saved_snippet", JsonSchema::reference_to("SavedSnippet"))];
    [
        ("saved_snippets", Some("add"), snippet()),
        ("saved_snippets", Some("update"), snippet()),
        ("saved_snippets", Some("remove"), integers(["saved_snippet_id"]).collect()),
    ]
}

fn channel_folders() -> [EventKind; 3] {
    let data = JsonSchema::object([
        optional_schema_member("name", JsonSchema::string()),
        optional_schema_member("description", JsonSchema::string()),
        optional_schema_member("rendered_description", JsonSchema::string()),
        optional_schema_member("is_archived", JsonSchema::boolean()),
    ]);
    let folder = required_schema_member("channel_folder", JsonSchema::reference_to("ChannelFolder"));
    let order = required_schema_member("order", JsonSchema::list(JsonSchema::integer()));
    [
        ("channel_folder", Some("add"), vec![folder]),
        (
            "channel_folder",
            Some("update"),
            integers(["channel_folder_id"]).chain([required_schema_member("data", data)]).collect(),
        ),
        ("channel_folder", Some("reorder"), vec![order]),
    ]
}

fn navigation_views() -> [EventKind; 3] {
    let data = JsonSchema::object([
        optional_schema_member("is_pinned", JsonSchema::boolean()),
        optional_schema_member("name", JsonSchema::string()),
    ]);
    [
        (
            "navigation_view",
            Some("add"),
            vec![required_schema_member("navigation_view", JsonSchema::reference_to("NavigationView"))],
        ),
        (
            "navigation_view",
            Some("update"),
            texts(["fragment"]).chain([required_schema_member("data", data)]).collect(),
        ),
        ("navigation_view", Some("remove"), texts(["fragment"]).collect()),
    ]
}

fn people() -> [EventKind; 7] {
    let website = integers(["timestamp"]).chain(texts(["client"])).chain(switches(["pushable"]));
    let website = JsonSchema::object(
        website.chain([required_schema_member("status", JsonSchema::one_of_words(["active", "idle"]))]),
    );
    let times = JsonSchema::object(integers(["active_timestamp", "idle_timestamp"]));
    let simplified = "By the numbers of users; alone, for clients that declare `simplified_presence_events`.";
    let presence = [
        optional_schema_member("user_id", JsonSchema::integer()),
        optional_schema_member("email", JsonSchema::string()),
        optional_schema_member(
            "server_timestamp",
            JsonSchema::any().with_keyword("type", "number").with_description("Unix seconds."),
        ),
        optional_schema_member("presence", JsonSchema::object([required_schema_member("website", website)])),
        optional_schema_member("presences", JsonSchema::map(times).with_description(simplified)),
    ];
    let status = ["status_text", "emoji_name", "emoji_code", "reaction_type"]
        .map(|key| optional_schema_member(key, JsonSchema::string()));
    let status = integers(["user_id"]).chain(status).chain([optional_schema_member("away", JsonSchema::boolean())]);
    [
        ("realm_user", Some("add"), vec![required_schema_member("person", JsonSchema::object(user_members()))]),
        ("realm_user", Some("update"), vec![required_schema_member("person", person())]),
        ("realm_bot", Some("add"), vec![required_schema_member("bot", bot())]),
        ("realm_bot", Some("update"), vec![required_schema_member("bot", bot_change())]),
        ("realm_bot", Some("delete"), vec![required_schema_member("bot", JsonSchema::object(integers(["user_id"])))]),
        ("user_status", None, status.collect()),
        ("presence", None, presence.into()),
    ]
}

/// Returns what became different about a person.
fn person() -> JsonSchema {
    let answer = [
        required_schema_member("id", JsonSchema::integer()),
        required_schema_member(
            "value",
            JsonSchema::string().nullable().with_description("Null when there is none any more."),
        ),
        optional_schema_member("rendered_value", JsonSchema::string()),
    ];
    let texts = ["email", "new_email", "full_name", "timezone", "avatar_source"]
        .map(|key| optional_schema_member(key, JsonSchema::string()));
    let texts_or_null = ["delivery_email", "avatar_url", "avatar_url_medium"];
    let numbers = ["role", "avatar_version"].map(|key| optional_schema_member(key, JsonSchema::integer()));
    let more = [
        optional_schema_member("is_active", JsonSchema::boolean()),
        optional_schema_member("bot_owner_id", JsonSchema::integer().nullable()),
        optional_schema_member("custom_profile_field", JsonSchema::object(answer)),
    ];
    let texts_or_null = texts_or_null.map(|key| optional_schema_member(key, JsonSchema::string().nullable()));
    JsonSchema::object(integers(["user_id"]).chain(texts).chain(texts_or_null).chain(numbers).chain(more))
}

fn bot() -> JsonSchema {
    let channel = ["default_sending_stream", "default_events_register_stream"];
    JsonSchema::object(
        integers(["user_id"])
            .chain(integers_or_null(["bot_type", "owner_id"]))
            .chain(texts(["full_name", "email"]))
            .chain(switches(["is_active", "default_all_public_streams"]))
            .chain(channel.map(|key| required_schema_member(key, JsonSchema::string().nullable())))
            .chain([
                required_schema_member("avatar_url", JsonSchema::string().nullable()),
                required_schema_member("services", JsonSchema::list(JsonSchema::any())),
            ]),
    )
}

fn bot_change() -> JsonSchema {
    let more = [
        optional_schema_member("full_name", JsonSchema::string()),
        optional_schema_member("is_active", JsonSchema::boolean()),
        optional_schema_member("owner_id", JsonSchema::integer().nullable()),
    ];
    JsonSchema::object(integers(["user_id"]).chain(more))
}

fn groups() -> [EventKind; 7] {
    let of = |key: &'static str| integers(["group_id"]).chain([required_schema_member(key, numbers())]).collect();
    let changed = JsonSchema::object([
        optional_schema_member("name", JsonSchema::string()),
        optional_schema_member("description", JsonSchema::string()),
        optional_schema_member("can_mention_group", JsonSchema::reference_to("Permission")),
        optional_schema_member("deactivated", JsonSchema::boolean()),
    ]);
    [
        ("user_group", Some("add"), vec![required_schema_member("group", JsonSchema::reference_to("UserGroup"))]),
        (
            "user_group",
            Some("update"),
            integers(["group_id"]).chain([required_schema_member("data", changed)]).collect(),
        ),
        ("user_group", Some("add_members"), of("user_ids")),
        ("user_group", Some("remove_members"), of("user_ids")),
        ("user_group", Some("add_subgroups"), of("direct_subgroup_ids")),
        ("user_group", Some("remove_subgroups"), of("direct_subgroup_ids")),
        ("user_group", Some("remove"), integers(["group_id"]).collect()),
    ]
}

fn channels() -> [EventKind; 9] {
    let all = || vec![required_schema_member("streams", JsonSchema::list(JsonSchema::object(channel())))];
    let value = || required_schema_member("value", JsonSchema::any().with_description("What the property is now."));
    let with_it = [
        optional_schema_member("rendered_description", JsonSchema::string()),
        optional_schema_member("history_public_to_subscribers", JsonSchema::boolean()),
        optional_schema_member("is_web_public", JsonSchema::boolean()),
    ];
    let changed = integers(["stream_id"]).chain(texts(["name", "property"])).chain([value()]).chain(with_it);
    let left = JsonSchema::object(integers(["stream_id"]).chain(texts(["name"])));
    let peers = || vec![required_schema_member("stream_ids", numbers()), required_schema_member("user_ids", numbers())];
    let chosen = integers(["stream_id"]).chain(texts(["property"])).chain([value()]);
    [
        ("stream", Some("create"), all()),
        (
            "stream",
            Some("delete"),
            all().into_iter().chain([required_schema_member("stream_ids", numbers())]).collect(),
        ),
        ("stream", Some("update"), changed.collect()),
        (
            "subscription",
            Some("add"),
            vec![required_schema_member("subscriptions", JsonSchema::list(JsonSchema::reference_to("Subscription")))],
        ),
        ("subscription", Some("remove"), vec![required_schema_member("subscriptions", JsonSchema::list(left))]),
        ("subscription", Some("update"), chosen.collect()),
        ("subscription", Some("peer_add"), peers()),
        ("subscription", Some("peer_remove"), peers()),
        (
            "default_streams",
            None,
            vec![required_schema_member("default_streams", JsonSchema::list(JsonSchema::object(channel())))],
        ),
    ]
}

fn organization() -> [EventKind; 14] {
    let value = || required_schema_member("value", JsonSchema::any().with_description("What the property is now."));
    let data = JsonSchema::map(JsonSchema::any()).with_description("Properties of the organization, by their names.");
    let domain = || {
        let members = texts(["domain"]).chain(switches(["allow_subdomains"]));
        vec![required_schema_member("realm_domain", JsonSchema::object(members))]
    };
    let playground = JsonSchema::object(integers(["id"]).chain(texts(["name", "pygments_language", "url_template"])));
    let list = |key, of| vec![required_schema_member(key, JsonSchema::list(of))];
    [
        ("realm", Some("update"), texts(["property"]).chain([value()]).collect()),
        ("realm", Some("update_dict"), texts(["property"]).chain([required_schema_member("data", data)]).collect()),
        (
            "realm_emoji",
            Some("update"),
            vec![required_schema_member("realm_emoji", JsonSchema::map(JsonSchema::reference_to("CustomEmoji")))],
        ),
        ("realm_linkifiers", None, list("realm_linkifiers", JsonSchema::reference_to("Linkifier"))),
        ("realm_playgrounds", None, list("realm_playgrounds", playground)),
        ("realm_domains", Some("add"), domain()),
        ("realm_domains", Some("change"), domain()),
        ("realm_domains", Some("remove"), texts(["domain"]).collect()),
        ("realm_user_settings_defaults", Some("update"), texts(["property"]).chain([value()]).collect()),
        ("custom_profile_fields", None, list("fields", JsonSchema::reference_to("ProfileField"))),
        ("invites_changed", None, Vec::new()),
        ("realm_export", None, list("exports", JsonSchema::reference_to("DataExport"))),
        ("realm_export_consent", None, integers(["user_id"]).chain(switches(["consented"])).collect()),
        ("restart", None, crate::restart::members()),
    ]
}
