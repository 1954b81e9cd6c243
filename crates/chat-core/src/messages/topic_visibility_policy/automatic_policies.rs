//! Automatic topic policies: what users chose to follow, or to hear again, when they take part in a topic.
//!
//! They are applied after what a user did, and are not a part of it: a message is sent whether or not this succeeds. So
//! a failure is logged here.

use super::TopicVisibilityPolicy;
use super::follow_rules::{self, TopicAction, TopicActivity};
use super::topic_relocation::{TopicRelocation, relocate_topic_policies};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{ChannelId, MessageId, UserId};
use crate::messages::compose::ComposedMessage;
use crate::messages::store::MessageDestination;
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::message::{Conversation, Message, Recipient, topic_key};
use crate::model::realm_snapshot::RealmSnapshot;

/// The topic that a message is sent to, and the users whom the message mentions there.
#[derive(Debug)]
pub(crate) struct SentTopic {
    channel_id: ChannelId,
    topic: String,
    mentioned: Vec<UserId>,
}

impl SentTopic {
    /// Returns the topic of a composed message; `None` when the message goes to no channel.
    pub(crate) fn of(composed: &ComposedMessage) -> Option<Self> {
        match composed.message.to {
            MessageDestination::Channel { channel_id, .. } => {
                let topic = composed.message.event.message.topic.clone();
                Some(Self { channel_id, topic, mentioned: composed.mentioned.clone() })
            }
            MessageDestination::Direct(_) => None,
        }
    }

    /// Returns the channel of the topic.
    pub(crate) fn channel_id(&self) -> ChannelId {
        self.channel_id
    }
}

/// The place that messages of a topic moved to.
#[derive(Debug)]
pub(crate) struct MovedTopic {
    /// The channel there.
    pub(crate) channel_id: ChannelId,
    /// The topic there.
    pub(crate) topic: String,
    /// How many messages moved.
    pub(crate) messages: usize,
    /// Whether they are all messages that the topic had.
    pub(crate) is_whole_topic: bool,
}

/// Applies the automatic policies after a message was sent. Returns how the sender follows its topic from then on,
/// where that is new.
pub(crate) async fn after_sending(
    ports: &MessageWorkflowContext<'_>,
    sender: UserId,
    sent: &SentTopic,
    id: MessageId,
) -> Option<TopicVisibilityPolicy> {
    let SentTopic { channel_id, topic, mentioned } = sent;
    let wrote = TopicActivity { channel_id: *channel_id, topic, doer: sender, action: TopicAction::Wrote, mentioned };
    let began = follow_rules::depends_on_topic_starter(&ports.snapshot(), wrote) && begins(ports, sent, id).await;
    let action = if began { TopicAction::Began } else { TopicAction::Wrote };
    follow(ports, TopicActivity { action, ..wrote }).await
}

/// Applies the automatic policies of a user who took part in what others wrote.
pub(crate) async fn after_taking_part(ports: &MessageWorkflowContext<'_>, user: UserId, message: &Message) {
    if let Recipient::Channel(channel_id) = message.recipient {
        let (topic, action) = (message.topic.as_str(), TopicAction::TookPart);
        follow(ports, TopicActivity { channel_id, topic, doer: user, action, mentioned: &[] }).await;
    }
}

/// Moves the policies of a topic with it, after all of its messages moved. `message` is one of them as it was.
pub(crate) async fn after_moving(ports: &MessageWorkflowContext<'_>, message: &Message, to: &MovedTopic) {
    let Recipient::Channel(from) = message.recipient else { return };
    let moved = TopicRelocation { from: (from, &message.topic), to: (to.channel_id, &to.topic), joins_another: true };
    // Choices for a single topic are rare; the rest is asked for those who did.
    let mut rehearsed = RealmCommit::default();
    relocate_topic_policies(&ports.snapshot(), moved, &mut rehearsed);
    if rehearsed.changes.is_empty() {
        return;
    }
    if let Err(error) = take_along(ports, moved, to.messages).await {
        tracing::warn!(%error, "a topic moved, and what people chose for it did not");
    }
}

async fn take_along(
    ports: &MessageWorkflowContext<'_>,
    moved: TopicRelocation<'_>,
    messages: usize,
) -> Result<(), MessageWorkflowError> {
    let recipient = Recipient::Channel(moved.to.0);
    let there = Conversation { recipient, topic_key: topic_key(moved.to.1) };
    let there = ports.messages.conversation_messages_from(&there, MessageId(0)).await?;
    let moved = TopicRelocation { joins_another: there.len() > messages, ..moved };
    let one_round = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        relocate_topic_policies(realm, moved, commit);
        Ok::<_, MessageWorkflowError>(())
    };
    while ports.decisions.decide_and_commit(ports.realm, ports.now_s, one_round).await?.is_written {}
    Ok(())
}

async fn begins(ports: &MessageWorkflowContext<'_>, sent: &SentTopic, id: MessageId) -> bool {
    let recipient = Recipient::Channel(sent.channel_id);
    let conversation = Conversation { recipient, topic_key: topic_key(&sent.topic) };
    ports.messages.is_first_in_conversation(&conversation, id).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "who began a topic was not asked; its sender may not follow it");
        false
    })
}

async fn follow(ports: &MessageWorkflowContext<'_>, activity: TopicActivity<'_>) -> Option<TopicVisibilityPolicy> {
    // Most of what happens changes nothing, and that costs no turn among the decisions.
    let mut rehearsed = RealmCommit::default();
    follow_rules::follow_topic_after_activity(&ports.snapshot(), activity, &mut rehearsed);
    if rehearsed.changes.is_empty() {
        return None;
    }
    let follow = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok::<_, MessageWorkflowError>(follow_rules::follow_topic_after_activity(realm, activity, commit))
    };
    match ports.decisions.decide_and_commit(ports.realm, ports.now_s, follow).await {
        Ok(committed) => committed.outcome,
        Err(error) => {
            tracing::warn!(%error, "a topic is not followed by who chose to");
            None
        }
    }
}
