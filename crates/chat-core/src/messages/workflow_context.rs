//! What the workflows of messages receive, and why they end without success.

use std::sync::Arc;

use crate::StoreError;
use crate::event_log::decision_queue::{RealmDecisionQueue, StaleDecisionError};
use crate::event_log::store::{EventLog, RealmStore};
use crate::files::AttachmentStore;
use crate::messages::compose::ComposeError;
use crate::messages::draft::SavedDraftError;
use crate::messages::edit::{MessageDeleteError, MessageEditError};
use crate::messages::reaction::ReactionError;
use crate::messages::reminders::ReminderError;
use crate::messages::reports::ReportError;
use crate::messages::scheduled::ScheduledMessageError;
use crate::messages::store::MessageStore;
use crate::messages::upload_access::UploadAccessStores;
use crate::messages::widget::WidgetError;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::render_context::RenderContextCache;
use crate::permission::access::{ChannelNotFound, MessageNotFound, PermissionError, TopicNotFound};
use crate::permission::authentication::AuthenticationError;

/// The stores and settings that the workflows of messages share, and the time of the request.
#[derive(Clone, Copy)]
pub struct MessageWorkflowContext<'a> {
    /// The realm's state.
    pub realm: &'a dyn RealmStore,
    /// The realm's log.
    pub log: &'a dyn EventLog,
    /// The decisions on the realm.
    pub decisions: &'a RealmDecisionQueue,
    /// The messages.
    pub messages: &'a dyn MessageStore,
    /// The records of uploads.
    pub attachments: &'a dyn AttachmentStore,
    /// What texts are read with.
    pub render_contexts: &'a RenderContextCache,
    /// The realm's own address, without a slash at the end.
    pub realm_url: &'a str,
    /// Now, in unix seconds.
    pub now_s: i64,
}

impl<'a> MessageWorkflowContext<'a> {
    /// Returns this node's snapshot of the realm.
    #[must_use]
    pub fn snapshot(&self) -> Arc<RealmSnapshot> {
        self.realm.snapshot()
    }

    /// Returns the stores that say who may read an upload.
    #[must_use]
    pub fn upload_access_stores(&self) -> UploadAccessStores<'a> {
        UploadAccessStores { attachments: self.attachments, messages: self.messages }
    }
}

/// The reason why a workflow of messages ends without success: a refusal, or a failure of the server.
#[derive(Debug, thiserror::Error)]
pub enum MessageWorkflowError {
    /// The caller is not let in any more.
    #[error(transparent)]
    Authentication(#[from] AuthenticationError),
    /// The caller may not do this at all.
    #[error(transparent)]
    Permission(#[from] PermissionError),
    /// The channel is not there for the caller.
    #[error(transparent)]
    Channel(#[from] ChannelNotFound),
    /// The topic is not there for the caller.
    #[error(transparent)]
    Topic(#[from] TopicNotFound),
    /// A message is not there for the caller, or not to be added to.
    #[error(transparent)]
    Message(#[from] MessageNotFound),
    /// A message may not be sent.
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// Drafts are not stored, or stay as they are.
    #[error(transparent)]
    Draft(#[from] SavedDraftError),
    /// A message is not scheduled, or stays as it is.
    #[error(transparent)]
    Scheduled(#[from] ScheduledMessageError),
    /// A reminder is not stored, or not there.
    #[error(transparent)]
    Reminder(#[from] ReminderError),
    /// A message is not reported.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A message may not be edited or moved so.
    #[error(transparent)]
    Edit(#[from] MessageEditError),
    /// A message may not be deleted.
    #[error(transparent)]
    Delete(#[from] MessageDeleteError),
    /// A reaction cannot be added or taken away.
    #[error(transparent)]
    Reaction(#[from] ReactionError),
    /// A poll or a list takes no such addition.
    #[error(transparent)]
    Widget(#[from] WidgetError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was decided on changed faster.
    #[error(transparent)]
    Stale(#[from] StaleDecisionError),
}
