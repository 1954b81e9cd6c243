//! The task that reads the log, and notifies telephones of new messages and of those that need not be shown any longer.
//!
//! One node at a time looks, from where the last one got to, so that a node that is killed is followed by another. What
//! it was about to tell comes twice then; apps show a message once, and take back what they do not show without a word.
//! A node stops telling before its turn ends, so two that live never tell of the same. What a service does not take is
//! lost: the message is not, and neither is that it was read.
//!
//! Which messages devices were told of is noted before they are, so that nothing is shown that is not known of. It is
//! forgotten when they are notified that it was read or is gone, which the log says whatever the way: who reads
//! messages waits for none of this. It is not in the transaction that deletes a message, because the task learns of
//! that later, and needs to know whom to tell; the row of a message that is gone lives as long as that takes. When the
//! log does not reach back to where the last node got to, what happened in between stays on devices.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chat_core::event_log::event::{EventBody, LogRecord, NewMessageEvent};
use chat_core::event_log::store::{EventLog, RealmStore as _};
use chat_core::id::{EventId, MessageId, UserId};
use chat_core::people::presence::PresenceStore;
use chat_core::push_notifications::{
    self, MAX_REMOVALS_PER_NOTIFICATION, NotificationOrigin, NotificationPurpose, NotificationTrigger, PushDevice,
    PushNotification, PushService, PushStore, WithdrawnNotifications,
};
use chat_storage::ChatStore;
use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::Value;

use crate::system_runtime::SystemRuntime;

/// How often a node looks for messages.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Seconds for which a node has its turn: longer than a look takes.
const TURN_S: i64 = 120;
/// How long one look notifies people, at most: shorter than a turn.
const TELLING_MAX: Duration = Duration::from_secs(90);
/// People who are notified concurrently.
const PEOPLE_AT_ONCE: usize = 16;
/// Records looked through at once.
const AT_ONCE: usize = 50;
/// Seconds after which nobody is notified of a message any more: they would hear of it when it is old.
pub(super) const OLD_S: i64 = 600;

/// The worker that reads the log and notifies devices of messages.
pub(crate) struct PushWorker {
    pub(crate) store: Arc<ChatStore>,
    pub(crate) bouncer: Arc<dyn PushService>,
    pub(crate) base_url: String,
    pub(crate) brand: String,
    /// The name of this node.
    pub(crate) node: String,
}

/// The notifications for the devices of one user.
#[derive(Default)]
struct PendingNotifications {
    messages: Vec<(Arc<LogRecord>, NotificationTrigger)>,
    removed: Vec<MessageId>,
    devices: Vec<PushDevice>,
}

impl PushWorker {
    /// Runs until the server stops.
    pub(crate) async fn keep(self) {
        let mut tick = tokio::time::interval(LOOK_EVERY);
        let mut seen = EventId::BEFORE_FIRST;
        loop {
            tick.tick().await;
            // Nothing is asked of the database while nothing happens.
            while self.store.last_event_id() != seen {
                match self.look(SystemRuntime.now_s()).await {
                    Ok(Some(place)) if place != seen => seen = place,
                    Ok(_) => break,
                    Err(error) => {
                        tracing::error!(error = format!("{error:#}"), "messages cannot be looked through");
                        break;
                    }
                }
            }
        }
    }

    /// Looks through some records, if it is this node's turn. Returns how far messages are looked through.
    pub(super) async fn look(&self, now_s: i64) -> anyhow::Result<Option<EventId>> {
        let Some(from) = self.store.acquire_push_lease(&self.node, now_s, now_s + TURN_S).await? else {
            return Ok(None);
        };
        let Ok(records) = self.store.records_after(from, AT_ONCE).await? else {
            // What was told there is old and gone.
            let head = self.store.last_event_id();
            self.store.advance_push_position(&self.node, head).await?;
            return Ok(Some(head));
        };
        let Some(last) = records.last() else { return Ok(Some(from)) };
        self.notify_of(&records, now_s).await?;
        self.store.advance_push_position(&self.node, last.id).await?;
        Ok(Some(last.id))
    }

    async fn notify_of(&self, records: &[Arc<LogRecord>], now_s: i64) -> anyhow::Result<()> {
        let withdrawn = WithdrawnNotifications::from_log_records(records);
        let is_due = |record: &&Arc<LogRecord>| now_s - record.at_s < OLD_S && message(record).is_some();
        let due: Vec<_> = records.iter().filter(is_due).collect();
        if due.is_empty() && withdrawn.is_empty() {
            return Ok(());
        }
        let owners = self.store.users_with_devices().await?;
        if owners.is_empty() {
            return Ok(());
        }
        let mut people = self.to_show(&due, &withdrawn, &owners);
        let sent = people.iter().flat_map(|(id, pending)| {
            let messages = pending.messages.iter().filter_map(|(record, _)| message(record));
            messages.map(|event| (*id, event.message.id))
        });
        let sent: Vec<_> = sent.collect();
        if !sent.is_empty() {
            self.store.record_sent_notifications(&sent, now_s).await?;
        }
        self.to_remove(&withdrawn, &mut people).await?;
        let ids: Vec<_> = people.keys().copied().collect();
        for device in self.store.devices_of_users(&ids).await? {
            people.entry(device.user_id).or_default().devices.push(device);
        }
        self.notify_all(&people).await;
        for (user_id, pending) in people.iter().filter(|(_, pending)| !pending.removed.is_empty()) {
            self.store.remove_sent_notifications(*user_id, &pending.removed).await?;
        }
        Ok(())
    }

    /// Returns who is to see which of the messages: not what they have read since, or what is gone.
    fn to_show(
        &self,
        due: &[&Arc<LogRecord>],
        withdrawn: &WithdrawnNotifications,
        owners: &[UserId],
    ) -> BTreeMap<UserId, PendingNotifications> {
        let realm = self.store.snapshot();
        let presences: &dyn PresenceStore = self.store.as_ref();
        let mut people = BTreeMap::<UserId, PendingNotifications>::new();
        for record in due {
            for (user_id, trigger) in
                push_notifications::select_notification_receivers(&realm, presences, record, owners)
            {
                if message(record)
                    .is_some_and(|event| !withdrawn.is_withdrawn_for_user(&realm, user_id, event.message.id))
                {
                    people.entry(user_id).or_default().messages.push((Arc::clone(record), trigger));
                }
            }
        }
        people
    }

    /// Adds whose devices are to show which messages no longer.
    async fn to_remove(
        &self,
        withdrawn: &WithdrawnNotifications,
        people: &mut BTreeMap<UserId, PendingNotifications>,
    ) -> anyhow::Result<()> {
        if withdrawn.is_empty() {
            return Ok(());
        }
        let realm = self.store.snapshot();
        for (user_id, id) in self.store.sent_notifications_to_withdraw(withdrawn).await? {
            if withdrawn.is_withdrawn_for_user(&realm, user_id, id) {
                people.entry(user_id).or_default().removed.push(id);
            }
        }
        Ok(())
    }

    /// Notifies some people concurrently, each of one message after the other.
    async fn notify_all(&self, people: &BTreeMap<UserId, PendingNotifications>) {
        let notifying = stream::iter(people).for_each_concurrent(PEOPLE_AT_ONCE, async |(user_id, pending)| {
            for notice in self.notices(*user_id, pending) {
                if let Err(error) = self.notify(&notice).await {
                    tracing::warn!(error = format!("{error:#}"), "telephones were not notified of a message");
                }
            }
        });
        if tokio::time::timeout(TELLING_MAX, notifying).await.is_err() {
            tracing::warn!("telephones were not notified of some messages, because it took too long");
        }
    }

    /// None for who has no devices.
    fn notices(&self, user_id: UserId, pending: &PendingNotifications) -> Vec<PushNotification> {
        if pending.devices.is_empty() {
            return Vec::new();
        }
        let realm = self.store.snapshot();
        let origin = NotificationOrigin { base_url: &self.base_url, brand: &self.brand };
        let notice = |purpose, (google, apple): (Value, Value)| PushNotification {
            user_id,
            devices: pending.devices.clone(),
            purpose,
            google,
            apple,
        };
        let shown = pending.messages.iter().filter_map(|(record, trigger)| {
            let event = message(record)?;
            let payloads = push_notifications::message_payloads(&realm, &origin, event, (user_id, *trigger));
            Some(notice(NotificationPurpose::Show(event.message.id), payloads))
        });
        let removed = pending.removed.chunks(MAX_REMOVALS_PER_NOTIFICATION);
        let removed = removed.map(|ids| {
            notice(NotificationPurpose::Remove, push_notifications::removal_payloads(&realm, &origin, (user_id, ids)))
        });
        shown.chain(removed).collect()
    }

    /// Forgets the devices that turn out to be gone.
    async fn notify(&self, notice: &PushNotification) -> anyhow::Result<()> {
        for (kind, token) in self.bouncer.send_notification(notice).await? {
            self.store.remove_device(notice.user_id, kind, &token).await?;
        }
        Ok(())
    }
}

fn message(record: &LogRecord) -> Option<&NewMessageEvent> {
    match record.event.as_ref().map(|event| &event.body) {
        Some(EventBody::Message(event)) => Some(event),
        _ => None,
    }
}
