//! Messages that go when they are old.
//!
//! The organization may say after how many days, and a channel otherwise. They go as if they were deleted, with
//! everything users made of them, and their readers are notified. Any node may do it at any time: what another has
//! deleted or changed in the meantime is left alone.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::StoreError;
use crate::event_log::event::{NewEvent, delete_message_events};
use crate::event_log::store::RealmStore;
use crate::id::{DirectConversationId, MessageId, UserId};
use crate::limits::SECONDS_PER_DAY;
use crate::messages::store::{MessageStore, MessageWriteGuard, MessageWriteOutcome};
use crate::model::message::{Message, Recipient, topic_key};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::organization::settings::UNLIMITED_RETENTION_DAYS;

/// Messages that go in one transaction.
const AT_ONCE: usize = 200;

/// The store operations that delete expired messages.
#[async_trait]
pub trait RetentionStore: Send + Sync {
    /// Returns the oldest messages of a recipient that were sent before that time in unix seconds, the oldest first, at
    /// most `limit`. Costs as much as it finds.
    async fn messages_sent_before(
        &self,
        recipient: Recipient,
        before_s: i64,
        limit: usize,
    ) -> Result<Vec<MessageId>, StoreError>;

    /// Returns the direct-message conversations with messages sent before that time, at most `limit`. Looks at the
    /// first message of every conversation.
    async fn direct_conversations_before(
        &self,
        before_s: i64,
        limit: usize,
    ) -> Result<Vec<DirectConversationId>, StoreError>;
}

/// Deletes the messages that are older than the retention of their channel or, if it sets none, of the realm. Returns
/// how many.
///
/// # Source
/// `message_retention_days` of a channel (specification, "Channel object") and of the organization, which is not
/// specified: it is for channels that say nothing, and for messages between users. -1 is for ever. The time counts from
/// the sending, whatever was edited since and wherever the message was moved from.
///
/// # Errors
/// When the database failed. What is deleted by then is deleted.
pub async fn delete_expired_messages<S>(store: &S, now_s: i64) -> Result<usize, StoreError>
where
    S: RealmStore + MessageStore + RetentionStore,
{
    let realm = store.snapshot();
    let mut gone = 0;
    for (recipient, before_s) in bounds(&realm, now_s) {
        gone += expire_of(store, (recipient, before_s), now_s).await?;
    }
    let Some(before_s) = realm.realm().and_then(|realm| bound(realm.rules.message_retention_days, now_s)) else {
        return Ok(gone);
    };
    loop {
        let directs = store.direct_conversations_before(before_s, AT_ONCE).await?;
        let mut gone_now = 0;
        for id in &directs {
            gone_now += expire_of(store, (Recipient::Direct(*id), before_s), now_s).await?;
        }
        gone += gone_now;
        if directs.len() < AT_ONCE || gone_now == 0 {
            return Ok(gone);
        }
    }
}

/// Returns the channels that keep messages for some days, each with the time before which they go.
fn bounds(realm: &RealmSnapshot, now_s: i64) -> Vec<(Recipient, i64)> {
    let channels = realm.channels().map(|channel| Recipient::Channel(channel.id));
    channels.filter_map(|channel| Some((channel, bound_of(realm, channel, now_s)?))).collect()
}

/// Returns the time before which messages of a recipient go, if it keeps them for some days.
fn bound_of(realm: &RealmSnapshot, recipient: Recipient, now_s: i64) -> Option<i64> {
    let usual = realm.realm().map_or(UNLIMITED_RETENTION_DAYS, |realm| realm.rules.message_retention_days);
    let days = match recipient {
        Recipient::Channel(id) => realm.channel(id)?.message_retention_days,
        Recipient::Direct(_) => None,
    };
    bound(days.unwrap_or(usual), now_s)
}

/// Returns the time before which messages go that are kept for so many days.
fn bound(days: i64, now_s: i64) -> Option<i64> {
    (days > 0).then(|| now_s.saturating_sub(days.saturating_mul(SECONDS_PER_DAY)))
}

async fn expire_of<S>(store: &S, (recipient, before_s): (Recipient, i64), now_s: i64) -> Result<usize, StoreError>
where
    S: RealmStore + MessageStore + RetentionStore,
{
    let mut gone = 0;
    loop {
        let old = store.messages_sent_before(recipient, before_s, AT_ONCE).await?;
        // Nobody's flags are asked for.
        let found = store.find_messages(UserId(0), &old).await?;
        let messages: Vec<Message> = found.into_iter().map(|(message, _)| message).collect();
        let realm = store.snapshot();
        if bound_of(&realm, recipient, now_s) != Some(before_s) {
            // They are kept for another time since.
            return Ok(gone);
        }
        let decided = MessageWriteGuard::new(&realm, &messages);
        let is_last = old.len() < AT_ONCE;
        // What has changed in the meantime is looked at the next time.
        if messages.is_empty()
            || store.delete_messages(&decided, (now_s, deletion_events(&messages))).await?
                == MessageWriteOutcome::Unchanged
        {
            return Ok(gone);
        }
        gone += messages.len();
        if is_last {
            return Ok(gone);
        }
    }
}

/// Clients are notified topic by topic.
fn deletion_events(messages: &[Message]) -> Vec<NewEvent> {
    let mut topics: BTreeMap<(String, bool), Vec<&Message>> = BTreeMap::new();
    for message in messages {
        // Who may read a message that was moved here is decided otherwise.
        topics.entry((topic_key(&message.topic), message.content_flags.moved_in)).or_default().push(message);
    }
    let of_topic = |messages: Vec<&Message>| {
        let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
        messages.first().map(|first| delete_message_events(first, &ids)).unwrap_or_default()
    };
    topics.into_values().flat_map(of_topic).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ChannelId;
    use crate::model::channel::{Channel, ChannelPrivacy};
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    #[test]
    fn a_channel_that_says_nothing_keeps_messages_as_long_as_the_organization() {
        let channel = |id, days| {
            let channel = Channel { message_retention_days: days, ..testing::channel(id, ChannelPrivacy::Public) };
            RealmChange::Channel(Box::new(channel))
        };
        let days = [(20, None), (21, Some(-1)), (22, Some(3)), (23, Some(i64::MAX)), (24, Some(0))];
        let found = |usual| {
            let rules = RealmPermissionSettings { message_retention_days: usual, ..RealmPermissionSettings::default() };
            let realm = testing::realm(rules, days.map(|(id, days)| channel(id, days)).into());
            let mut bounds = bounds(&realm, 10 * SECONDS_PER_DAY);
            bounds.sort_unstable_by_key(|(recipient, _)| i64::from(*recipient));
            bounds
        };
        let of = |id| Recipient::Channel(ChannelId(id));
        let own = [(of(22), 7 * SECONDS_PER_DAY), (of(23), 10 * SECONDS_PER_DAY - i64::MAX)];
        assert_eq!(found(-1), own);
        assert_eq!(found(4), [(of(20), 6 * SECONDS_PER_DAY), own[0], own[1]]);
    }
}
