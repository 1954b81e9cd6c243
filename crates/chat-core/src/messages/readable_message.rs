//! A message that its caller may read, and writes that were decided on it.
//!
//! A decision on a message is taken again when, before it was written, the message or the rules of the realm had
//! changed.

use std::sync::Arc;

use crate::id::MessageId;
use crate::messages::store::MessageWriteGuard;
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::message::Message;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, MessageNotFound};

/// A message that its caller may read, with the realm it was checked in.
pub struct ReadableMessage {
    /// The newest realm.
    pub realm: Arc<RealmSnapshot>,
    /// The caller in it.
    pub user: Arc<User>,
    /// The message.
    pub message: Message,
}

impl ReadableMessage {
    /// Returns what a write to it is decided on.
    pub(super) fn decided(&self) -> MessageWriteGuard {
        MessageWriteGuard::new(&self.realm, [&self.message])
    }
}

/// Returns the message of that number, when the caller may read it.
///
/// # Errors
/// When it is not there for the caller, or the database failed.
pub async fn find_readable_message(
    ports: &MessageWorkflowContext<'_>,
    caller: &Arc<User>,
    id: MessageId,
) -> Result<ReadableMessage, MessageWorkflowError> {
    let found = ports.messages.find_messages(caller.id, &[id]).await?.into_iter().next();
    let realm = ports.snapshot();
    let user = Arc::clone(realm.user(caller.id).unwrap_or(caller));
    access::require_readable_message(&realm, &user, found.as_ref().map(|(message, _)| message))?;
    let (message, _) = found.ok_or(MessageNotFound)?;
    Ok(ReadableMessage { realm, user, message })
}
