//! Uploads that come in several requests, with their parts.

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::files::{
    MAX_PARTS_PER_UPLOAD, ResumableUpload, ResumableUploadCreation, ResumableUploadId, ResumableUploadLimits,
    ResumableUploadStore, UploadPart,
};
use chat_core::id::UserId;

use crate::engine::run;
use crate::fault::failed;
use crate::store::ChatStore;

/// Makes concurrent creations wait for each other, so that the limits hold for all of them.
const LOCK: &str = "UPDATE attachment_total SET used_bytes = used_bytes WHERE one = 1";
const COUNT: &str = "SELECT count(*) FROM resumable_upload WHERE owner_id = $1 AND expires_s > $2";
const TOTAL: &str = "SELECT CAST(used_bytes + coalesce(
    (SELECT sum(length_bytes) FROM resumable_upload WHERE expires_s > $1), 0) AS BIGINT)
FROM attachment_total WHERE one = 1";
const INSERT: &str = "INSERT INTO resumable_upload
    (id, owner_id, name, metadata, length_bytes, received_bytes, expires_s)
VALUES ($1, $2, $3, $4, $5, $6, $7)";
const FIND: &str = "SELECT name, metadata, length_bytes, received_bytes, expires_s FROM resumable_upload
WHERE id = $1 AND owner_id = $2 AND expires_s > $3";
const ANNOUNCE: &str = "INSERT INTO resumable_upload_part (upload_id, name, at_bytes, size_bytes, is_appended)
SELECT id, CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS BIGINT), 0 FROM resumable_upload
WHERE id = $1 AND (SELECT count(*) FROM resumable_upload_part WHERE upload_id = $1) < $5";
const ADVANCE: &str = "UPDATE resumable_upload SET received_bytes = received_bytes + $3, expires_s = $4
WHERE id = $1 AND received_bytes = $2 AND received_bytes + $3 <= length_bytes";
const APPEND: &str = "UPDATE resumable_upload_part SET is_appended = 1 WHERE upload_id = $1 AND name = $2";
const FORGET_PART: &str = "DELETE FROM resumable_upload_part WHERE upload_id = $1 AND name = $2";
const APPENDED: &str = "SELECT name, at_bytes, size_bytes FROM resumable_upload_part
WHERE upload_id = $1 AND is_appended = 1 ORDER BY at_bytes";
const REMOVE: &str = "DELETE FROM resumable_upload
WHERE id = $1 AND ($2 < 0 OR received_bytes = $2)";
const REMOVE_PARTS: &str = "DELETE FROM resumable_upload_part WHERE upload_id = $1
RETURNING name, at_bytes, size_bytes";
const ABANDONED: &str = "SELECT id FROM resumable_upload WHERE expires_s <= $1 ORDER BY expires_s LIMIT $2";

/// Name, first byte and size.
type PartRow = (String, i64, i64);

fn part(upload_id: &ResumableUploadId, (name, at_bytes, size_bytes): PartRow) -> UploadPart {
    UploadPart { upload_id: upload_id.clone(), name, at_bytes, size_bytes }
}

#[async_trait]
impl ResumableUploadStore for ChatStore {
    async fn create_resumable_upload(
        &self,
        upload: &ResumableUpload,
        limits: ResumableUploadLimits,
        now_s: i64,
    ) -> Result<ResumableUploadCreation, StoreError> {
        let mut tx = self.shared.db.begin().await.map_err(failed)?;
        run!(tx.on(), execute: sqlx::query(LOCK)).map_err(failed)?;
        let count: i64 =
            run!(tx.on(), fetch_one: sqlx::query_scalar(COUNT).bind(upload.owner_id.0).bind(now_s)).map_err(failed)?;
        if count >= limits.per_user {
            tx.roll_back().await.map_err(failed)?;
            return Ok(ResumableUploadCreation::TooMany);
        }
        let total: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(TOTAL).bind(now_s)).map_err(failed)?;
        if limits.quota_bytes.is_some_and(|quota| total.saturating_add(upload.length_bytes) > quota) {
            tx.roll_back().await.map_err(failed)?;
            return Ok(ResumableUploadCreation::OverQuota);
        }
        let ResumableUpload { id, owner_id, name, metadata, length_bytes, received_bytes, expires_s } = upload;
        run!(tx.on(), execute: sqlx::query(INSERT)
            .bind(id.as_str())
            .bind(owner_id.0)
            .bind(name)
            .bind(metadata)
            .bind(*length_bytes)
            .bind(*received_bytes)
            .bind(*expires_s))
        .map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(ResumableUploadCreation::Created)
    }

    async fn find_resumable_upload(
        &self,
        owner_id: UserId,
        id: &ResumableUploadId,
        now_s: i64,
    ) -> Result<Option<ResumableUpload>, StoreError> {
        // By the writer, so that a client that goes on at once finds what was just written.
        let row: Option<(String, String, i64, i64, i64)> = run!(self.shared.db.writer(), fetch_optional:
            sqlx::query_as(FIND).bind(id.as_str()).bind(owner_id.0).bind(now_s))
        .map_err(failed)?;
        Ok(row.map(|(name, metadata, length_bytes, received_bytes, expires_s)| ResumableUpload {
            id: id.clone(),
            owner_id,
            name,
            metadata,
            length_bytes,
            received_bytes,
            expires_s,
        }))
    }

    async fn announce_upload_part(&self, part: &UploadPart) -> Result<bool, StoreError> {
        let announced = run!(self.shared.db.writer(), execute: sqlx::query(ANNOUNCE)
            .bind(part.upload_id.as_str())
            .bind(&part.name)
            .bind(part.at_bytes)
            .bind(part.size_bytes)
            .bind(MAX_PARTS_PER_UPLOAD))
        .map_err(failed)?;
        Ok(announced > 0)
    }

    async fn append_upload_part(&self, part: &UploadPart, expires_s: i64) -> Result<bool, StoreError> {
        let mut tx = self.shared.db.begin().await.map_err(failed)?;
        let advanced = run!(tx.on(), execute: sqlx::query(ADVANCE)
            .bind(part.upload_id.as_str())
            .bind(part.at_bytes)
            .bind(part.size_bytes)
            .bind(expires_s))
        .map_err(failed)?;
        let settle = if advanced > 0 { APPEND } else { FORGET_PART };
        run!(tx.on(), execute: sqlx::query(settle).bind(part.upload_id.as_str()).bind(&part.name)).map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(advanced > 0)
    }

    async fn upload_parts(&self, id: &ResumableUploadId) -> Result<Vec<UploadPart>, StoreError> {
        let rows: Vec<PartRow> =
            run!(self.shared.db.writer(), fetch_all: sqlx::query_as(APPENDED).bind(id.as_str())).map_err(failed)?;
        Ok(rows.into_iter().map(|row| part(id, row)).collect())
    }

    async fn take_resumable_upload(
        &self,
        id: &ResumableUploadId,
        received_bytes: Option<i64>,
    ) -> Result<Option<Vec<UploadPart>>, StoreError> {
        let mut tx = self.shared.db.begin().await.map_err(failed)?;
        let removed = run!(tx.on(), execute: sqlx::query(REMOVE).bind(id.as_str()).bind(received_bytes.unwrap_or(-1)))
            .map_err(failed)?;
        if removed == 0 {
            tx.roll_back().await.map_err(failed)?;
            return Ok(None);
        }
        let rows: Vec<PartRow> =
            run!(tx.on(), fetch_all: sqlx::query_as(REMOVE_PARTS).bind(id.as_str())).map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(Some(rows.into_iter().map(|row| part(id, row)).collect()))
    }

    async fn abandoned_uploads(&self, now_s: i64, limit: i64) -> Result<Vec<ResumableUploadId>, StoreError> {
        let ids: Vec<String> = run!(self.shared.db.reader(), fetch_all:
            sqlx::query_scalar(ABANDONED).bind(now_s).bind(limit))
        .map_err(failed)?;
        Ok(ids.iter().filter_map(|id| ResumableUploadId::parse(id)).collect())
    }
}
