//! A small realm: users 1 to 8, public channels 11 and 12, and messages in them.

use chat_core::event_log::event::{EventAudience, NewEvent, NewMessageEvent};
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{ChannelId, DirectConversationId, EventId, MessageId, UserGroupId, UserId};
use chat_core::messages::store::{
    FlagWriteGuard, MessageDestination, MessageStore as _, MessageWriteGuard, NewMessage, SendOutcome,
};
use chat_core::model::channel::{
    Channel, ChannelPostPolicy, ChannelPrivacy, Subscription, SubscriptionNotificationSettings,
};
use chat_core::model::message::{ContentFlags, Message, MessageFlag, Recipient};
use chat_core::model::realm::{Realm, RealmPermissionSettings};
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::User;
use chat_core::wire_format::{DisplayRecipient, MessageSender};
use chat_storage::ChatStore;
use serde_json::json;

use crate::home::NOW_S;

pub(crate) const USERS: std::ops::RangeInclusive<i64> = 1..=8;
pub(crate) const CHANNELS: [i64; 2] = [11, 12];

pub(crate) fn user(id: i64) -> User {
    User {
        id: UserId(id),
        email: format!("user{id}@example.org"),
        full_name: format!("User {id}"),
        role: if id == 1 { Role::Owner } else { Role::Member },
        is_active: true,
        joined_s: NOW_S,
        bot: None,
        timezone: String::new(),
        avatar_url: None,
        avatar_version: 1,
        address_visibility: chat_core::model::email_address_visibility::EmailAddressVisibility::default(),
    }
}

pub(crate) fn channel(id: i64, privacy: ChannelPrivacy) -> Channel {
    Channel {
        id: ChannelId(id),
        name: format!("Channel {id}"),
        description: String::new(),
        rendered_description: String::new(),
        created_s: NOW_S,
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

pub(crate) fn subscription(channel: i64, user: i64) -> RealmChange {
    RealmChange::Subscription(Box::new(Subscription {
        channel_id: ChannelId(channel),
        user_id: UserId(user),
        color: "#c2c2c2".to_owned(),
        is_muted: false,
        pin_to_top: false,
        notifications: SubscriptionNotificationSettings::default(),
    }))
}

pub(crate) fn unsubscription(channel: i64, user: i64) -> RealmChange {
    RealmChange::Unsubscription { channel_id: ChannelId(channel), user_id: UserId(user) }
}

/// The realm, its users and channels; nobody is in a channel.
pub(crate) async fn found(store: &ChatStore) {
    let realm = Realm {
        name: "Test".to_owned(),
        description: String::new(),
        created_s: NOW_S,
        is_deactivated: false,
        rules: RealmPermissionSettings::default(),
        images: chat_core::model::organization_image::OrganizationImageUrls::default(),
    };
    let mut changes = vec![RealmChange::Realm(Box::new(realm))];
    changes.extend(USERS.map(|id| RealmChange::User(Box::new(user(id)))));
    changes.extend(CHANNELS.map(|id| RealmChange::Channel(Box::new(channel(id, ChannelPrivacy::Public)))));
    change(store, changes).await;
}

/// Changes the realm, deciding again until nobody else was faster. Returns where it stands.
pub(crate) async fn change(store: &ChatStore, changes: Vec<RealmChange>) -> EventId {
    loop {
        let decided_at = store.snapshot().changed_at();
        let commit = RealmCommit { decided_at, at_s: NOW_S, changes: changes.clone(), ..RealmCommit::default() };
        if let CommitOutcome::Done { first, .. } = store.commit(commit).await.unwrap() {
            return first;
        }
    }
}

pub(crate) fn notice(audience: EventAudience, text: &str) -> NewEvent {
    NewEvent::same_for_everyone(audience, json!({"type": "notice", "text": text}))
}

/// A message of a user that was permitted on the realm as the node knows it.
pub(crate) fn message(
    store: &ChatStore,
    sender: i64,
    to: MessageDestination,
    (topic, content): (&str, &str),
) -> NewMessage {
    let event = NewMessageEvent {
        message: Message {
            id: MessageId(0),
            sender_id: UserId(sender),
            recipient: Recipient::Direct(DirectConversationId(0)),
            direct_users: Vec::new(),
            topic: topic.to_owned(),
            content: content.to_owned(),
            html: format!("<p>{content}</p>"),
            sent_s: NOW_S,
            client: "test".to_owned(),
            content_flags: ContentFlags::default(),
            last_edit_s: None,
            revision: EventId::BEFORE_FIRST,
            reactions: Vec::new(),
            submessages: Vec::new(),
        },
        sender: MessageSender {
            email: user(sender).email,
            full_name: user(sender).full_name,
            avatar_url: "/a.png".to_owned(),
            has_gravatar: false,
        },
        display_recipient: DisplayRecipient::Channel(String::new()),
        topic_links: Vec::new(),
        flags: Vec::<(UserId, MessageFlag)>::new(),
        wildcard: false,
        local: None,
    };
    NewMessage { decided_at: store.snapshot().changed_at(), to, event, attachments: Vec::new() }
}

pub(crate) fn to_channel(channel: i64) -> MessageDestination {
    MessageDestination::Channel { channel_id: ChannelId(channel), public: true }
}

pub(crate) fn to_users(users: &[i64]) -> MessageDestination {
    MessageDestination::Direct(users.iter().copied().map(UserId).collect())
}

/// Sends it, deciding again until the realm stays the same.
pub(crate) async fn send(store: &ChatStore, mut message: NewMessage) -> MessageId {
    loop {
        if let SendOutcome::Done { id, .. } = store.append_message(message.clone()).await.unwrap() {
            return id;
        }
        message.decided_at = store.snapshot().changed_at();
    }
}

/// A short message to a channel.
pub(crate) async fn say(store: &ChatStore, sender: i64, channel: i64, topic: &str) -> MessageId {
    send(store, message(store, sender, to_channel(channel), (topic, "hello"))).await
}

/// What a write to messages of these revisions is decided on.
pub(crate) fn decided(store: &ChatStore, messages: &[(MessageId, EventId)]) -> MessageWriteGuard {
    MessageWriteGuard { realm: store.snapshot().changed_at(), messages: messages.to_vec() }
}

/// What a write to this message is decided on, as it is now; as new where it is not there.
pub(crate) async fn decided_now(store: &ChatStore, id: MessageId) -> MessageWriteGuard {
    let found = store.find_messages(UserId(0), &[id]).await.unwrap().pop();
    decided(store, &[(id, found.map_or(id.into(), |(message, _)| message.revision))])
}

/// What a change of flags of these messages is decided on.
pub(crate) fn decided_copies(store: &ChatStore, messages: &[MessageId]) -> FlagWriteGuard {
    FlagWriteGuard { realm: store.snapshot().changed_at(), log: store.last_event_id(), messages: messages.to_vec() }
}
