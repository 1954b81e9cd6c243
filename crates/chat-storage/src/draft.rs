//! Drafts: documents, each its author's alone.

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::id::{DraftId, EventId, UserId};
use chat_core::messages::draft::{AddDraftsOutcome, Draft, DraftChange, DraftStore, MAX_DRAFTS_PER_USER};
use sql_engines::{insert_rows_statement, power_of_two_chunks};

use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::store::{ChatStore, Shared};

const COUNT: &str = "SELECT count(*) FROM draft WHERE user_id = $1";
const INSERT: &str = "INSERT INTO draft (id, user_id, document)";
const OF: &str = "SELECT id, document FROM draft WHERE user_id = $1 ORDER BY id";
const HAS: &str = "SELECT count(*) FROM draft WHERE id = $1 AND user_id = $2";
const UPDATE: &str = "UPDATE draft SET document = $3 WHERE id = $1 AND user_id = $2";
const DELETE: &str = "DELETE FROM draft WHERE id = $1 AND user_id = $2";
const DELETE_ALL: &str = "DELETE FROM draft WHERE user_id = $1";

/// Deletes all drafts of a user.
pub(crate) async fn delete_all(tx: &mut Tx, user_id: UserId) -> Result<(), StoreError> {
    run!(tx.on(), execute: sqlx::query(DELETE_ALL).bind(user_id.0)).map_err(failed)?;
    Ok(())
}

/// Writes drafts down, inside a transaction: each with whose it is, and its document.
pub(crate) async fn insert(tx: &mut Tx, rows: &[(DraftId, UserId, String)]) -> Result<(), StoreError> {
    for piece in power_of_two_chunks(rows) {
        let sql = insert_rows_statement(tx.dialect(), INSERT, (piece.len(), 3), "");
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (id, user_id, document) in piece {
                query = query.bind(id.0).bind(user_id.0).bind(document);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// A draft as its row has it.
pub(crate) fn text(draft: &Draft) -> Result<String, StoreError> {
    serde_json::to_string(draft).map_err(failed)
}

/// Makes it durable and tells it, when a row was changed.
async fn finish(
    shared: &Shared,
    mut writing: LogTransaction,
    (changed, at_s): (bool, i64),
    change: (UserId, DraftChange<'_>),
) -> Result<bool, StoreError> {
    if !changed {
        writing.roll_back().await?;
        return Ok(false);
    }
    let (user_id, news) = change;
    writing.push(at_s, Vec::new(), Some(news.into_event(user_id)));
    let records = writing.commit().await?;
    shared.publish(records).await;
    Ok(true)
}

#[async_trait]
impl DraftStore for ChatStore {
    async fn add_drafts(
        &self,
        user_id: UserId,
        drafts: &[Draft],
        (decided_at, at_s): (EventId, i64),
    ) -> Result<AddDraftsOutcome, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        if decided_at < writing.changed {
            writing.roll_back().await?;
            // Whoever decides again needs what they did not know.
            self.shared.catch_up().await?;
            return Ok(AddDraftsOutcome::Stale);
        }
        let have: i64 = run!(writing.tx.on(), fetch_one: sqlx::query_scalar(COUNT).bind(user_id.0)).map_err(failed)?;
        if usize::try_from(have).unwrap_or(usize::MAX).saturating_add(drafts.len()) > MAX_DRAFTS_PER_USER {
            writing.roll_back().await?;
            return Ok(AddDraftsOutcome::Full);
        }
        let mut rows = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let id = DraftId(writing.next().0);
            rows.push((id, user_id, text(draft)?));
            writing.push(at_s, Vec::new(), Some(DraftChange::Added(id, draft).into_event(user_id)));
        }
        insert(&mut writing.tx, &rows).await?;
        let records = writing.commit().await?;
        self.shared.publish(records).await;
        Ok(AddDraftsOutcome::Done(rows.into_iter().map(|(id, ..)| id).collect()))
    }

    async fn drafts_of_user(&self, user_id: UserId) -> Result<Vec<(DraftId, Draft)>, StoreError> {
        let rows: Vec<(i64, String)> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_as(OF).bind(user_id.0)).map_err(failed)?;
        let read = |(id, document): (i64, String)| Ok((DraftId(id), serde_json::from_str(&document).map_err(failed)?));
        let mut drafts: Vec<(DraftId, Draft)> = rows.into_iter().map(read).collect::<Result<_, StoreError>>()?;
        drafts.sort_by_key(|(id, draft)| (draft.touched_s, *id));
        Ok(drafts)
    }

    async fn has_draft(&self, user_id: UserId, id: DraftId) -> Result<bool, StoreError> {
        let reader = self.shared.db.reader();
        let have: i64 = run!(reader, fetch_one: sqlx::query_scalar(HAS).bind(id.0).bind(user_id.0)).map_err(failed)?;
        Ok(have > 0)
    }

    async fn change_draft(&self, user_id: UserId, id: DraftId, draft: &Draft, at_s: i64) -> Result<bool, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let document = text(draft)?;
        let changed = run!(writing.tx.on(), execute: sqlx::query(UPDATE).bind(id.0).bind(user_id.0).bind(&document))
            .map_err(failed)?;
        finish(&self.shared, writing, (changed > 0, at_s), (user_id, DraftChange::Updated(id, draft))).await
    }

    async fn delete_draft(&self, user_id: UserId, id: DraftId, at_s: i64) -> Result<bool, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let deleted = run!(writing.tx.on(), execute: sqlx::query(DELETE).bind(id.0).bind(user_id.0)).map_err(failed)?;
        finish(&self.shared, writing, (deleted > 0, at_s), (user_id, DraftChange::Removed(id))).await
    }
}
