//! Sending: a message is composed on the newest realm, stored, and followed up by automatic topic policies.

use crate::id::{MessageId, UserId};
use crate::log::decision::{DECISIONS_MAX, StaleDecisionError};
use crate::messages::compose::{
    self, ComposeError, ComposedMessage, PermittedMessage, SendRequest, StoreQuestion, mention_participants,
};
use crate::messages::ports::{MessagePorts, WorkflowError};
use crate::messages::store::SendOutcome;
use crate::messages::topic_policy::TopicPolicy;
use crate::messages::topic_policy::automatic::{self, SentTopic};
use crate::model::render_context::RenderSettings;
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::entry;
use crate::permission::send::SendError;

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
    pub followed: Option<TopicPolicy>,
}

/// Sends a message, deciding again on the newer realm whenever the realm changed in between.
///
/// # Errors
/// When the sender is not let in, the message is refused, or the server failed.
pub async fn send(
    ports: &MessagePorts<'_>,
    sender_id: UserId,
    request: &SendRequest<'_>,
) -> Result<SentMessage, WorkflowError> {
    for _ in 0..DECISIONS_MAX {
        let realm = ports.realm();
        let sender = entry::account(&realm, sender_id)?;
        let composed = compose(ports, &realm, sender, request.clone()).await?;
        let topic = SentTopic::of(&composed);
        if let SendOutcome::Done { id, .. } = ports.messages.append(composed.message).await? {
            let followed = match topic {
                Some(topic) => automatic::after_sending(ports, sender_id, &topic, id).await,
                None => None,
            };
            return Ok(SentMessage { id, followed });
        }
    }
    Err(StaleDecisionError("the realm").into())
}

/// Returns the message that the sender may send, with what only the store knows asked for where it matters.
///
/// # Errors
/// When it is refused, or the database failed.
pub async fn compose(
    ports: &MessagePorts<'_>,
    realm: &RealmSnapshot,
    sender: &User,
    request: SendRequest<'_>,
) -> Result<ComposedMessage, WorkflowError> {
    let render_context = ports.render_contexts.get(realm);
    let uploads = ports.uploads().linked(realm, sender, request.content).await?;
    let MessagePorts { realm_url, now_s, .. } = *ports;
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: Some(&uploads), now_s };
    let PermittedMessage { mut composed, question } = compose::draft(&setting, realm, sender, request)?;
    match question {
        None => {}
        Some(StoreQuestion::HaveWritten(users)) => {
            let have_written = ports.messages.have_written(&users).await?;
            if !have_written {
                return Err(ComposeError::from(SendError::DirectNotInitiated).into());
            }
        }
        Some(StoreQuestion::Participants(conversation)) => {
            let participants = ports.messages.participants(&conversation).await?;
            let message = &mut composed.message;
            mention_participants(realm, sender, message, &participants).map_err(ComposeError::from)?;
        }
    }
    Ok(composed)
}

/// Returns whether the program shows its user what they send, so that they have read it.
#[must_use]
pub fn shows_what_it_sends(client: &str) -> bool {
    let client = client.to_lowercase();
    SHOWING_CLIENTS.contains(&client.as_str()) || client.contains("desktop app")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_shows_what_it_sends_is_known_by_its_name_in_any_case() {
        for client in ["website", "ZulipMobile", "Some Desktop App 5"] {
            assert!(shows_what_it_sends(client), "{client}");
        }
        for client in ["", "website2", "python"] {
            assert!(!shows_what_it_sends(client), "{client}");
        }
    }
}
