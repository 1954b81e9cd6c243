//! Taking over an organization that was somewhere else: from the tables of its export to what is written down here.
//!
//! An import goes into a database that holds nothing, so numbers of users, channels, groups and messages stay what they
//! were, and links and bookmarks with them. The log begins after the last message: nobody had a queue before. What
//! people chose and read comes along; passwords and keys are in no export, so everybody gets another key, which an
//! operator hands out, and HTML is made again from what was typed, because here nobody knows who made the old one.
//!
//! It has steps: the organization, uploads, each file of messages, what is written and not sent, the reactions. A step
//! and the note that it is done are one transaction, so whoever takes up an import that broke off goes on with the
//! first step that is missing. Bytes of files are kept before the step that tells of them, under names that are the
//! same every time.
//!
//! [`TransferReport`] counts what is not taken over.

pub mod export_tables;

mod columns;
mod drafts;
mod files;
mod groups;
mod messages;
mod organization;
mod organization_items;
mod rendered_names;
mod report;
mod spans;

pub use drafts::{ImportedDraftsAndBotStorage, convert_drafts_and_bot_storage};
pub use files::{
    ExportFileRecord, ImportedImageUrls, ImportedUpload, avatar_files_by_user, convert_uploads, custom_emoji_file,
    imported_image_stem, organization_image_file,
};
pub use messages::{ImportReferences, MessageSurvey, convert_messages, convert_reactions};
pub use organization::{OrganizationImportSource, convert_organization};
pub use report::TransferReport;

use async_trait::async_trait;

use crate::StoreError;
use crate::files::Attachment;
use crate::id::{AttachmentId, ChannelId, EventId, MessageId, UserId};
use crate::model::channel::SubscriptionPeriod;
use crate::model::message::{Message, MessageFlag, Reaction, Recipient};
use crate::model::realm_change::RealmChange;
use crate::model::user::ApiKey;

/// The reason why an export cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It has no organization, or several.
    #[error("the export has {0} organizations, and one is needed")]
    Organizations(usize),
    /// Two accounts would log in with the same address.
    #[error("users {0} and {1} have the same address, which nobody could log in with")]
    SameAddress(UserId, UserId),
    /// Two channels that are in use would have the same name.
    #[error("channels {0} and {1} have the same name")]
    SameChannelName(ChannelId, ChannelId),
    /// Nobody in it is an owner or administrator.
    #[error("the export has no active owner or administrator, so nobody could run the organization")]
    NoAdministrator,
    /// No more random keys.
    #[error("no key could be made for user {0}")]
    NoKey(UserId),
}

/// An imported organization without its messages, ready to be written.
#[derive(Debug)]
pub struct ImportedOrganization {
    /// The place at which the log begins: nothing that stands in it has a larger number.
    pub head: EventId,
    /// Everything there is, each thing before what refers to it.
    pub changes: Vec<RealmChange>,
    /// When users were in channels.
    pub spans: Vec<(ChannelId, UserId, SubscriptionPeriod)>,
    /// Everybody's new key.
    pub keys: Vec<(UserId, ApiKey)>,
}

/// A message of an export, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedMessage {
    /// The message; of one to users the recipient's number is given when it is written, and its submessages come with
    /// it.
    pub message: Message,
    /// Its earlier states, the oldest first.
    pub past: Vec<ImportedEdit>,
    /// Who received it, and whether they read it, in the order of their numbers.
    pub readers: Vec<(UserId, bool)>,
    /// What else their copies say.
    pub flags: Vec<(UserId, MessageFlag)>,
    /// The uploads that it uses.
    pub uses: Vec<AttachmentId>,
}

/// An entry of an imported message's edit history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedEdit {
    /// When it ended, in unix seconds.
    pub at_s: i64,
    /// Who ended it.
    pub user_id: Option<UserId>,
    /// The text and its HTML before, when that changed.
    pub content: Option<(String, String)>,
    /// Where it was before and after; `None` where that is the message's own place, whatever number it is given.
    pub channel: Option<(Recipient, Recipient)>,
    /// Its topic before and after.
    pub topic: (String, String),
}

/// The reactions to a message, in the order they were given.
pub type ImportedReactions = (MessageId, Vec<Reaction>);

/// The progress of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportCheckpoint {
    /// What the export is recognised by.
    pub source: String,
    /// Steps that are done, the organization the first.
    pub steps: i64,
    /// Whether that was all.
    pub is_done: bool,
    /// What was taken over so far.
    pub report: TransferReport,
}

/// The outcome of an import step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportStepOutcome {
    /// It is durable, with the mark.
    Done,
    /// The database holds an organization, or another import was faster; nothing was written.
    Refused,
}

/// The database into which an organization is imported, step by step with a checkpoint.
///
/// Every step takes the mark as it is after it, and is refused unless the mark before is that of the step before.
#[async_trait]
pub trait ImportStore: Send + Sync {
    /// Returns the checkpoint of the import that was begun in this database; `None` when there was none.
    async fn import_checkpoint(&self) -> Result<Option<ImportCheckpoint>, StoreError>;

    /// Writes the imported organization into an empty database. The realm in memory changes only for those who open the
    /// store again.
    async fn import_organization(
        &self,
        organization: &ImportedOrganization,
        after: &ImportCheckpoint,
    ) -> Result<ImportStepOutcome, StoreError>;

    /// Writes imported uploads, whose bytes are stored already.
    async fn import_uploads(
        &self,
        uploads: &[Attachment],
        after: &ImportCheckpoint,
    ) -> Result<ImportStepOutcome, StoreError>;

    /// Writes imported drafts, scheduled messages and bot storage.
    async fn import_drafts_and_bot_storage(
        &self,
        things: &ImportedDraftsAndBotStorage,
        after: &ImportCheckpoint,
    ) -> Result<ImportStepOutcome, StoreError>;

    /// Writes imported messages, with the users who received and read them.
    async fn import_messages(
        &self,
        messages: &[ImportedMessage],
        after: &ImportCheckpoint,
    ) -> Result<ImportStepOutcome, StoreError>;

    /// Writes imported reactions to messages that exist; others are omitted.
    async fn import_reactions(
        &self,
        reactions: &[ImportedReactions],
        after: &ImportCheckpoint,
    ) -> Result<ImportStepOutcome, StoreError>;
}

#[cfg(test)]
mod tests;
