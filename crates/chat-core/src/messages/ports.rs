//! The ports of the workflows of messages.

use std::sync::Arc;

use crate::files::AttachmentStore;
use crate::log::decision::DecisionQueue;
use crate::log::store::{EventLog, RealmStore};
use crate::messages::store::MessageStore;
use crate::messages::uploads::UploadStores;
use crate::model::render_context::RenderContextCache;
use crate::model::snapshot::RealmSnapshot;

/// The stores and settings that the workflows of messages share, and the time of the request.
#[derive(Clone, Copy)]
pub struct MessagePorts<'a> {
    /// The realm's state.
    pub realm: &'a dyn RealmStore,
    /// The realm's log.
    pub log: &'a dyn EventLog,
    /// The decisions on the realm.
    pub decisions: &'a DecisionQueue,
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

impl<'a> MessagePorts<'a> {
    /// Returns the realm as this node knows it.
    #[must_use]
    pub fn realm(&self) -> Arc<RealmSnapshot> {
        self.realm.realm()
    }

    /// Returns the stores that say who may read an upload.
    #[must_use]
    pub fn uploads(&self) -> UploadStores<'a> {
        UploadStores { attachments: self.attachments, messages: self.messages }
    }
}
