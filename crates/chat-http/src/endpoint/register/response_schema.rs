//! What a registration answers.

use chat_core::wire_format::user_settings::USER_SETTINGS;

use super::initial::realm;
use crate::endpoint::server_settings;
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};
use crate::openapi::schemas::preference;

/// Returns which members there are besides the first three depends on the types that are fetched.
pub(super) fn all() -> Vec<SchemaMember> {
    let queue = [
        required_schema_member("queue_id", JsonSchema::string()),
        required_schema_member("last_event_id", JsonSchema::integer()),
        required_schema_member("event_queue_longpoll_timeout_seconds", JsonSchema::integer()),
    ];
    let older = USER_SETTINGS.iter().map(|(name, _, preset)| optional_schema_member(name, preference(*preset)));
    let texts = TEXTS.map(|key| optional_schema_member(key, JsonSchema::string()));
    let switches = SWITCHES
        .iter()
        .chain(&realm::ON)
        .chain(&realm::OFF)
        .map(|key| optional_schema_member(key, JsonSchema::boolean()));
    let numbers = NUMBERS.map(|key| optional_schema_member(key, JsonSchema::integer()));
    let numbers_or_null = NUMBERS_OR_NULL.map(|key| optional_schema_member(key, JsonSchema::integer().nullable()));
    let texts_or_null = TEXTS_OR_NULL.map(|key| optional_schema_member(key, JsonSchema::string().nullable()));
    let groups = GROUP_SETTINGS.map(|key| optional_schema_member(key, JsonSchema::reference_to("Permission")));
    let lists = LISTS.map(|(key, of)| optional_schema_member(key, JsonSchema::list(JsonSchema::reference_to(of))));
    let nothing =
        EMPTY.map(|key| optional_schema_member(key, JsonSchema::list(JsonSchema::any()).with_keyword("maxItems", 0)));
    let of_anything = MAPS.map(|key| optional_schema_member(key, JsonSchema::map(JsonSchema::any())));
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
        .chain(groups)
        .chain(further())
        .collect()
}

const TEXTS: [&str; 23] = [
    "realm_message_edit_history_visibility_policy",
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
const SWITCHES: [&str; 19] = [
    "realm_require_e2ee_push_notifications",
    "realm_allow_edit_history",
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

const NUMBERS: [&str; 47] = [
    "user_id",
    "max_message_id",
    "max_stream_name_length",
    "max_stream_description_length",
    "max_channel_folder_name_length",
    "max_channel_folder_description_length",
    "max_bulk_new_subscription_messages",
    "max_reminder_note_length",
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
    "realm_moderation_request_channel_id",
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

const NUMBERS_OR_NULL: [&str; 6] = [
    "realm_message_content_edit_limit_seconds",
    "realm_message_content_delete_limit_seconds",
    "realm_move_messages_within_stream_limit_seconds",
    "realm_move_messages_between_streams_limit_seconds",
    "realm_upload_quota_mib",
    "realm_push_notifications_enabled_end_timestamp",
];

/// The groups that have permissions.
const GROUP_SETTINGS: [&str; 24] = [
    "realm_can_create_public_channel_group",
    "realm_can_create_private_channel_group",
    "realm_can_create_web_public_channel_group",
    "realm_direct_message_permission_group",
    "realm_direct_message_initiator_group",
    "realm_can_delete_any_message_group",
    "realm_can_delete_own_message_group",
    "realm_can_create_groups",
    "realm_can_manage_all_groups",
    "realm_can_add_custom_emoji_group",
    "realm_can_move_messages_between_channels_group",
    "realm_create_multiuse_invite_group",
    "realm_can_move_messages_between_topics_group",
    "realm_can_invite_users_group",
    "realm_can_add_subscribers_group",
    "realm_can_create_bots_group",
    "realm_can_create_write_only_bots_group",
    "realm_can_summarize_topics_group",
    "realm_can_mention_many_users_group",
    "realm_can_manage_billing_group",
    "realm_can_resolve_topics_group",
    "realm_can_set_topics_policy_group",
    "realm_can_set_delete_message_policy_group",
    "realm_can_access_all_users_group",
];

/// Lists of objects that have names.
const LISTS: [(&str, &str); 16] = [
    ("streams", "Channel"),
    ("realm_default_streams", "Channel"),
    ("subscriptions", "Subscription"),
    ("unsubscribed", "Subscription"),
    ("never_subscribed", "Channel"),
    ("realm_users", "User"),
    ("realm_non_active_users", "User"),
    ("cross_realm_bots", "User"),
    ("realm_user_groups", "UserGroup"),
    ("drafts", "Draft"),
    ("reminders", "Reminder"),
    ("scheduled_messages", "ScheduledMessage"),
    ("custom_profile_fields", "ProfileField"),
    ("channel_folders", "ChannelFolder"),
    ("navigation_views", "NavigationView"),
    ("saved_snippets", "SavedSnippet"),
];

/// Lists that are empty, because there are no such things.
const EMPTY: [&str; 6] = [
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
fn further() -> Vec<SchemaMember> {
    let integers = || JsonSchema::list(JsonSchema::integer());
    let number = |key| required_schema_member(key, JsonSchema::integer());
    let text = |key| required_schema_member(key, JsonSchema::string());
    let triple = JsonSchema::list(JsonSchema::any_of([JsonSchema::string(), JsonSchema::integer()]));
    let conversation = JsonSchema::object([required_schema_member("user_ids", integers()), number("max_message_id")]);
    let domain =
        JsonSchema::object([text("domain"), required_schema_member("allow_subdomains", JsonSchema::boolean())]);
    let playground = ["name", "pygments_language", "url_template"].map(text).into_iter().chain([number("id")]);
    let topic = ["stream_id", "last_updated", "visibility_policy"].map(number).into_iter().chain([text("topic_name")]);
    let thumbnail = ["max_width", "max_height"].map(number).into_iter().chain(["name", "format"].map(text));
    let thumbnail = thumbnail.chain([required_schema_member("animated", JsonSchema::boolean())]);
    let set = JsonSchema::object([text("key"), text("text")]);
    let permissions = ["realm", "stream", "group"].map(|of| required_schema_member(of, JsonSchema::map(permission())));
    vec![
        optional_schema_member("alert_words", JsonSchema::list(JsonSchema::string())),
        optional_schema_member("available_notification_sounds", JsonSchema::list(JsonSchema::string())),
        optional_schema_member("emojiset_choices", JsonSchema::list(set)),
        optional_schema_member("giphy_api_key", JsonSchema::string()),
        optional_schema_member(
            "muted_topics",
            JsonSchema::list(triple.with_description("A channel's name, a topic, and since when.")),
        ),
        optional_schema_member(
            "muted_users",
            JsonSchema::list(JsonSchema::object([number("id"), number("timestamp")])),
        ),
        optional_schema_member("presences", JsonSchema::map(JsonSchema::reference_to("Presence"))),
        optional_schema_member("push_devices", JsonSchema::map(JsonSchema::any()).with_keyword("maxProperties", 0)),
        optional_schema_member(
            "realm_billing",
            JsonSchema::object([required_schema_member("has_pending_sponsorship_request", JsonSchema::boolean())]),
        ),
        optional_schema_member("realm_bots", JsonSchema::list(bot())),
        optional_schema_member("realm_domains", JsonSchema::list(domain)),
        optional_schema_member("realm_emoji", JsonSchema::map(JsonSchema::reference_to("CustomEmoji"))),
        optional_schema_member("realm_linkifiers", JsonSchema::list(JsonSchema::reference_to("Linkifier"))),
        optional_schema_member("realm_playgrounds", JsonSchema::list(JsonSchema::object(playground))),
        optional_schema_member("realm_user_settings_defaults", JsonSchema::reference_to("Preferences")),
        optional_schema_member("recent_private_conversations", JsonSchema::list(conversation)),
        optional_schema_member("server_supported_permission_settings", JsonSchema::object(permissions)),
        optional_schema_member("server_thumbnail_formats", JsonSchema::list(JsonSchema::object(thumbnail))),
        optional_schema_member("server_timestamp", JsonSchema::any().with_keyword("type", "number")),
        optional_schema_member("starred_messages", integers()),
        optional_schema_member("timezone", JsonSchema::string()),
        optional_schema_member("unread_msgs", unread()),
        optional_schema_member("user_settings", JsonSchema::reference_to("Preferences")),
        optional_schema_member("user_status", JsonSchema::map(JsonSchema::reference_to("Status"))),
        optional_schema_member("user_topics", JsonSchema::list(JsonSchema::object(topic))),
    ]
}

/// Returns the groups that a permission can be given to.
fn permission() -> JsonSchema {
    let switches = [
        "require_system_group",
        "allow_internet_group",
        "allow_owners_group",
        "allow_nobody_group",
        "allow_everyone_group",
    ];
    let switches = switches.map(|key| required_schema_member(key, JsonSchema::boolean()));
    let texts = ["default_group_name", "id_field_name"].map(|key| required_schema_member(key, JsonSchema::string()));
    let more = [
        required_schema_member("default_for_system_groups", JsonSchema::string().nullable()),
        required_schema_member(
            "allowed_system_groups",
            JsonSchema::list(JsonSchema::string()).with_description("When not empty, no other group is."),
        ),
    ];
    JsonSchema::object(switches.into_iter().chain(texts).chain(more))
}

/// A bot as those who keep it see it.
fn bot() -> JsonSchema {
    let number = |key| required_schema_member(key, JsonSchema::integer());
    JsonSchema::object([
        number("user_id"),
        required_schema_member("full_name", JsonSchema::string()),
        required_schema_member("email", JsonSchema::string()),
        number("bot_type"),
        required_schema_member("is_active", JsonSchema::boolean()),
        required_schema_member("avatar_url", JsonSchema::string()),
        required_schema_member("owner_id", JsonSchema::integer().nullable()),
        required_schema_member("default_sending_stream", JsonSchema::string().nullable()),
        required_schema_member("default_events_register_stream", JsonSchema::string().nullable()),
        required_schema_member("default_all_public_streams", JsonSchema::boolean()),
        required_schema_member("services", JsonSchema::list(JsonSchema::any())),
    ])
}

/// Unread messages, by where they are.
fn unread() -> JsonSchema {
    let number = |key| required_schema_member(key, JsonSchema::integer());
    let ids = || required_schema_member("unread_message_ids", JsonSchema::list(JsonSchema::integer()));
    let direct = JsonSchema::object([number("other_user_id"), number("sender_id"), ids()]);
    let group = JsonSchema::object([required_schema_member("user_ids_string", JsonSchema::string()), ids()]);
    let topic = JsonSchema::object([number("stream_id"), required_schema_member("topic", JsonSchema::string()), ids()]);
    JsonSchema::object([
        number("count"),
        required_schema_member("pms", JsonSchema::list(direct)),
        required_schema_member("huddles", JsonSchema::list(group)),
        required_schema_member("streams", JsonSchema::list(topic)),
        required_schema_member("mentions", JsonSchema::list(JsonSchema::integer())),
        required_schema_member("old_unreads_missing", JsonSchema::boolean()),
    ])
}
