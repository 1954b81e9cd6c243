//! Reading the log.

use std::sync::Arc;

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::event_log::event::LogRecord;
use chat_core::event_log::store::{EventLog, LogWaiter, PrunedRecordsError};
use chat_core::id::EventId;

use crate::db::ChatDatabase;
use crate::engine::run;
use crate::fault::failed;
use crate::store::{ChatStore, Shared};

/// Records read at once.
pub(crate) const CHUNK: usize = 1_000;

const HEAD: &str = "SELECT last_event FROM log_head WHERE one = 1";
const PRUNED: &str = "SELECT pruned FROM log_head WHERE one = 1";
const READ: &str = "SELECT id, at_s, changes, event FROM log WHERE id > $1 ORDER BY id LIMIT $2";
/// The last record before the first that is young enough: every record up to it is old, whatever a clock that lags
/// wrote behind it.
const LAST_OLD: &str = "SELECT coalesce(
    (SELECT id - 1 FROM log WHERE at_s >= $1 ORDER BY id LIMIT 1),
    (SELECT max(id) FROM log), 0)";
const NOTE_PRUNED: &str = "UPDATE log_head SET pruned = $1 WHERE one = 1 AND pruned < $1";
const PRUNE: &str = "DELETE FROM log WHERE id <= $1";

type Row = (i64, i64, Option<String>, Option<String>);

/// Returns the last place of the log.
pub(crate) async fn head(db: &ChatDatabase) -> Result<EventId, StoreError> {
    run!(db.reader(), fetch_one: sqlx::query_scalar(HEAD)).map(EventId).map_err(failed)
}

/// Records that follow a place are gone from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogGap {
    /// The place.
    pub(crate) after: EventId,
    /// The last record that is known to be gone.
    pub(crate) gone_to: EventId,
}

/// Returns the records after a place, in order and without a gap, or the gap that follows the place.
pub(crate) async fn read(
    db: &ChatDatabase,
    after: EventId,
    limit: usize,
) -> Result<Result<Vec<Arc<LogRecord>>, LogGap>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows: Vec<Row> =
        run!(db.reader(), fetch_all: sqlx::query_as(READ).bind(after.0).bind(limit)).map_err(failed)?;
    // The numbers of records have no holes, so the first one tells whether others were before it. Without one, the
    // head of the log remembers what was pruned.
    let gone_to = match rows.first() {
        Some((first, ..)) => first - 1,
        None => run!(db.reader(), fetch_one: sqlx::query_scalar(PRUNED)).map_err(failed)?,
    };
    if gone_to > after.0 {
        return Ok(Err(LogGap { after, gone_to: EventId(gone_to) }));
    }
    rows.into_iter().map(record).collect::<Result<_, _>>().map(Ok)
}

/// Returns the records after a place that memory does not reach back to.
async fn read_kept(
    shared: &Shared,
    after: EventId,
    limit: usize,
) -> Result<Result<Vec<Arc<LogRecord>>, PrunedRecordsError>, StoreError> {
    let Ok(mut records) = read(&shared.db, after, limit.min(CHUNK)).await? else {
        return Ok(Err(PrunedRecordsError(after)));
    };
    // What others have just committed is not in this node's realm yet.
    let head = shared.memory.recent_log.head();
    records.retain(|record| record.id <= head);
    Ok(Ok(records))
}

fn record((id, at_s, changes, event): Row) -> Result<Arc<LogRecord>, StoreError> {
    let changes = changes.map(|changes| serde_json::from_str(&changes)).transpose().map_err(failed)?;
    let event = event.map(|event| serde_json::from_str(&event)).transpose().map_err(failed)?;
    Ok(Arc::new(LogRecord::new(EventId(id), at_s, changes.unwrap_or_default(), event)))
}

#[async_trait]
impl EventLog for ChatStore {
    fn last_event_id(&self) -> EventId {
        self.shared.memory.recent_log.head()
    }

    async fn records_after(
        &self,
        after: EventId,
        limit: usize,
    ) -> Result<Result<Vec<Arc<LogRecord>>, PrunedRecordsError>, StoreError> {
        match self.shared.memory.recent_log.after(after, limit) {
            Some(records) => Ok(Ok(records)),
            // In a box of its own: hardly any poll needs its room.
            None => Box::pin(read_kept(&self.shared, after, limit)).await,
        }
    }

    async fn wait_for_record(&self, listener: LogWaiter, after: EventId) {
        let ticket = self.shared.memory.recent_log.queue_up(listener, after, &self.shared.memory.realm.load());
        if let Some(ticket) = ticket {
            ticket.wait().await;
        }
    }

    async fn prune_records(&self, older_than_s: i64) -> Result<u64, StoreError> {
        let mut tx = self.shared.db.begin().await.map_err(failed)?;
        let until: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(LAST_OLD).bind(older_than_s)).map_err(failed)?;
        run!(tx.on(), execute: sqlx::query(NOTE_PRUNED).bind(until)).map_err(failed)?;
        let pruned = run!(tx.on(), execute: sqlx::query(PRUNE).bind(until)).map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(pruned)
    }
}
