//! When users were last there: in memory, and written down in batches.
//!
//! A sign of life is a compare and swap on one word of its user. Once a second what was noted since is written in one
//! transaction, with the events of those who are back, and then what other nodes wrote is read. A batch takes the next
//! number of one counter and holds it until it is committed, so a node that has read up to a batch has missed none
//! before it: clients, which ask for "what came after", may ask any node.
//!
//! The road not taken is an event for each sign of life: it would write the log, and wake everybody, once a minute for
//! everybody. What it costs that we do not: a node that is killed loses the times of its last second.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use chat_core::StoreError;
use chat_core::id::UserId;
use chat_core::people::presence::{self, ChangedPresences, Presence, PresenceStatus, PresenceStore};
use sql_engines::{insert_rows_statement, power_of_two_chunks};

use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::store::{ChatStore, Shared};

const NEXT_BATCH: &str = "UPDATE presence_head SET last_batch = last_batch + 1 WHERE one = 1 RETURNING last_batch";
const INSERT: &str = "INSERT INTO presence (user_id, active_s, connected_s, batch)";
/// Another node may have heard of the user later.
const KEEP_NEWER: &str = " ON CONFLICT (user_id) DO UPDATE SET
    active_s = CASE WHEN presence.active_s < excluded.active_s THEN excluded.active_s ELSE presence.active_s END,
    connected_s = CASE WHEN presence.connected_s < excluded.connected_s
        THEN excluded.connected_s ELSE presence.connected_s END,
    batch = excluded.batch";
const READ: &str = "SELECT user_id, active_s, connected_s, batch FROM presence WHERE batch > $1 ORDER BY batch";

/// What a node knows: 24 bytes and its place in a tree for each user who was ever there.
#[derive(Default)]
pub(crate) struct PresenceCache {
    cells: RwLock<BTreeMap<UserId, PresenceCell>>,
    /// The last batch whose rows are here, and those of all before it.
    last: AtomicI64,
    /// Only one at a time writes down and reads.
    settling: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct PresenceCell {
    /// What is known.
    seen: PackedPresence,
    /// What of it is in the database.
    written: PackedPresence,
    /// The batch it was written in; 0 before the first.
    batch: AtomicI64,
}

/// A presence in one word, so that it is read and changed as a whole without a lock.
#[derive(Default)]
struct PackedPresence(AtomicU64);

impl PackedPresence {
    fn get(&self) -> Presence {
        unpacked(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, presence: Presence) {
        self.0.store(packed(presence), Ordering::Relaxed);
    }

    fn change(&self, change: impl Fn(Presence) -> Option<Presence>) {
        // Unchanged is an answer too.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| change(unpacked(word)).map(packed));
    }
}

/// Seconds of 32 bits last until the year 2106.
fn packed(presence: Presence) -> u64 {
    let word = |seconds: i64| u64::from(u32::try_from(seconds.max(0)).unwrap_or(u32::MAX));
    word(presence.active_s) << 32 | word(presence.connected_s)
}

fn unpacked(word: u64) -> Presence {
    let seconds = |word: u64| i64::try_from(word & u64::from(u32::MAX)).unwrap_or(i64::MAX);
    Presence { active_s: seconds(word >> 32), connected_s: seconds(word) }
}

/// Who was there: before, as far as it is written down, and now.
type PresenceChange = (UserId, Presence, Presence);

impl PresenceCache {
    fn cells(&self) -> RwLockReadGuard<'_, BTreeMap<UserId, PresenceCell>> {
        self.cells.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the cell of a user; room is made for one who is new.
    fn with(&self, user_id: UserId, does: impl Fn(&PresenceCell)) {
        if let Some(cell) = self.cells().get(&user_id) {
            return does(cell);
        }
        does(self.cells.write().unwrap_or_else(PoisonError::into_inner).entry(user_id).or_default());
    }

    /// Returns what is not written down.
    fn unwritten(&self) -> Vec<PresenceChange> {
        let cells = self.cells();
        let changes = cells.iter().map(|(id, cell)| (*id, cell.written.get(), cell.seen.get()));
        changes.filter(|(_, written, seen)| written != seen).collect()
    }

    /// Takes in what is in the database.
    fn take(&self, user_id: UserId, presence: Presence, batch: i64) {
        self.with(user_id, |cell| {
            cell.seen.change(|seen| Some(seen.merged_with(presence)));
            cell.written.set(presence);
            cell.batch.store(batch, Ordering::Relaxed);
        });
    }
}

/// Writes down what was noted, and reads what other nodes did.
pub(crate) async fn settle(shared: &Shared) -> Result<(), StoreError> {
    let presences = &shared.presences;
    let _turn = presences.settling.lock().await;
    let changes = presences.unwritten();
    if !changes.is_empty() {
        write(shared, &changes).await?;
        for (id, _, seen) in &changes {
            presences.with(*id, |cell| cell.written.set(*seen));
        }
    }
    // SQLite has one node.
    if changes.is_empty() && shared.db.postgres().is_none() { Ok(()) } else { read(shared).await }
}

/// Takes in what is written down.
pub(crate) async fn read(shared: &Shared) -> Result<(), StoreError> {
    let presences = &shared.presences;
    let mut last = presences.last.load(Ordering::Relaxed);
    let rows: Vec<(i64, i64, i64, i64)> =
        run!(shared.db.reader(), fetch_all: sqlx::query_as(READ).bind(last)).map_err(failed)?;
    for (user_id, active_s, connected_s, batch) in rows {
        presences.take(UserId(user_id), Presence { active_s, connected_s }, batch);
        last = last.max(batch);
    }
    // Told only when all rows up to it are here.
    presences.last.store(last, Ordering::Release);
    Ok(())
}

async fn write(shared: &Shared, changes: &[PresenceChange]) -> Result<(), StoreError> {
    let news = presence::came_back_events(&shared.memory.realm.load(), changes);
    if news.is_empty() {
        let mut tx = shared.db.begin().await.map_err(failed)?;
        write_batch(&mut tx, changes).await?;
        return tx.commit().await.map_err(failed);
    }
    let mut writing = LogTransaction::begin(shared).await?;
    write_batch(&mut writing.tx, changes).await?;
    for (at_s, event) in news {
        writing.push(at_s, Vec::new(), Some(event));
    }
    let records = writing.commit().await?;
    shared.publish(records).await;
    Ok(())
}

async fn write_batch(tx: &mut Tx, changes: &[PresenceChange]) -> Result<(), StoreError> {
    let batch: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(NEXT_BATCH)).map_err(failed)?;
    for piece in power_of_two_chunks(changes) {
        let sql = insert_rows_statement(tx.dialect(), INSERT, (piece.len(), 4), KEEP_NEWER);
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (id, _, seen) in piece {
                query = query.bind(id.0).bind(seen.active_s).bind(seen.connected_s).bind(batch);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

impl PresenceStore for ChatStore {
    fn record_presence(&self, user_id: UserId, status: PresenceStatus, now_s: i64) {
        self.shared.presences.with(user_id, |cell| cell.seen.change(|seen| seen.after_ping(status, now_s)));
    }

    fn presence_of_user(&self, user_id: UserId) -> Option<Presence> {
        self.shared.presences.cells().get(&user_id).map(|cell| cell.seen.get())
    }

    fn presences_since(&self, batch: i64) -> ChangedPresences {
        let presences = &self.shared.presences;
        // Asked first: what is taken in in the meantime is told again rather than not at all.
        let last = presences.last.load(Ordering::Acquire);
        let cells = presences.cells();
        let is_new = |cell: &PresenceCell| {
            batch <= 0 || cell.batch.load(Ordering::Relaxed) > batch || cell.written.get() != cell.seen.get()
        };
        let new = cells.iter().filter(|(_, cell)| is_new(cell));
        ChangedPresences { presences: new.map(|(id, cell)| (*id, cell.seen.get())).collect(), last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_presence_fits_into_a_word() {
        for (active_s, connected_s) in [(0, 0), (1_800_000_000, 1_800_000_001), (i64::from(u32::MAX), 5)] {
            let presence = Presence { active_s, connected_s };
            assert_eq!(unpacked(packed(presence)), presence);
        }
        let outside = Presence { active_s: -1, connected_s: i64::MAX };
        assert_eq!(unpacked(packed(outside)), Presence { active_s: 0, connected_s: i64::from(u32::MAX) });
    }

    #[test]
    fn what_is_known_of_a_user_stays_small() {
        assert_eq!(size_of::<PresenceCell>(), 24);
    }
}
