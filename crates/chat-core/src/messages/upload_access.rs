//! Uploads that a user may read: their own, and those that a message uses which they may read.

use crate::StoreError;
use crate::files::{Attachment, AttachmentStore, MAX_ATTACHMENTS_PER_MESSAGE, PathId, ReadableLinkedUploads};
use crate::id::MessageId;
use crate::messages::store::MessageStore;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access;

/// Messages that are looked at together for one that the user may read.
const USES_AT_ONCE: i64 = 100;
/// How many such looks there are at most. Not specified; a user who may read none of the thousand newest messages that
/// use a file is not let through by an older one.
const LOOKS_MAX: usize = 10;

/// The stores that say who may read an upload.
#[derive(Clone, Copy)]
pub struct UploadAccessStores<'a> {
    /// The records of uploads.
    pub attachments: &'a dyn AttachmentStore,
    /// The messages that use them.
    pub messages: &'a dyn MessageStore,
}

impl UploadAccessStores<'_> {
    /// Returns the uploads that a text links and its writer may read. Costs nothing for a text that links none.
    ///
    /// # Errors
    /// When the database failed.
    pub async fn linked_readable_uploads(
        self,
        realm: &RealmSnapshot,
        writer: &User,
        content: &str,
    ) -> Result<ReadableLinkedUploads, StoreError> {
        let paths = PathId::find_links_in_text(content, MAX_ATTACHMENTS_PER_MESSAGE);
        if paths.is_empty() {
            return Ok(ReadableLinkedUploads::default());
        }
        let mut linked = Vec::new();
        for upload in self.attachments.attachments_at_paths(&paths).await? {
            if self.reads(realm, writer, &upload).await? {
                linked.push(upload);
            }
        }
        Ok(ReadableLinkedUploads::new(linked))
    }

    /// Returns the upload of that path, when the user may read it. Whether there is one they may not read is not
    /// revealed.
    ///
    /// # Errors
    /// When the database failed.
    pub async fn find_readable_upload(
        self,
        realm: &RealmSnapshot,
        user: &User,
        path: &PathId,
    ) -> Result<Option<Attachment>, StoreError> {
        let found = self.attachments.attachments_at_paths(std::slice::from_ref(path)).await?.into_iter().next();
        match found {
            Some(upload) if self.reads(realm, user, &upload).await? => Ok(Some(upload)),
            _ => Ok(None),
        }
    }

    /// Returns whether the user may read the upload: it is theirs, or they may read a message that uses it.
    async fn reads(self, realm: &RealmSnapshot, user: &User, upload: &Attachment) -> Result<bool, StoreError> {
        if upload.owner_id == user.id {
            return Ok(true);
        }
        let mut before = MessageId(i64::MAX);
        for _ in 0..LOOKS_MAX {
            let ids = self.attachments.messages_using_attachment(upload.id, before, USES_AT_ONCE).await?;
            let Some(last) = ids.last() else { return Ok(false) };
            before = *last;
            let messages = self.messages.find_messages(user.id, &ids).await?;
            if messages.iter().any(|(message, _)| access::may_read_message(realm, user, message)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
