//! Files: what people upload, and the pictures that are made of it.
//!
//! Their bytes are in a [`FileStore`], under keys of our own making ([`FileKey`]); a file is never changed, only
//! deleted. What a file is ([`MediaType`]) is judged by its bytes alone. An upload may be read by who uploaded it and
//! by who may read one of the messages that use it; the pictures of users and custom emoji are for everybody who knows
//! their names.

mod attachment;
mod key;
mod media;
mod path;
mod resumable;
mod store;
mod upload_storage;
mod uploads;

pub use attachment::{
    Attachment, AttachmentStore, AttachmentWithMessages, ImageMetadata, MAX_ATTACHMENTS_PER_MESSAGE,
    MAX_LISTED_ATTACHMENT_MESSAGES, NewAttachment, THUMBNAIL_NAMES, TemporaryFileAccess, thumbnail_name_for_media_type,
};
pub use key::{FileKey, PublicImageName};
pub use media::{ContentDisposition, MediaType, SNIFFED_BYTES};
pub use path::{PathId, display_file_name};
pub use resumable::{
    MAX_PARTS_PER_UPLOAD, MAX_RESUMABLE_UPLOADS_PER_USER, RESUMABLE_UPLOAD_LIFETIME_S, ResumableUpload,
    ResumableUploadCreation, ResumableUploadError, ResumableUploadId, ResumableUploadLimits, ResumableUploadStore,
    ResumableUploads, UPLOAD_PART_BYTES, UploadPart,
};
pub use store::{FileReader, FileStore, FileStoreError};
pub use upload_storage::{UploadError, UploadStorage, UploadThumbnail};
pub use uploads::ReadableLinkedUploads;
