//! The objects that more than one answer has.

use chat_core::model::message::{MessageFlag, wire_flag_names};
use chat_core::wire_format::user_settings::{USER_SETTINGS, UserSettingDefault};
use serde_json::{Map, Value};

use super::{error_schema, event_schemas};
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};

/// All of them, by their names.
pub(super) fn all() -> Map<String, Value> {
    let named: [(&str, JsonSchema); 23] = [
        ("Attachment", attachment()),
        ("Channel", JsonSchema::object(channel())),
        ("ChannelFolder", channel_folder()),
        ("CustomEmoji", custom_emoji()),
        ("DataExport", data_export()),
        ("Draft", draft()),
        ("Invitation", invitation()),
        ("Linkifier", linkifier()),
        ("Message", message()),
        ("NavigationView", navigation_view()),
        ("Preferences", preferences()),
        ("Presence", presence()),
        ("ProfileField", profile_field()),
        ("Reaction", reaction()),
        ("Refusal", error_schema()),
        ("SavedSnippet", saved_snippet()),
        ("Reminder", reminder()),
        ("ScheduledMessage", scheduled_message()),
        ("Status", status()),
        ("Subscription", JsonSchema::object(subscription())),
        ("Permission", permission()),
        ("User", JsonSchema::object(user())),
        ("UserGroup", user_group()),
    ];
    let named = named.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    named.chain(event_schemas::all()).map(|(name, schema)| (name, schema.into())).collect()
}

pub(super) fn integers<const N: usize>(keys: [&'static str; N]) -> impl Iterator<Item = SchemaMember> {
    keys.into_iter().map(|key| required_schema_member(key, JsonSchema::integer()))
}

pub(super) fn texts<const N: usize>(keys: [&'static str; N]) -> impl Iterator<Item = SchemaMember> {
    keys.into_iter().map(|key| required_schema_member(key, JsonSchema::string()))
}

pub(super) fn switches<const N: usize>(keys: [&'static str; N]) -> impl Iterator<Item = SchemaMember> {
    keys.into_iter().map(|key| required_schema_member(key, JsonSchema::boolean()))
}

pub(super) fn integers_or_null<const N: usize>(keys: [&'static str; N]) -> impl Iterator<Item = SchemaMember> {
    keys.into_iter().map(|key| required_schema_member(key, JsonSchema::integer().nullable()))
}

fn attachment() -> JsonSchema {
    let message = JsonSchema::object(integers(["id", "date_sent"]));
    let more = [required_schema_member("messages", JsonSchema::list(message).with_description("Those that use it."))];
    JsonSchema::object(integers(["id", "size", "create_time"]).chain(texts(["name", "path_id"])).chain(more))
}

pub(super) fn channel() -> Vec<SchemaMember> {
    integers(["stream_id", "date_created", "stream_post_policy", "can_remove_subscribers_group", "subscriber_count"])
        .chain(texts(["name", "description", "rendered_description"]))
        .chain(switches([
            "invite_only",
            "is_web_public",
            "is_announcement_only",
            "history_public_to_subscribers",
            "is_archived",
            "is_recently_active",
        ]))
        .chain(integers_or_null([
            "creator_id",
            "first_message_id",
            "message_retention_days",
            "stream_weekly_traffic",
            "folder_id",
        ]))
        .chain([
            optional_schema_member("is_default", JsonSchema::boolean()),
            optional_schema_member(
                "subscribers",
                JsonSchema::list(JsonSchema::integer()).with_description("Who is in it, where that was asked for."),
            ),
        ])
        .collect()
}

fn channel_folder() -> JsonSchema {
    let members = integers(["id", "order", "date_created"])
        .chain(texts(["name", "description", "rendered_description"]))
        .chain(integers_or_null(["creator_id"]))
        .chain(switches(["is_archived"]));
    JsonSchema::object(members)
}

/// Returns the members of a channel with what its reader chose for it.
fn subscription() -> Vec<SchemaMember> {
    let notifications = [
        "desktop_notifications",
        "audible_notifications",
        "push_notifications",
        "email_notifications",
        "wildcard_mentions_notify",
    ];
    let follows = "Null is as the reader's preferences say.";
    channel()
        .into_iter()
        .chain(texts(["color"]))
        .chain([optional_schema_member(
            "email_address",
            JsonSchema::string().with_description("Empty, and only for clients that declare no capabilities."),
        )])
        .chain(switches(["is_muted", "in_home_view", "pin_to_top"]))
        .chain(
            notifications
                .map(|key| required_schema_member(key, JsonSchema::boolean().nullable().with_description(follows))),
        )
        .collect()
}

fn custom_emoji() -> JsonSchema {
    JsonSchema::object(
        texts(["id", "name", "source_url"]).chain(switches(["deactivated"])).chain(integers(["author_id"])).chain([
            required_schema_member(
                "still_url",
                JsonSchema::string().nullable().with_description("The first picture, of an emoji that moves."),
            ),
        ]),
    )
}

fn draft() -> JsonSchema {
    let kind = JsonSchema::one_of_words(["", "stream", "private"]);
    let to = JsonSchema::list(JsonSchema::integer());
    let more = [required_schema_member("type", kind), required_schema_member("to", to)];
    JsonSchema::object(integers(["id", "timestamp"]).chain(texts(["topic", "content"])).chain(more))
}

fn invitation() -> JsonSchema {
    let more = [
        required_schema_member("expiry_date", JsonSchema::integer().nullable()),
        optional_schema_member("email", JsonSchema::string().with_description("Who is invited, unless it is a link.")),
        optional_schema_member("link_url", JsonSchema::string()),
    ];
    let numbers = integers(["id", "invited_by_user_id", "invited", "invited_as"]);
    JsonSchema::object(numbers.chain(switches(["is_multiuse", "notify_referrer_on_join"])).chain(more))
}

fn data_export() -> JsonSchema {
    let when =
        |key, meaning: &str| required_schema_member(key, JsonSchema::integer().nullable().with_description(meaning));
    let more = [
        when("failed_timestamp", "When it failed; null unless it did."),
        when("deleted_timestamp", "When its archive was deleted; null unless it was."),
        required_schema_member(
            "export_url",
            JsonSchema::string().nullable().with_description("Where administrators download the archive."),
        ),
        required_schema_member(
            "export_type",
            JsonSchema::one_of_numbers([1, 2]).with_description("1 public data, 2 full with consent."),
        ),
    ];
    let of_all = integers(["id", "acting_user_id", "export_time"]).chain(switches(["pending"]));
    JsonSchema::object(of_all.chain(more))
}

fn linkifier() -> JsonSchema {
    JsonSchema::object(integers(["id"]).chain(texts(["pattern", "url_template"])))
}

fn message() -> JsonSchema {
    let flags = [
        MessageFlag::Read,
        MessageFlag::Starred,
        MessageFlag::Collapsed,
        MessageFlag::Mentioned,
        MessageFlag::HasAlertWord,
        MessageFlag::Historical,
    ];
    let named = wire_flag_names(&flags).chain(MORE_FLAGS);
    JsonSchema::object(
        message_members()
            .into_iter()
            .chain([required_schema_member("flags", JsonSchema::list(JsonSchema::one_of_words(named)))]),
    )
}

/// Returns the members of a message but for the reader's flags, which events have beside it.
pub(super) fn message_members() -> Vec<SchemaMember> {
    let user =
        JsonSchema::object(integers(["id"]).chain(texts(["email", "full_name"])).chain(switches(["is_mirror_dummy"])));
    let place =
        JsonSchema::any_of([JsonSchema::string().with_description("The name of the channel."), JsonSchema::list(user)]);
    let submessage =
        JsonSchema::object(integers(["id", "message_id", "sender_id"]).chain(texts(["msg_type", "content"])));
    let numbers = integers(["id", "sender_id", "recipient_id", "timestamp"]);
    let words = ["client", "subject", "sender_full_name", "sender_email", "sender_realm_str", "content"];
    let more = [
        required_schema_member("content_type", JsonSchema::one_of_words(["text/html", "text/x-markdown"])),
        required_schema_member("avatar_url", JsonSchema::string().nullable()),
        required_schema_member("display_recipient", place),
        required_schema_member("type", JsonSchema::one_of_words(["stream", "private"])),
        required_schema_member("reactions", JsonSchema::list(JsonSchema::reference_to("Reaction"))),
        required_schema_member("submessages", JsonSchema::list(submessage)),
        required_schema_member("topic_links", JsonSchema::list(JsonSchema::object(texts(["text", "url"])))),
        optional_schema_member("stream_id", JsonSchema::integer()),
        optional_schema_member("last_edit_timestamp", JsonSchema::integer()),
        optional_schema_member("last_moved_timestamp", JsonSchema::integer()),
        optional_schema_member("edit_history", JsonSchema::list(past())),
        optional_schema_member("match_content", JsonSchema::string()),
        optional_schema_member("match_subject", JsonSchema::string()),
    ];
    numbers.chain(texts(words)).chain(switches(["is_me_message"])).chain(more).collect()
}

/// The names of mentions of everybody.
const MORE_FLAGS: [&str; 3] = ["wildcard_mentioned", "stream_wildcard_mentioned", "topic_wildcard_mentioned"];

/// An earlier state of a message.
fn past() -> JsonSchema {
    JsonSchema::object([
        required_schema_member("timestamp", JsonSchema::integer()),
        required_schema_member("user_id", JsonSchema::integer().nullable()),
        optional_schema_member("prev_content", JsonSchema::string()),
        optional_schema_member("prev_rendered_content", JsonSchema::string()),
        optional_schema_member("prev_stream", JsonSchema::integer()),
        optional_schema_member("stream", JsonSchema::integer()),
        optional_schema_member("prev_topic", JsonSchema::string()),
        optional_schema_member("topic", JsonSchema::string()),
    ])
}

/// Returns the preferences of a user, by their names.
fn preferences() -> JsonSchema {
    let of =
        |(name, _, preset): &(&'static str, _, UserSettingDefault)| required_schema_member(name, preference(*preset));
    let set = JsonSchema::object(texts(["key", "text"]));
    let more = [
        optional_schema_member("timezone", JsonSchema::string()),
        required_schema_member("available_notification_sounds", JsonSchema::list(JsonSchema::string())),
        required_schema_member("emojiset_choices", JsonSchema::list(set)),
    ];
    JsonSchema::object(USER_SETTINGS.iter().map(of).chain(more))
}

/// Returns what a preference can be.
pub(crate) fn preference(preset: UserSettingDefault) -> JsonSchema {
    match preset {
        UserSettingDefault::Flag(_) => JsonSchema::boolean(),
        UserSettingDefault::Number(_) => JsonSchema::integer(),
        UserSettingDefault::Word(_) => JsonSchema::string(),
    }
}

fn presence() -> JsonSchema {
    let times = JsonSchema::object(integers(["active_timestamp", "idle_timestamp"]));
    let status = || required_schema_member("status", JsonSchema::one_of_words(["active", "idle"]));
    let of_client = JsonSchema::object(integers(["timestamp"]).chain(texts(["client"])).chain([status()]));
    let pushable = integers(["timestamp"]).chain(texts(["client"])).chain(switches(["pushable"]));
    let website = JsonSchema::object(pushable.chain([status()]));
    let older = JsonSchema::object([
        required_schema_member("aggregated", of_client),
        required_schema_member("website", website),
    ]);
    JsonSchema::any_of([times.with_description("The short form."), older.with_description("The older form.")])
}

fn profile_field() -> JsonSchema {
    let more = [
        required_schema_member("type", JsonSchema::integer().with_minimum(1).with_maximum(8)),
        optional_schema_member("field_data", JsonSchema::string().with_description("JSON, or empty.")),
        optional_schema_member("display_in_profile_summary", JsonSchema::boolean()),
    ];
    JsonSchema::object(
        integers(["id", "order"])
            .chain(texts(["name", "hint"]))
            .chain(switches(["required", "editable_by_user"]))
            .chain(more),
    )
}

fn reaction() -> JsonSchema {
    let user = JsonSchema::object(integers(["id"]).chain(texts(["email", "full_name"]))).nullable();
    let kind = JsonSchema::one_of_words(["unicode_emoji", "realm_emoji", "zulip_extra_emoji"]);
    let more = [required_schema_member("reaction_type", kind), required_schema_member("user", user)];
    JsonSchema::object(integers(["user_id"]).chain(texts(["emoji_name", "emoji_code"])).chain(more))
}

fn scheduled_message() -> JsonSchema {
    let to = JsonSchema::any_of([
        JsonSchema::integer().with_description("A channel."),
        JsonSchema::list(JsonSchema::integer()),
    ]);
    let more = [
        required_schema_member("type", JsonSchema::one_of_words(["stream", "private"])),
        required_schema_member("to", to),
        optional_schema_member("topic", JsonSchema::string()),
        required_schema_member(
            "failed",
            JsonSchema::boolean().with_description("Whether it was due and could not be sent."),
        ),
    ];
    let numbers = integers(["scheduled_message_id", "scheduled_delivery_timestamp"]);
    JsonSchema::object(numbers.chain(texts(["content", "rendered_content"])).chain(more))
}

fn reminder() -> JsonSchema {
    let more = [
        required_schema_member("type", JsonSchema::one_of_words(["private"])),
        required_schema_member("to", JsonSchema::list(JsonSchema::integer())),
        required_schema_member("failed", JsonSchema::boolean()),
    ];
    let numbers = integers(["reminder_id", "scheduled_delivery_timestamp", "reminder_target_message_id"]);
    JsonSchema::object(numbers.chain(texts(["content", "rendered_content"])).chain(more))
}

fn saved_snippet() -> JsonSchema {
    JsonSchema::object(integers(["id", "date_created"]).chain(texts(["title", "content"])))
}

fn navigation_view() -> JsonSchema {
    let name = JsonSchema::string().nullable().with_description("Null for a view that every client has.");
    JsonSchema::object(texts(["fragment"]).chain(switches(["is_pinned"])).chain([required_schema_member("name", name)]))
}

fn status() -> JsonSchema {
    let texts = ["status_text", "emoji_name", "emoji_code", "reaction_type"]
        .map(|key| optional_schema_member(key, JsonSchema::string()));
    JsonSchema::object(texts.into_iter().chain([optional_schema_member("away", JsonSchema::boolean())]))
}

/// Who may do something.
fn permission() -> JsonSchema {
    let list = || JsonSchema::list(JsonSchema::integer());
    let named = JsonSchema::object([
        required_schema_member("direct_members", list()),
        required_schema_member("direct_subgroups", list()),
    ]);
    JsonSchema::any_of([JsonSchema::integer().with_description("The members of a group."), named])
}

/// Returns the members of a user.
pub(crate) fn user() -> Vec<SchemaMember> {
    let answer = JsonSchema::object([
        required_schema_member("value", JsonSchema::string()),
        optional_schema_member("rendered_value", JsonSchema::string()),
    ]);
    let more = [
        required_schema_member(
            "delivery_email",
            JsonSchema::string().nullable().with_description("Null where the reader is not shown it."),
        ),
        required_schema_member("avatar_url", JsonSchema::string().nullable()),
        optional_schema_member("is_active", JsonSchema::boolean()),
        optional_schema_member(
            "is_system_bot",
            JsonSchema::boolean().with_description("True for the bots of the server itself; others do not have it."),
        ),
        optional_schema_member(
            "profile_data",
            JsonSchema::map(answer).with_description("Answers, by the numbers of the profile fields."),
        ),
    ];
    integers(["user_id", "role", "avatar_version"])
        .chain(texts(["email", "full_name", "date_joined", "timezone"]))
        .chain(switches(["is_owner", "is_admin", "is_guest", "is_billing_admin", "is_bot"]))
        .chain(integers_or_null(["bot_type", "bot_owner_id"]))
        .chain(more)
        .collect()
}

fn user_group() -> JsonSchema {
    let list = || JsonSchema::list(JsonSchema::integer());
    let more = [
        required_schema_member("members", list()),
        required_schema_member("direct_subgroup_ids", list()),
        required_schema_member("can_mention_group", JsonSchema::reference_to("Permission")),
    ];
    let switches = switches(["is_system_group", "deactivated"]);
    let origin = integers_or_null(["creator_id", "date_created"]);
    JsonSchema::object(integers(["id"]).chain(texts(["name", "description"])).chain(switches).chain(origin).chain(more))
}
