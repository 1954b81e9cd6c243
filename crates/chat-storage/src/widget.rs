//! Submessages: what readers add to polls and lists.

use std::collections::HashMap;

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::id::{EventId, MessageId, UserId};
use chat_core::messages::store::{MessageWriteGuard, MessageWriteOutcome};
use chat_core::messages::widget::{self, SubmessageStore};
use chat_core::model::message::{Message, Submessage};
use sql_engines::{encode_numbers_parameter, insert_rows_statement, power_of_two_chunks};

use crate::db::ChatDatabase;
use crate::dialect::Sql;
use crate::edit::finish;
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::store::ChatStore;
use crate::write_guard;

const INSERT: &str = "INSERT INTO submessage (id, message_id, sender_id, content)";
const ADD: &str = "INSERT INTO submessage (id, message_id, sender_id, content)
VALUES ($2, $1, $3, $4)";
static OF: Sql = Sql::new(
    "SELECT id, message_id, sender_id, content FROM submessage WHERE message_id {in_numbers:$1}
ORDER BY message_id, id",
);

/// Writes what comes with new messages.
pub(crate) async fn write(tx: &mut Tx, messages: impl Iterator<Item = &Message>) -> Result<(), StoreError> {
    let of =
        |message: &Message| message.submessages.iter().map(|submessage| (message.id, submessage.clone())).collect();
    let rows: Vec<(MessageId, Submessage)> = messages.flat_map::<Vec<_>, _>(of).collect();
    for piece in power_of_two_chunks(&rows) {
        let sql = insert_rows_statement(tx.dialect(), INSERT, (piece.len(), 4), "");
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (message, Submessage { id, sender_id, content }) in piece {
                query = query.bind(*id).bind(message.0).bind(sender_id.0).bind(content);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// Returns the submessages of these messages, in the order they came.
pub(crate) async fn of(
    db: &ChatDatabase,
    messages: impl Iterator<Item = i64>,
) -> Result<HashMap<i64, Vec<Submessage>>, StoreError> {
    let messages: Vec<i64> = messages.collect();
    let mut found: HashMap<i64, Vec<Submessage>> = HashMap::new();
    if messages.is_empty() {
        return Ok(found);
    }
    let (sql, ids) = (OF.text_for_dialect(db.dialect()), encode_numbers_parameter(messages));
    let rows: Vec<(i64, i64, i64, String)> =
        run!(db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids)).map_err(failed)?;
    for (id, message, sender, content) in rows {
        found.entry(message).or_default().push(Submessage { id, sender_id: UserId(sender), content });
    }
    Ok(found)
}

#[async_trait]
impl SubmessageStore for ChatStore {
    async fn add_submessage(
        &self,
        (message, realm): (&Message, EventId),
        (sender_id, content): (UserId, &str),
        at_s: i64,
    ) -> Result<MessageWriteOutcome, StoreError> {
        let decided = MessageWriteGuard { realm, messages: vec![(message.id, message.revision)] };
        let Some(mut writing) = write_guard::begin(&self.shared, &decided).await? else {
            return Ok(MessageWriteOutcome::Unchanged);
        };
        let place = writing.next();
        run!(writing.tx.on(), execute: sqlx::query(ADD)
            .bind(message.id.0)
            .bind(place.0)
            .bind(sender_id.0)
            .bind(content))
        .map_err(failed)?;
        let submessage = Submessage { id: place.0, sender_id, content: content.to_owned() };
        let event = widget::submessage_event(message, &submessage);
        finish(&self.shared, writing, (at_s, vec![event]), |shared| shared.memory.channel_windows.forget(&[message.id]))
            .await
    }
}
