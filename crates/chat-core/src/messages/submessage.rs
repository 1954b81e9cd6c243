//! Taking part in a poll or a list.

use std::sync::Arc;

use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::id::MessageId;
use crate::messages::readable_message::{self, ReadableMessage};
use crate::messages::store::MessageWriteOutcome;
use crate::messages::topic_visibility_policy::automatic_policies;
use crate::messages::widget::{SubmessageStore, may_add_submessage};
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::user::User;
use crate::permission::access::may_react_or_edit;

/// Adds a submessage to a poll or todo-list message.
///
/// # Errors
/// See [`WidgetError`](crate::messages::widget::WidgetError); when the message is not there for the caller, or the
/// server failed.
pub async fn add_submessage(
    ports: &MessageWorkflowContext<'_>,
    widgets: &dyn SubmessageStore,
    caller: &Arc<User>,
    id: MessageId,
    content: &str,
) -> Result<(), MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let ReadableMessage { realm, user, message } =
            readable_message::find_readable_message(ports, caller, id).await?;
        may_react_or_edit(&realm, &user, &message)?;
        may_add_submessage(&message, user.id, content)?;
        let decided = (&message, realm.changed_at());
        let written = widgets.add_submessage(decided, (user.id, content), ports.now_s).await?;
        if written != MessageWriteOutcome::Unchanged {
            automatic_policies::after_taking_part(ports, user.id, &message).await;
            return Ok(());
        }
    }
    Err(StaleDecisionError("a message").into())
}
