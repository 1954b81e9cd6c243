//! What follows for those who chose it when a user takes part in a topic: they follow it, or hear it again.
//!
//! It is done after what they did, and is not a part of it: a message is sent whether or not this succeeds.

use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::log::commit::RealmCommit;
use chat_core::messages::store::{MessageDestination, NewMessage};
use chat_core::messages::topic_policy::TopicPolicy;
use chat_core::messages::topic_policy::follow::{self, TopicAction, TopicActivity};
use chat_core::messages::topic_policy::relocate::{TopicRelocation, relocate};
use chat_core::model::message::{Conversation, Message, Recipient, topic_key};
use chat_core::model::snapshot::RealmSnapshot;

use crate::error::ApiError;
use crate::state::AppState;

/// The topic that a message was sent to.
#[derive(Debug)]
pub(crate) struct SentTopic {
    channel_id: ChannelId,
    topic: String,
}

impl SentTopic {
    /// Returns where a message goes; `None` when that is no channel.
    pub(crate) fn of(message: &NewMessage) -> Option<Self> {
        match message.to {
            MessageDestination::Channel { channel_id, .. } => {
                Some(Self { channel_id, topic: message.event.message.topic.clone() })
            }
            MessageDestination::Direct(_) => None,
        }
    }

    fn activity<'a>(&'a self, doer: UserId, action: TopicAction, mentioned: &'a [UserId]) -> TopicActivity<'a> {
        TopicActivity { channel_id: self.channel_id, topic: &self.topic, doer, action, mentioned }
    }
}

/// After a message was sent: says how the sender follows its topic from then on, where that is new.
pub(crate) async fn after_sending(
    app: &AppState,
    sender: UserId,
    (place, id): (&SentTopic, MessageId),
    mentioned: &[UserId],
) -> Option<TopicPolicy> {
    let wrote = place.activity(sender, TopicAction::Wrote, mentioned);
    let action = if follow::asks_who_began(&app.realm(), wrote) && begins(app, (place, id)).await {
        TopicAction::Began
    } else {
        TopicAction::Wrote
    };
    follow(app, TopicActivity { action, ..wrote }).await
}

/// Applies the choices of a user who took part in what others wrote.
pub(crate) async fn after_taking_part(app: &AppState, user: UserId, message: &Message) {
    if let Recipient::Channel(channel_id) = message.recipient {
        let place = SentTopic { channel_id, topic: message.topic.clone() };
        follow(app, place.activity(user, TopicAction::TookPart, &[])).await;
    }
}

/// After so many messages, which were all of a topic, moved there: `message` is one of them as it was.
pub(crate) async fn after_moving(app: &AppState, message: &Message, (to, messages): ((ChannelId, String), usize)) {
    let Recipient::Channel(from) = message.recipient else { return };
    let moved = TopicRelocation { from: (from, &message.topic), to: (to.0, &to.1), joins_another: true };
    // Choices for a single topic are rare; the rest is asked for those who did.
    let mut rehearsed = RealmCommit::default();
    relocate(&app.realm(), moved, &mut rehearsed);
    if rehearsed.changes.is_empty() {
        return;
    }
    if let Err(error) = take_along(app, moved, messages).await {
        tracing::warn!(%error, "a topic moved, and what people chose for it did not");
    }
}

async fn take_along(app: &AppState, moved: TopicRelocation<'_>, messages: usize) -> Result<(), ApiError> {
    let recipient = Recipient::Channel(moved.to.0);
    let there = Conversation { recipient, topic_key: topic_key(moved.to.1) };
    let there = app.messages.conversation(&there, MessageId(0)).await?;
    let moved = TopicRelocation { joins_another: there.len() > messages, ..moved };
    let one_round = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        relocate(realm, moved, commit);
        Ok::<_, ApiError>(!commit.changes.is_empty())
    };
    while app.commit(one_round).await? {}
    Ok(())
}

async fn begins(app: &AppState, (place, id): (&SentTopic, MessageId)) -> bool {
    let recipient = Recipient::Channel(place.channel_id);
    let conversation = Conversation { recipient, topic_key: topic_key(&place.topic) };
    app.messages.begins(&conversation, id).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "who began a topic was not asked; its sender may not follow it");
        false
    })
}

async fn follow(app: &AppState, activity: TopicActivity<'_>) -> Option<TopicPolicy> {
    // Most of what happens changes nothing, and that costs no turn among the decisions.
    let mut rehearsed = RealmCommit::default();
    follow::after(&app.realm(), activity, &mut rehearsed);
    if rehearsed.changes.is_empty() {
        return None;
    }
    let followed = app.commit(|realm, commit| Ok::<_, ApiError>(follow::after(realm, activity, commit))).await;
    followed.unwrap_or_else(|error| {
        tracing::warn!(%error, "a topic is not followed by who chose to");
        None
    })
}
