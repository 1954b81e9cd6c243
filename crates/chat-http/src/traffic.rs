//! How much is written in which channel.

use std::collections::HashMap;
use std::sync::Arc;

use chat_core::StoreError;
use chat_core::id::ChannelId;
use chat_core::limits::SECONDS_PER_DAY;
use chat_core::messages::store::MessageStore;
use chat_core::wire_format::channel::TRAFFIC_AVERAGE_DAYS;
use tokio::sync::Mutex;

/// Seconds for which a count holds. Not specified; it is an average of weeks, and counting looks at every message of
/// them.
const HOLDS_S: i64 = 3_600;

/// Messages of each channel in the last four weeks, counted once an hour and not while nobody asks.
#[derive(Default)]
pub(crate) struct ChannelTraffic {
    /// When it was counted, in unix seconds, and what. Held while counting, so that one counts for all who ask.
    counted: Mutex<Option<(i64, MessageCounts)>>,
}

/// Messages by channel; those that got none are left out.
pub(crate) type MessageCounts = Arc<HashMap<ChannelId, i64>>;

impl ChannelTraffic {
    /// Returns the count of this hour.
    pub(crate) async fn counts(&self, messages: &dyn MessageStore, now_s: i64) -> Result<MessageCounts, StoreError> {
        let mut counted = self.counted.lock().await;
        if let Some((at_s, counts)) = counted.as_ref()
            && (0..HOLDS_S).contains(&now_s.saturating_sub(*at_s))
        {
            return Ok(Arc::clone(counts));
        }
        let since_s = now_s.saturating_sub(TRAFFIC_AVERAGE_DAYS * SECONDS_PER_DAY);
        let counts: MessageCounts =
            Arc::new(messages.channel_message_counts_since(since_s).await?.into_iter().collect());
        *counted = Some((now_s, Arc::clone(&counts)));
        Ok(counts)
    }
}
