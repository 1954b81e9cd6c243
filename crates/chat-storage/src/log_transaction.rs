//! A transaction that writes to the log.

use std::sync::Arc;
use std::time::Duration;

use chat_core::StoreError;
use chat_core::event_log::event::{EventBody, LogRecord, NewEvent};
use chat_core::id::EventId;
use chat_core::model::message::Message;
use chat_core::model::realm_change::RealmChange;
use sql_engines::{insert_rows_statement, power_of_two_chunks};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::dialect::Sql;
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::store::Shared;

static LOCK_HEAD: Sql = Sql::new("SELECT last_event, last_change, last_id FROM log_head WHERE one = 1 {for_update}");
const MOVE_HEAD: &str = "UPDATE log_head SET last_event = $1, last_change = $2, last_id = $3 WHERE one = 1";
const INSERT: &str = "INSERT INTO log (id, at_s, changes, event)";

/// How long a writer waits for those before it, which a database that is locked holds up one after the other.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// Records that continue the log from a place.
pub(crate) struct LogDraft {
    head: EventId,
    records: Vec<Arc<LogRecord>>,
}

impl LogDraft {
    pub(crate) fn from(head: EventId) -> Self {
        Self { head, records: Vec::new() }
    }

    /// Returns the place of the last record, or that it continues from.
    pub(crate) fn head(&self) -> EventId {
        self.head
    }

    /// Returns the place the next record will have.
    pub(crate) fn next(&self) -> EventId {
        EventId(self.head.0 + 1)
    }

    /// Adds a record at [`LogDraft::next`].
    pub(crate) fn push(&mut self, at_s: i64, changes: Vec<RealmChange>, event: Option<NewEvent>) -> EventId {
        self.head = self.next();
        self.records.push(Arc::new(LogRecord::new(self.head, at_s, changes, event)));
        self.head
    }

    pub(crate) fn records(&self) -> &[Arc<LogRecord>] {
        &self.records
    }

    pub(crate) fn into_records(self) -> Vec<Arc<LogRecord>> {
        self.records
    }

    /// Returns the messages that are sent.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.records.iter().filter_map(|record| match &record.event.as_ref()?.body {
            EventBody::Message(event) => Some(&event.message),
            EventBody::Plain { .. } | EventBody::Edit { .. } | EventBody::Flagged(_) => None,
        })
    }
}

/// A transaction that holds the head of the log. While it lasts nobody else writes.
pub(crate) struct LogTransaction {
    pub(crate) tx: Tx,
    pub(crate) draft: LogDraft,
    /// The last place of the log that changed the realm.
    pub(crate) changed: EventId,
    /// The largest number given to a user, channel or group.
    pub(crate) last_id: i64,
    _turn: OwnedMutexGuard<()>,
}

impl LogTransaction {
    /// Begins it and waits for the head.
    pub(crate) async fn begin(shared: &Shared) -> Result<Self, StoreError> {
        let turn = wait_for_turn(&shared.writing).await?;
        let mut tx = shared.db.begin().await.map_err(failed)?;
        let lock = LOCK_HEAD.text_for_dialect(tx.dialect());
        let (head, changed, last_id): (i64, i64, i64) =
            run!(tx.on(), fetch_one: sqlx::query_as(lock.clone())).map_err(failed)?;
        Ok(Self { tx, draft: LogDraft::from(EventId(head)), changed: EventId(changed), last_id, _turn: turn })
    }

    /// Returns the last place that changed what someone may do to messages, as far as this node has heard of everything
    /// before this transaction; else the last that changed anything.
    pub(crate) fn rules_changed(&self, shared: &Shared) -> EventId {
        let realm = shared.memory.realm.load();
        if realm.log_position() >= self.draft.head() { realm.message_rules_changed_at() } else { self.changed }
    }

    /// Returns the place the next record will have.
    pub(crate) fn next(&self) -> EventId {
        self.draft.next()
    }

    /// Adds a record at [`LogTransaction::next`].
    pub(crate) fn push(&mut self, at_s: i64, changes: Vec<RealmChange>, event: Option<NewEvent>) -> EventId {
        if !changes.is_empty() {
            self.changed = self.next();
        }
        self.draft.push(at_s, changes, event)
    }

    /// Writes the records and the head, and returns them once everything is durable.
    pub(crate) async fn commit(mut self) -> Result<Vec<Arc<LogRecord>>, StoreError> {
        let rows: Vec<Row> = self.draft.records.iter().map(|record| Row::of(record)).collect::<Result<_, _>>()?;
        for piece in power_of_two_chunks(&rows) {
            let sql = insert_rows_statement(self.tx.dialect(), INSERT, (piece.len(), 4), "");
            run!(self.tx.on(), execute: {
                let mut query = sqlx::query(sql.clone());
                for row in piece {
                    query = query.bind(row.id).bind(row.at_s).bind(row.changes.as_deref()).bind(row.event.as_deref());
                }
                query
            })
            .map_err(failed)?;
        }
        run!(self.tx.on(), execute: sqlx::query(MOVE_HEAD).bind(self.draft.head.0).bind(self.changed.0).bind(self.last_id))
            .map_err(failed)?;
        self.tx.commit().await.map_err(failed)?;
        Ok(self.draft.into_records())
    }

    /// Forgets everything.
    pub(crate) async fn roll_back(self) -> Result<(), StoreError> {
        self.tx.roll_back().await.map_err(failed)
    }
}

/// Waits until no other writer of this process holds the head.
///
/// # Errors
/// After [`TURN_TIMEOUT`]: the database cannot be used at the moment.
async fn wait_for_turn(writing: &Arc<Mutex<()>>) -> Result<OwnedMutexGuard<()>, StoreError> {
    let turn = Arc::clone(writing).lock_owned();
    tokio::time::timeout(TURN_TIMEOUT, turn).await.map_err(|_| failed(sqlx::Error::PoolTimedOut))
}

struct Row {
    id: i64,
    at_s: i64,
    changes: Option<String>,
    event: Option<String>,
}

impl Row {
    fn of(record: &LogRecord) -> Result<Self, StoreError> {
        let changes = match record.changes.as_slice() {
            [] => None,
            changes => Some(serde_json::to_string(changes).map_err(failed)?),
        };
        let event = record.event.as_ref().map(serde_json::to_string).transpose().map_err(failed)?;
        Ok(Self { id: record.id.0, at_s: record.at_s, changes, event })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_writer_that_waits_too_long_for_those_before_it_is_told_that_the_database_cannot_be_used() {
        let writing = Arc::new(Mutex::new(()));
        let held = wait_for_turn(&writing).await.unwrap();
        assert!(wait_for_turn(&writing).await.unwrap_err().is_database_unavailable());
        drop(held);
        wait_for_turn(&writing).await.unwrap();
    }
}
