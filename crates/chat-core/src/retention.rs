//! Messages that go when they are old.
//!
//! A channel may say after how many days. They go as if they were deleted, with everything users made of them, and
//! their readers are told. Any node may do it at any time: what another has deleted or changed meanwhile is left alone.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::event::{NewEvent, deleted};
use crate::id::{ChannelId, EventId, MessageId, UserId};
use crate::limits::DAY_S;
use crate::message::{Message, topic_key};
use crate::ports::{MessageStore, RealmStore, StoreError, Written};
use crate::snapshot::RealmSnapshot;

/// Messages that go in one transaction.
const AT_ONCE: usize = 200;

/// Old messages.
#[async_trait]
pub trait RetentionStore: Send + Sync {
    /// The oldest messages of a channel that were sent before that time in unix seconds, the oldest first, at most
    /// `limit`. Costs as much as it finds.
    async fn sent_before(
        &self,
        channel_id: ChannelId,
        before_s: i64,
        limit: usize,
    ) -> Result<Vec<MessageId>, StoreError>;
}

/// Deletes the messages that are older than their channel keeps them. Returns how many.
///
/// # Source
/// `message_retention_days` of a channel; specification, "Channel object". Not specified: a channel that says nothing
/// keeps its messages, and so does one that says -1. The time counts from the sending, whatever was edited since and
/// wherever the message was moved from.
///
/// # Errors
/// When the database failed. What is deleted by then is deleted.
pub async fn expire<S>(store: &S, now_s: i64) -> Result<usize, StoreError>
where
    S: RealmStore + MessageStore + RetentionStore,
{
    let mut gone = 0;
    for (channel_id, before_s) in bounds(&store.realm(), now_s) {
        gone += expire_channel(store, (channel_id, before_s), now_s).await?;
    }
    Ok(gone)
}

/// The channels that keep messages for some days, each with the time before which they go.
fn bounds(realm: &RealmSnapshot, now_s: i64) -> Vec<(ChannelId, i64)> {
    let of = |days: i64| now_s.saturating_sub(days.saturating_mul(DAY_S));
    let some = realm.channels().filter_map(|channel| Some((channel.id, channel.message_retention_days?)));
    some.filter(|(_, days)| *days > 0).map(|(id, days)| (id, of(days))).collect()
}

async fn expire_channel<S>(store: &S, (id, before_s): (ChannelId, i64), now_s: i64) -> Result<usize, StoreError>
where
    S: MessageStore + RetentionStore,
{
    let mut gone = 0;
    loop {
        let old = store.sent_before(id, before_s, AT_ONCE).await?;
        // Nobody's flags are asked for.
        let found = store.find(UserId(0), &old).await?;
        let messages: Vec<Message> = found.into_iter().map(|(message, _)| message).collect();
        let decided: Vec<(MessageId, EventId)> =
            messages.iter().map(|message| (message.id, message.revision)).collect();
        let is_last = old.len() < AT_ONCE;
        // What has changed meanwhile is looked at the next time.
        if decided.is_empty() || store.delete(&decided, (now_s, told(&messages))).await? == Written::Unchanged {
            return Ok(gone);
        }
        gone += decided.len();
        if is_last {
            return Ok(gone);
        }
    }
}

/// Clients are told topic by topic.
fn told(messages: &[Message]) -> Vec<NewEvent> {
    let mut topics: BTreeMap<(String, bool), Vec<&Message>> = BTreeMap::new();
    for message in messages {
        // Who may read a message that was moved here is decided otherwise.
        topics.entry((topic_key(&message.topic), message.marks.moved_in)).or_default().push(message);
    }
    let of_topic = |messages: Vec<&Message>| {
        let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
        messages.first().map(|first| deleted(first, &ids)).unwrap_or_default()
    };
    topics.into_values().flat_map(of_topic).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::channel::{Channel, Privacy};
    use crate::realm::Rules;
    use crate::testing;

    #[test]
    fn a_channel_that_says_nothing_or_never_keeps_its_messages() {
        let channel = |id, days| {
            let channel = Channel { message_retention_days: days, ..testing::channel(id, Privacy::Public) };
            Change::Channel(Box::new(channel))
        };
        let days = [(20, None), (21, Some(-1)), (22, Some(3)), (23, Some(i64::MAX)), (24, Some(0))];
        let realm = testing::realm(Rules::default(), days.map(|(id, days)| channel(id, days)).into());
        let mut bounds = bounds(&realm, 10 * DAY_S);
        bounds.sort_unstable();
        assert_eq!(bounds, [(ChannelId(22), 7 * DAY_S), (ChannelId(23), 10 * DAY_S - i64::MAX)]);
    }
}
