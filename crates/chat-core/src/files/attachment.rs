//! Uploads as the database knows them, and which messages use them.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::PathId;
use crate::StoreError;
use crate::id::{AttachmentId, MessageId, UserId};

/// Messages of an upload that are told with it, the newest. Not specified; each use of a file tells of it again.
pub const MAX_LISTED_ATTACHMENT_MESSAGES: i64 = 100;
/// Uploads that one message can use.
pub const MAX_ATTACHMENTS_PER_MESSAGE: usize = 100;

/// An upload to record; its bytes are stored already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttachment {
    /// Where its bytes are.
    pub path_id: PathId,
    /// Who uploaded it.
    pub owner_id: UserId,
    /// The name people see.
    pub name: String,
    /// What it is: a [`super::MediaType::media_type`].
    pub media_type: &'static str,
    /// Its size.
    pub size_bytes: i64,
    /// When it came, in unix seconds.
    pub created_s: i64,
    /// What is known of it as a picture.
    pub picture: Option<ImageMetadata>,
}

/// The dimensions and format of an uploaded image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageMetadata {
    /// Its width, in pixels.
    pub width: u32,
    /// Its height, in pixels.
    pub height: u32,
    /// Whether it moves.
    pub is_animated: bool,
}

/// An uploaded file: its path, owner, name, media type and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its number.
    pub id: AttachmentId,
    /// Where its bytes are.
    pub path_id: PathId,
    /// Who uploaded it.
    pub owner_id: UserId,
    /// The name people see.
    pub name: String,
    /// What it is, as was found when it came.
    pub media_type: String,
    /// Its size.
    pub size_bytes: i64,
    /// When it came, in unix seconds.
    pub created_s: i64,
    /// What is known of it as a picture.
    pub picture: Option<ImageMetadata>,
}

/// An upload and the newest messages that use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentWithMessages {
    /// The upload.
    pub attachment: Attachment,
    /// The messages, the newest first, each with when it was sent in unix seconds.
    pub messages: Vec<(MessageId, i64)>,
}

impl AttachmentWithMessages {
    /// Returns the attachment object of the wire, as the owner of the upload sees it.
    ///
    /// # Source
    /// Not specified; the keys are those existing clients know, times in milliseconds.
    #[must_use]
    pub fn to_wire_object(&self) -> Value {
        let Attachment { id, path_id, name, size_bytes, created_s, .. } = &self.attachment;
        let message = |(id, sent_s): &(MessageId, i64)| json!({"id": id, "date_sent": milliseconds(*sent_s)});
        json!({
            "id": id,
            "name": name,
            "path_id": path_id,
            "size": size_bytes,
            "create_time": milliseconds(*created_s),
            "messages": self.messages.iter().map(message).collect::<Vec<_>>(),
        })
    }
}

fn milliseconds(seconds: i64) -> i64 {
    seconds.saturating_mul(1_000)
}

/// The names of the smaller pictures there are of each picture.
pub const THUMBNAIL_NAMES: [&str; 2] = ["840x560.jpg", "840x560.webp"];

/// Returns the smaller picture that is shown for an upload of that media type: one that keeps what shows through it,
/// unless nothing can.
#[must_use]
pub fn thumbnail_name_for_media_type(media_type: &str) -> &'static str {
    let [opaque, any] = THUMBNAIL_NAMES;
    if media_type == "image/jpeg" { opaque } else { any }
}

/// A temporary permission to fetch a file without authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemporaryFileAccess {
    /// What it is recognised by; the ticket itself is not kept.
    pub hash: String,
    /// The file.
    pub path_id: PathId,
    /// Until when, in unix seconds.
    pub until_s: i64,
}

/// The store of upload records.
#[async_trait]
pub trait AttachmentStore: Send + Sync {
    /// Writes an upload down and notifies its owner. `None`, and nothing is written, when all uploads together would
    /// take more than the quota.
    async fn add_attachment(
        &self,
        upload: NewAttachment,
        quota_bytes: Option<i64>,
    ) -> Result<Option<Attachment>, StoreError>;

    /// Returns the uploads of these paths that there are, in no order.
    async fn attachments_at_paths(&self, paths: &[PathId]) -> Result<Vec<Attachment>, StoreError>;

    /// Returns the messages before one that use an upload, the newest first, at most `limit`.
    async fn messages_using_attachment(
        &self,
        id: AttachmentId,
        before: MessageId,
        limit: i64,
    ) -> Result<Vec<MessageId>, StoreError>;

    /// A user's uploads with the newest messages that use each, the newest first.
    async fn attachments_of_owner(&self, owner_id: UserId) -> Result<Vec<AttachmentWithMessages>, StoreError>;

    /// Deletes an upload of that owner, and notifies them; its bytes are deleted elsewhere. `None` when it is not
    /// theirs.
    async fn delete_attachment(
        &self,
        (owner_id, id): (UserId, AttachmentId),
        at_s: i64,
    ) -> Result<Option<Attachment>, StoreError>;

    /// Returns what all uploads take together.
    async fn total_upload_bytes(&self) -> Result<i64, StoreError>;

    /// Stores a temporary file access, and deletes those that expired before `now_s`.
    async fn grant_temporary_access(&self, ticket: TemporaryFileAccess, now_s: i64) -> Result<(), StoreError>;

    /// Returns the path of the file to which the temporary access of that hash leads, while it is valid.
    async fn find_temporary_access_path(&self, hash: &str, now_s: i64) -> Result<Option<PathId>, StoreError>;
}
