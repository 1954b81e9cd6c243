//! Messages, and what stands beside them, as rows that are written many at once.

use std::collections::HashMap;

use chat_core::StoreError;
use chat_core::id::{MessageId, UserId};
use chat_core::model::message::{Message, MessageFlag, Recipient, topic_key};
use sql_engines::{SqlDialect, insert_rows_statement, power_of_two_chunks};

use crate::dialect::Sql;
use crate::engine::{Session, Tx, run};
use crate::fault::failed;

static FIND_DIRECTS: Sql = Sql::new("SELECT users, recipient_id FROM direct WHERE users {in_texts:$1}");
const INSERT_DIRECTS: &str = "INSERT INTO direct (recipient_id, users)";
const INSERT_DIRECT_USERS: &str = "INSERT INTO direct_user (user_id, recipient_id)";
const INSERT_MESSAGES: &str = "INSERT INTO message (id, sender_id, recipient_id, topic, topic_key, content, html,
    sent_s, client, marks, last_edit_s, revision)";
const INSERT_FLAGS: &str = "INSERT INTO message_flag (user_id, flag, message_id)";

/// Sets of users that have written to each other, by [`crate::message_decoding::users_key`].
pub(crate) type DirectConversations = HashMap<String, Recipient>;

/// Those of these keys that there are.
pub(crate) async fn find_directs(
    on: Session<'_>,
    dialect: SqlDialect,
    keys: &[String],
) -> Result<DirectConversations, StoreError> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let keys = serde_json::to_string(keys).map_err(failed)?;
    let sql = FIND_DIRECTS.text_for_dialect(dialect);
    let rows: Vec<(String, i64)> = run!(on, fetch_all: sqlx::query_as(sql.clone()).bind(&keys)).map_err(failed)?;
    Ok(rows.into_iter().map(|(users, recipient)| (users, Recipient::from(recipient))).collect())
}

/// Writes sets of users that write to each other for the first time: their numbers and keys, and who is in them.
pub(crate) async fn directs(tx: &mut Tx, directs: &[(i64, String)], users: &[(UserId, i64)]) -> Result<(), StoreError> {
    for piece in power_of_two_chunks(directs) {
        let sql = insert_rows_statement(tx.dialect(), INSERT_DIRECTS, (piece.len(), 2), "");
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (recipient, users) in piece {
                query = query.bind(*recipient).bind(users);
            }
            query
        })
        .map_err(failed)?;
    }
    for piece in power_of_two_chunks(users) {
        let sql = insert_rows_statement(tx.dialect(), INSERT_DIRECT_USERS, (piece.len(), 2), "");
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (user, recipient) in piece {
                query = query.bind(user.0).bind(*recipient);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// Writes messages.
pub(crate) async fn messages(tx: &mut Tx, messages: &[&Message]) -> Result<(), StoreError> {
    for piece in power_of_two_chunks(messages) {
        let keys: Vec<String> = piece.iter().map(|message| topic_key(&message.topic)).collect();
        let sql = insert_rows_statement(tx.dialect(), INSERT_MESSAGES, (piece.len(), 12), "");
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (message, key) in piece.iter().zip(&keys) {
                query = query
                    .bind(message.id.0)
                    .bind(message.sender_id.0)
                    .bind(i64::from(message.recipient))
                    .bind(&message.topic)
                    .bind(key)
                    .bind(&message.content)
                    .bind(&message.html)
                    .bind(message.sent_s)
                    .bind(&message.client)
                    .bind(message.content_flags.to_bits())
                    .bind(message.last_edit_s)
                    .bind(message.revision.0);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// Writes flags that are rows.
pub(crate) async fn flags(tx: &mut Tx, flags: &[(UserId, MessageFlag, MessageId)]) -> Result<(), StoreError> {
    for piece in power_of_two_chunks(flags) {
        let sql = insert_rows_statement(tx.dialect(), INSERT_FLAGS, (piece.len(), 3), " ON CONFLICT DO NOTHING");
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (user, flag, message) in piece {
                query = query.bind(user.0).bind(flag.database_number()).bind(message.0);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}
