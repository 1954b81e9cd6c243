//! The permissions that a realm gives to groups.

use crate::model::group::{GroupSettingValue, SystemGroup};
use crate::model::group_setting_rule::{GroupSettingRule, NOT_GUESTS, NOT_GUESTS_NOR_NOBODY, NOT_OUTSIDERS};
use crate::model::realm::RealmPermissionSettings;

/// The system groups that can create web-public channels.
const WEB_PUBLIC: &[SystemGroup] =
    &[SystemGroup::Moderators, SystemGroup::Administrators, SystemGroup::Owners, SystemGroup::Nobody];

macro_rules! permissions {
    ($($(#[$doc:meta])* $permission:ident = $field:ident, $rule:expr;)+) => {
        /// A permission that a realm gives to a group.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RealmPermission {
            $($(#[$doc])* $permission,)+
        }

        impl RealmPermission {
            /// All permissions.
            pub const ALL: &[Self] = &[$(Self::$permission,)+];

            /// Returns the groups that can have the permission.
            #[must_use]
            pub const fn rule(self) -> &'static GroupSettingRule {
                match self {
                    $(Self::$permission => const { &$rule },)+
                }
            }

            /// Returns the group that has the permission.
            #[must_use]
            pub fn value(self, settings: &RealmPermissionSettings) -> &GroupSettingValue {
                match self {
                    $(Self::$permission => &settings.$field,)+
                }
            }

            /// Returns the group that has the permission, to be changed.
            pub fn value_mut(self, settings: &mut RealmPermissionSettings) -> &mut GroupSettingValue {
                match self {
                    $(Self::$permission => &mut settings.$field,)+
                }
            }
        }
    };
}

/// A permission of members that may also be given to no one (`role:nobody`).
const fn of_members(name: &'static str, default: SystemGroup) -> GroupSettingRule {
    GroupSettingRule::new(name, NOT_GUESTS, default)
}

/// A permission that guests may have.
const fn of_guests(name: &'static str, default: SystemGroup) -> GroupSettingRule {
    GroupSettingRule::new(name, NOT_OUTSIDERS, default)
}

permissions! {
    /// Create public channels.
    CreatePublicChannel = create_public_channel, of_members("can_create_public_channel_group", SystemGroup::Members);
    /// Create private channels.
    CreatePrivateChannel = create_private_channel,
        of_members("can_create_private_channel_group", SystemGroup::Members);
    /// Create web-public channels.
    CreateWebPublicChannel = create_web_public_channel,
        of_members("can_create_web_public_channel_group", SystemGroup::Owners).one_of(WEB_PUBLIC);
    /// Write direct messages; one user of the conversation suffices.
    DirectMessages = direct_messages, of_guests("direct_message_permission_group", SystemGroup::Everyone);
    /// Begin a direct conversation.
    InitiateDirectMessages = initiate_direct_messages,
        of_guests("direct_message_initiator_group", SystemGroup::Everyone);
    /// Delete any message that one can read, at any time.
    DeleteAnyMessage = delete_any_message,
        of_members("can_delete_any_message_group", SystemGroup::Administrators);
    /// Delete one's own messages within the time limit.
    DeleteOwnMessage = delete_own_message, of_guests("can_delete_own_message_group", SystemGroup::Everyone);
    /// Create user groups.
    CreateGroups = edit_groups, of_members("can_create_groups", SystemGroup::Members);
    /// Change every user group that is not the system's.
    ManageAllGroups = manage_all_groups,
        GroupSettingRule::new("can_manage_all_groups", NOT_GUESTS_NOR_NOBODY, SystemGroup::Owners);
    /// Add custom emoji.
    AddCustomEmoji = add_custom_emoji, of_members("can_add_custom_emoji_group", SystemGroup::Members);
    /// Move messages to another channel.
    MoveBetweenChannels = move_between_channels,
        of_members("can_move_messages_between_channels_group", SystemGroup::Members);
    /// Create invitation links that anyone may use.
    CreateReusableInvitation = create_reusable_invitation,
        of_members("create_multiuse_invite_group", SystemGroup::Administrators);
    /// Move messages to another topic.
    MoveBetweenTopics = edit_topic, of_guests("can_move_messages_between_topics_group", SystemGroup::Everyone);
    /// Invite users by e-mail.
    Invite = invite, of_members("can_invite_users_group", SystemGroup::Members);
    /// Subscribe others to channels.
    SubscribeOthers = subscribe_others, of_members("can_add_subscribers_group", SystemGroup::Members);
    /// Create bots of any kind.
    CreateBots = create_bots, of_members("can_create_bots_group", SystemGroup::Members);
    /// Create bots that only send messages.
    CreateWriteOnlyBots = create_write_only_bots,
        of_members("can_create_write_only_bots_group", SystemGroup::Members);
    /// Summarize topics, which no realm of this server can.
    SummarizeTopics = summarize_topics, of_guests("can_summarize_topics_group", SystemGroup::Everyone);
    /// Mention all users of a large channel or topic.
    MentionManyUsers = wildcard_mention, of_guests("can_mention_many_users_group", SystemGroup::Administrators);
    /// Manage plans, of which this server has none.
    ManageBilling = manage_billing,
        GroupSettingRule::new("can_manage_billing_group", NOT_GUESTS_NOR_NOBODY, SystemGroup::Administrators);
    /// Mark topics as resolved and unresolved.
    ResolveTopics = resolve_topics, of_guests("can_resolve_topics_group", SystemGroup::Everyone);
    /// Choose the policy of a channel's empty topic.
    SetTopicsPolicy = set_topics_policy, of_guests("can_set_topics_policy_group", SystemGroup::Members);
    /// Choose who may delete messages of a channel.
    SetDeleteMessagePolicy = set_delete_message_policy,
        of_members("can_set_delete_message_policy_group", SystemGroup::Moderators);
}

impl RealmPermission {
    /// Returns whether only owners change the setting; the others are administrators' choice.
    #[must_use]
    pub const fn is_owners_choice(self) -> bool {
        matches!(
            self,
            Self::CreateGroups
                | Self::ManageAllGroups
                | Self::CreateReusableInvitation
                | Self::Invite
                | Self::ManageBilling
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::group_setting_rule::DefaultGroup;

    #[test]
    fn every_permission_has_a_field_of_its_own_with_the_default_of_its_rule() {
        let settings = RealmPermissionSettings::default();
        for permission in RealmPermission::ALL {
            let DefaultGroup::System(default) = permission.rule().default;
            assert!(permission.rule().allows(default), "{permission:?}");
            assert_eq!(*permission.value(&settings), default.into(), "{permission:?}");
            let mut changed = settings.clone();
            *permission.value_mut(&mut changed) = SystemGroup::FullMembers.into();
            let different = RealmPermission::ALL.iter().filter(|of| of.value(&changed) != of.value(&settings));
            assert_eq!(different.collect::<Vec<_>>(), [permission]);
        }
    }
}
