//! What programs of bots keep: a row per key, and a row per user with the number of characters of it all, which a
//! writer locks first.

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::id::UserId;
use chat_core::people::bots::{BotStorage, BotStorageOutcome, MissingBotStorageKey};
use sql_engines::{insert_rows_statement, power_of_two_chunks};

use crate::dialect::Sql;
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::store::ChatStore;

const LOCK: &str = "INSERT INTO bot_storage_size (user_id, chars) VALUES ($1, 0)
ON CONFLICT (user_id) DO UPDATE SET chars = bot_storage_size.chars RETURNING chars";
const RESIZE: &str = "UPDATE bot_storage_size SET chars = $2 WHERE user_id = $1";
static THERE: Sql = Sql::new(
    "SELECT count(*), coalesce(CAST(sum(length(item_key) + length(value)) AS BIGINT), 0) FROM bot_storage
WHERE user_id = $1 AND item_key {in_texts:$2}",
);
const INSERT: &str = "INSERT INTO bot_storage (user_id, item_key, value)";
const REPLACE: &str = " ON CONFLICT (user_id, item_key) DO UPDATE SET value = excluded.value";
const ALL: &str = "SELECT item_key, value FROM bot_storage WHERE user_id = $1";
static SOME: Sql = Sql::new("SELECT item_key, value FROM bot_storage WHERE user_id = $1 AND item_key {in_texts:$2}");
const DELETE_ALL: &str = "DELETE FROM bot_storage WHERE user_id = $1";
static DELETE_SOME: Sql = Sql::new("DELETE FROM bot_storage WHERE user_id = $1 AND item_key {in_texts:$2}");

#[async_trait]
impl BotStorage for ChatStore {
    async fn store_bot_values(
        &self,
        user_id: UserId,
        entries: &[(String, String)],
        limit_chars: i64,
    ) -> Result<BotStorageOutcome, StoreError> {
        let mut tx = self.shared.db.begin().await.map_err(failed)?;
        let before = lock(&mut tx, user_id).await?;
        let keys = list(entries.iter().map(|(key, _)| key))?;
        let (_, replaced) = there(&mut tx, user_id, &keys).await?;
        let added: i64 = entries.iter().map(|(key, value)| chars(key).saturating_add(chars(value))).sum();
        let after = before.saturating_sub(replaced).saturating_add(added);
        if after > limit_chars {
            tx.roll_back().await.map_err(failed)?;
            return Ok(BotStorageOutcome::TooMuch(after.saturating_sub(limit_chars)));
        }
        put(&mut tx, user_id, entries).await?;
        resize(tx, user_id, after).await?;
        Ok(BotStorageOutcome::Done)
    }

    async fn load_bot_values(
        &self,
        user_id: UserId,
        keys: Option<&[String]>,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let db = &self.shared.db;
        match keys {
            None => run!(db.reader(), fetch_all: sqlx::query_as(ALL).bind(user_id.0)),
            Some(keys) => {
                let (sql, keys) = (SOME.text_for_dialect(db.dialect()), list(keys)?);
                run!(db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(user_id.0).bind(&keys))
            }
        }
        .map_err(failed)
    }

    async fn delete_bot_values(
        &self,
        user_id: UserId,
        keys: Option<&[String]>,
    ) -> Result<Result<(), MissingBotStorageKey>, StoreError> {
        let mut tx = self.shared.db.begin().await.map_err(failed)?;
        let before = lock(&mut tx, user_id).await?;
        let Some(keys) = keys else {
            run!(tx.on(), execute: sqlx::query(DELETE_ALL).bind(user_id.0)).map_err(failed)?;
            return resize(tx, user_id, 0).await.map(Ok);
        };
        let wanted = list(keys)?;
        let (count, chars) = there(&mut tx, user_id, &wanted).await?;
        if usize::try_from(count).is_ok_and(|count| count < keys.len()) {
            tx.roll_back().await.map_err(failed)?;
            return Ok(Err(MissingBotStorageKey));
        }
        let sql = DELETE_SOME.text_for_dialect(tx.dialect());
        run!(tx.on(), execute: sqlx::query(sql.clone()).bind(user_id.0).bind(&wanted)).map_err(failed)?;
        resize(tx, user_id, before.saturating_sub(chars)).await.map(Ok)
    }
}

/// Puts texts under their keys into the storage of a bot that has none, inside a transaction.
pub(crate) async fn fill(tx: &mut Tx, user_id: UserId, entries: &[(String, String)]) -> Result<(), StoreError> {
    lock(tx, user_id).await?;
    put(tx, user_id, entries).await?;
    let all = entries.iter().map(|(key, value)| chars(key).saturating_add(chars(value))).sum::<i64>();
    run!(tx.on(), execute: sqlx::query(RESIZE).bind(user_id.0).bind(all)).map_err(failed)?;
    Ok(())
}

async fn put(tx: &mut Tx, user_id: UserId, entries: &[(String, String)]) -> Result<(), StoreError> {
    for piece in power_of_two_chunks(entries) {
        let sql = insert_rows_statement(tx.dialect(), INSERT, (piece.len(), 3), REPLACE);
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (key, value) in piece {
                query = query.bind(user_id.0).bind(key).bind(value);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// Waits for the turn to write, and says how many characters there are.
async fn lock(tx: &mut Tx, user_id: UserId) -> Result<i64, StoreError> {
    run!(tx.on(), fetch_one: sqlx::query_scalar(LOCK).bind(user_id.0)).map_err(failed)
}

/// Returns how many of these keys there are, and how many characters they and what is under them have.
async fn there(tx: &mut Tx, user_id: UserId, keys: &str) -> Result<(i64, i64), StoreError> {
    let sql = THERE.text_for_dialect(tx.dialect());
    run!(tx.on(), fetch_one: sqlx::query_as(sql.clone()).bind(user_id.0).bind(keys)).map_err(failed)
}

async fn resize(mut tx: Tx, user_id: UserId, chars: i64) -> Result<(), StoreError> {
    run!(tx.on(), execute: sqlx::query(RESIZE).bind(user_id.0).bind(chars)).map_err(failed)?;
    tx.commit().await.map_err(failed)
}

/// Texts as the parameter of `{in_texts}`.
fn list<'a>(texts: impl IntoIterator<Item = &'a String>) -> Result<String, StoreError> {
    serde_json::to_string(&texts.into_iter().collect::<Vec<_>>()).map_err(failed)
}

fn chars(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}
