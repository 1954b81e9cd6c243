//! Taking part in a poll or a list.

use std::sync::Arc;

use crate::id::MessageId;
use crate::log::decision::{DECISIONS_MAX, StaleDecisionError};
use crate::messages::ports::MessagePorts;
use crate::messages::readable::{self, MessageWriteError, ReadableMessage};
use crate::messages::store::WriteOutcome;
use crate::messages::topic_policy::automatic;
use crate::messages::widget::{WidgetError, WidgetStore, may_add};
use crate::model::user::User;
use crate::permission::access::add_to;

/// Adds to the poll or the list that a message is.
///
/// # Errors
/// See [`MessageWriteError`] and [`WidgetError`].
pub async fn add(
    ports: &MessagePorts<'_>,
    widgets: &dyn WidgetStore,
    caller: &Arc<User>,
    id: MessageId,
    content: &str,
) -> Result<(), MessageWriteError<WidgetError>> {
    for _ in 0..DECISIONS_MAX {
        let ReadableMessage { realm, user, message } = readable::find(ports, caller, id).await?;
        add_to(&realm, &user, &message)?;
        may_add(&message, user.id, content).map_err(MessageWriteError::Refused)?;
        let decided = (&message, realm.changed());
        let written = widgets.add_submessage(decided, (user.id, content), ports.now_s).await?;
        if written != WriteOutcome::Unchanged {
            automatic::after_taking_part(ports, user.id, &message).await;
            return Ok(());
        }
    }
    Err(StaleDecisionError::Message.into())
}
