//! Uploads that come in several requests, until they are whole or their time is over.
//!
//! What has come is kept as parts in the store of files, so that any node takes the next one. A part is announced in the
//! database before its bytes are stored, and counts once they are: bytes without a record do not stay, and of two
//! requests that continue at the same place one is too late.

use async_trait::async_trait;

use super::{FileKey, FileStore, FileStoreError};
use crate::StoreError;
use crate::id::UserId;

/// Seconds without a further part after which an upload is abandoned: a day.
pub const RESUMABLE_UPLOAD_LIFETIME_S: i64 = 86_400;
/// Unfinished uploads that a user may have. Not specified; clients upload a few files at once.
pub const MAX_RESUMABLE_UPLOADS_PER_USER: i64 = 20;
/// Parts of one upload. Not specified; a request makes a part of each [`UPLOAD_PART_BYTES`], and one of the rest.
pub const MAX_PARTS_PER_UPLOAD: i64 = 50_000;
/// Bytes of a part, unless the request ends before. A server that stops in the middle of a part loses that part.
pub const UPLOAD_PART_BYTES: u64 = 1024 * 1024;
/// Abandoned uploads that are deleted together.
const ABANDONED_AT_ONCE: i64 = 100;
/// Characters of an upload's id.
const ID_CHARS: usize = 32;

/// The id of an unfinished upload: 32 random letters and digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResumableUploadId(String);

impl ResumableUploadId {
    /// Parses an id; `None` when the text is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == ID_CHARS && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        fits.then(|| Self(text.to_owned()))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An unfinished upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumableUpload {
    /// Its id.
    pub id: ResumableUploadId,
    /// Who uploads it.
    pub owner_id: UserId,
    /// The name people see.
    pub name: String,
    /// What its client said of it, in the client's own form.
    pub metadata: String,
    /// Its size when it is whole.
    pub length_bytes: i64,
    /// How much of it has come.
    pub received_bytes: i64,
    /// When it is abandoned, in unix seconds.
    pub expires_s: i64,
}

/// How many unfinished uploads a user may have, and how many bytes all uploads of the server may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumableUploadLimits {
    /// Unfinished uploads of a user.
    pub per_user: i64,
    /// Bytes of all uploads together, the unfinished ones as large as they will be; `None` for any number.
    pub quota_bytes: Option<i64>,
}

/// The outcome of [`ResumableUploadStore::create_resumable_upload`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumableUploadCreation {
    /// It is there.
    Created,
    /// The user has too many.
    TooMany,
    /// All uploads together would take more than the quota.
    OverQuota,
}

/// A part of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadPart {
    /// The upload.
    pub upload_id: ResumableUploadId,
    /// The name of the part in the store of files: 32 letters and digits.
    pub name: String,
    /// Where in the upload it begins.
    pub at_bytes: i64,
    /// Its size.
    pub size_bytes: i64,
}

impl UploadPart {
    /// Returns where the bytes of the part are.
    #[must_use]
    pub fn key(&self) -> FileKey {
        FileKey::of_upload_part(&self.upload_id, &self.name)
    }
}

/// The store of unfinished uploads. One method is one transaction.
#[async_trait]
pub trait ResumableUploadStore: Send + Sync {
    /// Adds an upload within the limits. One that is abandoned does not count.
    async fn create_resumable_upload(
        &self,
        upload: &ResumableUpload,
        limits: ResumableUploadLimits,
        now_s: i64,
    ) -> Result<ResumableUploadCreation, StoreError>;

    /// Returns the user's unfinished upload of that id, unless it is abandoned.
    async fn find_resumable_upload(
        &self,
        owner_id: UserId,
        id: &ResumableUploadId,
        now_s: i64,
    ) -> Result<Option<ResumableUpload>, StoreError>;

    /// Notes that the bytes of a part are about to be stored; `false` when the upload is gone or has
    /// [`MAX_PARTS_PER_UPLOAD`] parts.
    async fn announce_upload_part(&self, part: &UploadPart) -> Result<bool, StoreError>;

    /// Adds a part that was announced and stored to its upload, which lasts until `expires_s` then; `false`, and the part
    /// is forgotten, when the upload is gone or does not end where the part begins.
    async fn append_upload_part(&self, part: &UploadPart, expires_s: i64) -> Result<bool, StoreError>;

    /// Returns the parts that were appended, in their order.
    async fn upload_parts(&self, id: &ResumableUploadId) -> Result<Vec<UploadPart>, StoreError>;

    /// Removes an upload of which so much has come, with all its parts, and returns the parts; `None` when there is none
    /// or it has grown. Of two callers one is given the parts.
    async fn take_resumable_upload(
        &self,
        id: &ResumableUploadId,
        received_bytes: Option<i64>,
    ) -> Result<Option<Vec<UploadPart>>, StoreError>;

    /// Returns the ids of uploads that are abandoned, at most `limit`.
    async fn abandoned_uploads(&self, now_s: i64, limit: i64) -> Result<Vec<ResumableUploadId>, StoreError>;
}

/// The reason why an unfinished upload does not go on.
#[derive(Debug, thiserror::Error)]
pub enum ResumableUploadError {
    /// The user has no such upload, or not any more.
    #[error("Upload not found")]
    NotFound,
    /// It goes on somewhere else.
    #[error("Upload-Offset does not match the current offset")]
    WrongOffset,
    /// It has too many parts.
    #[error("Upload has too many parts")]
    TooManyParts,
    /// The store of files failed.
    #[error(transparent)]
    File(#[from] FileStoreError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The stores of unfinished uploads.
#[derive(Clone, Copy)]
pub struct ResumableUploads<'a> {
    /// The bytes.
    pub files: &'a dyn FileStore,
    /// The records.
    pub store: &'a dyn ResumableUploadStore,
}

impl ResumableUploads<'_> {
    /// Appends a part that is in a file to its upload.
    ///
    /// # Errors
    /// When the upload is gone, goes on somewhere else or has too many parts, or one of the stores failed. Nothing of
    /// the part stays then.
    pub async fn append(self, part: &UploadPart, file: std::fs::File, now_s: i64) -> Result<(), ResumableUploadError> {
        if !self.store.announce_upload_part(part).await? {
            return Err(ResumableUploadError::TooManyParts);
        }
        // A part whose bytes were not stored goes with its upload.
        self.files.put_file(&part.key(), file).await?;
        if self.store.append_upload_part(part, now_s.saturating_add(RESUMABLE_UPLOAD_LIFETIME_S)).await? {
            return Ok(());
        }
        self.delete_parts(std::slice::from_ref(part)).await;
        Err(ResumableUploadError::WrongOffset)
    }

    /// Ends an upload of which so much has come, with everything of it that is stored; so much as there is when
    /// `received_bytes` is `None`. Of two requests that finish it one gets here.
    ///
    /// # Errors
    /// When it is gone or has grown, or the database failed.
    pub async fn end(self, id: &ResumableUploadId, received_bytes: Option<i64>) -> Result<(), ResumableUploadError> {
        let parts =
            self.store.take_resumable_upload(id, received_bytes).await?.ok_or(ResumableUploadError::NotFound)?;
        self.delete_parts(&parts).await;
        Ok(())
    }

    /// Deletes some of the uploads that are abandoned, with their bytes; returns whether there may be more of them.
    ///
    /// # Errors
    /// When the database failed.
    pub async fn end_abandoned(self, now_s: i64) -> Result<bool, StoreError> {
        let abandoned = self.store.abandoned_uploads(now_s, ABANDONED_AT_ONCE).await?;
        for id in &abandoned {
            // Another node may have been there first.
            if let Some(parts) = self.store.take_resumable_upload(id, None).await? {
                self.delete_parts(&parts).await;
            }
        }
        Ok(i64::try_from(abandoned.len()).is_ok_and(|found| found == ABANDONED_AT_ONCE))
    }

    /// Deletes the bytes of parts without a record. Those that stay cost room and nothing else: they cannot be found.
    async fn delete_parts(self, parts: &[UploadPart]) {
        for part in parts {
            if let Err(error) = self.files.delete(&part.key()).await {
                tracing::warn!(%error, "bytes of an unfinished upload that is gone stay");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_nowhere_else() {
        let id = "0123456789abcdefABCDEF0123456789";
        assert_eq!(ResumableUploadId::parse(id).unwrap().as_str(), id);
        for text in ["", "..", &id[1..], &format!("{id}0"), &format!("{}/", &id[1..]), &format!("{}é", &id[2..])] {
            assert_eq!(ResumableUploadId::parse(text), None, "{text}");
        }
        let part = UploadPart {
            upload_id: ResumableUploadId::parse(id).unwrap(),
            name: "part".to_owned(),
            at_bytes: 0,
            size_bytes: 1,
        };
        assert_eq!(part.key().as_str(), format!("incoming/{id}/part"));
    }
}
