//! A message that its caller may read, and writes that were decided on it.
//!
//! A decision on a message is taken again when, before it was written, the message or the rules of the realm had changed.

use std::sync::Arc;

use crate::StoreError;
use crate::id::MessageId;
use crate::log::decision::StaleDecisionError;
use crate::messages::ports::MessagePorts;
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

/// The reason why a message is not found.
#[derive(Debug, thiserror::Error)]
pub enum FindMessageError {
    /// The message is not there for the caller.
    #[error(transparent)]
    NotFound(#[from] MessageNotFound),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a message is not written to. `R` has the reasons of this kind of write.
#[derive(Debug, thiserror::Error)]
pub enum MessageWriteError<R> {
    /// The write is refused.
    #[error(transparent)]
    Refused(R),
    /// The message is not there for the caller, or not to be added to.
    #[error(transparent)]
    NotFound(#[from] MessageNotFound),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The message changed faster.
    #[error(transparent)]
    Stale(#[from] StaleDecisionError),
}

impl<R> From<FindMessageError> for MessageWriteError<R> {
    fn from(error: FindMessageError) -> Self {
        match error {
            FindMessageError::NotFound(error) => Self::NotFound(error),
            FindMessageError::Store(error) => Self::Store(error),
        }
    }
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
/// See [`FindMessageError`].
pub async fn find(
    ports: &MessagePorts<'_>,
    caller: &Arc<User>,
    id: MessageId,
) -> Result<ReadableMessage, FindMessageError> {
    let found = ports.messages.find(caller.id, &[id]).await?.into_iter().next();
    let realm = ports.realm();
    let user = Arc::clone(realm.user(caller.id).unwrap_or(caller));
    access::message(&realm, &user, found.as_ref().map(|(message, _)| message))?;
    let (message, _) = found.ok_or(MessageNotFound)?;
    Ok(ReadableMessage { realm, user, message })
}
