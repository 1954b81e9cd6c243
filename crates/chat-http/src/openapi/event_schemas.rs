//! The events, each kind with its members.
//!
//! A kind is a `type` and, where there is one, an `op`. The document has a schema for each, `Event.message` and
//! `Event.reaction.add`, and `Event`, which is any of them.
//!
//! # Source
//! Specification, the events of each operation; the rest as existing clients know it.

use super::schemas::{channel, integers, integers_or_null, message_members, switches, texts, user as user_members};
use crate::schema::{Member, Schema, has, may};

/// A kind of event: its type, its operation, and what it has beside those and its number.
type EventKind = (&'static str, Option<&'static str>, Vec<Member>);

/// Returns the schemas of all kinds by their names, and `Event`.
pub(super) fn all() -> Vec<(String, Schema)> {
    let mut named: Vec<_> = kinds().map(named_schema).collect();
    let any = Schema::any_of(named.iter().map(|(name, _)| Schema::named(name)));
    let meaning = "What happened. `type` and, where there is one, `op` say which of these it is.";
    named.push(("Event".to_owned(), any.meaning(meaning)));
    named
}

fn named_schema((kind, op, members): EventKind) -> (String, Schema) {
    let first = integers(["id"]).chain([has("type", Schema::words([kind]))]);
    let op_schema = op.map(|op| has("op", Schema::words([op])));
    let name = ["Event", kind].into_iter().chain(op).collect::<Vec<_>>().join(".");
    (name, Schema::object(first.chain(op_schema).chain(members)))
}

fn kinds() -> impl Iterator<Item = EventKind> {
    messages()
        .into_iter()
        .chain(drafts_and_files())
        .chain(own_choices())
        .chain(saved_snippets())
        .chain(navigation_views())
        .chain(people())
        .chain(groups())
        .chain(channels())
        .chain(organization())
}

fn messages() -> [EventKind; 13] {
    let reaction = || {
        let user = Schema::object(integers(["user_id"]).chain(texts(["email", "full_name"])).chain(switches([MIRROR])));
        let members = integers(["message_id", "user_id"]).chain(texts(["emoji_name", "emoji_code", "reaction_type"]));
        members.chain([has("user", user)]).collect()
    };
    let flagged = |op| {
        let members =
            [has("flag", Schema::string()), has("operation", Schema::words([op])), has("messages", numbers())];
        members.into_iter().chain(switches(["all"]))
    };
    let local = may("local_message_id", Schema::string().meaning("What the queue that sent it called it."));
    let said = [has("message", Schema::object(message_members())), flags(), local];
    let submessage = integers(["message_id", "submessage_id", "sender_id"]).chain(texts(["msg_type", "content"]));
    let unread = may("message_details", Schema::map(unread()).meaning("Of those that are unread again."));
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

fn numbers() -> Schema {
    Schema::list(Schema::integer())
}

fn flags() -> Member {
    has("flags", Schema::list(Schema::string()).meaning("The reader's flags of the message."))
}

/// A text comes with what it was before, a move with where it was before.
fn edited() -> Vec<Member> {
    let links = Schema::list(Schema::object(texts(["text", "url"])));
    let optional = ["stream_name", "orig_content", "orig_rendered_content", "content", "rendered_content"];
    let moved = ["propagate_mode", "orig_subject", "subject"];
    let optional = optional.into_iter().chain(moved).map(|key| may(key, Schema::string()));
    let numbers_of = ["stream_id", "new_stream_id", "prev_rendered_content_version"];
    [has("user_id", Schema::integer().or_null()), has("message_ids", numbers()), flags()]
        .into_iter()
        .chain(switches(["rendering_only"]))
        .chain(integers(["message_id", "edit_timestamp"]))
        .chain(optional)
        .chain(numbers_of.map(|key| may(key, Schema::integer())))
        .chain([may("is_me_message", Schema::boolean()), may("topic_links", links)])
        .collect()
}

/// One message, or all at once for clients that know `bulk_message_deletion`.
fn deleted() -> Vec<Member> {
    let kind = has("message_type", Schema::words(["stream", "private"]));
    let each = [may("message_id", Schema::integer()), may("message_ids", numbers())];
    let place = [may("stream_id", Schema::integer()), may("topic", Schema::string())];
    [kind].into_iter().chain(each).chain(place).collect()
}

fn unread() -> Schema {
    Schema::object([
        has("type", Schema::words(["stream", "private"])),
        may("mentioned", Schema::boolean()),
        may("stream_id", Schema::integer()),
        may("topic", Schema::string()),
        may("unmuted_stream_msg", Schema::boolean()),
        may("user_ids", numbers().meaning("The others of the conversation.")),
    ])
}

fn typing() -> Vec<Member> {
    let user = || Schema::object(integers(["user_id"]).chain(texts(["email"])));
    vec![
        has("message_type", Schema::words(["direct", "stream"])),
        has("sender", user()),
        may("recipients", Schema::list(user())),
        may("stream_id", Schema::integer()),
        may("topic", Schema::string()),
    ]
}

fn typing_edit() -> Vec<Member> {
    let recipient = Schema::object([
        has("type", Schema::words(["channel", "direct"])),
        may("channel_id", Schema::integer()),
        may("topic", Schema::string()),
        may("user_ids", numbers()),
    ]);
    integers(["sender_id", "message_id"]).chain([has("recipient", recipient)]).collect()
}

fn drafts_and_files() -> [EventKind; 9] {
    let used = || has("upload_space_used", Schema::integer().meaning("Bytes, of all files of the organization."));
    let file = || vec![has("attachment", Schema::named("Attachment")), used()];
    let list = |key, of| vec![has(key, Schema::list(Schema::named(of)))];
    let gone = vec![has("attachment", Schema::object(integers(["id"]))), used()];
    [
        ("attachment", Some("add"), file()),
        ("attachment", Some("update"), file()),
        ("attachment", Some("remove"), gone),
        ("drafts", Some("add"), list("drafts", "Draft")),
        ("drafts", Some("update"), vec![has("draft", Schema::named("Draft"))]),
        ("drafts", Some("remove"), integers(["draft_id"]).collect()),
        ("scheduled_messages", Some("add"), list("scheduled_messages", "ScheduledMessage")),
        ("scheduled_messages", Some("update"), vec![has("scheduled_message", Schema::named("ScheduledMessage"))]),
        ("scheduled_messages", Some("remove"), integers(["scheduled_message_id"]).collect()),
    ]
}

/// Returns the events of a user's own settings, for their own clients.
fn own_choices() -> [EventKind; 7] {
    let language = || may("language_name", Schema::string().meaning("Of `default_language`."));
    let value = |key| has(key, Schema::any().meaning("What the preference is now."));
    let older = |name| texts(["user", name]).chain([value("setting"), language()]).collect();
    let muted = Schema::object(integers(["id", "timestamp"]));
    let place = Schema::any_of([Schema::string(), Schema::integer()]);
    let muted_topic = Schema::list(place).meaning("Channel, topic, and since when.");
    let topic = integers(["stream_id", "last_updated", "visibility_policy"]).chain(texts(["topic_name"]));
    [
        ("alert_words", None, vec![has("alert_words", Schema::list(Schema::string()))]),
        ("user_settings", Some("update"), texts(["property"]).chain([value("value"), language()]).collect()),
        ("update_display_settings", None, older("setting_name")),
        ("update_global_notifications", None, older("notification_name")),
        ("user_topic", None, topic.collect()),
        ("muted_topics", None, vec![has("muted_topics", Schema::list(muted_topic))]),
        ("muted_users", None, vec![has("muted_users", Schema::list(muted))]),
    ]
}

fn saved_snippets() -> [EventKind; 3] {
    let snippet = || vec![has("saved_snippet", Schema::named("SavedSnippet"))];
    [
        ("saved_snippets", Some("add"), snippet()),
        ("saved_snippets", Some("update"), snippet()),
        ("saved_snippets", Some("remove"), integers(["saved_snippet_id"]).collect()),
    ]
}

fn navigation_views() -> [EventKind; 3] {
    let data = Schema::object([may("is_pinned", Schema::boolean()), may("name", Schema::string())]);
    [
        ("navigation_view", Some("add"), vec![has("navigation_view", Schema::named("NavigationView"))]),
        ("navigation_view", Some("update"), texts(["fragment"]).chain([has("data", data)]).collect()),
        ("navigation_view", Some("remove"), texts(["fragment"]).collect()),
    ]
}

fn people() -> [EventKind; 7] {
    let website = integers(["timestamp"]).chain(texts(["client"])).chain(switches(["pushable"]));
    let website = Schema::object(website.chain([has("status", Schema::words(["active", "idle"]))]));
    let times = Schema::object(integers(["active_timestamp", "idle_timestamp"]));
    let simplified = "By the numbers of users; alone, for clients that declare `simplified_presence_events`.";
    let presence = [
        may("user_id", Schema::integer()),
        may("email", Schema::string()),
        may("server_timestamp", Schema::any().with("type", "number").meaning("Unix seconds.")),
        may("presence", Schema::object([has("website", website)])),
        may("presences", Schema::map(times).meaning(simplified)),
    ];
    let status = ["status_text", "emoji_name", "emoji_code", "reaction_type"].map(|key| may(key, Schema::string()));
    let status = integers(["user_id"]).chain(status).chain([may("away", Schema::boolean())]);
    [
        ("realm_user", Some("add"), vec![has("person", Schema::object(user_members()))]),
        ("realm_user", Some("update"), vec![has("person", person())]),
        ("realm_bot", Some("add"), vec![has("bot", bot())]),
        ("realm_bot", Some("update"), vec![has("bot", bot_change())]),
        ("realm_bot", Some("delete"), vec![has("bot", Schema::object(integers(["user_id"])))]),
        ("user_status", None, status.collect()),
        ("presence", None, presence.into()),
    ]
}

/// Returns what became different about a person.
fn person() -> Schema {
    let answer = [
        has("id", Schema::integer()),
        has("value", Schema::string().or_null().meaning("Null when there is none any more.")),
        may("rendered_value", Schema::string()),
    ];
    let texts = ["email", "new_email", "full_name", "timezone", "avatar_source"].map(|key| may(key, Schema::string()));
    let texts_or_null = ["delivery_email", "avatar_url", "avatar_url_medium"];
    let numbers = ["role", "avatar_version"].map(|key| may(key, Schema::integer()));
    let more = [
        may("is_active", Schema::boolean()),
        may("bot_owner_id", Schema::integer().or_null()),
        may("custom_profile_field", Schema::object(answer)),
    ];
    let texts_or_null = texts_or_null.map(|key| may(key, Schema::string().or_null()));
    Schema::object(integers(["user_id"]).chain(texts).chain(texts_or_null).chain(numbers).chain(more))
}

fn bot() -> Schema {
    let channel = ["default_sending_stream", "default_events_register_stream"];
    Schema::object(
        integers(["user_id"])
            .chain(integers_or_null(["bot_type", "owner_id"]))
            .chain(texts(["full_name", "email"]))
            .chain(switches(["is_active", "default_all_public_streams"]))
            .chain(channel.map(|key| has(key, Schema::string().or_null())))
            .chain([has("avatar_url", Schema::string().or_null()), has("services", Schema::list(Schema::any()))]),
    )
}

fn bot_change() -> Schema {
    let more = [
        may("full_name", Schema::string()),
        may("is_active", Schema::boolean()),
        may("owner_id", Schema::integer().or_null()),
    ];
    Schema::object(integers(["user_id"]).chain(more))
}

fn groups() -> [EventKind; 7] {
    let of = |key: &'static str| integers(["group_id"]).chain([has(key, numbers())]).collect();
    let changed = Schema::object([
        may("name", Schema::string()),
        may("description", Schema::string()),
        may("can_mention_group", Schema::named("Permission")),
        may("deactivated", Schema::boolean()),
    ]);
    [
        ("user_group", Some("add"), vec![has("group", Schema::named("UserGroup"))]),
        ("user_group", Some("update"), integers(["group_id"]).chain([has("data", changed)]).collect()),
        ("user_group", Some("add_members"), of("user_ids")),
        ("user_group", Some("remove_members"), of("user_ids")),
        ("user_group", Some("add_subgroups"), of("direct_subgroup_ids")),
        ("user_group", Some("remove_subgroups"), of("direct_subgroup_ids")),
        ("user_group", Some("remove"), integers(["group_id"]).collect()),
    ]
}

fn channels() -> [EventKind; 9] {
    let all = || vec![has("streams", Schema::list(Schema::object(channel())))];
    let value = || has("value", Schema::any().meaning("What the property is now."));
    let with_it = [
        may("rendered_description", Schema::string()),
        may("history_public_to_subscribers", Schema::boolean()),
        may("is_web_public", Schema::boolean()),
    ];
    let changed = integers(["stream_id"]).chain(texts(["name", "property"])).chain([value()]).chain(with_it);
    let left = Schema::object(integers(["stream_id"]).chain(texts(["name"])));
    let peers = || vec![has("stream_ids", numbers()), has("user_ids", numbers())];
    let chosen = integers(["stream_id"]).chain(texts(["property"])).chain([value()]);
    [
        ("stream", Some("create"), all()),
        ("stream", Some("delete"), all().into_iter().chain([has("stream_ids", numbers())]).collect()),
        ("stream", Some("update"), changed.collect()),
        ("subscription", Some("add"), vec![has("subscriptions", Schema::list(Schema::named("Subscription")))]),
        ("subscription", Some("remove"), vec![has("subscriptions", Schema::list(left))]),
        ("subscription", Some("update"), chosen.collect()),
        ("subscription", Some("peer_add"), peers()),
        ("subscription", Some("peer_remove"), peers()),
        ("default_streams", None, vec![has("default_streams", Schema::list(Schema::object(channel())))]),
    ]
}

fn organization() -> [EventKind; 14] {
    let value = || has("value", Schema::any().meaning("What the property is now."));
    let data = Schema::map(Schema::any()).meaning("Properties of the organization, by their names.");
    let domain = || {
        let members = texts(["domain"]).chain(switches(["allow_subdomains"]));
        vec![has("realm_domain", Schema::object(members))]
    };
    let playground = Schema::object(integers(["id"]).chain(texts(["name", "pygments_language", "url_template"])));
    let list = |key, of| vec![has(key, Schema::list(of))];
    [
        ("realm", Some("update"), texts(["property"]).chain([value()]).collect()),
        ("realm", Some("update_dict"), texts(["property"]).chain([has("data", data)]).collect()),
        ("realm_emoji", Some("update"), vec![has("realm_emoji", Schema::map(Schema::named("CustomEmoji")))]),
        ("realm_linkifiers", None, list("realm_linkifiers", Schema::named("Linkifier"))),
        ("realm_playgrounds", None, list("realm_playgrounds", playground)),
        ("realm_domains", Some("add"), domain()),
        ("realm_domains", Some("change"), domain()),
        ("realm_domains", Some("remove"), texts(["domain"]).collect()),
        ("realm_user_settings_defaults", Some("update"), texts(["property"]).chain([value()]).collect()),
        ("custom_profile_fields", None, list("fields", Schema::named("ProfileField"))),
        ("invites_changed", None, Vec::new()),
        ("realm_export", None, list("exports", Schema::named("DataExport"))),
        ("realm_export_consent", None, integers(["user_id"]).chain(switches(["consented"])).collect()),
        ("restart", None, crate::restart::members()),
    ]
}
