//! Finding old messages.

use async_trait::async_trait;
use chat_core::id::{ChannelId, MessageId};
use chat_core::message::Recipient;
use chat_core::ports::StoreError;
use chat_core::retention::RetentionStore;

use crate::engine::run;
use crate::fault::failed;
use crate::store::Store;

/// Times follow numbers, so the first that is young ends the search.
const OLDEST: &str = "SELECT id, sent_s FROM message WHERE recipient_id = $1 ORDER BY id LIMIT $2";

#[async_trait]
impl RetentionStore for Store {
    async fn sent_before(
        &self,
        channel_id: ChannelId,
        before_s: i64,
        limit: usize,
    ) -> Result<Vec<MessageId>, StoreError> {
        let recipient = i64::from(Recipient::Channel(channel_id));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let oldest: Vec<(i64, i64)> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_as(OLDEST).bind(recipient).bind(limit))
                .map_err(failed)?;
        let old = oldest.into_iter().take_while(|(_, sent_s)| *sent_s < before_s);
        Ok(old.map(|(id, _)| MessageId(id)).collect())
    }
}
