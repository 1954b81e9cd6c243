//! The organization and the server's own bounds.

use chat_core::id::ChannelId;
use chat_core::limits::{
    MAX_CHANNEL_DESCRIPTION_CHARS, MAX_CHANNEL_FOLDER_DESCRIPTION_CHARS, MAX_CHANNEL_FOLDER_NAME_CHARS,
    MAX_CHANNEL_NAME_CHARS, MAX_MESSAGE_CHARS, MAX_PASSWORD_CHARS, MAX_TOPIC_CHARS, MIN_PASSWORD_CHARS,
};
use chat_core::messages::notices::MAX_NOTICES_PER_REQUEST;
use chat_core::messages::reminders::MAX_REMINDER_NOTE_CHARS;
use chat_core::model::group::SystemGroup;
use chat_core::model::organization_image::OrganizationImage;
use chat_core::model::realm::{EditHistoryVisibility, RealmPermissionSettings};
use chat_core::model::realm_permission::RealmPermission;
use chat_core::organization::permission_settings;
use chat_core::organization::policy_numbers::PolicyNumbers;
use chat_core::organization::settings::NO_CHANNEL;
use chat_core::people::custom_profile_fields::ExternalAccountType;
use chat_core::people::presence;
use chat_core::wire_format;
use serde_json::json;

use super::{InitialState, InitialStateRequest};
use crate::endpoint::uploads::thumbnails;
use crate::endpoint::{bots, emoji_data, organization_images, pictures};

pub(super) fn identity(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let Some(realm) = request.realm.realm() else { return };
    let url = &request.app.settings.base_url;
    state.put_all(json!({
        "realm_name": realm.name,
        "realm_description": realm.description,
        "realm_url": url,
        "realm_uri": url,
        "realm_bot_domain": bots::domain(url),
        "realm_date_created": realm.created_s,
        "realm_org_type": 0,
        "realm_plan_type": 1,
        "realm_default_language": "en",
        "realm_default_code_block_language": "",
        "server_emoji_data_url": emoji_data::url(url),
    }));
    for image in OrganizationImage::ALL {
        let name = image.wire_name();
        state.put(&format!("realm_{name}_url"), organization_images::url(&realm.images, image, url));
        state.put(&format!("realm_{name}_source"), realm.images.wire_source(image));
    }
}

/// What is too long, too large, too soon.
///
/// # Source
/// Specification, "Limits" and "States" for the names; the values of the last lines are those of existing servers.
pub(super) fn limits(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put_all(json!({
        "max_stream_name_length": MAX_CHANNEL_NAME_CHARS,
        "max_stream_description_length": MAX_CHANNEL_DESCRIPTION_CHARS,
        "max_channel_folder_name_length": MAX_CHANNEL_FOLDER_NAME_CHARS,
        "max_channel_folder_description_length": MAX_CHANNEL_FOLDER_DESCRIPTION_CHARS,
        "max_bulk_new_subscription_messages": MAX_NOTICES_PER_REQUEST,
        "max_reminder_note_length": MAX_REMINDER_NOTE_CHARS,
        "max_topic_length": MAX_TOPIC_CHARS,
        "max_message_length": MAX_MESSAGE_CHARS,
        "max_file_upload_size_mib": request.app.settings.uploads.max_mib(),
        "max_avatar_file_size_mib": pictures::MAX_MIB,
        "max_icon_file_size_mib": pictures::MAX_MIB,
        "max_logo_file_size_mib": pictures::MAX_MIB,
        "password_min_length": MIN_PASSWORD_CHARS,
        "password_max_length": MAX_PASSWORD_CHARS,
        "password_min_guesses": 10_000,
        "server_presence_ping_interval_seconds": presence::PRESENCE_PING_INTERVAL_S,
        "server_presence_offline_threshold_seconds": presence::OFFLINE_THRESHOLD_S,
        "server_typing_started_expiry_period_milliseconds": 45_000,
        "server_typing_stopped_wait_period_milliseconds": 12_000,
        "server_typing_started_wait_period_milliseconds": 30_000,
    }));
}

/// What is always on.
pub(in crate::endpoint::register) const ON: [&str; 7] = [
    "realm_email_auth_enabled",
    "realm_enable_guest_user_indicator",
    "realm_enable_read_receipts",
    "realm_invite_required",
    "realm_message_content_allowed_in_email_notifications",
    "realm_password_auth_enabled",
    "server_web_public_streams_enabled",
];
/// What is always off.
pub(in crate::endpoint::register) const OFF: [&str; 20] = [
    "development_environment",
    "realm_avatar_changes_disabled",
    "realm_digest_emails_enabled",
    "realm_email_changes_disabled",
    "realm_enable_spectator_access",
    // Pictures that were uploaded here are shown all the same; nothing is fetched from elsewhere.
    "realm_inline_image_preview",
    "realm_inline_url_embed_preview",
    "realm_is_zephyr_mirror_realm",
    "realm_name_changes_disabled",
    "realm_presence_disabled",
    "realm_require_unique_names",
    "realm_send_welcome_emails",
    "realm_want_advertise_in_communities_directory",
    "server_avatar_changes_disabled",
    "server_can_summarize_topics",
    "server_inline_image_preview",
    "server_inline_url_embed_preview",
    "server_name_changes_disabled",
    "server_needs_upgrade",
    "settings_send_digest_emails",
];

/// What is on and what is off.
pub(super) fn switches(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let rules = rules(request);
    for (keys, is_on) in [(&ON[..], true), (&OFF[..], false)] {
        for key in keys {
            state.put(key, is_on);
        }
    }
    state.put("realm_push_notifications_enabled", request.app.push.bouncer.is_some());
    state.put("realm_allow_message_editing", rules.allow_editing);
    let history = rules.edit_history_visibility;
    state.put("realm_allow_edit_history", history != EditHistoryVisibility::None);
    state.put("realm_message_edit_history_visibility_policy", history.wire_name());
    state.put("realm_require_e2ee_push_notifications", rules.require_e2ee_push);
    state.put("realm_mandatory_topics", rules.mandatory_topics);
    state.put("realm_disallow_disposable_email_addresses", rules.disallow_disposable_addresses);
    state.put("realm_emails_restricted_to_domains", rules.emails_restricted_to_domains);
    branded(request, |brand| state.put(&format!("{brand}_plan_is_not_limited"), true));
}

/// Numbers, and what can be none.
pub(super) fn numbers(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let rules = rules(request);
    state.put_all(json!({
        "realm_waiting_period_threshold": rules.waiting_period_days,
        "realm_message_content_edit_limit_seconds": rules.edit_limit_s,
        "realm_message_content_delete_limit_seconds": rules.delete_limit_s,
        "realm_move_messages_within_stream_limit_seconds": rules.move_topic_limit_s,
        "realm_move_messages_between_streams_limit_seconds": rules.move_channel_limit_s,
        "realm_message_retention_days": rules.message_retention_days,
        "realm_digest_weekday": 1,
        "realm_giphy_rating": 0,
        "realm_video_chat_provider": 0,
        "realm_upload_quota_mib": request.app.settings.uploads.quota_mib(),
        "realm_push_notifications_enabled_end_timestamp": null,
        "realm_new_stream_announcements_stream_id": channel_number(rules.new_channel_announcements),
        "realm_signup_announcements_stream_id": channel_number(rules.signup_announcements),
        "realm_moderation_request_channel_id": channel_number(rules.moderation_requests),
        "realm_jitsi_server_url": null,
        "server_jitsi_server_url": null,
        // The older name has a text always; an empty one stands for no server.
        "jitsi_server_url": "",
        "server_generation": request.app.server.generation,
        "upgrade_text_for_wide_organization_logo": "",
    }));
    branded(request, |brand| state.put(&format!("realm_{brand}_update_announcements_stream_id"), NO_CHANNEL));
}

/// Who may do what, in the numbers of each setting and in the groups that replace them.
pub(super) fn policies(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let rules = rules(request);
    for policy in PolicyNumbers::ALL {
        state.put(&format!("realm_{}", policy.name), policy.shown_number(&rules));
    }
    for permission in RealmPermission::ALL {
        let group = wire_format::group_setting(request.realm, permission.value(&rules));
        state.put(&format!("realm_{}", permission.rule().name), group);
    }
    let everyone = wire_format::group_setting(request.realm, &SystemGroup::Everyone.into());
    state.put("realm_can_access_all_users_group", everyone);
}

/// What can be chosen from.
pub(super) fn choices(_: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put_all(json!({
        "realm_authentication_methods": {"Email": {"enabled": true, "available": true}},
        "realm_available_video_chat_providers": {"disabled": {"name": "None", "id": 0}},
        "giphy_rating_options": {"disabled": {"name": "None", "id": 0}},
        "realm_default_external_accounts": ExternalAccountType::all_as_wire_object(),
        "server_supported_permission_settings": permission_settings::supported_permission_settings(),
        "server_thumbnail_formats": thumbnails::formats(),
    }));
}

fn channel_number(id: Option<ChannelId>) -> i64 {
    id.map_or(NO_CHANNEL, |id| id.0)
}

fn rules(request: &InitialStateRequest<'_>) -> RealmPermissionSettings {
    request.realm.realm().map_or_else(RealmPermissionSettings::default, |realm| realm.rules.clone())
}

fn branded(request: &InitialStateRequest<'_>, put: impl FnOnce(&str)) {
    let brand = request.app.settings.brand.as_str();
    if !brand.is_empty() {
        put(brand);
    }
}
