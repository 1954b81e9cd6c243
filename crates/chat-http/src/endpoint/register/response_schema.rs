//! What a registration answers.

use chat_core::wire::settings::SETTINGS;

use super::initial::realm;
use crate::endpoint::server_settings;
use crate::openapi::schemas::preference;
use crate::schema::{Member, Schema, has, may};

/// Returns which members there are besides the first three depends on the types that are fetched.
pub(super) fn all() -> Vec<Member> {
    let queue = [
        has("queue_id", Schema::string()),
        has("last_event_id", Schema::integer()),
        has("event_queue_longpoll_timeout_seconds", Schema::integer()),
    ];
    let older = SETTINGS.iter().map(|(name, _, preset)| may(name, preference(*preset)));
    let texts = TEXTS.map(|key| may(key, Schema::string()));
    let switches = SWITCHES.iter().chain(&realm::ON).chain(&realm::OFF).map(|key| may(key, Schema::boolean()));
    let numbers = NUMBERS.map(|key| may(key, Schema::integer()));
    let numbers_or_null = NUMBERS_OR_NULL.map(|key| may(key, Schema::integer().or_null()));
    let texts_or_null = TEXTS_OR_NULL.map(|key| may(key, Schema::string().or_null()));
    let lists = LISTS.map(|(key, of)| may(key, Schema::list(Schema::named(of))));
    let nothing = EMPTY.map(|key| may(key, Schema::list(Schema::any()).with("maxItems", 0)));
    let of_anything = MAPS.map(|key| may(key, Schema::map(Schema::any())));
    queue
        .into_iter()
        .chain(server_settings::version_schema())
        .chain(older)
        .chain(texts)
        .chain(switches)
        .chain(numbers)
        .chain(numbers_or_null)
        .chain(texts_or_null)
        .chain(lists)
        .chain(nothing)
        .chain(of_anything)
        .chain(further())
        .collect()
}

const TEXTS: [&str; 22] = [
    "jitsi_server_url",
    "realm_name",
    "realm_description",
    "realm_url",
    "realm_uri",
    "realm_icon_url",
    "realm_icon_source",
    "realm_logo_url",
    "realm_logo_source",
    "realm_night_logo_url",
    "realm_night_logo_source",
    "realm_bot_domain",
    "realm_default_language",
    "realm_default_code_block_language",
    "server_emoji_data_url",
    "upgrade_text_for_wide_organization_logo",
    "email",
    "delivery_email",
    "full_name",
    "avatar_source",
    "avatar_url",
    "avatar_url_medium",
];

const TEXTS_OR_NULL: [&str; 3] = ["navigation_tour_video_url", "realm_jitsi_server_url", "server_jitsi_server_url"];

/// Beside those that never change.
const SWITCHES: [&str; 17] = [
    "realm_disallow_disposable_email_addresses",
    "realm_emails_restricted_to_domains",
    "realm_push_notifications_enabled",
    "realm_allow_message_editing",
    "realm_mandatory_topics",
    "is_owner",
    "is_admin",
    "is_moderator",
    "is_guest",
    "is_billing_admin",
    "can_create_streams",
    "can_create_public_streams",
    "can_create_private_streams",
    "can_create_web_public_streams",
    "can_subscribe_other_users",
    "can_invite_others_to_realm",
    "has_zoom_token",
];

const NUMBERS: [&str; 42] = [
    "user_id",
    "max_message_id",
    "max_stream_name_length",
    "max_stream_description_length",
    "max_topic_length",
    "max_message_length",
    "max_file_upload_size_mib",
    "max_avatar_file_size_mib",
    "max_icon_file_size_mib",
    "max_logo_file_size_mib",
    "password_min_length",
    "password_max_length",
    "password_min_guesses",
    "presence_last_update_id",
    "realm_date_created",
    "realm_org_type",
    "realm_plan_type",
    "realm_waiting_period_threshold",
    "realm_message_retention_days",
    "realm_digest_weekday",
    "realm_giphy_rating",
    "realm_video_chat_provider",
    "realm_new_stream_announcements_stream_id",
    "realm_signup_announcements_stream_id",
    "realm_create_public_stream_policy",
    "realm_create_private_stream_policy",
    "realm_create_web_public_stream_policy",
    "realm_invite_to_stream_policy",
    "realm_invite_to_realm_policy",
    "realm_add_custom_emoji_policy",
    "realm_user_group_edit_policy",
    "realm_bot_creation_policy",
    "realm_delete_own_message_policy",
    "realm_edit_topic_policy",
    "realm_move_messages_between_streams_policy",
    "realm_wildcard_mention_policy",
    "server_generation",
    "server_presence_ping_interval_seconds",
    "server_presence_offline_threshold_seconds",
    "server_typing_started_expiry_period_milliseconds",
    "server_typing_stopped_wait_period_milliseconds",
    "server_typing_started_wait_period_milliseconds",
];

const NUMBERS_OR_NULL: [&str; 12] = [
    "realm_message_content_edit_limit_seconds",
    "realm_message_content_delete_limit_seconds",
    "realm_move_messages_within_stream_limit_seconds",
    "realm_move_messages_between_streams_limit_seconds",
    "realm_upload_quota_mib",
    "realm_push_notifications_enabled_end_timestamp",
    "realm_create_multiuse_invite_group",
    "realm_can_access_all_users_group",
    "realm_can_create_public_channel_group",
    "realm_can_create_private_channel_group",
    "realm_direct_message_initiator_group",
    "realm_direct_message_permission_group",
];

/// Lists of objects that have names.
const LISTS: [(&str, &str); 13] = [
    ("streams", "Channel"),
    ("realm_default_streams", "Channel"),
    ("subscriptions", "Subscription"),
    ("unsubscribed", "Subscription"),
    ("never_subscribed", "Channel"),
    ("realm_users", "User"),
    ("realm_non_active_users", "User"),
    ("realm_user_groups", "UserGroup"),
    ("drafts", "Draft"),
    ("scheduled_messages", "ScheduledMessage"),
    ("custom_profile_fields", "ProfileField"),
    ("navigation_views", "NavigationView"),
    ("saved_snippets", "SavedSnippet"),
];

/// Lists that are empty, because there are no such things.
const EMPTY: [&str; 7] = [
    "cross_realm_bots",
    "realm_default_stream_groups",
    "onboarding_steps",
    "realm_embedded_bots",
    "realm_filters",
    "realm_incoming_webhook_bots",
    "stop_words",
];

/// Objects of choices.
const MAPS: [&str; 5] = [
    "realm_authentication_methods",
    "realm_available_video_chat_providers",
    "giphy_rating_options",
    "realm_default_external_accounts",
    "custom_profile_field_types",
];

/// Returns what has a shape of its own.
fn further() -> Vec<Member> {
    let integers = || Schema::list(Schema::integer());
    let number = |key| has(key, Schema::integer());
    let text = |key| has(key, Schema::string());
    let triple = Schema::list(Schema::any_of([Schema::string(), Schema::integer()]));
    let conversation = Schema::object([has("user_ids", integers()), number("max_message_id")]);
    let domain = Schema::object([text("domain"), has("allow_subdomains", Schema::boolean())]);
    let playground = ["name", "pygments_language", "url_template"].map(text).into_iter().chain([number("id")]);
    let topic = ["stream_id", "last_updated", "visibility_policy"].map(number).into_iter().chain([text("topic_name")]);
    let thumbnail = ["max_width", "max_height"].map(number).into_iter().chain(["name", "format"].map(text));
    let thumbnail = thumbnail.chain([has("animated", Schema::boolean())]);
    let set = Schema::object([text("key"), text("text")]);
    let permissions = ["realm", "stream", "group"].map(|of| has(of, Schema::map(permission())));
    vec![
        may("alert_words", Schema::list(Schema::string())),
        may("available_notification_sounds", Schema::list(Schema::string())),
        may("emojiset_choices", Schema::list(set)),
        may("giphy_api_key", Schema::string()),
        may("muted_topics", Schema::list(triple.meaning("A channel's name, a topic, and since when."))),
        may("muted_users", Schema::list(Schema::object([number("id"), number("timestamp")]))),
        may("presences", Schema::map(Schema::named("Presence"))),
        may("push_devices", Schema::map(Schema::any()).with("maxProperties", 0)),
        may("realm_billing", Schema::object([has("has_pending_sponsorship_request", Schema::boolean())])),
        may("realm_bots", Schema::list(bot())),
        may("realm_domains", Schema::list(domain)),
        may("realm_emoji", Schema::map(Schema::named("CustomEmoji"))),
        may("realm_linkifiers", Schema::list(Schema::named("Linkifier"))),
        may("realm_playgrounds", Schema::list(Schema::object(playground))),
        may("realm_user_settings_defaults", Schema::named("Preferences")),
        may("recent_private_conversations", Schema::list(conversation)),
        may("server_supported_permission_settings", Schema::object(permissions)),
        may("server_thumbnail_formats", Schema::list(Schema::object(thumbnail))),
        may("server_timestamp", Schema::any().with("type", "number")),
        may("starred_messages", integers()),
        may("timezone", Schema::string()),
        may("unread_msgs", unread()),
        may("user_settings", Schema::named("Preferences")),
        may("user_status", Schema::map(Schema::named("Status"))),
        may("user_topics", Schema::list(Schema::object(topic))),
    ]
}

/// Returns the groups that a permission can be given to.
fn permission() -> Schema {
    let switches = [
        "require_system_group",
        "allow_internet_group",
        "allow_owners_group",
        "allow_nobody_group",
        "allow_everyone_group",
    ];
    let switches = switches.map(|key| has(key, Schema::boolean()));
    let texts = ["default_group_name", "id_field_name"].map(|key| has(key, Schema::string()));
    let more = [
        has("default_for_system_groups", Schema::string().or_null()),
        has("allowed_system_groups", Schema::list(Schema::string()).meaning("When not empty, no other group is.")),
    ];
    Schema::object(switches.into_iter().chain(texts).chain(more))
}

/// A bot as those who keep it see it.
fn bot() -> Schema {
    let number = |key| has(key, Schema::integer());
    Schema::object([
        number("user_id"),
        has("full_name", Schema::string()),
        has("email", Schema::string()),
        number("bot_type"),
        has("is_active", Schema::boolean()),
        has("avatar_url", Schema::string()),
        has("owner_id", Schema::integer().or_null()),
        has("default_sending_stream", Schema::string().or_null()),
        has("default_events_register_stream", Schema::string().or_null()),
        has("default_all_public_streams", Schema::boolean()),
        has("services", Schema::list(Schema::any())),
    ])
}

/// Unread messages, by where they are.
fn unread() -> Schema {
    let number = |key| has(key, Schema::integer());
    let ids = || has("unread_message_ids", Schema::list(Schema::integer()));
    let direct = Schema::object([number("other_user_id"), number("sender_id"), ids()]);
    let group = Schema::object([has("user_ids_string", Schema::string()), ids()]);
    let topic = Schema::object([number("stream_id"), has("topic", Schema::string()), ids()]);
    Schema::object([
        number("count"),
        has("pms", Schema::list(direct)),
        has("huddles", Schema::list(group)),
        has("streams", Schema::list(topic)),
        has("mentions", Schema::list(Schema::integer())),
        has("old_unreads_missing", Schema::boolean()),
    ])
}
