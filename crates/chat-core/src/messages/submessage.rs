//! Taking part in a poll or a list.

use std::sync::Arc;

use crate::id::MessageId;
use crate::log::decision::{DECISIONS_MAX, StaleDecisionError};
use crate::messages::ports::{MessagePorts, WorkflowError};
use crate::messages::readable::{self, ReadableMessage};
use crate::messages::store::WriteOutcome;
use crate::messages::topic_policy::automatic;
use crate::messages::widget::{WidgetStore, may_add};
use crate::model::user::User;
use crate::permission::access::add_to;

/// Adds to the poll or the list that a message is.
///
/// # Errors
/// See [`WidgetError`](crate::messages::widget::WidgetError); when the message is not there for the caller, or the server
/// failed.
pub async fn add(
    ports: &MessagePorts<'_>,
    widgets: &dyn WidgetStore,
    caller: &Arc<User>,
    id: MessageId,
    content: &str,
) -> Result<(), WorkflowError> {
    for _ in 0..DECISIONS_MAX {
        let ReadableMessage { realm, user, message } = readable::find(ports, caller, id).await?;
        add_to(&realm, &user, &message)?;
        may_add(&message, user.id, content)?;
        let decided = (&message, realm.changed());
        let written = widgets.add_submessage(decided, (user.id, content), ports.now_s).await?;
        if written != WriteOutcome::Unchanged {
            automatic::after_taking_part(ports, user.id, &message).await;
            return Ok(());
        }
    }
    Err(StaleDecisionError("a message").into())
}
