//! Which notifications are to go from devices again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::event_log::event::{EventAudience, EventBody, LogRecord, NewEvent};
use crate::id::{MessageId, UserId};
use crate::model::flag_change::FlagChange;
use crate::model::realm_snapshot::RealmSnapshot;

/// The notifications to withdraw: messages that log records report as read, deleted or no longer accessible.
///
/// The log tells of each, whoever asked for it and by whatever endpoint; so nothing is looked up where messages are
/// read.
#[derive(Debug, Default)]
pub struct WithdrawnNotifications {
    read: BTreeMap<UserId, BTreeSet<MessageId>>,
    gone: Vec<(BTreeSet<MessageId>, Arc<LogRecord>)>,
}

impl WithdrawnNotifications {
    /// Collects the notifications that these log records withdraw.
    #[must_use]
    pub fn from_log_records(records: &[Arc<LogRecord>]) -> Self {
        let mut withdrawn = Self::default();
        for record in records {
            let Some(NewEvent { audience, body, .. }) = &record.event else { continue };
            match (body, audience) {
                (EventBody::Flagged(flagged), EventAudience::Users(users)) if flagged.mark == FlagChange::MARK_READ => {
                    let read = flagged.message_ids();
                    for user_id in users {
                        withdrawn.read.entry(*user_id).or_default().extend(&read);
                    }
                }
                // Told of each message by itself too, to clients that do not understand many.
                (EventBody::Plain { kind, event }, _)
                    if kind == "delete_message" && event.get("message_ids").is_some() =>
                {
                    withdrawn.gone.push((messages(event, "message_ids"), Arc::clone(record)));
                }
                _ => {}
            }
        }
        withdrawn
    }

    /// Returns whether no notification is withdrawn.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty()
    }

    /// Returns the users who read messages, in ascending order.
    pub fn readers(&self) -> impl Iterator<Item = UserId> {
        self.read.keys().copied()
    }

    /// Returns the oldest and the newest message that a user read.
    #[must_use]
    pub fn read_message_range(&self) -> Option<(MessageId, MessageId)> {
        let oldest = self.read.values().filter_map(BTreeSet::first).min()?;
        let newest = self.read.values().filter_map(BTreeSet::last).max()?;
        Some((*oldest, *newest))
    }

    /// Returns the messages that were deleted, or that some users can no longer access.
    pub fn removed_messages(&self) -> impl Iterator<Item = MessageId> {
        self.gone.iter().flat_map(|(messages, _)| messages).copied()
    }

    /// Returns whether the notification of that message is withdrawn for that user.
    #[must_use]
    pub fn is_withdrawn_for_user(&self, realm: &RealmSnapshot, user_id: UserId, id: MessageId) -> bool {
        self.read.get(&user_id).is_some_and(|read| read.contains(&id))
            || self.gone.iter().any(|(gone, record)| gone.contains(&id) && is_gone_for(realm, user_id, record))
    }
}

/// A message that was deleted is gone for everybody, also for those who could not read it any more; one that moved is
/// for those who are told.
fn is_gone_for(realm: &RealmSnapshot, user_id: UserId, record: &LogRecord) -> bool {
    match record.event.as_ref().map(|event| &event.audience) {
        Some(audience @ EventAudience::LostAccess { .. }) => {
            realm.user(user_id).is_some_and(|user| audience.includes_user(record.id, user, realm))
        }
        _ => true,
    }
}

fn messages(event: &Value, key: &str) -> BTreeSet<MessageId> {
    let list = event.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_i64).map(MessageId).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::{self, MessageFlagsUpdate};
    use crate::id::{ChannelId, DirectConversationId, EventId};
    use crate::model::channel::ChannelPrivacy;
    use crate::model::message::{Message, Recipient};
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    fn ids(numbers: &[i64]) -> Vec<MessageId> {
        numbers.iter().copied().map(MessageId).collect()
    }

    fn records(events: Vec<NewEvent>) -> Vec<Arc<LogRecord>> {
        let place = |number| EventId(i64::try_from(number).unwrap() + 100);
        let records = events.into_iter().enumerate();
        records.map(|(number, event)| Arc::new(LogRecord::new(place(number), 1, Vec::new(), Some(event)))).collect()
    }

    #[test]
    fn what_someone_read_goes_from_their_devices_alone() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let star = FlagChange::parse("starred", "add").unwrap();
        let unread = FlagChange::parse("read", "remove").unwrap();
        let withdrawn = WithdrawnNotifications::from_log_records(&records(vec![
            MessageFlagsUpdate::without_locations(FlagChange::MARK_READ, ids(&[7, 5])).event_for_user(UserId(4)),
            MessageFlagsUpdate::without_locations(star, ids(&[6])).event_for_user(UserId(3)),
            MessageFlagsUpdate::without_locations(unread, ids(&[6])).event_for_user(UserId(3)),
        ]));
        let found = |user: i64| {
            let mut found = ids(&[4, 5, 6, 7]);
            found.retain(|id| withdrawn.is_withdrawn_for_user(&realm, UserId(user), *id));
            found
        };
        assert_eq!((found(4), found(3)), (ids(&[5, 7]), ids(&[])));
        assert_eq!(withdrawn.readers().collect::<Vec<_>>(), [UserId(4)]);
        assert_eq!(withdrawn.read_message_range(), Some((MessageId(5), MessageId(7))));
        assert!(
            WithdrawnNotifications::from_log_records(&records(vec![
                MessageFlagsUpdate::without_locations(star, ids(&[6])).event_for_user(UserId(3))
            ]))
            .is_empty()
        );
    }

    #[test]
    fn what_was_deleted_goes_from_every_device() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let direct = Message {
            direct_users: vec![UserId(3)],
            ..testing::message(3, Recipient::Direct(DirectConversationId(7)))
        };
        let withdrawn =
            WithdrawnNotifications::from_log_records(&records(event::delete_message_events(&direct, &ids(&[50, 51]))));
        assert_eq!(withdrawn.removed_messages().collect::<Vec<_>>(), ids(&[50, 51]));
        assert!(
            withdrawn.is_withdrawn_for_user(&realm, UserId(4), MessageId(51))
                && !withdrawn.is_withdrawn_for_user(&realm, UserId(4), MessageId(52))
        );
        assert_eq!((withdrawn.readers().count(), withdrawn.read_message_range()), (0, None));
    }

    #[test]
    fn what_moved_goes_from_the_devices_of_those_who_cannot_follow_it() {
        let channels = [(20, ChannelPrivacy::Public), (22, ChannelPrivacy::PrivateSharedHistory)];
        let mut changes: Vec<_> =
            channels.map(|(id, privacy)| RealmChange::Channel(Box::new(testing::channel(id, privacy)))).into();
        for (channel, user) in [(20, 3), (20, 4), (22, 3)] {
            changes.push(RealmChange::Subscription(Box::new(testing::subscription(channel, user))));
        }
        let realm = testing::realm(RealmPermissionSettings::default(), changes);
        let message = testing::message(3, Recipient::Channel(ChannelId(20)));
        let lost = event::lost_access_delete_events(&message, &ids(&[50]), (ChannelId(20), ChannelId(22)));
        let withdrawn = WithdrawnNotifications::from_log_records(&records(lost));
        let is_gone = [3, 4].map(|user| withdrawn.is_withdrawn_for_user(&realm, UserId(user), MessageId(50)));
        assert_eq!(is_gone, [false, true]);
    }
}
