//! The parts of the table for what an organization adds to its texts: linkifiers, playgrounds, custom emoji; and for
//! pictures.

use chat_core::organization::code_playgrounds::PlaygroundError;
use chat_core::organization::custom_emoji::CustomEmojiError;
use chat_core::organization::data_exports::DataExportError;
use chat_core::organization::linkifiers::RealmLinkifierError;
use chat_core::text_processing::form_errors::FormErrors;
use chat_pictures::PictureError;
use http::StatusCode;
use serde_json::{Map, Value};

use super::{ApiError, BAD_REQUEST, ErrorResponse, bad_request, failure};

/// The reason why an item of the organization is not changed, or a file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum OrganizationItemError {
    /// The linkifiers stay as they are.
    #[error(transparent)]
    Linkifiers(#[from] RealmLinkifierError),
    /// The playgrounds stay as they are.
    #[error(transparent)]
    Playgrounds(#[from] PlaygroundError),
    /// The custom emoji stay as they are.
    #[error(transparent)]
    CustomEmoji(#[from] CustomEmojiError),
    /// An export is not made, shown or deleted.
    #[error(transparent)]
    DataExport(#[from] DataExportError),
    /// A file is no picture.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// No file, or several, where one is wanted.
    #[error("You must upload exactly one file.")]
    NotOneFile,
    /// No file, or several, where one is wanted to become an avatar.
    #[error("You must upload exactly one avatar.")]
    NotOneAvatar,
    /// No file, or several, where one is wanted to become the organization's icon.
    #[error("You must upload exactly one icon.")]
    NotOneIcon,
    /// No file, or several, where one is wanted to become its logo.
    #[error("You must upload exactly one logo.")]
    NotOneLogo,
    /// No file, where one is to be uploaded.
    #[error("You must specify a file to upload")]
    NoUpload,
    /// More than one file.
    #[error("You may only upload one file at a time")]
    SecondUpload,
    /// All uploads together would be more than there may be.
    #[error("Upload would exceed your organization's upload quota.")]
    OverQuota,
    /// There is no such file, or none the caller may read.
    #[error("This file does not exist or has been deleted.")]
    NoFile,
    /// There is no such upload of the caller's.
    #[error("Invalid attachment")]
    NoAttachment,
    /// A file is larger than what it is for may be.
    #[error("Uploaded file is larger than the allowed limit of {mib} MiB")]
    FileTooLarge {
        /// What is allowed.
        mib: usize,
    },
}

/// Returns the part of the table.
pub(super) fn error_response(error: &OrganizationItemError) -> ErrorResponse {
    match error {
        OrganizationItemError::Linkifiers(error) => linkifiers(error),
        OrganizationItemError::Playgrounds(error) => playgrounds(error),
        OrganizationItemError::CustomEmoji(error) => custom_emoji(error),
        OrganizationItemError::DataExport(error) => data_export(error),
        OrganizationItemError::Picture(error) => picture(error),
        OrganizationItemError::OverQuota => bad_request("REALM_UPLOAD_QUOTA", error),
        OrganizationItemError::NoFile => ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, error),
        OrganizationItemError::NotOneFile
        | OrganizationItemError::NotOneAvatar
        | OrganizationItemError::NotOneIcon
        | OrganizationItemError::NotOneLogo
        | OrganizationItemError::NoUpload
        | OrganizationItemError::SecondUpload
        | OrganizationItemError::NoAttachment
        | OrganizationItemError::FileTooLarge { .. } => bad_request(BAD_REQUEST, error),
    }
}

impl From<RealmLinkifierError> for ApiError {
    fn from(error: RealmLinkifierError) -> Self {
        OrganizationItemError::from(error).into()
    }
}

impl From<PlaygroundError> for ApiError {
    fn from(error: PlaygroundError) -> Self {
        OrganizationItemError::from(error).into()
    }
}

impl From<CustomEmojiError> for ApiError {
    fn from(error: CustomEmojiError) -> Self {
        OrganizationItemError::from(error).into()
    }
}

impl From<DataExportError> for ApiError {
    fn from(error: DataExportError) -> Self {
        OrganizationItemError::from(error).into()
    }
}

impl From<PictureError> for ApiError {
    fn from(error: PictureError) -> Self {
        OrganizationItemError::from(error).into()
    }
}

/// For linkifiers.
fn linkifiers(error: &RealmLinkifierError) -> ErrorResponse {
    match error {
        RealmLinkifierError::Unfit(problems) => form(problems),
        RealmLinkifierError::NotAllowed(_)
        | RealmLinkifierError::NotFound
        | RealmLinkifierError::TooMany
        | RealmLinkifierError::NotAnOrder => bad_request(BAD_REQUEST, error),
    }
}

/// For playgrounds.
fn playgrounds(error: &PlaygroundError) -> ErrorResponse {
    match error {
        PlaygroundError::Unfit(problems) => form(problems),
        PlaygroundError::NotAllowed(_)
        | PlaygroundError::NotFound
        | PlaygroundError::Language
        | PlaygroundError::TooMany => bad_request(BAD_REQUEST, error),
    }
}

/// For custom emoji.
///
/// # Source
/// Specification, `DELETE /realm/emoji/{emoji_name}`: 404 for a name that none has.
fn custom_emoji(error: &CustomEmojiError) -> ErrorResponse {
    match error {
        CustomEmojiError::NotFound(_) => ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, error),
        CustomEmojiError::NotAllowed(_)
        | CustomEmojiError::NameMissing
        | CustomEmojiError::NameCharacters
        | CustomEmojiError::NameEnd
        | CustomEmojiError::NameTooLong
        | CustomEmojiError::NameTaken
        | CustomEmojiError::DefaultOverridden
        | CustomEmojiError::TooMany
        | CustomEmojiError::NotAuthor => bad_request(BAD_REQUEST, error),
    }
}

/// For exports.
fn data_export(error: &DataExportError) -> ErrorResponse {
    match error {
        DataExportError::NotAllowed(_)
        | DataExportError::TooMany
        | DataExportError::TooLarge
        | DataExportError::NoConsentingOwner
        | DataExportError::NoOwnerWithAddress
        | DataExportError::NotFound
        | DataExportError::AlreadyDeleted
        | DataExportError::Failed
        | DataExportError::InProgress => bad_request(BAD_REQUEST, error),
    }
}

/// For what is no picture.
fn picture(error: &PictureError) -> ErrorResponse {
    match error {
        PictureError::UnknownFormat | PictureError::TooLarge | PictureError::Broken(_) => {
            bad_request("BAD_IMAGE", error)
        }
        PictureError::Failed(_) => failure(),
    }
}

/// Returns what is wrong with a form: the first problem as the text, and all of them by their fields, as existing
/// clients know it.
fn form(problems: &FormErrors) -> ErrorResponse {
    let mut fields: Map<String, Value> = Map::new();
    for problem in problems.iter() {
        let texts = fields.entry(problem.field.unwrap_or("__all__")).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(texts) = texts {
            texts.push(problem.text.as_str().into());
        }
    }
    bad_request(BAD_REQUEST, problems).with("errors", fields)
}
