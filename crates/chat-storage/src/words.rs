//! The index of words: which messages have which stems.
//!
//! What a message's stems are is a rule ([`chat_core::words`]); an engine only finds the messages that have all of
//! some. Rows change in the transaction that changes the message.

use std::sync::Arc;
use std::time::Duration;

use chat_core::id::MessageId;
use chat_core::message::Message;
use chat_core::ports::StoreError;
use chat_core::words::{Sought, indexed};
use sqlx::SqlStr;

use crate::dialect::{Dialect, Sql, numbers, pieces};
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::store::Shared;

static FORGET: Sql = Sql::new("DELETE FROM message_words WHERE rowid {in_numbers:$1}");
static TEXTS: Sql = Sql::new("SELECT id, topic, html FROM message WHERE id {in_numbers:$1}");
static LEFT: Sql = Sql::new("SELECT done, last FROM words_backlog WHERE one = 1 {for_update}");
const NEXT: &str = "SELECT id, topic, html FROM message WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3";
const DONE: &str = "UPDATE words_backlog SET done = $1 WHERE one = 1";

/// Messages taken up at once from before there was the index.
const STEP: usize = 500;
/// Between two such steps, so that requests are served before them.
const STEP_PAUSE: Duration = Duration::from_millis(20);
/// How long is waited after a step that failed.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

/// A message's number and its stems.
pub(crate) type Indexed = (i64, String);

/// What the index keeps of a message.
pub(crate) fn of(message: &Message) -> Indexed {
    (message.id.0, indexed(&message.topic, &message.html))
}

/// What finds the messages with all stems of a search; `None` when it finds none.
pub(crate) fn query(dialect: Dialect, sought: &Sought) -> Option<String> {
    // Stems are letters and digits alone, so nothing in them ends the quotes.
    let (quote, and) = match dialect {
        Dialect::Postgres => ("'", " & "),
        Dialect::Sqlite => ("\"", " "),
    };
    let quoted: Vec<String> = sought.stems().map(|stem| format!("{quote}{stem}{quote}")).collect();
    (!quoted.is_empty()).then(|| quoted.join(and))
}

/// Adds messages that are not in the index.
pub(crate) async fn add(tx: &mut Tx, messages: &[Indexed]) -> Result<(), StoreError> {
    for piece in pieces(messages) {
        let sql = insertion(tx.dialect(), piece.len());
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (id, words) in piece {
                query = query.bind(*id).bind(words);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

fn insertion(dialect: Dialect, rows: usize) -> SqlStr {
    let row = |row: usize| format!("(${}, {{words:${}}})", 2 * row + 1, 2 * row + 2);
    let rows: Vec<String> = (0..rows).map(row).collect();
    dialect.own_text(&format!("INSERT INTO message_words (rowid, words) VALUES {}", rows.join(", ")))
}

/// Removes messages from the index.
pub(crate) async fn forget(tx: &mut Tx, ids: &str) -> Result<(), StoreError> {
    let sql = FORGET.on(tx.dialect());
    run!(tx.on(), execute: sqlx::query(sql.clone()).bind(ids)).map_err(failed)?;
    Ok(())
}

/// Makes the index say of messages what they say by now.
pub(crate) async fn renew(tx: &mut Tx, ids: impl IntoIterator<Item = MessageId>) -> Result<(), StoreError> {
    let ids = numbers(ids.into_iter().map(|id| id.0));
    let sql = TEXTS.on(tx.dialect());
    let rows: Vec<(i64, String, String)> =
        run!(tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids)).map_err(failed)?;
    put(tx, &ids, rows).await
}

async fn put(tx: &mut Tx, ids: &str, rows: Vec<(i64, String, String)>) -> Result<(), StoreError> {
    forget(tx, ids).await?;
    let rows: Vec<Indexed> = rows.into_iter().map(|(id, topic, html)| (id, indexed(&topic, &html))).collect();
    add(tx, &rows).await
}

/// Takes up the messages from before there was the index, step by step, whichever node begins with one.
pub(crate) async fn take_up(shared: Arc<Shared>) {
    loop {
        let pause = match step(&shared).await {
            Ok(true) => STEP_PAUSE,
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "older messages could not be taken into the index of words; tried again soon");
                AGAIN_AFTER
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Takes up some; says whether there are more.
async fn step(shared: &Shared) -> Result<bool, StoreError> {
    let _turn = shared.writing.lock().await;
    let mut tx = shared.db.begin().await.map_err(failed)?;
    let sql = LEFT.on(tx.dialect());
    let (done, last): (i64, i64) = run!(tx.on(), fetch_one: sqlx::query_as(sql.clone())).map_err(failed)?;
    if done >= last {
        tx.roll_back().await.map_err(failed)?;
        return Ok(false);
    }
    let most = i64::try_from(STEP).unwrap_or(i64::MAX);
    let rows: Vec<(i64, String, String)> =
        run!(tx.on(), fetch_all: sqlx::query_as(NEXT).bind(done).bind(last).bind(most)).map_err(failed)?;
    let done = if rows.len() < STEP { last } else { rows.last().map_or(last, |(id, ..)| *id) };
    let ids = numbers(rows.iter().map(|(id, ..)| *id));
    put(&mut tx, &ids, rows).await?;
    run!(tx.on(), execute: sqlx::query(DONE).bind(done)).map_err(failed)?;
    tx.commit().await.map_err(failed)?;
    Ok(done < last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_asks_each_engine_for_all_its_stems() {
        let sought = Sought::parse("meetings 'next' week");
        assert_eq!(query(Dialect::Sqlite, &sought).as_deref(), Some(r#""meet" "next" "week""#));
        assert_eq!(query(Dialect::Postgres, &sought).as_deref(), Some("'meet' & 'next' & 'week'"));
        assert_eq!(query(Dialect::Sqlite, &Sought::parse("the")), None);
    }
}
