//! The releases of the original server that an export can be written for.
//!
//! An original server takes in no row with a column that it does not know, so an export has the columns of one release.
//!
//! # Source
//! Not specified; columns and numbers as the servers of those releases have them.

use serde_json::{Map, Value, json};

use crate::model::channel::Channel;
use crate::model::realm::Realm;
use crate::organization::settings::{REALM_SETTINGS, RealmSettingType};

/// A release of the original server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginalServerRelease {
    /// 9.2: policies are numbers.
    R9_2,
    /// 11.0, the newest whose format is known: policies are groups.
    R11_0,
}

/// The number of a policy that a release has no number for: nobody may do more than here.
const ADMINISTRATORS: i64 = 2;

/// Preferences that came after 9.2.
const PREFERENCES_SINCE_9_2: [&str; 6] = [
    "allow_private_data_export",
    "hide_ai_features",
    "resolved_topic_notice_auto_read_policy",
    "web_left_sidebar_show_channel_folders",
    "web_left_sidebar_unreads_count_summary",
    "web_suggest_update_timezone",
];

/// The last view of a channel that 9.2 knows.
const LAST_CHANNEL_VIEW_OF_9_2: i64 = 2;

/// Columns that came after 9.2, by their tables.
const SINCE_9_2: [(&str, &[&str]); 11] = [
    (
        "zerver_realm",
        &[
            "can_add_custom_emoji_group",
            "can_add_subscribers_group",
            "can_create_bots_group",
            "can_create_groups",
            "can_create_web_public_channel_group",
            "can_create_write_only_bots_group",
            "can_delete_any_message_group",
            "can_delete_own_message_group",
            "can_invite_users_group",
            "can_manage_all_groups",
            "can_manage_billing_group",
            "can_mention_many_users_group",
            "can_move_messages_between_channels_group",
            "can_move_messages_between_topics_group",
            "can_resolve_topics_group",
            "can_set_delete_message_policy_group",
            "can_set_topics_policy_group",
            "can_summarize_topics_group",
            "message_edit_history_visibility_policy",
            "moderation_request_channel",
            "require_e2ee_push_notifications",
            "topics_policy",
        ],
    ),
    (
        "zerver_stream",
        &[
            "can_add_subscribers_group",
            "can_administer_channel_group",
            "can_delete_any_message_group",
            "can_delete_own_message_group",
            "can_move_messages_out_of_channel_group",
            "can_move_messages_within_channel_group",
            "can_resolve_topics_group",
            "can_send_message_group",
            "can_subscribe_group",
            "folder",
            "is_recently_active",
        ],
    ),
    (
        "zerver_namedusergroup",
        &[
            "can_add_members_group",
            "can_join_group",
            "can_leave_group",
            "can_manage_group",
            "can_remove_members_group",
            "creator",
            "date_created",
            "deactivated",
        ],
    ),
    ("zerver_userprofile", &PREFERENCES_SINCE_9_2),
    ("zerver_realmuserdefault", &PREFERENCES_SINCE_9_2),
    ("zerver_realmauditlog", &["modified_channel_folder"]),
    ("zerver_userprofile_mirrordummy", &PREFERENCES_SINCE_9_2),
    ("zerver_customprofilefield", &["editable_by_user"]),
    ("zerver_message", &["is_channel_message"]),
    ("zerver_scheduledmessage", &["request_timestamp"]),
    ("zerver_huddle", &["group_size"]),
];

/// Columns that 11.0 does not have any more, by their tables: one that a number replaces, and a preference without
/// effect here.
const UNTIL_11_0: [(&str, &[&str]); 3] = [
    ("zerver_realm", &["allow_edit_history"]),
    ("zerver_userprofile", &["dense_mode"]),
    ("zerver_realmuserdefault", &["dense_mode"]),
];

impl OriginalServerRelease {
    /// All supported releases, the newest last.
    pub const ALL: [Self; 2] = [Self::R9_2, Self::R11_0];

    /// Returns the number of the release.
    #[must_use]
    pub fn release_number(self) -> &'static str {
        match self {
            Self::R9_2 => "9.2",
            Self::R11_0 => "11.0",
        }
    }

    /// Returns the release of that number.
    #[must_use]
    pub fn from_release_number(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|release| release.release_number() == name)
    }

    /// Takes the columns out of a row that the release does not know.
    pub(super) fn fit(self, table: &str, row: &mut Value) {
        let Value::Object(columns) = row else { return };
        for (_, unknown) in self.unknown_columns().iter().filter(|(known, _)| *known == table) {
            columns.retain(|column, _| !unknown.contains(&column.as_str()));
        }
        if self == Self::R9_2
            && let Some(view) = columns.get_mut("web_channel_default_view")
            && view.as_i64() > Some(LAST_CHANNEL_VIEW_OF_9_2)
        {
            *view = 1.into();
        }
    }

    fn unknown_columns(self) -> &'static [(&'static str, &'static [&'static str])] {
        match self {
            Self::R9_2 => &SINCE_9_2,
            Self::R11_0 => &UNTIL_11_0,
        }
    }

    /// Returns the policies of the organization as numbers, for a release that has those.
    pub(super) fn policies(self, organization: &Realm) -> Map<String, Value> {
        if self != Self::R9_2 {
            return Map::new();
        }
        let policies = REALM_SETTINGS.iter().filter(|setting| matches!(setting.kind, RealmSettingType::Policy(..)));
        let numbers = policies.map(|setting| {
            let number = setting.chosen(organization).unwrap_or_else(|| ADMINISTRATORS.into());
            (setting.name.to_owned(), number)
        });
        let topics = ("mandatory_topics".to_owned(), organization.rules.mandatory_topics.into());
        numbers.chain([topics]).collect()
    }

    /// Returns the policy of a channel as a number, for a release that has those.
    pub(super) fn post_policy(self, channel: &Channel) -> Map<String, Value> {
        let number = (self == Self::R9_2).then(|| json!(channel.post_policy.wire_number()));
        number.map(|number| ("stream_post_policy".to_owned(), number)).into_iter().collect()
    }

    /// Returns the file that says of which release an export is, where the import asks for it: its name and contents.
    ///
    /// # Source
    /// Not specified. The original compares the major number, and the steps of its schema app by app; an app without
    /// steps it accepts with a warning. What an export has of tables and columns is said by the release alone.
    #[must_use]
    pub fn migration_status(self) -> Option<(&'static str, Value)> {
        let status = || json!({"migrations_by_app": {}, "zulip_version": self.release_number()});
        (self != Self::R9_2).then(|| ("migration_status.json", status()))
    }

    /// Returns whether the import reads the earlier HTML of an edit that left the text as it was. Without the column it
    /// stops.
    pub(super) fn reads_html_of_every_edit(self) -> bool {
        self == Self::R9_2
    }

    /// Returns whether channels can be in folders.
    pub(super) fn has_channel_folders(self) -> bool {
        self != Self::R9_2
    }

    /// Returns whether user groups can be out of use.
    pub(super) fn has_unused_groups(self) -> bool {
        self != Self::R9_2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_named_by_its_number_and_no_other_name() {
        for release in OriginalServerRelease::ALL {
            assert_eq!(OriginalServerRelease::from_release_number(release.release_number()), Some(release));
        }
        assert_eq!(OriginalServerRelease::from_release_number("9"), None);
    }

    #[test]
    fn a_row_has_no_column_that_its_release_does_not_know() {
        for (table, newer) in SINCE_9_2 {
            let row = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), json!(1))).collect::<Map<_, _>>();
            let whole = Value::Object(row(&[newer, &["id"]].concat()));
            let (mut older, mut newest) = (whole.clone(), whole.clone());
            OriginalServerRelease::R9_2.fit(table, &mut older);
            OriginalServerRelease::R11_0.fit(table, &mut newest);
            assert_eq!((older, newest), (json!({"id": 1}), whole));
        }
        for (release, kept) in [
            (OriginalServerRelease::R9_2, json!({"id": 1, "dense_mode": true})),
            (OriginalServerRelease::R11_0, json!({"id": 1})),
        ] {
            let mut row = json!({"id": 1, "dense_mode": true});
            release.fit("zerver_userprofile", &mut row);
            assert_eq!(row, kept);
        }
    }
}
