//! A message its caller may read.
//!
//! A decision on it is taken again when, before it was written down, the message had changed.

use std::sync::Arc;

use chat_core::id::MessageId;
use chat_core::messages::store::WriteGuard;
use chat_core::model::message::Message;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::permission::access;

use crate::auth::Caller;
use crate::call::ApiCall;
use crate::error::{ApiError, InternalError};

/// A message that its caller may read, with the realm it was checked in.
pub(crate) struct ReadableMessage {
    /// The newest realm.
    pub(crate) realm: Arc<RealmSnapshot>,
    /// The caller in it.
    pub(crate) user: Arc<User>,
    /// The message.
    pub(crate) message: Message,
}

impl ReadableMessage {
    /// Returns what a write to it is decided on.
    pub(crate) fn decided(&self) -> WriteGuard {
        WriteGuard::new(&self.realm, [&self.message])
    }
}

/// Returns the message of the path's `message_id`, when the caller may read it.
pub(crate) async fn find(call: &ApiCall<Caller>) -> Result<ReadableMessage, ApiError> {
    find_by_id(call, MessageId(call.path_id("message_id")?)).await
}

/// Returns the message of that number, when the caller may read it.
pub(crate) async fn find_by_id(call: &ApiCall<Caller>, id: MessageId) -> Result<ReadableMessage, ApiError> {
    let found = call.app.messages.find(call.caller.id(), &[id]).await?.into_iter().next();
    let realm = call.app.realm();
    let user = Arc::clone(realm.user(call.caller.id()).unwrap_or(&call.caller.user));
    access::message(&realm, &user, found.as_ref().map(|(message, _)| message))?;
    let (message, _) = found.ok_or(access::MessageNotFound)?;
    Ok(ReadableMessage { realm, user, message })
}

/// Returns the failure of a decision on a message that was never the newest.
pub(crate) fn outrun() -> ApiError {
    InternalError::without_cause("a message changed faster than a decision on it").into()
}
