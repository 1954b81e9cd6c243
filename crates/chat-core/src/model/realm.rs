//! The organization: its name and the choices that rules ask for.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::id::ChannelId;
use crate::model::group::{GroupSettingValue, SystemGroup};
use crate::model::organization_image::OrganizationImageUrls;

/// The realm (organization): its name, description and settings. A database holds one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Realm {
    /// Its name.
    pub name: String,
    /// What it is, as typed.
    pub description: String,
    /// When it was made, in unix seconds.
    pub created_s: i64,
    /// Whether it was closed; nobody gets in then.
    pub is_deactivated: bool,
    /// The choices that rules ask for.
    #[serde(deserialize_with = "read_settings")]
    pub rules: RealmPermissionSettings,
    /// Its icon and logos. Stored events have them under another name.
    #[serde(default, rename = "emblems")]
    pub images: OrganizationImageUrls,
}

/// The settings of a realm that permission rules depend on. The defaults are those of a new realm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own that an owner makes")]
pub struct RealmPermissionSettings {
    /// Days until a member is a full member.
    pub waiting_period_days: i64,
    /// The group that may create public channels.
    pub create_public_channel: GroupSettingValue,
    /// Who may make private channels.
    pub create_private_channel: GroupSettingValue,
    /// Who may make web-public channels.
    pub create_web_public_channel: GroupSettingValue,
    /// Who may put others into channels.
    pub subscribe_others: GroupSettingValue,
    /// Who may invite new users.
    pub invite: GroupSettingValue,
    /// Who may add custom emoji.
    pub add_custom_emoji: GroupSettingValue,
    /// Who may make user groups.
    pub edit_groups: GroupSettingValue,
    /// Who may make bots.
    pub create_bots: GroupSettingValue,
    /// Who may delete their own messages.
    pub delete_own_message: GroupSettingValue,
    /// Who may move messages to another topic.
    pub edit_topic: GroupSettingValue,
    /// Who may move messages to another channel.
    pub move_between_channels: GroupSettingValue,
    /// Who may mention everybody in a large channel.
    pub wildcard_mention: GroupSettingValue,
    /// Who may write to people at all; one user of the conversation suffices.
    pub direct_messages: GroupSettingValue,
    /// Who may write to people first.
    pub initiate_direct_messages: GroupSettingValue,
    /// Who may delete any message.
    pub delete_any_message: GroupSettingValue,
    /// Who may change every user group.
    pub manage_all_groups: GroupSettingValue,
    /// Who may create invitation links that anyone may use.
    pub create_reusable_invitation: GroupSettingValue,
    /// Who may make bots that only send messages.
    pub create_write_only_bots: GroupSettingValue,
    /// Who may summarize topics.
    pub summarize_topics: GroupSettingValue,
    /// Who may manage plans.
    pub manage_billing: GroupSettingValue,
    /// Who may mark topics as resolved.
    pub resolve_topics: GroupSettingValue,
    /// Who may choose the policy of a channel's empty topic.
    pub set_topics_policy: GroupSettingValue,
    /// Who may choose who may delete messages of a channel.
    pub set_delete_message_policy: GroupSettingValue,
    /// Whether messages may be edited.
    pub allow_editing: bool,
    /// Seconds after sending in which a message may be edited; `None` for ever.
    pub edit_limit_s: Option<i64>,
    /// Seconds after sending in which a message may be deleted; `None` for ever.
    pub delete_limit_s: Option<i64>,
    /// Seconds after sending in which a message may move to another topic; `None` for ever.
    pub move_topic_limit_s: Option<i64>,
    /// Seconds after sending in which a message may move to another channel; `None` for ever.
    pub move_channel_limit_s: Option<i64>,
    /// Whether a message needs a topic.
    pub mandatory_topics: bool,
    /// Whether people join with addresses of the realm's domains alone.
    pub emails_restricted_to_domains: bool,
    /// Whether people join with addresses that are not thrown away alone, where any domain is taken.
    pub disallow_disposable_addresses: bool,
    /// Days after which messages go, also those between users, where their channel says nothing else; -1 for never.
    pub message_retention_days: i64,
    /// Whether notifications that pass through others in clear say nothing of the message.
    pub require_e2ee_push: bool,
    /// Which earlier states of messages their readers see.
    pub edit_history_visibility: EditHistoryVisibility,
    /// The channel in which new channels are announced.
    pub new_channel_announcements: Option<ChannelId>,
    /// The channel in which new users are announced.
    pub signup_announcements: Option<ChannelId>,
    /// The private channel in which messages are reported to moderators.
    pub moderation_requests: Option<ChannelId>,
}

/// The earlier states of messages that readers see: `message_edit_history_visibility_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditHistoryVisibility {
    /// All.
    #[default]
    All,
    /// Only the channels and topics that a message has been in, without its earlier texts.
    Moves,
    /// None.
    None,
}

impl EditHistoryVisibility {
    /// The values in the order of the numbers 1 to 3 that exports have for them.
    pub const ALL: [Self; 3] = [Self::All, Self::Moves, Self::None];

    /// Returns the value's name on the wire.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Moves => "moves",
            Self::None => "none",
        }
    }

    /// Parses a name of the wire.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|visibility| visibility.wire_name() == name)
    }
}

/// Seconds in which messages may move, in a new realm: a week.
const MOVE_LIMIT_S: i64 = 604_800;

impl Default for RealmPermissionSettings {
    fn default() -> Self {
        Self {
            waiting_period_days: 0,
            create_public_channel: SystemGroup::Members.into(),
            create_private_channel: SystemGroup::Members.into(),
            create_web_public_channel: SystemGroup::Owners.into(),
            subscribe_others: SystemGroup::Members.into(),
            invite: SystemGroup::Members.into(),
            add_custom_emoji: SystemGroup::Members.into(),
            edit_groups: SystemGroup::Members.into(),
            create_bots: SystemGroup::Members.into(),
            delete_own_message: SystemGroup::Everyone.into(),
            edit_topic: SystemGroup::Everyone.into(),
            move_between_channels: SystemGroup::Members.into(),
            wildcard_mention: SystemGroup::Administrators.into(),
            direct_messages: SystemGroup::Everyone.into(),
            initiate_direct_messages: SystemGroup::Everyone.into(),
            delete_any_message: SystemGroup::Administrators.into(),
            manage_all_groups: SystemGroup::Owners.into(),
            create_reusable_invitation: SystemGroup::Administrators.into(),
            create_write_only_bots: SystemGroup::Members.into(),
            summarize_topics: SystemGroup::Everyone.into(),
            manage_billing: SystemGroup::Administrators.into(),
            resolve_topics: SystemGroup::Everyone.into(),
            set_topics_policy: SystemGroup::Members.into(),
            set_delete_message_policy: SystemGroup::Moderators.into(),
            allow_editing: true,
            edit_limit_s: Some(600),
            delete_limit_s: Some(600),
            move_topic_limit_s: Some(MOVE_LIMIT_S),
            move_channel_limit_s: Some(MOVE_LIMIT_S),
            mandatory_topics: false,
            emails_restricted_to_domains: false,
            disallow_disposable_addresses: true,
            message_retention_days: -1,
            require_e2ee_push: false,
            edit_history_visibility: EditHistoryVisibility::All,
            new_channel_announcements: None,
            signup_announcements: None,
            moderation_requests: None,
        }
    }
}

/// Reads the settings of a realm, also those that were stored before some of its permissions were separate: what a
/// policy decided then, the groups decide that the permissions came from.
///
/// # Source
/// Not specified; new permissions of an existing realm as existing servers give them.
fn read_settings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RealmPermissionSettings, D::Error> {
    let mut document = Map::<String, Value>::deserialize(deserializer)?;
    let stored_in = |document: &Map<String, Value>, key: &str| document.get(key).cloned();
    let later = [
        ("create_write_only_bots", stored_in(&document, "create_bots")),
        ("resolve_topics", stored_in(&document, "edit_topic")),
        ("manage_all_groups", Some("administrators".into())),
        ("manage_billing", Some("owners".into())),
    ];
    for (key, first) in later {
        if let Some(first) = first {
            document.entry(key).or_insert(first);
        }
    }
    serde_json::from_value(Value::Object(document)).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::id::{UserGroupId, UserId};
    use crate::testing;

    /// Stores the default settings as an earlier program did, with one policy, and reads them.
    fn upgraded(policy: &str, stored: &str) -> RealmPermissionSettings {
        let mut document = json!(testing::realm_of(RealmPermissionSettings::default()));
        let rules = document["rules"].as_object_mut().unwrap();
        rules.retain(|key, _| EARLIER.contains(&key.as_str()));
        rules.insert(policy.to_owned(), stored.into());
        serde_json::from_value::<Realm>(document).unwrap().rules
    }

    /// The policies that were stored before there were group settings.
    const EARLIER: [&str; 14] = [
        "create_public_channel",
        "create_private_channel",
        "create_web_public_channel",
        "subscribe_others",
        "invite",
        "add_custom_emoji",
        "edit_groups",
        "create_bots",
        "delete_own_message",
        "edit_topic",
        "move_between_channels",
        "wildcard_mention",
        "direct_messages",
        "initiate_direct_messages",
    ];

    #[test]
    fn each_stored_policy_is_read_as_the_system_group_of_the_same_users() {
        let values = [
            ("everyone", SystemGroup::Everyone),
            ("members", SystemGroup::Members),
            ("full_members", SystemGroup::FullMembers),
            ("moderators", SystemGroup::Moderators),
            ("administrators", SystemGroup::Administrators),
            ("owners", SystemGroup::Owners),
            ("nobody", SystemGroup::Nobody),
        ];
        for policy in EARLIER {
            for (stored, group) in values {
                let rules = json!(upgraded(policy, stored));
                assert_eq!(rules[policy], json!(GroupSettingValue::from(group)), "{policy} {stored}");
            }
        }
    }

    #[test]
    fn a_permission_that_was_part_of_another_has_its_group_after_an_upgrade() {
        let rules = upgraded("create_bots", "administrators");
        assert_eq!(rules.create_write_only_bots, SystemGroup::Administrators.into());
        let rules = upgraded("edit_topic", "nobody");
        assert_eq!(rules.resolve_topics, SystemGroup::Nobody.into());
        let found = [rules.manage_all_groups, rules.manage_billing, rules.delete_any_message];
        assert_eq!(
            found,
            [SystemGroup::Administrators, SystemGroup::Owners, SystemGroup::Administrators].map(Into::into)
        );
        let found = [rules.summarize_topics, rules.set_topics_policy, rules.set_delete_message_policy];
        assert_eq!(found, [SystemGroup::Everyone, SystemGroup::Members, SystemGroup::Moderators].map(Into::into));
        assert_eq!(rules.create_reusable_invitation, SystemGroup::Administrators.into());
    }

    #[test]
    fn settings_are_read_as_they_were_stored() {
        let rules = RealmPermissionSettings {
            invite: GroupSettingValue::Group(UserGroupId(40)),
            resolve_topics: GroupSettingValue::Named {
                direct_members: vec![UserId(4)],
                direct_subgroups: vec![UserGroupId(41)],
            },
            manage_all_groups: SystemGroup::Moderators.into(),
            ..RealmPermissionSettings::default()
        };
        let document = json!(testing::realm_of(rules.clone()));
        assert_eq!(serde_json::from_value::<Realm>(document).unwrap().rules, rules);
    }
}
