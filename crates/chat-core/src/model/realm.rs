//! The organization: its name and the choices that rules ask for.

use serde::{Deserialize, Serialize};

use crate::model::organization_image::OrganizationImageUrls;
use crate::model::role::PermissionPolicy;

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
    /// Who may make public channels.
    pub create_public_channel: PermissionPolicy,
    /// Who may make private channels.
    pub create_private_channel: PermissionPolicy,
    /// Who may make web-public channels.
    pub create_web_public_channel: PermissionPolicy,
    /// Who may put others into channels.
    pub subscribe_others: PermissionPolicy,
    /// Who may invite new users.
    pub invite: PermissionPolicy,
    /// Who may add custom emoji.
    pub add_custom_emoji: PermissionPolicy,
    /// Who may make and edit user groups.
    pub edit_groups: PermissionPolicy,
    /// Who may make bots.
    pub create_bots: PermissionPolicy,
    /// Who may delete their own messages.
    pub delete_own_message: PermissionPolicy,
    /// Who may move messages to another topic.
    pub edit_topic: PermissionPolicy,
    /// Who may move messages to another channel.
    pub move_between_channels: PermissionPolicy,
    /// Who may mention everybody in a large channel.
    pub wildcard_mention: PermissionPolicy,
    /// Who may write to people at all; one user of the conversation suffices.
    pub direct_messages: PermissionPolicy,
    /// Who may write to people first.
    pub initiate_direct_messages: PermissionPolicy,
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
            create_public_channel: PermissionPolicy::Members,
            create_private_channel: PermissionPolicy::Members,
            create_web_public_channel: PermissionPolicy::Owners,
            subscribe_others: PermissionPolicy::Members,
            invite: PermissionPolicy::Members,
            add_custom_emoji: PermissionPolicy::Members,
            edit_groups: PermissionPolicy::Members,
            create_bots: PermissionPolicy::Members,
            delete_own_message: PermissionPolicy::Everyone,
            edit_topic: PermissionPolicy::Everyone,
            move_between_channels: PermissionPolicy::Members,
            wildcard_mention: PermissionPolicy::Administrators,
            direct_messages: PermissionPolicy::Everyone,
            initiate_direct_messages: PermissionPolicy::Everyone,
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
        }
    }
}
