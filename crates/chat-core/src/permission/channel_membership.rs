//! Who may make channels, and put users in and out of them.

use crate::model::channel::{Channel, ChannelPrivacy};
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{ReadableHistory, readable_history};
use crate::permission::group_settings::has_realm_permission;

/// The reason why a channel may not be created, or subscriptions not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MembershipChangeError {
    /// Guests may not.
    #[error("Not allowed for guest users")]
    GuestRefused,
    /// The realm's choices do not permit it.
    #[error("Insufficient permission")]
    Insufficient,
    /// The channel is private and the user is not in it.
    #[error("Unable to access channel ({0}).")]
    NotAccessible(String),
}

/// Checks whether the user may create a channel of that privacy.
///
/// # Errors
/// See [`MembershipChangeError`].
pub fn may_create_channel(
    realm: &RealmSnapshot,
    user: &User,
    privacy: ChannelPrivacy,
    now_s: i64,
) -> Result<(), MembershipChangeError> {
    let permission = match privacy {
        ChannelPrivacy::WebPublic => RealmPermission::CreateWebPublicChannel,
        ChannelPrivacy::Public => RealmPermission::CreatePublicChannel,
        ChannelPrivacy::PrivateSharedHistory | ChannelPrivacy::PrivateProtectedHistory => {
            RealmPermission::CreatePrivateChannel
        }
    };
    if user.is_guest() {
        return Err(MembershipChangeError::GuestRefused);
    }
    permitted(realm, user, permission, now_s)
}

/// Checks whether the user may subscribe to the channel, archived or not: one that they may read, or a private one to which they are
/// subscribed already.
///
/// # Errors
/// [`MembershipChangeError::NotAccessible`].
pub fn may_subscribe(realm: &RealmSnapshot, user: &User, channel: &Channel) -> Result<(), MembershipChangeError> {
    let inside = realm.subscription(channel.id, user.id).is_some();
    let open = !channel.privacy.is_invite_only() && readable_history(realm, user, channel) == ReadableHistory::All;
    if inside || open { Ok(()) } else { Err(MembershipChangeError::NotAccessible(channel.name.clone())) }
}

/// Checks whether the user may subscribe others to the channel, to which they may subscribe themselves.
///
/// # Errors
/// See [`MembershipChangeError`].
pub fn may_add_subscribers(
    realm: &RealmSnapshot,
    user: &User,
    channel: &Channel,
    now_s: i64,
) -> Result<(), MembershipChangeError> {
    if user.is_guest() {
        return Err(MembershipChangeError::GuestRefused);
    }
    may_subscribe(realm, user, channel)?;
    may_add_subscribers_anywhere(realm, user, now_s)
}

/// Checks whether the user may subscribe others to channels at all, including new ones.
///
/// # Errors
/// See [`MembershipChangeError`].
pub fn may_add_subscribers_anywhere(
    realm: &RealmSnapshot,
    user: &User,
    now_s: i64,
) -> Result<(), MembershipChangeError> {
    if user.is_guest() {
        return Err(MembershipChangeError::GuestRefused);
    }
    permitted(realm, user, RealmPermission::SubscribeOthers, now_s)
}

/// Checks whether the user may unsubscribe others from the channel. Everybody may unsubscribe themselves.
///
/// # Errors
/// See [`MembershipChangeError`].
pub fn may_remove_subscribers(
    realm: &RealmSnapshot,
    user: &User,
    channel: &Channel,
    now_s: i64,
) -> Result<(), MembershipChangeError> {
    let inside = !channel.privacy.is_invite_only() || realm.subscription(channel.id, user.id).is_some();
    let named = inside && realm.is_in_group(user, channel.can_remove_subscribers_group, now_s);
    if user.is_administrator() || named { Ok(()) } else { Err(MembershipChangeError::Insufficient) }
}

fn permitted(
    realm: &RealmSnapshot,
    user: &User,
    permission: RealmPermission,
    now_s: i64,
) -> Result<(), MembershipChangeError> {
    let permitted = has_realm_permission(realm, user, permission, now_s);
    if permitted { Ok(()) } else { Err(MembershipChangeError::Insufficient) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ChannelId, UserGroupId, UserId};
    use crate::model::group::{GroupSettingValue, SystemGroup, UserGroup};
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing::{self, NOW_S};

    fn realm(privacy: ChannelPrivacy) -> RealmSnapshot {
        let administrators = UserGroup {
            id: UserGroupId(1),
            name: SystemGroup::Administrators.wire_name().to_owned(),
            description: String::new(),
            system: Some(SystemGroup::Administrators),
            members: Vec::new(),
            subgroups: Vec::new(),
            can_mention: GroupSettingValue::Group(UserGroupId(1)),
            is_deactivated: false,
            origin: None,
        };
        testing::realm(
            RealmPermissionSettings::default(),
            vec![
                RealmChange::Group(Box::new(administrators)),
                RealmChange::Channel(Box::new(testing::channel(20, privacy))),
                RealmChange::Subscription(Box::new(testing::subscription(20, 3))),
            ],
        )
    }

    /// Who of owner, administrator, moderator (inside), member and guest passes.
    fn passing(
        privacy: ChannelPrivacy,
        rule: impl Fn(&RealmSnapshot, &User, &Channel) -> Result<(), MembershipChangeError>,
    ) -> [bool; 5] {
        let realm = realm(privacy);
        let channel = realm.channel(ChannelId(20)).unwrap();
        [1, 2, 3, 4, 6].map(|id| rule(&realm, realm.user(UserId(id)).unwrap(), channel).is_ok())
    }

    #[test]
    fn a_private_channel_is_entered_by_invitation() {
        assert_eq!(passing(ChannelPrivacy::WebPublic, may_subscribe), [true; 5]);
        assert_eq!(passing(ChannelPrivacy::Public, may_subscribe), [true, true, true, true, false]);
        assert_eq!(passing(ChannelPrivacy::PrivateSharedHistory, may_subscribe), [false, false, true, false, false]);
        let realm = realm(ChannelPrivacy::PrivateSharedHistory);
        let refused = may_subscribe(&realm, realm.user(UserId(4)).unwrap(), realm.channel(ChannelId(20)).unwrap());
        assert_eq!(refused.unwrap_err().to_string(), "Unable to access channel (Channel 20).");
    }

    #[test]
    fn others_are_brought_along_by_who_may_enter_and_is_no_guest() {
        let rule =
            |realm: &RealmSnapshot, user: &User, channel: &Channel| may_add_subscribers(realm, user, channel, NOW_S);
        assert_eq!(passing(ChannelPrivacy::WebPublic, rule), [true, true, true, true, false]);
        assert_eq!(passing(ChannelPrivacy::PrivateSharedHistory, rule), [false, false, true, false, false]);
    }

    #[test]
    fn others_are_taken_out_by_administrators_or_the_named_group() {
        let rule =
            |realm: &RealmSnapshot, user: &User, channel: &Channel| may_remove_subscribers(realm, user, channel, NOW_S);
        assert_eq!(passing(ChannelPrivacy::Public, rule), [true, true, false, false, false]);
    }

    #[test]
    fn who_makes_channels_follows_from_the_realm_and_is_no_guest() {
        let realm = realm(ChannelPrivacy::Public);
        let passing = |privacy| {
            [1, 2, 4, 6].map(|id| may_create_channel(&realm, realm.user(UserId(id)).unwrap(), privacy, NOW_S))
        };
        let no = || Err(MembershipChangeError::Insufficient);
        let guest = || Err(MembershipChangeError::GuestRefused);
        assert_eq!(passing(ChannelPrivacy::Public), [Ok(()), Ok(()), Ok(()), guest()]);
        assert_eq!(passing(ChannelPrivacy::WebPublic), [Ok(()), no(), no(), guest()]);
    }
}
