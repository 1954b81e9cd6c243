//! Storing an upload, and deleting it: its bytes in the store of files, its record in the database.

use std::fs::File;

use bytes::Bytes;

use super::{Attachment, AttachmentStore, FileKey, FileStore, FileStoreError, NewAttachment, PathId, THUMBNAIL_NAMES};
use crate::StoreError;
use crate::id::{AttachmentId, UserId};

/// The stores of upload contents and records, with the quota.
#[derive(Clone, Copy)]
pub struct UploadStorage<'a> {
    /// The bytes.
    pub files: &'a dyn FileStore,
    /// The records.
    pub attachments: &'a dyn AttachmentStore,
    /// Bytes of all uploads together; `None` for as many as there is room for.
    pub quota_bytes: Option<i64>,
}

/// A thumbnail of an upload, to be stored with it.
#[derive(Debug)]
pub struct UploadThumbnail {
    /// Its name in [`THUMBNAIL_NAMES`].
    pub name: &'static str,
    /// Its bytes.
    pub bytes: Bytes,
}

/// The reason why an upload is not stored, or not deleted.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// All uploads together would take more than the quota.
    #[error("Upload would exceed your organization's upload quota.")]
    OverQuota,
    /// The user has no upload of that number.
    #[error("Invalid attachment")]
    NotFound,
    /// The store of files failed.
    #[error(transparent)]
    File(#[from] FileStoreError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl UploadStorage<'_> {
    /// Refuses an upload of at least so many bytes for which there is no room, before any of it is read.
    ///
    /// # Errors
    /// When there is no room, or the database failed.
    pub async fn check_upload_quota(self, least_bytes: usize) -> Result<(), UploadError> {
        let Some(quota_bytes) = self.quota_bytes else { return Ok(()) };
        let used = self.attachments.total_upload_bytes().await?;
        let fits = used.saturating_add(i64::try_from(least_bytes).unwrap_or(i64::MAX)) <= quota_bytes;
        if fits { Ok(()) } else { Err(UploadError::OverQuota) }
    }

    /// Stores an upload with its thumbnail. Nothing of a refused upload stays stored.
    ///
    /// # Errors
    /// When there is no room, or one of the stores failed.
    pub async fn store_upload(
        self,
        upload: NewAttachment,
        file: File,
        thumbnail: Option<UploadThumbnail>,
    ) -> Result<Attachment, UploadError> {
        let path_id = upload.path_id.clone();
        self.files.put_file(&FileKey::from(&path_id), file).await?;
        if let Some(UploadThumbnail { name, bytes }) = thumbnail {
            self.files.put_bytes(&FileKey::for_thumbnail(&path_id, name), bytes).await?;
        }
        let added = self.attachments.add_attachment(upload, self.quota_bytes).await;
        if !matches!(added, Ok(Some(_))) {
            self.delete_bytes(&path_id).await;
        }
        added?.ok_or(UploadError::OverQuota)
    }

    /// Deletes a user's upload. Messages that use it keep a link that leads nowhere.
    ///
    /// # Errors
    /// When the user has none of that number, or the database failed.
    pub async fn delete_upload(self, owner_id: UserId, id: AttachmentId, now_s: i64) -> Result<(), UploadError> {
        let removed = self.attachments.delete_attachment((owner_id, id), now_s).await?.ok_or(UploadError::NotFound)?;
        self.delete_bytes(&removed.path_id).await;
        Ok(())
    }

    /// Deletes the bytes of an upload without a record, and of its smaller pictures. Those that stay cost room and
    /// nothing else: they cannot be found.
    async fn delete_bytes(self, path: &PathId) {
        let small = THUMBNAIL_NAMES.map(|name| FileKey::for_thumbnail(path, name));
        for key in small.into_iter().chain([FileKey::from(path)]) {
            if let Err(error) = self.files.delete(&key).await {
                tracing::warn!(%error, "bytes of an upload that is gone stay");
            }
        }
    }
}
