//! Queues: rows, and when their clients were heard of since those were last written.
//!
//! The column `acknowledged` is where a queue begins. It was moved on once by what its client confirmed, which nobody
//! asked for; it keeps its name for nodes that still do so.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::event_log::store::{EventQueue, EventQueueStore};
use chat_core::id::{EventId, UserId};

use crate::engine::run;
use crate::fault::failed;
use crate::store::{ChatStore, Shared};

const INSERT: &str = "INSERT INTO queue (id, user_id, filter, acknowledged, seen_s, idle_limit_s)
VALUES ($1, $2, $3, $4, $5, $6)";
const FIND: &str = "SELECT user_id, filter, acknowledged, seen_s, idle_limit_s FROM queue WHERE id = $1";
const NOTE: &str = "UPDATE queue SET seen_s = $2 WHERE id = $1 AND seen_s < $2";
const DELETE: &str = "DELETE FROM queue WHERE id = $1 AND user_id = $2";
const EXPIRE: &str = "DELETE FROM queue WHERE seen_s + idle_limit_s < $1 RETURNING id";

/// Notes on their way into the database. Unless they got there they go back: also when the database failed, and when
/// the task that writes them is ended half way.
struct NotesUnderWay<'a> {
    shared: &'a Shared,
    notes: HashMap<String, i64>,
}

impl<'a> NotesUnderWay<'a> {
    fn take(shared: &'a Shared) -> Self {
        Self { shared, notes: std::mem::take(&mut *shared.notes.lock().unwrap_or_else(PoisonError::into_inner)) }
    }

    fn written(mut self) {
        self.notes.clear();
    }
}

impl Drop for NotesUnderWay<'_> {
    fn drop(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        let mut waiting = self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, seen_s) in self.notes.drain() {
            let noted_s = waiting.entry(id).or_insert(seen_s);
            *noted_s = seen_s.max(*noted_s);
        }
    }
}

/// Writes down when clients were heard of, all in one transaction.
pub(crate) async fn write_notes(shared: &Shared) -> Result<(), StoreError> {
    let under_way = NotesUnderWay::take(shared);
    if under_way.notes.is_empty() {
        return Ok(());
    }
    // In one order, so that two nodes that note the same queues do not wait for each other.
    let mut notes: Vec<_> = under_way.notes.iter().collect();
    notes.sort_unstable();
    let mut tx = shared.db.begin().await.map_err(failed)?;
    for (id, seen_s) in notes {
        run!(tx.on(), execute: sqlx::query(NOTE).bind(id).bind(*seen_s)).map_err(failed)?;
    }
    tx.commit().await.map_err(failed)?;
    under_way.written();
    Ok(())
}

/// Returns the queue of that name, by the database.
async fn look_up(shared: &Shared, id: &str) -> Result<Option<Arc<EventQueue>>, StoreError> {
    let generation = shared.memory.queues.generation();
    let row: Option<(i64, String, i64, i64, i64)> =
        run!(shared.db.reader(), fetch_optional: sqlx::query_as(FIND).bind(id)).map_err(failed)?;
    let Some((user_id, filter, begins_after, seen_s, idle_limit_s)) = row else { return Ok(None) };
    let parsed = serde_json::from_str(&filter).map_err(failed)?;
    let (user_id, begins_after) = (UserId(user_id), EventId(begins_after));
    let queue = Arc::new(EventQueue { id: id.to_owned(), user_id, filter: parsed, begins_after, seen_s, idle_limit_s });
    shared.memory.queues.keep(&queue, &filter, (generation, shared.memory.recent_log.last_typing()));
    Ok(Some(queue))
}

#[async_trait]
impl EventQueueStore for ChatStore {
    async fn register_queue(&self, queue: EventQueue) -> Result<(), StoreError> {
        let generation = self.shared.memory.queues.generation();
        let filter = serde_json::to_string(&queue.filter).map_err(failed)?;
        run!(self.shared.db.writer(), execute: sqlx::query(INSERT)
            .bind(&queue.id)
            .bind(queue.user_id.0)
            .bind(&filter)
            .bind(queue.begins_after.0)
            .bind(queue.seen_s)
            .bind(queue.idle_limit_s))
        .map_err(failed)?;
        self.shared.memory.queues.keep(
            &Arc::new(queue),
            &filter,
            (generation, self.shared.memory.recent_log.last_typing()),
        );
        Ok(())
    }

    async fn find_queue(&self, id: &str) -> Result<Option<Arc<EventQueue>>, StoreError> {
        match self.shared.memory.queues.find(id) {
            Some(queue) => Ok(Some(queue)),
            // In a box of its own: hardly any poll needs its room.
            None => Box::pin(look_up(&self.shared, id)).await,
        }
    }

    fn note_client_seen(&self, queue: &EventQueue, seen_s: i64) {
        if !self.shared.memory.queues.is_due(queue, seen_s) {
            return;
        }
        let mut notes = self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let noted_s = notes.entry(queue.id.clone()).or_insert(seen_s);
        *noted_s = seen_s.max(*noted_s);
    }

    async fn delete_queue(&self, id: &str, user_id: UserId) -> Result<bool, StoreError> {
        self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let deleted =
            run!(self.shared.db.writer(), execute: sqlx::query(DELETE).bind(id).bind(user_id.0)).map_err(failed)?;
        if deleted > 0 {
            self.shared.tell_gone(&[id.to_owned()]).await;
        }
        Ok(deleted > 0)
    }

    async fn delete_expired_queues(&self, now_s: i64) -> Result<u64, StoreError> {
        write_notes(&self.shared).await?;
        let gone: Vec<String> =
            run!(self.shared.db.writer(), fetch_all: sqlx::query_scalar(EXPIRE).bind(now_s)).map_err(failed)?;
        self.shared.tell_gone(&gone).await;
        Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
    }
}
