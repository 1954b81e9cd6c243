//! What becomes of each column of an export: read, of no concern here, or named in the report when it is not as it
//! usually is. What is in none of the lists is named whenever it says something, so that a choice does not vanish
//! without a word.
//!
//! # Source
//! Not specified; the columns and their usual values as existing servers have them up to release 11.

use serde_json::{Map, Value};

use super::TransferReport;
use super::export_tables::{IgnoredColumnValues, IgnoredColumns};
use super::groups::Groups;
use crate::model::group::SystemGroup;
use crate::organization::settings as realm_settings;
use crate::wire_format::user_settings;

/// How the import treats a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnPolicy {
    /// It is read, or of no concern: a number, a picture's version, what follows from other columns.
    Known,
    /// It is not kept here. These are the values, as JSON, that say nothing.
    Usual(&'static [&'static str]),
    /// It is not kept here, and any other value forbids something that is permitted here.
    Restricts(&'static [&'static str]),
    /// It is not kept here, and names a group.
    UsualGroup(&'static [SystemGroup]),
    /// It is not kept here, and any other group forbids something that is permitted here.
    RestrictsToGroup(&'static [SystemGroup]),
}

use ColumnPolicy::{Known, Restricts, RestrictsToGroup, Usual, UsualGroup};
use SystemGroup::{Administrators, Everyone, FullMembers, Internet, Members, Moderators, Nobody, Owners};

/// Every group of the system.
const ANY: &[SystemGroup] = &[Nobody, Owners, Administrators, Moderators, FullMembers, Members, Everyone, Internet];

/// Tables, columns, and how they are treated.
const COLUMNS: &[(&str, &str, ColumnPolicy)] = &[
    ("zerver_realm", REALM, Known),
    ("zerver_realm", "invite_required send_welcome_emails enable_guest_user_indicator", Usual(&["true"])),
    ("zerver_realm", "inline_image_preview", Usual(&["true", "false"])),
    (
        "zerver_realm",
        "inline_url_embed_preview enable_spectator_access want_advertise_in_communities_directory digest_emails_enabled",
        Usual(&["false"]),
    ),
    ("zerver_realm", "digest_weekday", Usual(&["1"])),
    ("zerver_realm", "default_language", Usual(&["\"en\""])),
    ("zerver_realm", "default_code_block_language jitsi_server_url welcome_message_custom_text", Usual(&["\"\""])),
    ("zerver_realm", "org_type", Usual(&["0"])),
    ("zerver_realm", "video_chat_provider", Usual(&["0", "1"])),
    ("zerver_realm", "giphy_rating gif_rating_policy", Usual(&["0", "2"])),
    ("zerver_realm", "media_preview_size", Usual(&["100"])),
    (
        "zerver_realm",
        "zulip_update_announcements_stream notifications_stream signup_notifications_stream \
         deactivated_redirect upload_quota_gb custom_upload_quota_gb",
        Usual(&[]),
    ),
    ("zerver_realm", "enable_read_receipts", Restricts(&["true"])),
    (
        "zerver_realm",
        "message_content_allowed_in_email_notifications send_channel_events_messages",
        Restricts(&["true"]),
    ),
    (
        "zerver_realm",
        "name_changes_disabled email_changes_disabled avatar_changes_disabled presence_disabled require_unique_names",
        Restricts(&["false"]),
    ),
    ("zerver_realm", "message_visibility_limit", Restricts(&[])),
    ("zerver_realm", "topics_policy", Restricts(&["2", "3"])),
    ("zerver_realm", "email_address_visibility", Restricts(&["1"])),
    ("zerver_realm", "can_access_all_users_group", RestrictsToGroup(&[Everyone, Internet])),
    ("zerver_userprofile", USER, Known),
    ("zerver_userprofile_mirrordummy", USER, Known),
    ("zerver_userprofile", "can_create_users can_forge_sender can_change_user_emails", Usual(&["false"])),
    ("zerver_userprofile", "default_sending_stream default_events_register_stream", Usual(&[])),
    ("zerver_userprofile", "default_all_public_streams is_billing_admin", Usual(&["false"])),
    ("zerver_userprofile_crossrealm", "id email recipient_id", Known),
    ("chat_address", "user_profile address", Known),
    ("zerver_realmuserdefault", "id realm default_language timezone", Known),
    ("zerver_stream", CHANNEL, Known),
    ("zerver_stream", "topics_policy", Restricts(&["1", "2", "3"])),
    ("zerver_stream", "can_create_topic_group", RestrictsToGroup(&[Everyone, Internet])),
    (
        "zerver_stream",
        "can_add_subscribers_group can_administer_channel_group can_delete_any_message_group \
         can_delete_own_message_group can_move_messages_out_of_channel_group can_move_messages_within_channel_group \
         can_resolve_topics_group can_subscribe_group",
        UsualGroup(&[Nobody]),
    ),
    ("zerver_defaultstream", "id realm stream", Known),
    ("zerver_recipient", "id type type_id", Known),
    ("zerver_subscription", SUBSCRIPTION, Known),
    ("zerver_realmauditlog", AUDIT, Known),
    ("zerver_usergroup", "id realm name description is_system_group members direct_members direct_subgroups", Known),
    ("zerver_usergroup", "usergroup_ptr can_mention_group deactivated creator date_created", Known),
    ("zerver_namedusergroup", NAMED_GROUP, Known),
    (
        "zerver_namedusergroup",
        "can_add_members_group can_join_group can_leave_group can_manage_group can_remove_members_group",
        UsualGroup(ANY),
    ),
    ("zerver_usergroupmembership", "id user_group user_profile", Known),
    ("zerver_groupgroupmembership", "id supergroup subgroup", Known),
    (
        "zerver_customprofilefield",
        "id realm name hint field_type field_data order required display_in_profile_summary editable_by_user",
        Known,
    ),
    ("zerver_customprofilefield", "use_for_user_matching", Usual(&["false"])),
    ("zerver_customprofilefieldvalue", "id user_profile field value rendered_value", Known),
    ("zerver_realmfilter", "id realm pattern url_template url_format_string order", Known),
    ("zerver_realmfilter", "example_input reverse_template alternative_url_templates", Usual(&["\"\"", "[]"])),
    (
        "zerver_channelfolder",
        "id realm name description rendered_description order date_created creator is_archived",
        Known,
    ),
    ("zerver_realmplayground", "id realm name pygments_language url_template url_prefix", Known),
    ("zerver_realmdomain", "id realm domain allow_subdomains", Known),
    (
        "zerver_usertopic",
        "id user_profile stream recipient topic_name last_updated date_muted visibility_policy",
        Known,
    ),
    ("zerver_mutedtopic", "id user_profile stream recipient topic_name date_muted", Known),
    ("zerver_muteduser", "id user_profile muted_user date_muted", Known),
    (
        "zerver_userstatus",
        "id user_profile timestamp client status status_text emoji_name emoji_code reaction_type",
        Known,
    ),
    ("zerver_alertword", "id realm user_profile word", Known),
    ("zerver_client", "id name", Known),
    ("zerver_realmemoji", "id realm author name file_name is_animated deactivated", Known),
    ("zerver_attachment", ATTACHMENT, Known),
    ("zerver_scheduledmessage", SCHEDULED, Known),
    ("zerver_scheduledmessage", "reminder_target_message_id", Usual(&[])),
    ("zerver_scheduledmessage", "reminder_note", Usual(&["\"\""])),
    ("zerver_draft", "id user_profile type recipient topic content last_edit_time", Known),
    ("zerver_botstoragedata", "id bot_profile key value", Known),
    ("zerver_reaction", "id user_profile message emoji_name emoji_code reaction_type", Known),
    ("zerver_message", MESSAGE, Known),
    ("zerver_usermessage", "id user_profile message flags_mask flags", Known),
    ("zerver_submessage", "id message sender msg_type content", Known),
];

const REALM: &str = "id name description date_created deactivated string_id uuid uuid_owner_secret \
    push_notifications_enabled push_notifications_enabled_end_timestamp icon_source icon_version logo_source logo_version \
    night_logo_source night_logo_version plan_type max_invites _max_invites first_visible_message_id \
    zulip_update_announcements_level scheduled_deletion_date demo_organization_scheduled_deletion_date \
    mandatory_topics allow_edit_history authentication_methods owner_full_content_access message_visibility_trash \
    new_stream_announcements_stream signup_announcements_stream moderation_request_channel";
const USER: &str = "id realm delivery_email email full_name is_active is_bot bot_type bot_owner role is_realm_admin \
    is_guest is_api_super_user date_joined timezone avatar_source avatar_version avatar_hash long_term_idle password \
    api_key uuid recipient last_login last_active_message_id last_reminder groups user_permissions is_superuser is_staff \
    is_mirror_dummy is_imported_stub is_deleted tos_version onboarding_steps tutorial_status tutorial_steps \
    invites_granted invites_used zoom_token third_party_api_state rate_limits short_name pointer \
    hotspots last_pointer_updater is_bot_owner history_public_to_subscribers scim_external_id";
const CHANNEL: &str = "id realm name description rendered_description date_created creator deactivated invite_only \
    history_public_to_subscribers is_web_public stream_post_policy can_send_message_group can_remove_subscribers_group \
    message_retention_days recipient email_token first_message_id is_recently_active is_in_zephyr_realm subscriber_count \
    is_announcement_only folder";
const SUBSCRIPTION: &str = "id user_profile recipient active is_user_active is_muted in_home_view pin_to_top color \
    desktop_notifications audible_notifications push_notifications email_notifications wildcard_mentions_notify \
    notifications";
const AUDIT: &str = "id realm event_type event_time event_last_message_id modified_user modified_stream \
    modified_user_group modified_channel_folder acting_user extra_data backfilled";
const NAMED_GROUP: &str = "id usergroup_ptr realm realm_for_sharding name description is_system_group deactivated \
    can_mention_group creator date_created direct_members direct_subgroups";
const ATTACHMENT: &str = "id realm owner path_id file_name content_type size create_time messages scheduled_messages \
    is_realm_public is_web_public is_claimed";
const SCHEDULED: &str = "id realm sender recipient stream subject content rendered_content sending_client \
    scheduled_timestamp request_timestamp read_by_sender delivered delivered_message delivery_type failed \
    failure_message has_attachment";
const MESSAGE: &str = "id realm sender recipient type subject content rendered_content rendered_content_version \
    date_sent pub_date sending_client last_edit_time last_moved_time edit_history has_attachment has_image has_link \
    is_channel_message search_tsvector sender_realm_str sender_full_name sender_short_name sender_email";

/// Names in the report the columns that are not kept, with their values where a table has one row; and apart from that
/// the restrictions among them.
pub(super) fn report(columns: &IgnoredColumns, groups: &Groups, report: &mut TransferReport) {
    for ((table, column), seen) in columns {
        let column_policy = column_policy(table, column);
        for (value, rows) in &seen.values {
            let shown = shown(column_policy, value, groups);
            if is_usual(column_policy, value, groups) {
                continue;
            }
            let what = if is_of_one_row(table) {
                format!("{table}.{column} = {shown}")
            } else {
                format!("{table}.{column}: not the usual value")
            };
            report.count_omitted(&what, usize::try_from(*rows).unwrap_or(usize::MAX));
            if matches!(column_policy, Some(Restricts(_) | RestrictsToGroup(_))) {
                report.restrictions.insert(format!("{table}.{column} = {shown}"));
            }
        }
    }
}

/// Notes what a row says in columns that are not read.
pub(super) fn note(columns: &mut IgnoredColumns, table: &'static str, row: &Map<String, Value>) {
    for (column, value) in row.iter().filter(|(_, value)| !value.is_null()) {
        if column_policy(table, column) == Some(Known) || is_choice(table, column) {
            continue;
        }
        let seen: &mut IgnoredColumnValues = columns.entry((table, column.clone())).or_default();
        seen.count(value);
    }
}

fn column_policy(table: &str, column: &str) -> Option<ColumnPolicy> {
    let of_it = |names: &str| names.split(' ').any(|name| name == column);
    COLUMNS.iter().find(|(known, names, _)| *known == table && of_it(names)).map(|(.., column_policy)| *column_policy)
}

/// Returns whether the column is read by its name: a setting of the organization or a preference.
fn is_choice(table: &str, column: &str) -> bool {
    let is_preference =
        || user_settings::USER_SETTINGS.iter().any(|(name, ..)| *name == column) || FORMER.contains(&column);
    match table {
        "zerver_realm" => realm_settings::REALM_SETTINGS.iter().any(|setting| setting.name == column),
        "zerver_userprofile" | "zerver_userprofile_mirrordummy" | "zerver_realmuserdefault" => is_preference(),
        _ => false,
    }
}

/// Preferences that newer and older servers have, which change how a client looks and nothing else.
const FORMER: [&str; 21] = [
    "web_inbox_show_channel_folders",
    "resolved_topic_notice_auto_read_policy",
    "left_side_userlist",
    "default_view",
    "escape_navigates_to_default_view",
    "realm_name_in_notifications",
    "enable_stream_sounds",
    "dense_mode",
    "night_mode",
    "default_all_public_streams",
    "autoscroll_forever",
    "show_dm_list",
    "email_address_visibility",
    "emoji_alt_code",
    "high_contrast_mode",
    "twenty_four_hour_time",
    "enable_reactions_notifications",
    "web_animate_image_previews",
    "web_channel_default_view",
    "desktop_icon_count_display",
    "enable_followed_topic_email_notifications",
];

/// Returns whether each export has one row of the table at most.
fn is_of_one_row(table: &str) -> bool {
    matches!(table, "zerver_realm" | "zerver_realmuserdefault")
}

fn is_usual(column_policy: Option<ColumnPolicy>, value: &str, groups: &Groups) -> bool {
    let group = || value.parse().ok().and_then(|id| groups.system(id));
    match column_policy {
        Some(Known) => true,
        Some(Usual(usual) | Restricts(usual)) => usual.contains(&value),
        Some(UsualGroup(usual) | RestrictsToGroup(usual)) => group().is_some_and(|group| usual.contains(&group)),
        None => matches!(value, "\"\"" | "[]" | "{}"),
    }
}

/// Returns the value, and of a group its name.
fn shown(column_policy: Option<ColumnPolicy>, value: &str, groups: &Groups) -> String {
    let is_group = matches!(column_policy, Some(UsualGroup(_) | RestrictsToGroup(_)));
    let group = value.parse().ok().filter(|_| is_group).and_then(|id| groups.name(id));
    group.map_or_else(|| value.to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_column_has_two_fates() {
        let mut seen = BTreeSet::new();
        for (table, names, _) in COLUMNS {
            for name in names.split(' ') {
                assert!(seen.insert((table, name)), "{table}.{name}");
            }
        }
    }
}
