//! The parts of the table for what an organization adds to its texts: linkifiers, playgrounds, custom emoji; and for
//! pictures.

use chat_core::organization::custom_emoji::CustomEmojiError;
use chat_core::organization::linkifiers::LinkifiersError;
use chat_core::organization::playgrounds::PlaygroundsError;
use chat_core::text::form_errors::FormErrors;
use chat_pictures::PictureError;
use http::StatusCode;
use serde_json::{Map, Value};

use super::{BAD_REQUEST, Fault, Verdict, failure, refusal};

/// The reason why what an organization keeps stays as it is, or a file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum ThingFault {
    /// The linkifiers stay as they are.
    #[error(transparent)]
    Linkifiers(#[from] LinkifiersError),
    /// The playgrounds stay as they are.
    #[error(transparent)]
    Playgrounds(#[from] PlaygroundsError),
    /// The custom emoji stay as they are.
    #[error(transparent)]
    CustomEmoji(#[from] CustomEmojiError),
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
pub(super) fn verdict(refused: &ThingFault) -> Verdict {
    match refused {
        ThingFault::Linkifiers(refused) => linkifiers(refused),
        ThingFault::Playgrounds(refused) => playgrounds(refused),
        ThingFault::CustomEmoji(refused) => custom_emoji(refused),
        ThingFault::Picture(refused) => picture(refused),
        ThingFault::OverQuota => refusal("REALM_UPLOAD_QUOTA", refused),
        ThingFault::NoFile => Verdict::new(StatusCode::NOT_FOUND, BAD_REQUEST, refused),
        ThingFault::NotOneFile
        | ThingFault::NotOneAvatar
        | ThingFault::NotOneIcon
        | ThingFault::NotOneLogo
        | ThingFault::NoUpload
        | ThingFault::SecondUpload
        | ThingFault::NoAttachment
        | ThingFault::FileTooLarge { .. } => refusal(BAD_REQUEST, refused),
    }
}

impl From<LinkifiersError> for Fault {
    fn from(refused: LinkifiersError) -> Self {
        ThingFault::from(refused).into()
    }
}

impl From<PlaygroundsError> for Fault {
    fn from(refused: PlaygroundsError) -> Self {
        ThingFault::from(refused).into()
    }
}

impl From<CustomEmojiError> for Fault {
    fn from(refused: CustomEmojiError) -> Self {
        ThingFault::from(refused).into()
    }
}

impl From<PictureError> for Fault {
    fn from(refused: PictureError) -> Self {
        ThingFault::from(refused).into()
    }
}

/// For linkifiers.
fn linkifiers(refused: &LinkifiersError) -> Verdict {
    match refused {
        LinkifiersError::Unfit(problems) => form(problems),
        LinkifiersError::NotAllowed(_)
        | LinkifiersError::NotFound
        | LinkifiersError::TooMany
        | LinkifiersError::NotAnOrder => refusal(BAD_REQUEST, refused),
    }
}

/// For playgrounds.
fn playgrounds(refused: &PlaygroundsError) -> Verdict {
    match refused {
        PlaygroundsError::Unfit(problems) => form(problems),
        PlaygroundsError::NotAllowed(_)
        | PlaygroundsError::NotFound
        | PlaygroundsError::Language
        | PlaygroundsError::TooMany => refusal(BAD_REQUEST, refused),
    }
}

/// For custom emoji.
///
/// # Source
/// Specification, `DELETE /realm/emoji/{emoji_name}`: 404 for a name that none has.
fn custom_emoji(refused: &CustomEmojiError) -> Verdict {
    match refused {
        CustomEmojiError::NotFound(_) => Verdict::new(StatusCode::NOT_FOUND, BAD_REQUEST, refused),
        CustomEmojiError::NotAllowed(_)
        | CustomEmojiError::NameMissing
        | CustomEmojiError::NameCharacters
        | CustomEmojiError::NameEnd
        | CustomEmojiError::NameTooLong
        | CustomEmojiError::NameTaken
        | CustomEmojiError::DefaultOverridden
        | CustomEmojiError::TooMany
        | CustomEmojiError::NotAuthor => refusal(BAD_REQUEST, refused),
    }
}

/// For what is no picture.
fn picture(refused: &PictureError) -> Verdict {
    match refused {
        PictureError::UnknownFormat | PictureError::TooLarge | PictureError::Broken(_) => refusal("BAD_IMAGE", refused),
        PictureError::Failed(_) => failure(),
    }
}

/// Returns what is wrong with a form: the first problem as the text, and all of them by their fields, as existing
/// clients know it.
fn form(problems: &FormErrors) -> Verdict {
    let mut fields: Map<String, Value> = Map::new();
    for problem in problems.iter() {
        let texts = fields.entry(problem.field.unwrap_or("__all__")).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(texts) = texts {
            texts.push(problem.text.as_str().into());
        }
    }
    refusal(BAD_REQUEST, problems).with("errors", fields)
}
