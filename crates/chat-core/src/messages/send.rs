//! Sending: a message is composed on the newest realm, stored, and followed up by automatic topic policies.

use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::id::{MessageId, UserId};
use crate::messages::channel_activity;
use crate::messages::compose::{
    self, ComposeError, ComposedMessage, PermittedMessage, SendRequest, StoreQuestion, mention_participants,
};
use crate::messages::store::SendOutcome;
use crate::messages::topic_visibility_policy::TopicVisibilityPolicy;
use crate::messages::topic_visibility_policy::automatic_policies::{self, SentTopic};
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::render_context::RenderSettings;
use crate::model::user::User;
use crate::permission::authentication;
use crate::permission::send_message::SendError;

/// Clients that show their user what they send, by which it is read.
///
/// # Source
/// The existing server's list; stored messages name their client in these words.
const SHOWING_CLIENTS: [&str; 10] = [
    "zulipandroid",
    "zulipios",
    "zulipdesktop",
    "zulipmobile",
    "zulipelectron",
    "zulipterminal",
    "snipe",
    "website",
    "ios",
    "android",
];

/// A message that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentMessage {
    /// Its number.
    pub id: MessageId,
    /// How the sender follows its topic because of it, where that is new.
    pub followed: Option<TopicVisibilityPolicy>,
}

/// Sends a message, deciding again on the newer realm whenever the realm changed in between.
///
/// # Errors
/// When the sender is not let in, the message is refused, or the server failed.
pub async fn send(
    ports: &MessageWorkflowContext<'_>,
    sender_id: UserId,
    request: &SendRequest<'_>,
) -> Result<SentMessage, MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let realm = ports.snapshot();
        let sender = authentication::find_active_account(&realm, sender_id)?;
        let composed = compose_message(ports, &realm, sender, request.clone()).await?;
        let topic = SentTopic::of(&composed);
        if let SendOutcome::Done { id, .. } = ports.messages.append_message(composed.message).await? {
            let followed = match topic {
                Some(topic) => {
                    channel_activity::after_message(ports, topic.channel_id()).await;
                    automatic_policies::after_sending(ports, sender_id, &topic, id).await
                }
                None => None,
            };
            return Ok(SentMessage { id, followed });
        }
    }
    Err(StaleDecisionError("the realm").into())
}

/// Composes the message that the sender may send, asking the store only where it matters.
///
/// # Errors
/// When it is refused, or the database failed.
pub async fn compose_message(
    ports: &MessageWorkflowContext<'_>,
    realm: &RealmSnapshot,
    sender: &User,
    request: SendRequest<'_>,
) -> Result<ComposedMessage, MessageWorkflowError> {
    let render_context = ports.render_contexts.get_or_compile(realm);
    let uploads = ports.upload_access_stores().linked_readable_uploads(realm, sender, request.content).await?;
    let MessageWorkflowContext { realm_url, now_s, .. } = *ports;
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: Some(&uploads), now_s };
    let PermittedMessage { mut composed, question } = compose::draft(&setting, realm, sender, request)?;
    match question {
        None => {}
        Some(StoreQuestion::HaveWritten(users)) => {
            let have_written = ports.messages.direct_conversation_exists(&users).await?;
            if !have_written {
                return Err(ComposeError::from(SendError::DirectNotInitiated).into());
            }
        }
        Some(StoreQuestion::Participants(conversation)) => {
            let participants = ports.messages.conversation_participants(&conversation).await?;
            let message = &mut composed.message;
            mention_participants(realm, sender, message, &participants).map_err(ComposeError::from)?;
        }
    }
    Ok(composed)
}

/// Returns whether the client shows its user the messages they send, so that these count as read.
#[must_use]
pub fn client_shows_sent_messages(client: &str) -> bool {
    let client = client.to_lowercase();
    SHOWING_CLIENTS.contains(&client.as_str()) || client.contains("desktop app")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_shows_what_it_sends_is_known_by_its_name_in_any_case() {
        for client in ["website", "ZulipMobile", "Some Desktop App 5"] {
            assert!(client_shows_sent_messages(client), "{client}");
        }
        for client in ["", "website2", "python"] {
            assert!(!client_shows_sent_messages(client), "{client}");
        }
    }
}
