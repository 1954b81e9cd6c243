//! A message that its caller may read, and writes that were decided on it.
//!
//! A decision on a message is taken again when, before it was written, the message or the rules of the realm had changed.

use std::sync::Arc;

use crate::id::MessageId;
use crate::messages::ports::{MessagePorts, WorkflowError};
use crate::messages::store::WriteGuard;
use crate::model::message::Message;
use crate::model::snapshot::RealmSnapshot;
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
    pub(super) fn decided(&self) -> WriteGuard {
        WriteGuard::new(&self.realm, [&self.message])
    }
}

/// Returns the message of that number, when the caller may read it.
///
/// # Errors
/// When it is not there for the caller, or the database failed.
pub async fn find(
    ports: &MessagePorts<'_>,
    caller: &Arc<User>,
    id: MessageId,
) -> Result<ReadableMessage, WorkflowError> {
    let found = ports.messages.find(caller.id, &[id]).await?.into_iter().next();
    let realm = ports.realm();
    let user = Arc::clone(realm.user(caller.id).unwrap_or(caller));
    access::message(&realm, &user, found.as_ref().map(|(message, _)| message))?;
    let (message, _) = found.ok_or(MessageNotFound)?;
    Ok(ReadableMessage { realm, user, message })
}
