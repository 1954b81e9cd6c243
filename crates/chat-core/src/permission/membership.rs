//! Who may make channels, and put users in and out of them.

use crate::model::channel::{Channel, Privacy};
use crate::model::role::PermissionPolicy;
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{ReadableHistory, history};

/// The reason why a channel may not be made, or users not be put in or out of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MembershipError {
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

/// Whether the user may make a channel of that privacy.
///
/// # Errors
/// See [`MembershipError`].
pub fn may_create(realm: &RealmSnapshot, user: &User, privacy: Privacy, now_s: i64) -> Result<(), MembershipError> {
    let policy = realm.realm().map_or(PermissionPolicy::Nobody, |realm| match privacy {
        Privacy::WebPublic => realm.rules.create_web_public_channel,
        Privacy::Public => realm.rules.create_public_channel,
        Privacy::PrivateSharedHistory | Privacy::PrivateProtectedHistory => realm.rules.create_private_channel,
    });
    if user.is_guest() {
        return Err(MembershipError::GuestRefused);
    }
    permitted(realm, user, policy, now_s)
}

/// Whether the user may enter the channel: one they may read, or private and they are in it already.
///
/// # Errors
/// [`MembershipError::NotAccessible`].
pub fn may_enter(realm: &RealmSnapshot, user: &User, channel: &Channel) -> Result<(), MembershipError> {
    let inside = realm.subscription(channel.id, user.id).is_some();
    let open = !channel.privacy.is_private() && history(realm, user, channel) == ReadableHistory::All;
    if !channel.is_archived && (inside || open) {
        Ok(())
    } else {
        Err(MembershipError::NotAccessible(channel.name.clone()))
    }
}

/// Whether the user may put others into the channel: one they may enter.
///
/// # Errors
/// See [`MembershipError`].
pub fn may_add_others(
    realm: &RealmSnapshot,
    user: &User,
    channel: &Channel,
    now_s: i64,
) -> Result<(), MembershipError> {
    if user.is_guest() {
        return Err(MembershipError::GuestRefused);
    }
    may_enter(realm, user, channel)?;
    may_bring_others(realm, user, now_s)
}

/// Whether the user may put others into channels at all, those they make among them.
///
/// # Errors
/// See [`MembershipError`].
pub fn may_bring_others(realm: &RealmSnapshot, user: &User, now_s: i64) -> Result<(), MembershipError> {
    if user.is_guest() {
        return Err(MembershipError::GuestRefused);
    }
    permitted(realm, user, realm.realm().map_or(PermissionPolicy::Nobody, |realm| realm.rules.subscribe_others), now_s)
}

/// Whether the user may take others out of the channel. Everybody may leave.
///
/// # Errors
/// See [`MembershipError`].
pub fn may_remove_others(
    realm: &RealmSnapshot,
    user: &User,
    channel: &Channel,
    now_s: i64,
) -> Result<(), MembershipError> {
    let inside = !channel.privacy.is_private() || realm.subscription(channel.id, user.id).is_some();
    let named = inside && realm.is_in_group(user, channel.can_remove_subscribers_group, now_s);
    if user.is_administrator() || named { Ok(()) } else { Err(MembershipError::Insufficient) }
}

fn permitted(realm: &RealmSnapshot, user: &User, policy: PermissionPolicy, now_s: i64) -> Result<(), MembershipError> {
    let waiting_days = realm.realm().map_or(0, |realm| realm.rules.waiting_period_days);
    if policy.permits(user, waiting_days, now_s) { Ok(()) } else { Err(MembershipError::Insufficient) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ChannelId, UserGroupId, UserId};
    use crate::model::change::RealmChange;
    use crate::model::group::{GroupSetting, SystemGroup, UserGroup};
    use crate::model::realm::RealmRules;
    use crate::testing::{self, NOW_S};

    fn realm(privacy: Privacy) -> RealmSnapshot {
        let administrators = UserGroup {
            id: UserGroupId(1),
            name: SystemGroup::Administrators.name().to_owned(),
            description: String::new(),
            system: Some(SystemGroup::Administrators),
            members: Vec::new(),
            subgroups: Vec::new(),
            can_mention: GroupSetting::Group(UserGroupId(1)),
            is_deactivated: false,
            origin: None,
        };
        testing::realm(
            RealmRules::default(),
            vec![
                RealmChange::Group(Box::new(administrators)),
                RealmChange::Channel(Box::new(testing::channel(20, privacy))),
                RealmChange::Subscription(Box::new(testing::subscription(20, 3))),
            ],
        )
    }

    /// Who of owner, administrator, moderator (inside), member and guest passes.
    fn passing(
        privacy: Privacy,
        rule: impl Fn(&RealmSnapshot, &User, &Channel) -> Result<(), MembershipError>,
    ) -> [bool; 5] {
        let realm = realm(privacy);
        let channel = realm.channel(ChannelId(20)).unwrap();
        [1, 2, 3, 4, 6].map(|id| rule(&realm, realm.user(UserId(id)).unwrap(), channel).is_ok())
    }

    #[test]
    fn a_private_channel_is_entered_by_invitation() {
        assert_eq!(passing(Privacy::WebPublic, may_enter), [true; 5]);
        assert_eq!(passing(Privacy::Public, may_enter), [true, true, true, true, false]);
        assert_eq!(passing(Privacy::PrivateSharedHistory, may_enter), [false, false, true, false, false]);
        let realm = realm(Privacy::PrivateSharedHistory);
        let refused = may_enter(&realm, realm.user(UserId(4)).unwrap(), realm.channel(ChannelId(20)).unwrap());
        assert_eq!(refused.unwrap_err().to_string(), "Unable to access channel (Channel 20).");
    }

    #[test]
    fn others_are_brought_along_by_who_may_enter_and_is_no_guest() {
        let rule = |realm: &RealmSnapshot, user: &User, channel: &Channel| may_add_others(realm, user, channel, NOW_S);
        assert_eq!(passing(Privacy::WebPublic, rule), [true, true, true, true, false]);
        assert_eq!(passing(Privacy::PrivateSharedHistory, rule), [false, false, true, false, false]);
    }

    #[test]
    fn others_are_taken_out_by_administrators_or_the_named_group() {
        let rule =
            |realm: &RealmSnapshot, user: &User, channel: &Channel| may_remove_others(realm, user, channel, NOW_S);
        assert_eq!(passing(Privacy::Public, rule), [true, true, false, false, false]);
    }

    #[test]
    fn who_makes_channels_follows_from_the_realm_and_is_no_guest() {
        let realm = realm(Privacy::Public);
        let passing =
            |privacy| [1, 2, 4, 6].map(|id| may_create(&realm, realm.user(UserId(id)).unwrap(), privacy, NOW_S));
        let no = || Err(MembershipError::Insufficient);
        let guest = || Err(MembershipError::GuestRefused);
        assert_eq!(passing(Privacy::Public), [Ok(()), Ok(()), Ok(()), guest()]);
        assert_eq!(passing(Privacy::WebPublic), [Ok(()), no(), no(), guest()]);
    }
}
