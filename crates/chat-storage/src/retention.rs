//! Finding old messages.

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::id::{DirectConversationId, MessageId};
use chat_core::messages::retention::RetentionStore;
use chat_core::model::message::Recipient;

use crate::engine::run;
use crate::fault::failed;
use crate::store::ChatStore;

/// Times follow numbers, so the first that is young ends the search.
const OLDEST: &str = "SELECT id, sent_s FROM message WHERE recipient_id = $1 ORDER BY id LIMIT $2";
const OLD_DIRECTS: &str = "SELECT d.recipient_id FROM direct AS d
JOIN message AS m ON m.id = (SELECT min(id) FROM message WHERE recipient_id = d.recipient_id)
WHERE m.sent_s < $1 ORDER BY d.recipient_id LIMIT $2";

#[async_trait]
impl RetentionStore for ChatStore {
    async fn messages_sent_before(
        &self,
        recipient: Recipient,
        before_s: i64,
        limit: usize,
    ) -> Result<Vec<MessageId>, StoreError> {
        let recipient = i64::from(recipient);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let oldest: Vec<(i64, i64)> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_as(OLDEST).bind(recipient).bind(limit))
                .map_err(failed)?;
        let old = oldest.into_iter().take_while(|(_, sent_s)| *sent_s < before_s);
        Ok(old.map(|(id, _)| MessageId(id)).collect())
    }

    async fn direct_conversations_before(
        &self,
        before_s: i64,
        limit: usize,
    ) -> Result<Vec<DirectConversationId>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found: Vec<i64> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_scalar(OLD_DIRECTS).bind(before_s).bind(limit))
                .map_err(failed)?;
        let direct = |recipient: i64| match Recipient::from(recipient) {
            Recipient::Direct(id) => Some(id),
            Recipient::Channel(_) => None,
        };
        Ok(found.into_iter().filter_map(direct).collect())
    }
}
