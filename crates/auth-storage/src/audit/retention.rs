//! How long audit events are kept.

use oauth_core::ports::StoreError;

use crate::db::Db;
use crate::dialect::Sql;
use crate::fault::oauth;
use crate::tokens::forget;

/// What was recorded before `$1`, at most `$2` rows each: the history first, so that no document is taken over into it.
static FORGET: [Sql; 2] = [
    Sql::new(
        "DELETE FROM auditevent_history WHERE (id, txid) IN (
    SELECT id, txid FROM auditevent_history WHERE ts < {from_us:$1} ORDER BY ts LIMIT $2 {skip_locked}
)",
    ),
    Sql::new(
        "DELETE FROM auditevent WHERE id IN (
    SELECT id FROM auditevent WHERE ts < {from_us:$1} ORDER BY ts LIMIT $2 {skip_locked}
)",
    ),
];

impl Db {
    /// Deletes the audit events written before `before_us`, microseconds since the UNIX epoch, with their
    /// history. Returns how many rows.
    ///
    /// # Errors
    /// [`StoreError`]; what was deleted until then stays deleted.
    pub async fn forget_audit_events(&self, before_us: i64) -> Result<u64, StoreError> {
        let mut forgotten: u64 = 0;
        for sql in &FORGET {
            let rows = forget(self, sql, before_us).await.map_err(oauth)?;
            forgotten = forgotten.saturating_add(rows);
        }
        Ok(forgotten)
    }
}
