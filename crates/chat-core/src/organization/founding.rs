//! The first commit of a realm: its owner, the system groups and bots, and the channels it begins with.

use serde_json::json;

use crate::event_log::realm_commit::{CredentialChange, RealmCommit};
use crate::id::{ChannelId, EventId, UserGroupId, UserId};
use crate::model::channel::{
    Channel, ChannelPostPolicy, ChannelPrivacy, Subscription, SubscriptionNotificationSettings,
};
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::group::{GroupSettingValue, SystemGroup, UserGroup};
use crate::model::organization_image::OrganizationImageUrls;
use crate::model::realm::{Realm, RealmPermissionSettings};
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::{ApiKey, PasswordHash, User};
use crate::organization::settings::OrganizationError;
use crate::organization::system_bots::first_system_bots;
use crate::text_processing::printable_names::find_unprintable_in_name;

/// The channels a realm begins with, with the color of the owner's subscription. Not specified; new users are put
/// into them, so there is somewhere to write.
const CHANNELS: [(&str, &str); 2] = [("general", "#76ce90"), ("sandbox", "#fae589")];

/// Longest name of a new realm, in characters, as of one that is renamed.
const REALM_NAME_MAX_CHARS: usize = 40;

/// Parses the name of a new realm: trims and validates it.
///
/// # Errors
/// When it is blank or too long, or has a character that no screen shows.
pub fn parse_realm_name(written: &str) -> Result<&str, OrganizationError> {
    let (name, setting) = (written.trim(), "name");
    if name.chars().count() > REALM_NAME_MAX_CHARS {
        return Err(OrganizationError::TooLong { name: setting, limit: REALM_NAME_MAX_CHARS });
    }
    if name.is_empty() || find_unprintable_in_name(name).is_some() {
        return Err(OrganizationError::InvalidCharacters(setting));
    }
    Ok(name)
}

/// The data of a realm to create.
#[derive(Debug)]
pub struct NewRealm {
    /// The realm's name.
    pub realm_name: String,
    /// The owner's address.
    pub email: String,
    /// The owner's name, checked by [`crate::model::user::parse_full_name`].
    pub full_name: String,
    /// What the owner's password is compared with.
    pub password_hash: Option<PasswordHash>,
    /// The owner's key.
    pub api_key: ApiKey,
    /// Now, in unix seconds.
    pub now_s: i64,
}

/// Returns the commit that founds the realm. It is decided on a realm that does not exist, the state `before`: when
/// several nodes found it at once, one succeeds, and the others get
/// [`crate::event_log::realm_commit::CommitOutcome::Stale`].
#[must_use]
pub fn found_realm(before: &RealmSnapshot, founding: NewRealm) -> RealmCommit {
    let NewRealm { realm_name, email, full_name, password_hash, api_key, now_s } = founding;
    let mut commit = RealmCommit { decided_at: EventId::BEFORE_FIRST, at_s: now_s, ..RealmCommit::default() };
    let realm = Realm {
        name: realm_name,
        description: String::new(),
        created_s: now_s,
        is_deactivated: false,
        rules: RealmPermissionSettings::default(),
        images: OrganizationImageUrls::default(),
    };
    let mut ids = 1..;
    let mut new_id = || ids.next().unwrap_or_default();
    let groups = SystemGroup::ALL.map(|system| (system, UserGroupId(new_id())));
    let owner = UserId(new_id());
    let channels = CHANNELS.map(|named| (named, ChannelId(new_id())));
    commit.changes.push(RealmChange::Realm(Box::new(realm)));
    commit.changes.extend(groups.map(|(system, id)| RealmChange::Group(Box::new(system_group(system, id, &groups)))));
    commit.changes.push(RealmChange::User(Box::new(User {
        id: owner,
        email,
        full_name,
        role: Role::Owner,
        is_active: true,
        joined_s: now_s,
        bot: None,
        timezone: String::new(),
        avatar_url: None,
        avatar_version: 1,
        address_visibility: EmailAddressVisibility::default(),
    })));
    commit.changes.extend(first_system_bots(new_id, now_s));
    commit.set_api_key(before, owner, api_key);
    commit.credentials.push(CredentialChange::PasswordHash(owner, password_hash));
    let administrators = id_of(SystemGroup::Administrators, &groups);
    for ((name, color), id) in channels {
        commit.changes.push(RealmChange::Channel(Box::new(first_channel(name, (id, owner, administrators), now_s))));
        commit.changes.push(RealmChange::Item {
            kind: RealmItemKind::DefaultChannel,
            id: id.0,
            document: Some(json!({})),
        });
        commit.changes.push(RealmChange::Subscription(Box::new(Subscription {
            channel_id: id,
            user_id: owner,
            color: color.to_owned(),
            is_muted: false,
            pin_to_top: false,
            notifications: SubscriptionNotificationSettings::default(),
        })));
    }
    commit
}

type Groups = [(SystemGroup, UserGroupId); 8];

fn id_of(system: SystemGroup, groups: &Groups) -> UserGroupId {
    groups.iter().find(|(known, _)| *known == system).map_or(UserGroupId(0), |(_, id)| *id)
}

fn system_group(system: SystemGroup, id: UserGroupId, groups: &Groups) -> UserGroup {
    UserGroup {
        id,
        name: system.wire_name().to_owned(),
        description: system.description().to_owned(),
        system: Some(system),
        members: Vec::new(),
        subgroups: system.direct_subgroup().map(|inner| id_of(inner, groups)).into_iter().collect(),
        can_mention: GroupSettingValue::Group(id_of(SystemGroup::Nobody, groups)),
        is_deactivated: false,
        origin: None,
    }
}

fn first_channel(name: &str, (id, owner, administrators): (ChannelId, UserId, UserGroupId), now_s: i64) -> Channel {
    Channel {
        id,
        name: name.to_owned(),
        description: String::new(),
        rendered_description: String::new(),
        created_s: now_s,
        creator_id: Some(owner),
        privacy: ChannelPrivacy::Public,
        post_policy: ChannelPostPolicy::Everyone,
        message_retention_days: None,
        can_remove_subscribers_group: administrators,
        is_archived: false,
        folder_id: None,
        is_recently_active: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::LogRecord;
    use crate::organization::system_bots::SystemBot;

    #[test]
    fn a_new_realm_has_a_name_that_is_shown() {
        assert_eq!(parse_realm_name(" Acme "), Ok("Acme"));
        for (name, refused) in [
            (" ", OrganizationError::InvalidCharacters("name")),
            ("A\u{200b}", OrganizationError::InvalidCharacters("name")),
            (&*"A".repeat(41), OrganizationError::TooLong { name: "name", limit: 40 }),
        ] {
            assert_eq!(parse_realm_name(name), Err(refused), "{name}");
        }
    }

    #[test]
    fn a_new_realm_has_an_owner_groups_and_somewhere_to_write() {
        let api_key = ApiKey::from_random(&[5; 64]).unwrap();
        let founding = NewRealm {
            realm_name: "Acme".to_owned(),
            email: "Ada@example.org".to_owned(),
            full_name: "Ada".to_owned(),
            password_hash: None,
            api_key: api_key.clone(),
            now_s: 7,
        };
        let commit = found_realm(&RealmSnapshot::default(), founding);
        let realm = RealmSnapshot::default().after_record(&LogRecord::new(EventId(1), 7, commit.changes, None));
        let owner = realm.user_by_key_hash(&realm.key_hasher().hash(&api_key)).unwrap();
        assert_eq!((owner.role, owner.id, realm.nth_unused_id(1)), (Role::Owner, UserId(9), 14));
        let bots = SystemBot::ALL.map(|bot| bot.find(&realm).map(|user| (user.id, user.is_active)));
        assert_eq!(bots, [Some((UserId(12), true)), Some((UserId(13), true))]);
        let inside = |system| realm.is_in_group(owner, realm.system_group(system).unwrap().id, 7);
        assert!(inside(SystemGroup::Owners) && inside(SystemGroup::Internet) && !inside(SystemGroup::Nobody));
        let subscribed =
            realm.memberships_of_user(owner.id).filter(|(_, membership)| membership.subscription.is_some());
        assert_eq!(subscribed.count(), 2);
        assert_eq!(realm.realm_items(RealmItemKind::DefaultChannel).count(), 2);
        assert!(realm.channel_by_name("GENERAL").is_some());
    }
}
