//! What users mark for themselves, stars and what they folded away: sets of messages, in stretches.
//!
//! A row has the marked ones of [`STRETCH`] numbers that follow each other, as a JSON array that both engines read. So
//! thousands of marks at once are a few rows, one mark writes a small row, and a message that is deleted is found in
//! the rows of its stretch. The road not taken is a set for each user: each star would write all of them, and who has a
//! message among theirs would have to be looked for in everybody's.

use std::collections::{BTreeMap, BTreeSet};

use chat_core::StoreError;
use chat_core::id::{MessageId, UserId};
use chat_core::model::flag_change::FlagOp;
use chat_core::model::message::MessageFlag;
use sql_engines::{SqlDialect, encode_numbers_parameter, insert_rows_statement, power_of_two_chunks};
use sqlx::SqlStr;

use crate::dialect::Sql;
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::store::Shared;

/// Numbers of messages that have a row together. The schema files that fill the table know it too.
const STRETCH: i64 = 1_024;

const OF_USER: &str = "SELECT messages FROM flag_set WHERE user_id = $1 AND flag = $2";
static LOAD: Sql = Sql::new(
    "SELECT user_id, flag, stretch, messages FROM flag_set WHERE user_id = $1 AND flag = $2 AND stretch {in_numbers:$3}",
);
static OF_ALL: Sql = Sql::new("SELECT user_id, flag, stretch, messages FROM flag_set WHERE stretch {in_numbers:$1}");
const BETWEEN: &str = "SELECT user_id, flag, stretch, messages FROM flag_set WHERE stretch >= $1 AND stretch <= $2";
const PUT: &str = "INSERT INTO flag_set (user_id, flag, stretch, messages)";
const OR_REPLACE: &str = " ON CONFLICT (user_id, flag, stretch) DO UPDATE SET messages = excluded.messages";
static SWEEP: Sql = Sql::new("DELETE FROM flag_set WHERE messages = '[]' AND stretch {in_numbers:$1}");

/// User, flag and stretch.
type FlagSetKey = (i64, i64, i64);
type Row = (i64, i64, i64, String);
/// Messages by where they are marked.
type FlagSets = BTreeMap<FlagSetKey, BTreeSet<i64>>;

/// Returns whether a flag is kept here. The others follow from a message's text, and are rows.
pub(crate) fn keeps(flag: MessageFlag) -> bool {
    matches!(flag, MessageFlag::Starred | MessageFlag::Collapsed)
}

/// Returns the stretches of these messages, each once, as a parameter.
pub(crate) fn stretches(ids: impl IntoIterator<Item = i64>) -> String {
    let stretches: BTreeSet<i64> = ids.into_iter().map(|id| id / STRETCH).collect();
    encode_numbers_parameter(stretches)
}

/// Returns the messages of a row, in any order.
pub(crate) fn messages(text: &str) -> Result<Vec<i64>, StoreError> {
    serde_json::from_str(text).map_err(failed)
}

/// Returns the newest or oldest of a user's messages (`$1`) with a flag (`$5`), `$4` at most, between `$2` and `$3`, as
/// `picked`.
pub(crate) fn picked(dialect: SqlDialect, order: &str) -> String {
    Sql::render_dynamic_template(
        dialect,
        &format!(
            "(SELECT e.value AS id FROM flag_set AS s {{each_number:s.messages}}
WHERE s.user_id = $1 AND s.flag = CAST($5 AS BIGINT)
    AND s.stretch >= CAST($2 AS BIGINT) / {STRETCH} AND s.stretch <= CAST($3 AS BIGINT) / {STRETCH}
    AND e.value > $2 AND e.value < $3
ORDER BY e.value {order} LIMIT CAST($4 AS BIGINT)) AS picked"
        ),
    )
}

/// All messages to which a user gave a flag, in the order of their numbers.
pub(crate) async fn all(shared: &Shared, user_id: UserId, flag: MessageFlag) -> Result<Vec<MessageId>, StoreError> {
    let rows: Vec<String> =
        run!(shared.db.reader(), fetch_all: sqlx::query_scalar(OF_USER).bind(user_id.0).bind(flag.database_number()))
            .map_err(failed)?;
    let mut ids: BTreeSet<i64> = BTreeSet::new();
    for text in rows {
        ids.extend(messages(&text)?);
    }
    Ok(ids.into_iter().map(MessageId).collect())
}

/// Those of a user's messages that have a flag, of all in the stretches of these.
pub(crate) async fn near(
    shared: &Shared,
    (user_id, flag): (UserId, MessageFlag),
    ids: &[MessageId],
) -> Result<BTreeSet<i64>, StoreError> {
    let sql = LOAD.text_for_dialect(shared.db.dialect());
    let wanted = stretches(ids.iter().map(|id| id.0));
    let rows: Vec<Row> = run!(shared.db.reader(), fetch_all: sqlx::query_as(sql.clone())
        .bind(user_id.0).bind(flag.database_number()).bind(&wanted))
    .map_err(failed)?;
    Ok(sets(rows)?.into_values().flatten().collect())
}

/// Returns who gave which of these flags to which messages after one of them, until another.
pub(crate) async fn between(tx: &mut Tx, (after, until): (i64, i64)) -> Result<Vec<(i64, i64, i64)>, StoreError> {
    let rows: Vec<Row> = run!(tx.on(), fetch_all: sqlx::query_as(BETWEEN).bind(after / STRETCH).bind(until / STRETCH))
        .map_err(failed)?;
    let mut found = Vec::new();
    for ((user, flag, _), ids) in sets(rows)? {
        let there = ids.into_iter().filter(|id| *id > after && *id <= until);
        found.extend(there.map(|id| (id, user, flag)));
    }
    Ok(found)
}

/// Gives a user's messages a flag, or takes it away. The messages exist.
pub(crate) async fn change(
    tx: &mut Tx,
    user_id: UserId,
    (flag, op): (MessageFlag, FlagOp),
    ids: &[i64],
) -> Result<(), StoreError> {
    let wanted = stretches(ids.iter().copied());
    let sql = LOAD.text_for_dialect(tx.dialect());
    let rows: Vec<Row> = run!(tx.on(), fetch_all: sqlx::query_as(sql.clone())
        .bind(user_id.0).bind(flag.database_number()).bind(&wanted))
    .map_err(failed)?;
    let mut sets = sets(rows)?;
    for id in ids {
        let set = sets.entry((user_id.0, flag.database_number(), id / STRETCH)).or_default();
        match op {
            FlagOp::Add => set.insert(*id),
            FlagOp::Remove => set.remove(id),
        };
    }
    put(tx, sets).await?;
    if op == FlagOp::Remove { sweep(tx, &wanted).await } else { Ok(()) }
}

/// Adds what many users marked.
pub(crate) async fn add(tx: &mut Tx, marked: &[(UserId, MessageFlag, MessageId)]) -> Result<(), StoreError> {
    if marked.is_empty() {
        return Ok(());
    }
    let mut sets = of_all(tx, &stretches(marked.iter().map(|(.., id)| id.0))).await?;
    for (user, flag, id) in marked {
        sets.entry((user.0, flag.database_number(), id.0 / STRETCH)).or_default().insert(id.0);
    }
    put(tx, sets).await
}

/// Takes messages out of everybody's sets.
pub(crate) async fn forget(tx: &mut Tx, ids: &[MessageId]) -> Result<(), StoreError> {
    let wanted = stretches(ids.iter().map(|id| id.0));
    let mut changed = of_all(tx, &wanted).await?;
    changed.retain(|_, set| {
        let before = set.len();
        for id in ids {
            set.remove(&id.0);
        }
        set.len() < before
    });
    if changed.is_empty() {
        return Ok(());
    }
    put(tx, changed).await?;
    sweep(tx, &wanted).await
}

async fn of_all(tx: &mut Tx, stretches: &str) -> Result<FlagSets, StoreError> {
    let sql = OF_ALL.text_for_dialect(tx.dialect());
    let rows: Vec<Row> = run!(tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(stretches)).map_err(failed)?;
    sets(rows)
}

fn sets(rows: Vec<Row>) -> Result<FlagSets, StoreError> {
    let set = |(user, flag, stretch, text): Row| Ok(((user, flag, stretch), messages(&text)?.into_iter().collect()));
    rows.into_iter().map(set).collect()
}

async fn put(tx: &mut Tx, sets: FlagSets) -> Result<(), StoreError> {
    let rows: Vec<(FlagSetKey, String)> =
        sets.into_iter().map(|(key, set)| (key, encode_numbers_parameter(set))).collect();
    for piece in power_of_two_chunks(&rows) {
        let sql: SqlStr = insert_rows_statement(tx.dialect(), PUT, (piece.len(), 4), OR_REPLACE);
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for ((user, flag, stretch), messages) in piece {
                query = query.bind(*user).bind(*flag).bind(*stretch).bind(messages.as_str());
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// Removes rows with nothing in them.
async fn sweep(tx: &mut Tx, stretches: &str) -> Result<(), StoreError> {
    let sql = SWEEP.text_for_dialect(tx.dialect());
    run!(tx.on(), execute: sqlx::query(sql.clone()).bind(stretches)).map_err(failed)?;
    Ok(())
}
