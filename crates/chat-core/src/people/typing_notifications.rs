//! Who is writing a message: told to those who would receive it, and forgotten.
//!
//! What is true for a few seconds is not worth a place in the log: it would cost a write that waits for the disk, and a
//! row that is kept for a day. So it is handed from memory to memory ([`TypingFeed`]). What travels between nodes is
//! what was done, [`TypingNotification`], and each node works out by itself who hears of it, because that is long and
//! the same everywhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event_log::event::{ClientCapability, EventAudience, LogRecord, NewEvent, QueueCondition};
use crate::id::{ChannelId, MessageId, UserId};
use crate::messages::edit::{self, MessageEditError};
use crate::model::message::{self, Message, Recipient, TopicError};
use crate::model::realm_change::UserItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, ChannelNotFound};
use crate::permission::send_message::{self, SendError};

/// The maximum number of active subscribers of a channel in which typing notifications are sent.
///
/// # Source
/// Not specified; the number of the existing server.
pub const MAX_TYPING_NOTIFICATION_SUBSCRIBERS: usize = 100;

/// A typing notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypingNotification {
    /// Who.
    pub user_id: UserId,
    /// Began or stopped.
    pub op: TypingOp,
    /// What they write goes there.
    pub to: TypingDestination,
    /// The message they change; `None` while they write a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<MessageId>,
}

/// The operation of a typing notification: start or stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypingOp {
    /// They write; clients say so again while it lasts.
    Start,
    /// They do not write any more.
    Stop,
}

impl TypingOp {
    /// Returns the name of the operation on the wire.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
        }
    }
}

/// The destination of the message that a user is typing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypingDestination {
    /// To these users, the writer among them, in the order of their numbers.
    Direct(Vec<UserId>),
    /// To a channel, under a topic.
    Channel(ChannelId, String),
}

/// The reason why a typing notification is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypingError {
    /// No user was named.
    #[error("Missing 'to' argument")]
    NoUsers,
    /// The list of users is empty.
    #[error("Empty 'to' list")]
    EmptyUsers,
    /// No channel was named.
    #[error("Missing 'stream_id' argument")]
    NoChannel,
    /// No topic was named.
    #[error("Missing topic")]
    NoTopic,
    /// The writer wants it not to be known.
    #[error("User has disabled typing notifications for direct messages")]
    HiddenDirect,
    /// The writer wants it not to be known.
    #[error("User has disabled typing notifications for channel messages")]
    HiddenInChannels,
    /// The channel is not there for the writer.
    #[error(transparent)]
    Channel(#[from] ChannelNotFound),
    /// The topic is none.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// They may not write there.
    #[error(transparent)]
    Send(#[from] SendError),
    /// They may not change the message.
    #[error(transparent)]
    Edit(#[from] MessageEditError),
}

/// Checks and creates the typing notification for a direct message. `to` is `None` when it was left out.
///
/// # Source
/// Specification, `POST /typing`. Not specified: where direct messages are closed to the writer, clients expect a
/// success, and no user is notified, which is `None`; accounts that are no longer in use are passed over.
///
/// # Errors
/// The first of: no user is named; the writer chose not to let it be known; one does not exist; they may not write to
/// these for another reason.
pub fn create_direct_typing_notification(
    realm: &RealmSnapshot,
    user: &User,
    (op, to): (TypingOp, Option<&[UserId]>),
    now_s: i64,
) -> Result<Option<TypingNotification>, TypingError> {
    let to = to.ok_or(TypingError::NoUsers)?;
    if to.is_empty() {
        return Err(TypingError::EmptyUsers);
    }
    if !allows(realm, user.id, "send_private_typing_notifications") {
        return Err(TypingError::HiddenDirect);
    }
    let all: BTreeSet<UserId> = to.iter().copied().chain([user.id]).collect();
    if let Some(unknown) = all.iter().find(|id| realm.user(**id).is_none()) {
        return Err(SendError::NoUserWithId(*unknown).into());
    }
    let active: Vec<UserId> = all.iter().copied().filter(|id| is_active(realm, *id)).collect();
    match send_message::find_direct_recipients(realm, user, &active, (false, now_s)) {
        Ok(_) => Ok(Some(TypingNotification {
            user_id: user.id,
            op,
            to: TypingDestination::Direct(all.into_iter().collect()),
            edited: None,
        })),
        Err(SendError::DirectDisabled | SendError::DirectNotAuthorized | SendError::DirectNotInitiated) => Ok(None),
        Err(refused) => Err(refused.into()),
    }
}

/// Checks and creates the typing notification for a channel message. Channel and topic are `None` when they were left
/// out.
///
/// # Source
/// Specification, `POST /typing`.
///
/// # Errors
/// The first of: the channel, the topic is not named; the writer chose not to let it be known; the channel is not there
/// for them; they may not write there; the topic is none.
pub fn create_channel_typing_notification(
    realm: &RealmSnapshot,
    user: &User,
    (op, channel, topic): (TypingOp, Option<ChannelId>, Option<&str>),
    now_s: i64,
) -> Result<TypingNotification, TypingError> {
    let channel_id = channel.ok_or(TypingError::NoChannel)?;
    let topic = topic.ok_or(TypingError::NoTopic)?;
    if !allows(realm, user.id, "send_stream_typing_notifications") {
        return Err(TypingError::HiddenInChannels);
    }
    let channel = access::find_visible_channel(realm, user, channel_id)?;
    send_message::may_send_to_channel(realm, user, channel, now_s)?;
    let topic = message::normalize_topic(topic)?;
    let to = TypingDestination::Channel(channel_id, topic);
    Ok(TypingNotification { user_id: user.id, op, to, edited: None })
}

/// Decides whether people may be notified that the user changes the text of a message.
///
/// # Source
/// Not specified; feature level 351 of the API, as existing clients know it.
///
/// # Errors
/// When the user may not change the text now, or chose not to let it be known.
pub fn of_edit(
    realm: &RealmSnapshot,
    user: &User,
    (op, message): (TypingOp, &Message),
    now_s: i64,
) -> Result<TypingNotification, TypingError> {
    edit::may_edit_content(realm, user, message, now_s)?;
    let (setting, hidden, to) = match message.recipient {
        Recipient::Direct(_) => {
            let to = TypingDestination::Direct(message.direct_users.clone());
            ("send_private_typing_notifications", TypingError::HiddenDirect, to)
        }
        Recipient::Channel(id) => {
            let to = TypingDestination::Channel(id, message.topic.clone());
            ("send_stream_typing_notifications", TypingError::HiddenInChannels, to)
        }
    };
    if !allows(realm, user.id, setting) {
        return Err(hidden);
    }
    Ok(TypingNotification { user_id: user.id, op, to, edited: Some(message.id) })
}

impl TypingNotification {
    /// Returns the `typing` event for the users who receive messages there and want typing notifications; `None` when
    /// there are none.
    #[must_use]
    pub fn to_event(&self, realm: &RealmSnapshot) -> Option<NewEvent> {
        let writer = realm.user(self.user_id)?;
        if let Some(message_id) = self.edited {
            return self.edit_event(realm, message_id);
        }
        let sender = json!({"user_id": writer.id, "email": writer.public_email()});
        let object = json!({"type": "typing", "op": self.op.wire_name(), "sender": sender});
        match &self.to {
            TypingDestination::Direct(users) => Some(direct_event(realm, users, object)),
            TypingDestination::Channel(id, topic) => channel_event(realm, (*id, topic), object),
        }
    }

    fn edit_event(&self, realm: &RealmSnapshot, message_id: MessageId) -> Option<NewEvent> {
        let (hearers, recipient) = match &self.to {
            TypingDestination::Direct(users) => {
                (direct_hearers(realm, users), json!({"type": "direct", "user_ids": users}))
            }
            TypingDestination::Channel(id, topic) => {
                (channel_hearers(realm, *id)?, json!({"type": "channel", "channel_id": id, "topic": topic}))
            }
        };
        let event = json!({
            "type": "typing_edit_message", "op": self.op.wire_name(), "sender_id": self.user_id, "message_id": message_id,
            "recipient": recipient,
        });
        Some(NewEvent::same_for_everyone(EventAudience::from_users(hearers), event))
    }
}

fn direct_event(realm: &RealmSnapshot, users: &[UserId], mut object: Value) -> NewEvent {
    let people = users.iter().filter_map(|id| realm.user(*id));
    let recipients: Value = people.map(|user| json!({"user_id": user.id, "email": user.public_email()})).collect();
    crate::wire_format::add(&mut object, json!({"message_type": "direct", "recipients": recipients}));
    NewEvent::same_for_everyone(EventAudience::from_users(direct_hearers(realm, users)), object)
}

fn direct_hearers(realm: &RealmSnapshot, users: &[UserId]) -> Vec<UserId> {
    users.iter().copied().filter(|id| is_active(realm, *id) && hears(realm, *id)).collect()
}

fn channel_event(realm: &RealmSnapshot, (id, topic): (ChannelId, &str), mut object: Value) -> Option<NewEvent> {
    let hearers = channel_hearers(realm, id)?;
    crate::wire_format::add(&mut object, json!({"message_type": "stream", "stream_id": id, "topic": topic}));
    let event = NewEvent::same_for_everyone(EventAudience::from_users(hearers), object);
    Some(event.with_queue_condition(QueueCondition::With(ClientCapability::StreamTypingNotifications)))
}

/// Returns the active subscribers who want to hear; `None` when there are more than
/// [`MAX_TYPING_NOTIFICATION_SUBSCRIBERS`] active ones.
fn channel_hearers(realm: &RealmSnapshot, id: ChannelId) -> Option<Vec<UserId>> {
    let mut active = realm.subscribers(id).filter(|user| is_active(realm, *user));
    let inside: Vec<UserId> = active.by_ref().take(MAX_TYPING_NOTIFICATION_SUBSCRIBERS).collect();
    if active.next().is_some() {
        return None;
    }
    Some(inside.into_iter().filter(|user| hears(realm, *user)).collect())
}

fn is_active(realm: &RealmSnapshot, user_id: UserId) -> bool {
    realm.user(user_id).is_some_and(|user| user.is_active)
}

fn hears(realm: &RealmSnapshot, user_id: UserId) -> bool {
    allows(realm, user_id, "receives_typing_notifications")
}

/// A choice about typing; all of them are on for who chose nothing.
fn allows(realm: &RealmSnapshot, user_id: UserId, setting: &str) -> bool {
    let settings = realm.user_item(user_id, UserItemKind::Settings, "");
    settings.and_then(|settings| settings.get(setting)).and_then(Value::as_bool) != Some(false)
}

/// A feed that distributes typing notifications between nodes, in memory only.
///
/// Whoever waits is told at once. A queue whose client asks again within a few seconds gets what was told in the
/// meantime; after that it is forgotten, as clients forget it. Nothing of it outlives the node, and nothing is owed to
/// who comes for the first time.
pub trait TypingFeed: Send + Sync {
    /// Publishes a typing notification on this node and, in a moment, on the others; on its way there it may get lost.
    /// Does no I/O.
    fn publish_typing(&self, typing: TypingNotification);

    /// Returns the typing notifications that the queue has not yet received on this node, the oldest first, each once.
    fn take_typing_for_queue(&self, queue_id: &str) -> PendingTypingNotifications;
}

/// The typing notifications that a queue has not yet received, and the feed position they reach.
#[derive(Debug, Clone, Default)]
pub struct PendingTypingNotifications {
    /// The events; they have no place in the log, and their number there is 0.
    pub events: Vec<Arc<LogRecord>>,
    /// How far that goes, for [`crate::event_log::store::LogWaiter::typing_seen`].
    pub until: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::EventId;
    use crate::model::channel::{Channel, ChannelPostPolicy, ChannelPrivacy};
    use crate::model::group::SystemGroup;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::model::role::Role;
    use crate::testing::{self, NOW_S};

    fn chose(user: i64, setting: &str) -> RealmChange {
        RealmChange::UserItem {
            user_id: UserId(user),
            kind: UserItemKind::Settings,
            key: String::new(),
            document: Some(json!({setting: false})),
        }
    }

    fn direct(realm: &RealmSnapshot, user: i64, to: &[i64]) -> Result<TypingNotification, TypingError> {
        let to: Vec<UserId> = to.iter().copied().map(UserId).collect();
        let typing = create_direct_typing_notification(
            realm,
            realm.user(UserId(user)).unwrap(),
            (TypingOp::Start, Some(&to)),
            NOW_S,
        );
        typing.map(|typing| typing.unwrap())
    }

    fn in_channel(
        realm: &RealmSnapshot,
        user: i64,
        channel: i64,
        topic: &str,
    ) -> Result<TypingNotification, TypingError> {
        let user = realm.user(UserId(user)).unwrap();
        create_channel_typing_notification(realm, user, (TypingOp::Stop, Some(ChannelId(channel)), Some(topic)), NOW_S)
    }

    fn said<T: std::fmt::Debug>(result: Result<T, TypingError>) -> String {
        result.unwrap_err().to_string()
    }

    fn reached(typing: &TypingNotification, realm: &RealmSnapshot) -> Vec<i64> {
        match typing.to_event(realm).map(|event| event.audience) {
            Some(EventAudience::Users(users)) => users.into_iter().map(|user| user.0).collect(),
            _ => Vec::new(),
        }
    }

    /// A channel with the users from 100 on, so many of them, and one more who is not active.
    fn crowd(hearers: i64, more: Vec<RealmChange>) -> RealmSnapshot {
        let mut changes = vec![RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public)))];
        for id in 100..=100 + hearers {
            let user = User { is_active: id < 100 + hearers, ..testing::user(id, Role::Member) };
            changes.push(RealmChange::User(Box::new(user)));
            changes.push(RealmChange::Subscription(Box::new(testing::subscription(20, id))));
        }
        changes.extend(more);
        testing::realm(RealmPermissionSettings::default(), changes)
    }

    #[test]
    fn a_direct_event_names_its_writer_and_everybody() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let typing = direct(&realm, 4, &[2]).unwrap();
        let event = typing.to_event(&realm).unwrap();
        let record = LogRecord::new(EventId::BEFORE_FIRST, 0, Vec::new(), Some(event));
        let mut out = String::new();
        record.write_unlogged_event_json(EventId(7), &mut out);
        assert_eq!(
            serde_json::from_str::<Value>(&out).unwrap(),
            json!({
                "id": 7, "type": "typing", "op": "start", "message_type": "direct",
                "sender": {"user_id": 4, "email": "User4@example.org"},
                "recipients": [
                    {"user_id": 2, "email": "User2@example.org"}, {"user_id": 4, "email": "User4@example.org"}
                ],
            })
        );
        assert_eq!(reached(&typing, &realm), [2, 4]);
    }

    #[test]
    fn who_does_not_want_to_hear_of_it_or_is_gone_does_not() {
        let gone = User { is_active: false, ..testing::user(3, Role::Moderator) };
        let more = vec![chose(2, "receives_typing_notifications"), RealmChange::User(Box::new(gone))];
        let realm = testing::realm(RealmPermissionSettings::default(), more);
        assert_eq!(reached(&direct(&realm, 4, &[1, 2, 3]).unwrap(), &realm), [1, 4]);
        let realm = crowd(3, vec![chose(101, "receives_typing_notifications")]);
        assert_eq!(reached(&in_channel(&realm, 100, 20, "t").unwrap(), &realm), [100, 102]);
    }

    #[test]
    fn who_does_not_want_it_known_is_refused() {
        let more = vec![
            RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
            chose(2, "send_private_typing_notifications"),
            chose(3, "send_stream_typing_notifications"),
        ];
        let realm = testing::realm(RealmPermissionSettings::default(), more);
        assert_eq!(said(direct(&realm, 2, &[4])), "User has disabled typing notifications for direct messages");
        let refused = in_channel(&realm, 3, 20, "t");
        assert_eq!(said(refused), "User has disabled typing notifications for channel messages");
        direct(&realm, 3, &[4]).unwrap();
        in_channel(&realm, 2, 20, "t").unwrap();
    }

    #[test]
    fn what_may_not_be_written_is_not_announced() {
        let rules = RealmPermissionSettings {
            direct_messages: SystemGroup::Nobody.into(),
            ..RealmPermissionSettings::default()
        };
        let realm = testing::realm(rules, Vec::new());
        assert_eq!(
            create_direct_typing_notification(
                &realm,
                realm.user(UserId(4)).unwrap(),
                (TypingOp::Start, Some(&[UserId(2)])),
                NOW_S
            ),
            Ok(None)
        );
        assert_eq!(said(direct(&realm, 4, &[2, 77])), "Invalid user ID 77");
        direct(&realm, 4, &[4]).unwrap();
        let announcements =
            Channel { post_policy: ChannelPostPolicy::Administrators, ..testing::channel(20, ChannelPrivacy::Public) };
        let private = testing::channel(21, ChannelPrivacy::PrivateProtectedHistory);
        let changes = vec![RealmChange::Channel(Box::new(announcements)), RealmChange::Channel(Box::new(private))];
        let realm = testing::realm(RealmPermissionSettings::default(), changes);
        assert_eq!(said(in_channel(&realm, 4, 20, "t")), "Only organization administrators can send to this channel.");
        assert_eq!(said(in_channel(&realm, 4, 21, "t")), "Invalid channel ID");
        assert_eq!(said(in_channel(&realm, 1, 20, " ")), "Topic can't be empty!");
    }

    #[test]
    fn of_a_hundred_active_subscribers_all_hear_and_of_more_nobody() {
        let realm = crowd(100, Vec::new());
        assert_eq!(reached(&in_channel(&realm, 4, 20, "t").unwrap(), &realm).len(), 100);
        let realm = crowd(101, Vec::new());
        assert!(in_channel(&realm, 4, 20, "t").unwrap().to_event(&realm).is_none());
    }

    #[test]
    fn what_travels_between_nodes_fits_into_a_notification() {
        let users = (1_000_000..1_000_000 + 200).map(UserId).collect();
        let longest = [
            TypingNotification {
                user_id: UserId(i64::MAX),
                op: TypingOp::Start,
                to: TypingDestination::Direct(users),
                edited: Some(MessageId(i64::MAX)),
            },
            TypingNotification {
                user_id: UserId(1),
                op: TypingOp::Stop,
                to: TypingDestination::Channel(ChannelId(1), "\u{1f600}".repeat(60)),
                edited: None,
            },
        ];
        for typing in longest {
            let text = serde_json::to_string(&typing).unwrap();
            assert!(text.len() < 4_000, "{}", text.len());
            assert_eq!(serde_json::from_str::<TypingNotification>(&text).unwrap(), typing);
        }
    }
}
