//! The guard of every write to messages that exist: what the write was decided on is compared inside its transaction.
//!
//! **Invariant:** the transaction holds the head of the log, so nothing that is compared here changes before it ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use chat_core::StoreError;
use chat_core::event_log::event::{EventBody, LogRecord};
use chat_core::id::{EventId, MessageId};
use chat_core::messages::store::{FlagWriteGuard, MessageWriteGuard};
use sql_engines::encode_numbers_parameter;

use crate::dialect::Sql;
use crate::engine::run;
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::store::Shared;

/// The revision of a message that was never edited is its own number.
static EDITED: Sql =
    Sql::new("SELECT count(*) FROM message WHERE id {in_numbers:$1} AND revision > $2 AND revision > id");
static REVISIONS: Sql = Sql::new("SELECT id, revision FROM message WHERE id {in_numbers:$1}");

/// Begins a transaction, unless the rules or one of the messages have changed since the decision.
pub(crate) async fn begin(shared: &Shared, decided: &MessageWriteGuard) -> Result<Option<LogTransaction>, StoreError> {
    let mut writing = LogTransaction::begin(shared).await?;
    if decided.realm >= writing.rules_changed(shared) && are_unchanged(&mut writing, &decided.messages).await? {
        return Ok(Some(writing));
    }
    refuse(shared, writing).await?;
    Ok(None)
}

/// Begins a transaction with all that the log holds known to this node, unless the rules have changed since the
/// decision, or one of the messages was edited.
pub(crate) async fn begin_flags(
    shared: &Shared,
    decided: &FlagWriteGuard,
) -> Result<Option<LogTransaction>, StoreError> {
    let mut writing = LogTransaction::begin(shared).await?;
    if writing.draft.head() > shared.memory.recent_log.head() {
        shared.catch_up().await?;
    }
    if decided.realm >= writing.rules_changed(shared) && !is_any_edited(shared, &mut writing, decided).await? {
        return Ok(Some(writing));
    }
    refuse(shared, writing).await?;
    Ok(None)
}

/// Returns whether one of the messages was edited or moved after the place of the log that the decision knew.
async fn is_any_edited(
    shared: &Shared,
    writing: &mut LogTransaction,
    decided: &FlagWriteGuard,
) -> Result<bool, StoreError> {
    // Most of what is written in between are messages and flags, and then the database need not be asked.
    let edits_none = |record: &Arc<LogRecord>| {
        let body = record.event.as_ref().map(|event| &event.body);
        matches!(body, Some(EventBody::Message(_) | EventBody::Flagged(_)))
    };
    let since = shared.memory.recent_log.after(decided.log, usize::MAX);
    if since.is_some_and(|records| records.iter().all(edits_none)) {
        return Ok(false);
    }
    let sql = EDITED.text_for_dialect(writing.tx.dialect());
    let ids = encode_numbers_parameter(decided.messages.iter().map(|id| id.0));
    let edited: i64 = run!(writing.tx.on(), fetch_one: sqlx::query_scalar(sql.clone()).bind(&ids).bind(decided.log.0))
        .map_err(failed)?;
    Ok(edited > 0)
}

/// Ends a transaction that would write what was decided on an older state, and brings the realm in memory forward for
/// the next decision.
pub(crate) async fn refuse(shared: &Shared, writing: LogTransaction) -> Result<(), StoreError> {
    writing.roll_back().await?;
    shared.catch_up().await
}

/// Returns whether these messages are there, each of that revision.
async fn are_unchanged(writing: &mut LogTransaction, messages: &[(MessageId, EventId)]) -> Result<bool, StoreError> {
    let sql = REVISIONS.text_for_dialect(writing.tx.dialect());
    let ids = encode_numbers_parameter(messages.iter().map(|(id, _)| id.0));
    let found: Vec<(i64, i64)> =
        run!(writing.tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids)).map_err(failed)?;
    let decided: BTreeSet<(i64, i64)> = messages.iter().map(|(id, revision)| (id.0, revision.0)).collect();
    Ok(found.into_iter().collect::<BTreeSet<_>>() == decided)
}
