//! The objects that more than one answer has.

use chat_core::model::message::{Flag, flag_names};
use chat_core::wire::settings::{SETTINGS, UserSettingDefaults};
use serde_json::{Map, Value};

use super::{error_schema, event_schemas};
use crate::schema::{Member, Schema, has, may};

/// All of them, by their names.
pub(super) fn all() -> Map<String, Value> {
    let named: [(&str, Schema); 21] = [
        ("Attachment", attachment()),
        ("Channel", Schema::object(channel())),
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
        ("ScheduledMessage", scheduled_message()),
        ("Status", status()),
        ("Subscription", Schema::object(subscription())),
        ("Permission", permission()),
        ("User", Schema::object(user())),
        ("UserGroup", user_group()),
    ];
    let named = named.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    named.chain(event_schemas::all()).map(|(name, schema)| (name, schema.into())).collect()
}

pub(super) fn integers<const N: usize>(keys: [&'static str; N]) -> impl Iterator<Item = Member> {
    keys.into_iter().map(|key| has(key, Schema::integer()))
}

pub(super) fn texts<const N: usize>(keys: [&'static str; N]) -> impl Iterator<Item = Member> {
    keys.into_iter().map(|key| has(key, Schema::string()))
}

pub(super) fn switches<const N: usize>(keys: [&'static str; N]) -> impl Iterator<Item = Member> {
    keys.into_iter().map(|key| has(key, Schema::boolean()))
}

pub(super) fn integers_or_null<const N: usize>(keys: [&'static str; N]) -> impl Iterator<Item = Member> {
    keys.into_iter().map(|key| has(key, Schema::integer().or_null()))
}

fn attachment() -> Schema {
    let message = Schema::object(integers(["id", "date_sent"]));
    let more = [has("messages", Schema::list(message).meaning("Those that use it."))];
    Schema::object(integers(["id", "size", "create_time"]).chain(texts(["name", "path_id"])).chain(more))
}

pub(super) fn channel() -> Vec<Member> {
    integers(["stream_id", "date_created", "stream_post_policy", "can_remove_subscribers_group"])
        .chain(texts(["name", "description", "rendered_description"]))
        .chain(switches([
            "invite_only",
            "is_web_public",
            "is_announcement_only",
            "history_public_to_subscribers",
            "is_archived",
        ]))
        .chain(integers_or_null(["creator_id", "first_message_id", "message_retention_days", "stream_weekly_traffic"]))
        .chain([
            may("is_default", Schema::boolean()),
            may("subscribers", Schema::list(Schema::integer()).meaning("Who is in it, where that was asked for.")),
        ])
        .collect()
}

/// Returns the members of a channel with what its reader chose for it.
fn subscription() -> Vec<Member> {
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
        .chain(texts(["color", "email_address"]))
        .chain(switches(["is_muted", "in_home_view", "pin_to_top"]))
        .chain(notifications.map(|key| has(key, Schema::boolean().or_null().meaning(follows))))
        .collect()
}

fn custom_emoji() -> Schema {
    Schema::object(
        texts(["id", "name", "source_url"]).chain(switches(["deactivated"])).chain(integers(["author_id"])).chain([
            has("still_url", Schema::string().or_null().meaning("The first picture, of an emoji that moves.")),
        ]),
    )
}

fn draft() -> Schema {
    let kind = Schema::words(["", "stream", "private"]);
    let to = Schema::list(Schema::integer());
    let more = [has("type", kind), has("to", to)];
    Schema::object(integers(["id", "timestamp"]).chain(texts(["topic", "content"])).chain(more))
}

fn invitation() -> Schema {
    let more = [
        has("expiry_date", Schema::integer().or_null()),
        may("email", Schema::string().meaning("Who is invited, unless it is a link.")),
        may("link_url", Schema::string()),
    ];
    let numbers = integers(["id", "invited_by_user_id", "invited", "invited_as"]);
    Schema::object(numbers.chain(switches(["is_multiuse", "notify_referrer_on_join"])).chain(more))
}

fn data_export() -> Schema {
    let when = |key, meaning: &str| has(key, Schema::integer().or_null().meaning(meaning));
    let more = [
        when("failed_timestamp", "When it failed; null unless it did."),
        when("deleted_timestamp", "When its archive was deleted; null unless it was."),
        has("export_url", Schema::string().or_null().meaning("Where administrators download the archive.")),
        has("export_type", Schema::numbers([1, 2]).meaning("1 public data, 2 full with consent.")),
    ];
    let of_all = integers(["id", "acting_user_id", "export_time"]).chain(switches(["pending"]));
    Schema::object(of_all.chain(more))
}

fn linkifier() -> Schema {
    Schema::object(integers(["id"]).chain(texts(["pattern", "url_template"])))
}

fn message() -> Schema {
    let flags = [Flag::Read, Flag::Starred, Flag::Collapsed, Flag::Mentioned, Flag::HasAlertWord, Flag::Historical];
    let named = flag_names(&flags).chain(MORE_FLAGS);
    Schema::object(message_members().into_iter().chain([has("flags", Schema::list(Schema::words(named)))]))
}

/// Returns the members of a message but for the reader's flags, which events have beside it.
pub(super) fn message_members() -> Vec<Member> {
    let user =
        Schema::object(integers(["id"]).chain(texts(["email", "full_name"])).chain(switches(["is_mirror_dummy"])));
    let place = Schema::any_of([Schema::string().meaning("The name of the channel."), Schema::list(user)]);
    let submessage = Schema::object(integers(["id", "message_id", "sender_id"]).chain(texts(["msg_type", "content"])));
    let numbers = integers(["id", "sender_id", "recipient_id", "timestamp"]);
    let words = ["client", "subject", "sender_full_name", "sender_email", "sender_realm_str", "content"];
    let more = [
        has("content_type", Schema::words(["text/html", "text/x-markdown"])),
        has("avatar_url", Schema::string().or_null()),
        has("display_recipient", place),
        has("type", Schema::words(["stream", "private"])),
        has("reactions", Schema::list(Schema::named("Reaction"))),
        has("submessages", Schema::list(submessage)),
        has("topic_links", Schema::list(Schema::object(texts(["text", "url"])))),
        may("stream_id", Schema::integer()),
        may("last_edit_timestamp", Schema::integer()),
        may("last_moved_timestamp", Schema::integer()),
        may("edit_history", Schema::list(past())),
        may("match_content", Schema::string()),
        may("match_subject", Schema::string()),
    ];
    numbers.chain(texts(words)).chain(switches(["is_me_message"])).chain(more).collect()
}

/// The names of mentions of everybody.
const MORE_FLAGS: [&str; 3] = ["wildcard_mentioned", "stream_wildcard_mentioned", "topic_wildcard_mentioned"];

/// An earlier state of a message.
fn past() -> Schema {
    Schema::object([
        has("timestamp", Schema::integer()),
        has("user_id", Schema::integer().or_null()),
        may("prev_content", Schema::string()),
        may("prev_rendered_content", Schema::string()),
        may("prev_stream", Schema::integer()),
        may("stream", Schema::integer()),
        may("prev_topic", Schema::string()),
        may("topic", Schema::string()),
    ])
}

/// Returns the preferences of a user, by their names.
fn preferences() -> Schema {
    let of = |(name, _, preset): &(&'static str, _, UserSettingDefaults)| has(name, preference(*preset));
    let set = Schema::object(texts(["key", "text"]));
    let more = [
        may("timezone", Schema::string()),
        has("available_notification_sounds", Schema::list(Schema::string())),
        has("emojiset_choices", Schema::list(set)),
    ];
    Schema::object(SETTINGS.iter().map(of).chain(more))
}

/// Returns what a preference can be.
pub(crate) fn preference(preset: UserSettingDefaults) -> Schema {
    match preset {
        UserSettingDefaults::Flag(_) => Schema::boolean(),
        UserSettingDefaults::Number(_) => Schema::integer(),
        UserSettingDefaults::Word(_) => Schema::string(),
    }
}

fn presence() -> Schema {
    let times = Schema::object(integers(["active_timestamp", "idle_timestamp"]));
    let status = || has("status", Schema::words(["active", "idle"]));
    let of_client = Schema::object(integers(["timestamp"]).chain(texts(["client"])).chain([status()]));
    let pushable = integers(["timestamp"]).chain(texts(["client"])).chain(switches(["pushable"]));
    let website = Schema::object(pushable.chain([status()]));
    let older = Schema::object([has("aggregated", of_client), has("website", website)]);
    Schema::any_of([times.meaning("The short form."), older.meaning("The older form.")])
}

fn profile_field() -> Schema {
    let more = [
        has("type", Schema::integer().at_least(1).at_most(8)),
        may("field_data", Schema::string().meaning("JSON, or empty.")),
        may("display_in_profile_summary", Schema::boolean()),
    ];
    Schema::object(
        integers(["id", "order"])
            .chain(texts(["name", "hint"]))
            .chain(switches(["required", "editable_by_user"]))
            .chain(more),
    )
}

fn reaction() -> Schema {
    let user = Schema::object(integers(["id"]).chain(texts(["email", "full_name"]))).or_null();
    let kind = Schema::words(["unicode_emoji", "realm_emoji", "zulip_extra_emoji"]);
    let more = [has("reaction_type", kind), has("user", user)];
    Schema::object(integers(["user_id"]).chain(texts(["emoji_name", "emoji_code"])).chain(more))
}

fn scheduled_message() -> Schema {
    let to = Schema::any_of([Schema::integer().meaning("A channel."), Schema::list(Schema::integer())]);
    let more = [
        has("type", Schema::words(["stream", "private"])),
        has("to", to),
        may("topic", Schema::string()),
        has("failed", Schema::boolean().meaning("Whether it was due and could not be sent.")),
    ];
    let numbers = integers(["scheduled_message_id", "scheduled_delivery_timestamp"]);
    Schema::object(numbers.chain(texts(["content", "rendered_content"])).chain(more))
}

fn saved_snippet() -> Schema {
    Schema::object(integers(["id", "date_created"]).chain(texts(["title", "content"])))
}

fn navigation_view() -> Schema {
    let name = Schema::string().or_null().meaning("Null for a view that every client has.");
    Schema::object(texts(["fragment"]).chain(switches(["is_pinned"])).chain([has("name", name)]))
}

fn status() -> Schema {
    let texts = ["status_text", "emoji_name", "emoji_code", "reaction_type"].map(|key| may(key, Schema::string()));
    Schema::object(texts.into_iter().chain([may("away", Schema::boolean())]))
}

/// Who may do something.
fn permission() -> Schema {
    let list = || Schema::list(Schema::integer());
    let named = Schema::object([has("direct_members", list()), has("direct_subgroups", list())]);
    Schema::any_of([Schema::integer().meaning("The members of a group."), named])
}

/// Returns the members of a user.
pub(crate) fn user() -> Vec<Member> {
    let answer = Schema::object([has("value", Schema::string()), may("rendered_value", Schema::string())]);
    let more = [
        has("delivery_email", Schema::string().or_null().meaning("Null where the reader is not shown it.")),
        has("avatar_url", Schema::string().or_null()),
        may("is_active", Schema::boolean()),
        may("profile_data", Schema::map(answer).meaning("Answers, by the numbers of the profile fields.")),
    ];
    integers(["user_id", "role", "avatar_version"])
        .chain(texts(["email", "full_name", "date_joined", "timezone"]))
        .chain(switches(["is_owner", "is_admin", "is_guest", "is_billing_admin", "is_bot"]))
        .chain(integers_or_null(["bot_type", "bot_owner_id"]))
        .chain(more)
        .collect()
}

fn user_group() -> Schema {
    let list = || Schema::list(Schema::integer());
    let more = [
        has("members", list()),
        has("direct_subgroup_ids", list()),
        has("can_mention_group", Schema::named("Permission")),
    ];
    let switches = switches(["is_system_group", "deactivated"]);
    let origin = integers_or_null(["creator_id", "date_created"]);
    Schema::object(integers(["id"]).chain(texts(["name", "description"])).chain(switches).chain(origin).chain(more))
}
