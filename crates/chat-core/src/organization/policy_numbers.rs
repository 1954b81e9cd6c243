//! Permissions as the policy numbers of older clients.
//!
//! The group settings decide. A number that an older client sends sets them, and each has a number for the state of such
//! a client, which may say less than the setting.
//!
//! # Source
//! Not specified; names and numbers as existing servers have them, also for values that a policy could not have.

use crate::model::group::{GroupSettingValue, SystemGroup};
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_permission::RealmPermission;

/// Numbers of most policies.
const PLAIN: &[(i64, SystemGroup)] = &[
    (1, SystemGroup::Members),
    (2, SystemGroup::Administrators),
    (3, SystemGroup::FullMembers),
    (4, SystemGroup::Moderators),
];
/// Numbers of policies that may be given to no one.
const OR_NOBODY: &[(i64, SystemGroup)] = &[
    (1, SystemGroup::Members),
    (2, SystemGroup::Administrators),
    (3, SystemGroup::FullMembers),
    (4, SystemGroup::Moderators),
    (6, SystemGroup::Nobody),
];
/// Numbers of policies that may be guests' too.
const OR_GUESTS: &[(i64, SystemGroup)] = &[
    (1, SystemGroup::Members),
    (2, SystemGroup::Administrators),
    (3, SystemGroup::FullMembers),
    (4, SystemGroup::Moderators),
    (5, SystemGroup::Everyone),
];
const TOPICS: &[(i64, SystemGroup)] = &[
    (1, SystemGroup::Members),
    (2, SystemGroup::Administrators),
    (3, SystemGroup::FullMembers),
    (4, SystemGroup::Moderators),
    (5, SystemGroup::Everyone),
    (6, SystemGroup::Nobody),
];
const WEB_PUBLIC: &[(i64, SystemGroup)] = &[
    (2, SystemGroup::Administrators),
    (4, SystemGroup::Moderators),
    (6, SystemGroup::Nobody),
    (7, SystemGroup::Owners),
];
const WILDCARD: &[(i64, SystemGroup)] = &[
    (1, SystemGroup::Everyone),
    (2, SystemGroup::Members),
    (3, SystemGroup::FullMembers),
    (5, SystemGroup::Administrators),
    (6, SystemGroup::Nobody),
    (7, SystemGroup::Moderators),
];
/// Numbers that are shown for groups that a policy could not have.
const SHOWN: &[(i64, SystemGroup)] = &[(5, SystemGroup::Everyone), (6, SystemGroup::Nobody), (7, SystemGroup::Owners)];

/// The groups of the two permissions to create bots for each number.
const BOTS: &[(i64, [SystemGroup; 2])] = &[
    (1, [SystemGroup::Members, SystemGroup::Members]),
    (2, [SystemGroup::Administrators, SystemGroup::Members]),
    (3, [SystemGroup::Administrators, SystemGroup::Administrators]),
];

/// A policy of older clients.
#[derive(Debug)]
pub struct PolicyNumbers {
    /// Its name on the wire.
    pub name: &'static str,
    scale: PolicyScale,
}

#[derive(Debug)]
enum PolicyScale {
    /// One permission, with the numbers that set it, further ones that only show it, and the number of any other value.
    Groups {
        permission: RealmPermission,
        numbers: &'static [(i64, SystemGroup)],
        shown: &'static [(i64, SystemGroup)],
        otherwise: i64,
    },
    /// The permission to rename topics. A number sets who may mark them as resolved too, which older clients know as
    /// one of the new names.
    Topics,
    /// The two permissions to create bots.
    Bots,
}

const fn policy(
    name: &'static str,
    permission: RealmPermission,
    numbers: &'static [(i64, SystemGroup)],
) -> PolicyNumbers {
    PolicyNumbers { name, scale: PolicyScale::Groups { permission, numbers, shown: SHOWN, otherwise: 1 } }
}

/// Who may move messages to another topic.
pub(crate) const EDIT_TOPIC: &PolicyNumbers = &PolicyNumbers { name: "edit_topic_policy", scale: PolicyScale::Topics };
/// Who may delete their own messages.
pub(crate) const DELETE_OWN_MESSAGE: &PolicyNumbers =
    &policy("delete_own_message_policy", RealmPermission::DeleteOwnMessage, OR_GUESTS);
/// Who may move messages to another channel.
pub(crate) const MOVE_BETWEEN_CHANNELS: &PolicyNumbers =
    &policy("move_messages_between_streams_policy", RealmPermission::MoveBetweenChannels, OR_NOBODY);
/// Who may create web-public channels.
pub(crate) const CREATE_WEB_PUBLIC_CHANNEL: &PolicyNumbers = &PolicyNumbers {
    name: "create_web_public_stream_policy",
    scale: PolicyScale::Groups {
        permission: RealmPermission::CreateWebPublicChannel,
        numbers: WEB_PUBLIC,
        shown: &[],
        otherwise: 4,
    },
};
/// Who may subscribe others.
pub(crate) const SUBSCRIBE_OTHERS: &PolicyNumbers =
    &policy("invite_to_stream_policy", RealmPermission::SubscribeOthers, PLAIN);
/// Who may invite.
pub(crate) const INVITE: &PolicyNumbers = &policy("invite_to_realm_policy", RealmPermission::Invite, OR_NOBODY);
/// Who may add custom emoji.
pub(crate) const ADD_CUSTOM_EMOJI: &PolicyNumbers =
    &policy("add_custom_emoji_policy", RealmPermission::AddCustomEmoji, PLAIN);
/// Who may create user groups.
pub(crate) const CREATE_GROUPS: &PolicyNumbers =
    &policy("user_group_edit_policy", RealmPermission::CreateGroups, PLAIN);
/// Who may create bots.
pub(crate) const CREATE_BOTS: &PolicyNumbers = &PolicyNumbers { name: "bot_creation_policy", scale: PolicyScale::Bots };
/// Who may mention many users.
pub(crate) const MENTION_MANY_USERS: &PolicyNumbers = &PolicyNumbers {
    name: "wildcard_mention_policy",
    scale: PolicyScale::Groups {
        permission: RealmPermission::MentionManyUsers,
        numbers: WILDCARD,
        shown: &[],
        otherwise: 1,
    },
};
/// Who may create public channels; it is only shown.
const CREATE_PUBLIC_CHANNEL: &PolicyNumbers =
    &policy("create_public_stream_policy", RealmPermission::CreatePublicChannel, PLAIN);
/// Who may create private channels; it is only shown.
const CREATE_PRIVATE_CHANNEL: &PolicyNumbers =
    &policy("create_private_stream_policy", RealmPermission::CreatePrivateChannel, PLAIN);

impl PolicyNumbers {
    /// All policies of the state of older clients.
    pub const ALL: [&'static Self; 12] = [
        CREATE_PUBLIC_CHANNEL,
        CREATE_PRIVATE_CHANNEL,
        CREATE_WEB_PUBLIC_CHANNEL,
        SUBSCRIBE_OTHERS,
        INVITE,
        ADD_CUSTOM_EMOJI,
        CREATE_GROUPS,
        CREATE_BOTS,
        DELETE_OWN_MESSAGE,
        EDIT_TOPIC,
        MOVE_BETWEEN_CHANNELS,
        MENTION_MANY_USERS,
    ];

    /// Returns the numbers that the policy can be set to.
    #[must_use]
    pub fn numbers(&self) -> Vec<i64> {
        match &self.scale {
            PolicyScale::Groups { numbers, .. } => numbers.iter().map(|(number, _)| *number).collect(),
            PolicyScale::Topics => TOPICS.iter().map(|(number, _)| *number).collect(),
            PolicyScale::Bots => BOTS.iter().map(|(number, _)| *number).collect(),
        }
    }

    /// Returns the number that sets the permissions as they are; `None` when none does.
    pub(crate) fn exact_number(&self, settings: &RealmPermissionSettings) -> Option<i64> {
        match &self.scale {
            PolicyScale::Groups { permission, numbers, .. } => number_of(numbers, permission.value(settings)),
            PolicyScale::Topics => number_of(TOPICS, &settings.edit_topic),
            PolicyScale::Bots => {
                let stored = [&settings.create_bots, &settings.create_write_only_bots];
                let found = BOTS.iter().find(|(_, groups)| groups.map(GroupSettingValue::from).each_ref() == stored);
                found.map(|(number, _)| *number)
            }
        }
    }

    /// Returns the number that older clients are shown.
    #[must_use]
    pub fn shown_number(&self, settings: &RealmPermissionSettings) -> i64 {
        let exact = self.exact_number(settings);
        exact.unwrap_or_else(|| match &self.scale {
            PolicyScale::Groups { permission, shown, otherwise, .. } => {
                number_of(shown, permission.value(settings)).unwrap_or(*otherwise)
            }
            PolicyScale::Topics => number_of(SHOWN, &settings.edit_topic).unwrap_or(1),
            PolicyScale::Bots => match &settings.create_bots {
                GroupSettingValue::System(SystemGroup::Moderators) => 2,
                GroupSettingValue::System(SystemGroup::Administrators | SystemGroup::Owners | SystemGroup::Nobody) => 3,
                _ => 1,
            },
        })
    }

    /// Sets the permissions that the number stands for. Returns `None` when it stands for none.
    pub(crate) fn put(&self, number: Option<i64>, settings: &mut RealmPermissionSettings) -> Option<()> {
        match &self.scale {
            PolicyScale::Groups { permission, numbers, .. } => {
                let (_, group) = numbers.iter().find(|(known, _)| Some(*known) == number)?;
                *permission.value_mut(settings) = (*group).into();
            }
            PolicyScale::Topics => {
                let (_, group) = TOPICS.iter().find(|(known, _)| Some(*known) == number)?;
                settings.edit_topic = (*group).into();
                settings.resolve_topics = (*group).into();
            }
            PolicyScale::Bots => {
                let (_, [all, write_only]) = BOTS.iter().find(|(known, _)| Some(*known) == number)?;
                settings.create_bots = (*all).into();
                settings.create_write_only_bots = (*write_only).into();
            }
        }
        Some(())
    }
}

fn number_of(numbers: &[(i64, SystemGroup)], value: &GroupSettingValue) -> Option<i64> {
    let found = numbers.iter().find(|(_, group)| *value == GroupSettingValue::System(*group));
    found.map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::UserGroupId;

    #[test]
    fn every_number_that_can_be_set_is_shown_again() {
        for policy in PolicyNumbers::ALL {
            for number in 0..9 {
                let mut settings = RealmPermissionSettings::default();
                let is_known = policy.put(Some(number), &mut settings).is_some();
                assert_eq!(is_known, policy.numbers().contains(&number), "{} {number}", policy.name);
                if is_known {
                    assert_eq!(policy.exact_number(&settings), Some(number), "{} {number}", policy.name);
                    assert_eq!(policy.shown_number(&settings), number, "{} {number}", policy.name);
                }
            }
        }
    }

    #[test]
    fn a_group_that_no_policy_could_have_is_shown_as_members() {
        for policy in PolicyNumbers::ALL {
            let mut settings = RealmPermissionSettings::default();
            for permission in RealmPermission::ALL {
                *permission.value_mut(&mut settings) = GroupSettingValue::Group(UserGroupId(50));
            }
            let expected = if policy.name == "create_web_public_stream_policy" { 4 } else { 1 };
            assert_eq!((policy.exact_number(&settings), policy.shown_number(&settings)), (None, expected));
        }
    }

    #[test]
    fn system_groups_beyond_the_policies_have_the_numbers_that_clients_know() {
        let shown = |policy: &PolicyNumbers, group: SystemGroup| {
            let mut settings = RealmPermissionSettings::default();
            for permission in RealmPermission::ALL {
                *permission.value_mut(&mut settings) = group.into();
            }
            policy.shown_number(&settings)
        };
        let owners = PolicyNumbers::ALL.map(|policy| shown(policy, SystemGroup::Owners));
        assert_eq!(owners, [7, 7, 7, 7, 7, 7, 7, 3, 7, 7, 7, 1]);
        let nobody = PolicyNumbers::ALL.map(|policy| shown(policy, SystemGroup::Nobody));
        assert_eq!(nobody, [6, 6, 6, 6, 6, 6, 6, 3, 6, 6, 6, 6]);
        let moderators = PolicyNumbers::ALL.map(|policy| shown(policy, SystemGroup::Moderators));
        assert_eq!(moderators, [4, 4, 4, 4, 4, 4, 4, 2, 4, 4, 4, 7]);
    }
}
