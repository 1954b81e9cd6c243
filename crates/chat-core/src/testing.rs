//! Pieces that tests of the rules are made of.

use crate::event_log::event::{LogRecord, NewMessageEvent};
use crate::id::{ChannelId, EventId, MessageId, UserGroupId, UserId};
use crate::model::channel::{
    Channel, ChannelPostPolicy, ChannelPrivacy, Subscription, SubscriptionNotificationSettings,
};
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::group::{SystemGroup, UserGroup};
use crate::model::message::{ContentFlags, Message, Recipient};
use crate::model::organization_image::OrganizationImageUrls;
use crate::model::realm::{Realm, RealmPermissionSettings};
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::User;
use crate::wire_format::{DisplayRecipient, MessageSender};

pub(crate) const NOW_S: i64 = 1_800_000_000;

pub(crate) fn user(id: i64, role: Role) -> User {
    User {
        id: UserId(id),
        email: format!("User{id}@example.org"),
        full_name: format!("User {id}"),
        role,
        is_active: true,
        joined_s: NOW_S - 1_000,
        bot: None,
        timezone: String::new(),
        avatar_url: None,
        avatar_version: 1,
        address_visibility: EmailAddressVisibility::default(),
    }
}

pub(crate) fn channel(id: i64, privacy: ChannelPrivacy) -> Channel {
    Channel {
        id: ChannelId(id),
        name: format!("Channel {id}"),
        description: String::new(),
        rendered_description: String::new(),
        created_s: NOW_S - 1_000,
        creator_id: None,
        privacy,
        post_policy: ChannelPostPolicy::Everyone,
        message_retention_days: None,
        can_remove_subscribers_group: UserGroupId(1),
        is_archived: false,
        folder_id: None,
        is_recently_active: true,
    }
}

pub(crate) fn group(id: i64, system: Option<SystemGroup>) -> UserGroup {
    UserGroup {
        id: UserGroupId(id),
        name: system.map_or_else(|| format!("group {id}"), |system| system.wire_name().to_owned()),
        description: String::new(),
        system,
        members: Vec::new(),
        subgroups: Vec::new(),
        can_mention: SystemGroup::Everyone.into(),
        is_deactivated: false,
        origin: None,
    }
}

/// All system groups, with the ids from 30 on, each with the one before it as its subgroup.
pub(crate) fn system_groups() -> impl Iterator<Item = RealmChange> {
    let place = |system| SystemGroup::ALL.into_iter().position(|other| other == system).unwrap_or_default();
    let id = move |system| 30 + i64::try_from(place(system)).unwrap_or_default();
    SystemGroup::ALL.into_iter().map(move |system| {
        let subgroups = system.direct_subgroup().map(|inner| UserGroupId(id(inner))).into_iter().collect();
        RealmChange::Group(Box::new(UserGroup { subgroups, ..group(id(system), Some(system)) }))
    })
}

pub(crate) fn subscription(channel: i64, user: i64) -> Subscription {
    Subscription {
        channel_id: ChannelId(channel),
        user_id: UserId(user),
        color: "#c2c2c2".to_owned(),
        is_muted: false,
        pin_to_top: false,
        notifications: SubscriptionNotificationSettings::default(),
    }
}

/// `hi` under `Lunch`.
pub(crate) fn message(sender: i64, recipient: Recipient) -> Message {
    Message {
        id: MessageId(50),
        sender_id: UserId(sender),
        recipient,
        direct_users: Vec::new(),
        topic: "Lunch".to_owned(),
        content: "hi".to_owned(),
        html: "<p>hi</p>".to_owned(),
        sent_s: NOW_S,
        client: "test".to_owned(),
        content_flags: ContentFlags::default(),
        last_edit_s: None,
        revision: EventId(50),
        reactions: Vec::new(),
        submessages: Vec::new(),
    }
}

pub(crate) fn message_event(sender: i64, recipient: Recipient) -> NewMessageEvent {
    let User { email, full_name, .. } = user(sender, Role::Member);
    NewMessageEvent {
        message: message(sender, recipient),
        sender: MessageSender { email, full_name, avatar_url: "/a.png".to_owned(), has_gravatar: true },
        display_recipient: DisplayRecipient::Channel("Channel 20".to_owned()),
        topic_links: Vec::new(),
        flags: Vec::new(),
        wildcard: false,
        local: None,
    }
}

pub(crate) fn realm_of(rules: RealmPermissionSettings) -> Realm {
    Realm {
        name: "Test".to_owned(),
        description: String::new(),
        created_s: 1,
        is_deactivated: false,
        rules,
        images: OrganizationImageUrls::default(),
    }
}

/// A realm of one owner (1), administrator (2), moderator (3), member (4) and guest (6).
pub(crate) fn realm(rules: RealmPermissionSettings, more: Vec<RealmChange>) -> RealmSnapshot {
    let people =
        [(1, Role::Owner), (2, Role::Administrator), (3, Role::Moderator), (4, Role::Member), (6, Role::Guest)];
    let mut changes = vec![RealmChange::Realm(Box::new(realm_of(rules)))];
    changes.extend(people.map(|(id, role)| RealmChange::User(Box::new(user(id, role)))));
    let founded = RealmSnapshot::default().after_record(&LogRecord::new(EventId(1), 0, changes, None));
    founded.after_record(&LogRecord::new(EventId(10), 0, more, None))
}
