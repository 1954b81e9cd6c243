//! Messages that wait for their time.
//!
//! A message is permitted and rendered twice: when it is scheduled, so that its author learns at once what is wrong
//! with it, and when it goes out, by what is true then. It goes out, or fails, in the transaction that ends its waiting
//! ([`ScheduledMessageStore::end_scheduled_message`]): any node may try, the first one does it, and a node that dies
//! leaves it as it was.

pub mod delivery;
pub mod scheduling;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::StoreError;
use crate::event_log::event::{EventAudience, NewEvent};
use crate::id::{ChannelId, EventId, MessageId, ScheduledMessageId, UserId};
use crate::messages::compose::{ChannelRef, RequestedRecipient, SendRequest};
use crate::messages::store::{MessageDestination, MessageWriteOutcome, NewMessage};
use crate::wire_format::add;

/// The maximum number of scheduled messages of one user. Not specified; no person can know more.
pub const MAX_SCHEDULED_MESSAGES_PER_USER: usize = 1_000;
/// The maximum delay, in seconds after its scheduled time, with which a message is still sent: later, what it says may
/// be wrong.
///
/// # Source
/// Not specified; the number of the existing server.
pub const MAX_DELIVERY_LATENESS_S: i64 = 600;

/// A scheduled message, waiting or failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledMessage {
    /// Its number.
    pub id: ScheduledMessageId,
    /// Who sends it.
    pub user_id: UserId,
    /// Where it goes.
    pub to: ScheduledDestination,
    /// What was typed.
    pub content: String,
    /// The same in HTML, as it was when it was written.
    pub html: String,
    /// The program it was scheduled with.
    pub client: String,
    /// Whether its sender has read it by sending it.
    pub read_by_sender: bool,
    /// When it goes out, in unix seconds.
    pub due_s: i64,
    /// The reason why it did not; `None` while it waits.
    pub failure: Option<String>,
    /// The place in the log of its last change.
    pub revision: EventId,
}

/// The destination of a scheduled message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduledDestination {
    /// To a channel, under a topic.
    Channel(ChannelId, String),
    /// To these users, in the order of their numbers; the sender is named only when nobody else is.
    Direct(Vec<UserId>),
}

/// An update of a scheduled message; fields that are `None` are not changed. What `to` means depends on `kind` or,
/// without it, on the message: see [`ScheduledMessageUpdate::with_parsed_recipient`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledMessageUpdate<T = ScheduledRecipient> {
    /// The kind of place, when it is given.
    pub kind: Option<ScheduledDestinationType>,
    /// Where.
    pub to: Option<T>,
    /// The text.
    pub content: Option<String>,
    /// The topic.
    pub topic: Option<String>,
    /// The time, in unix seconds.
    pub due_s: Option<i64>,
}

/// The type of a scheduled message's destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduledDestinationType {
    /// A channel.
    Channel,
    /// People.
    Direct,
}

/// The recipient of a scheduled message, without a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduledRecipient {
    /// A channel.
    Channel(ChannelId),
    /// People.
    Direct(Vec<UserId>),
}

/// The reason why a message is not scheduled or not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduledMessageError {
    /// Nothing is said of what to change.
    #[error("Nothing to change")]
    NothingToChange,
    /// Another kind of place without a place.
    #[error("Recipient required when updating type of scheduled message.")]
    NoReceiver,
    /// A channel without a topic.
    #[error("Topic required when updating scheduled message type to channel.")]
    NoTopic,
    /// The time is over, or a message that failed got no new one.
    #[error("Scheduled delivery time must be in the future.")]
    NotInFuture,
    /// Its time is long over: nobody was there to send it.
    #[error("Message could not be sent at the scheduled time.")]
    TooLate,
    /// The user has none of that number.
    #[error("Scheduled message does not exist")]
    NoneSuch,
    /// The user has as many as one may have.
    #[error("Too many scheduled messages (maximum {MAX_SCHEDULED_MESSAGES_PER_USER}).")]
    TooMany,
}

/// Checks that a time is in the future, and returns it.
///
/// # Errors
/// [`ScheduledMessageError::NotInFuture`].
pub fn require_future_time(due_s: i64, now_s: i64) -> Result<i64, ScheduledMessageError> {
    if due_s > now_s { Ok(due_s) } else { Err(ScheduledMessageError::NotInFuture) }
}

impl<T> ScheduledMessageUpdate<T> {
    /// Checks that the update has changes, and that they are complete and consistent.
    ///
    /// # Source
    /// Specification, `PATCH /scheduled_messages/{scheduled_message_id}`.
    ///
    /// # Errors
    /// The first of: nothing is given; a type without `to`; a channel without topic; a time that is over.
    pub fn validate(&self, now_s: i64) -> Result<(), ScheduledMessageError> {
        let Self { kind, to, content, topic, due_s } = self;
        let texts = content.is_some() || topic.is_some();
        if !texts && kind.is_none() && to.is_none() && due_s.is_none() {
            return Err(ScheduledMessageError::NothingToChange);
        }
        if self.kind.is_some() && self.to.is_none() {
            return Err(ScheduledMessageError::NoReceiver);
        }
        if self.kind == Some(ScheduledDestinationType::Channel) && self.topic.is_none() {
            return Err(ScheduledMessageError::NoTopic);
        }
        self.due_s.map_or(Ok(()), |due_s| require_future_time(due_s, now_s).map(drop))
    }

    /// Returns the update with its recipient parsed for the destination type that the message will have.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn with_parsed_recipient<E>(
        &self,
        before: &ScheduledMessage,
        read: impl FnOnce(ScheduledDestinationType, &T) -> Result<ScheduledRecipient, E>,
    ) -> Result<ScheduledMessageUpdate, E> {
        let kind = self.kind.unwrap_or(match before.to {
            ScheduledDestination::Channel(..) => ScheduledDestinationType::Channel,
            ScheduledDestination::Direct(_) => ScheduledDestinationType::Direct,
        });
        let to = self.to.as_ref().map(|to| read(kind, to)).transpose()?;
        let (content, topic) = (self.content.clone(), self.topic.clone());
        Ok(ScheduledMessageUpdate { kind: self.kind, to, content, topic, due_s: self.due_s })
    }
}

impl ScheduledMessageUpdate {
    /// Returns the message with the update applied, and whether more than its time changed, so that it must be composed
    /// again.
    ///
    /// # Errors
    /// When it failed and gets no new time, or is to go to a channel and has no topic.
    pub fn apply_to(&self, before: &ScheduledMessage) -> Result<(ScheduledMessage, bool), ScheduledMessageError> {
        if before.failure.is_some() && self.due_s.is_none() {
            return Err(ScheduledMessageError::NotInFuture);
        }
        let old_topic = match &before.to {
            ScheduledDestination::Channel(_, topic) => Some(topic),
            ScheduledDestination::Direct(_) => None,
        };
        let to = match (&self.to, &before.to) {
            (Some(ScheduledRecipient::Channel(id)), _) | (None, ScheduledDestination::Channel(id, _)) => {
                let topic = self.topic.as_ref().or(old_topic).ok_or(ScheduledMessageError::NoTopic)?;
                ScheduledDestination::Channel(*id, topic.clone())
            }
            (Some(ScheduledRecipient::Direct(users)), _) | (None, ScheduledDestination::Direct(users)) => {
                ScheduledDestination::Direct(users.clone())
            }
        };
        let content = self.content.as_ref().unwrap_or(&before.content).clone();
        let recompose = to != before.to || content != before.content;
        let due_s = self.due_s.unwrap_or(before.due_s);
        Ok((ScheduledMessage { to, content, due_s, failure: None, ..before.clone() }, recompose))
    }
}

impl ScheduledMessage {
    /// Returns the send request for the message.
    #[must_use]
    pub fn to_send_request(&self) -> SendRequest<'_> {
        let to = match &self.to {
            ScheduledDestination::Channel(id, topic) => RequestedRecipient::Channel(ChannelRef::Id(*id), topic),
            ScheduledDestination::Direct(users) => RequestedRecipient::Ids(users),
        };
        SendRequest {
            to,
            content: &self.content,
            client: &self.client,
            read_by_sender: self.read_by_sender,
            local: None,
            widget: None,
        }
    }

    /// Returns the scheduled message with the content, topic and HTML of the composed message.
    #[must_use]
    pub fn with_composed_content(self, message: &NewMessage) -> Self {
        let composed = &message.event.message;
        let to = match &message.to {
            MessageDestination::Channel { channel_id, .. } => {
                ScheduledDestination::Channel(*channel_id, composed.topic.clone())
            }
            MessageDestination::Direct(users) => ScheduledDestination::Direct(others(users, self.user_id)),
        };
        // Who writes to nobody but themselves is to find it.
        let read_by_sender = self.read_by_sender && to != ScheduledDestination::Direct(vec![self.user_id]);
        Self { to, content: composed.content.clone(), html: composed.html.clone(), read_by_sender, ..self }
    }

    /// Returns the scheduled-message object of the wire.
    #[must_use]
    pub fn to_wire_object(&self) -> Value {
        let mut object = json!({
            "scheduled_message_id": self.id,
            "content": self.content,
            "rendered_content": self.html,
            "scheduled_delivery_timestamp": self.due_s,
            "failed": self.failure.is_some(),
        });
        let place = match &self.to {
            ScheduledDestination::Channel(id, topic) => json!({"type": "stream", "to": id, "topic": topic}),
            ScheduledDestination::Direct(users) => json!({"type": "private", "to": users}),
        };
        add(&mut object, place);
        object
    }

    /// Returns the event that reports the message as scheduled.
    #[must_use]
    pub fn added_event(&self) -> NewEvent {
        self.event(json!({"op": "add", "scheduled_messages": [self.to_wire_object()]}))
    }

    /// Returns the event that reports the scheduled message as changed or failed.
    #[must_use]
    pub fn updated_event(&self) -> NewEvent {
        self.event(json!({"op": "update", "scheduled_message": self.to_wire_object()}))
    }

    /// Returns the event that reports the scheduled message as sent or deleted.
    #[must_use]
    pub fn removed_event(&self) -> NewEvent {
        self.event(json!({"op": "remove", "scheduled_message_id": self.id}))
    }

    fn event(&self, more: Value) -> NewEvent {
        let mut event = json!({"type": "scheduled_messages"});
        add(&mut event, more);
        NewEvent::same_for_everyone(EventAudience::from_users([self.user_id]), event)
    }

    /// Returns the notice that the message was not sent, for the sender's messages to themselves.
    #[must_use]
    pub fn failure_notice(&self, failure: &str) -> String {
        let quoted: Vec<String> = failure.lines().map(|line| format!("> {line}")).collect();
        let (due_s, quoted) = (self.due_s, quoted.join("\n"));
        format!(
            "The message you scheduled for <time:{due_s}> was not sent because of the following error:\n\n{quoted}\n\n\
             [View scheduled messages](#scheduled)"
        )
    }
}

fn others(users: &[UserId], sender: UserId) -> Vec<UserId> {
    let others: Vec<UserId> = users.iter().copied().filter(|user| *user != sender).collect();
    if others.is_empty() { vec![sender] } else { others }
}

/// The way in which a scheduled message ends: sent or failed.
#[derive(Debug, Clone)]
pub enum ScheduledMessageEnd {
    /// It goes out.
    Sent(Box<NewMessage>),
    /// It fails.
    Failed {
        /// Why, in words for its sender.
        failure: String,
        /// What they are told, if they can be told anything.
        notice: Option<Box<NewMessage>>,
    },
}

/// The outcome of ending a scheduled message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduledEndOutcome {
    /// It is durable.
    Done {
        /// The number of the message that went out, or of the notice.
        sent: Option<MessageId>,
    },
    /// The realm had changed since the message was permitted; nothing was written.
    Stale,
    /// The message waits no more, or is another: someone else was faster. Nothing was written.
    Gone,
}

/// The store of scheduled messages.
#[async_trait]
pub trait ScheduledMessageStore: Send + Sync {
    /// Stores a scheduled message, assigns its id and revision, and notifies its sender. `None` when they have
    /// [`MAX_SCHEDULED_MESSAGES_PER_USER`] already.
    async fn add_scheduled_message(
        &self,
        message: ScheduledMessage,
        at_s: i64,
    ) -> Result<Option<ScheduledMessageId>, StoreError>;

    /// Returns a user's scheduled messages, the next one first.
    async fn scheduled_messages_of_user(&self, user_id: UserId) -> Result<Vec<ScheduledMessage>, StoreError>;

    /// Replaces the scheduled message of that id and notifies its sender. [`MessageWriteOutcome::Unchanged`] when its
    /// revision differs or it is gone.
    async fn update_scheduled_message(
        &self,
        message: ScheduledMessage,
        at_s: i64,
    ) -> Result<MessageWriteOutcome, StoreError>;

    /// Deletes a user's scheduled message, and returns whether it existed. Says whether there was one.
    async fn delete_scheduled_message(
        &self,
        user_id: UserId,
        id: ScheduledMessageId,
        at_s: i64,
    ) -> Result<bool, StoreError>;

    /// Returns a user's scheduled message of that id.
    async fn find_scheduled_message(
        &self,
        user_id: UserId,
        id: ScheduledMessageId,
    ) -> Result<Option<ScheduledMessage>, StoreError>;

    /// Returns scheduled messages of all users that are due and have not failed, the oldest first, at most `limit`.
    async fn due_scheduled_messages(&self, now_s: i64, limit: usize) -> Result<Vec<ScheduledMessage>, StoreError>;

    /// Sends or fails a scheduled message as it was read, in one transaction, and notifies its sender.
    async fn end_scheduled_message(
        &self,
        message: &ScheduledMessage,
        end: ScheduledMessageEnd,
        at_s: i64,
    ) -> Result<ScheduledEndOutcome, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_channel() -> ScheduledMessage {
        ScheduledMessage {
            id: ScheduledMessageId(7),
            user_id: UserId(4),
            to: ScheduledDestination::Channel(ChannelId(20), "lunch".to_owned()),
            content: "hi".to_owned(),
            html: "<p>hi</p>".to_owned(),
            client: "test".to_owned(),
            read_by_sender: true,
            due_s: 100,
            failure: None,
            revision: EventId(7),
        }
    }

    fn nothing() -> ScheduledMessageUpdate {
        ScheduledMessageUpdate { kind: None, to: None, content: None, topic: None, due_s: None }
    }

    fn said(result: Result<(), ScheduledMessageError>) -> String {
        result.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_revision_says_something_and_nothing_by_halves() {
        let check = |revision: ScheduledMessageUpdate| said(revision.validate(50));
        assert_eq!(check(nothing()), "Nothing to change");
        let kind = ScheduledMessageUpdate {
            kind: Some(ScheduledDestinationType::Direct),
            topic: Some("x".to_owned()),
            ..nothing()
        };
        assert_eq!(check(kind), "Recipient required when updating type of scheduled message.");
        let to = Some(ScheduledRecipient::Channel(ChannelId(20)));
        let channel = ScheduledMessageUpdate { kind: Some(ScheduledDestinationType::Channel), to, ..nothing() };
        assert_eq!(check(channel.clone()), "Topic required when updating scheduled message type to channel.");
        assert_eq!(check(ScheduledMessageUpdate { topic: Some("x".to_owned()), ..channel }), "");
        let at = |due_s| ScheduledMessageUpdate { due_s: Some(due_s), ..nothing() };
        assert_eq!(check(at(50)), "Scheduled delivery time must be in the future.");
        assert_eq!(check(at(51)), "");
    }

    #[test]
    fn a_message_that_failed_needs_a_new_time_and_has_not_failed_then() {
        let failed = ScheduledMessage { failure: Some("no".to_owned()), ..to_channel() };
        let text = ScheduledMessageUpdate { content: Some("x".to_owned()), ..nothing() };
        assert_eq!(said(text.apply_to(&failed).map(drop)), "Scheduled delivery time must be in the future.");
        let time = ScheduledMessageUpdate { due_s: Some(200), ..nothing() };
        assert_eq!(time.apply_to(&failed), Ok((ScheduledMessage { due_s: 200, ..to_channel() }, false)));
    }

    #[test]
    fn what_is_not_given_stays() {
        let topic = ScheduledMessageUpdate { topic: Some("dinner".to_owned()), ..nothing() };
        let (changed, recompose) = topic.apply_to(&to_channel()).unwrap();
        assert_eq!((changed.to, recompose), (ScheduledDestination::Channel(ChannelId(20), "dinner".to_owned()), true));
        let people = ScheduledMessageUpdate {
            kind: Some(ScheduledDestinationType::Direct),
            to: Some(ScheduledRecipient::Direct(vec![UserId(2)])),
            ..nothing()
        };
        let (direct, _) = people.apply_to(&to_channel()).unwrap();
        assert_eq!(direct.to, ScheduledDestination::Direct(vec![UserId(2)]));
        // Of direct messages the topic is ignored.
        assert_eq!(topic.apply_to(&direct).unwrap(), (direct.clone(), false));
        let back = ScheduledMessageUpdate { to: Some(ScheduledRecipient::Channel(ChannelId(20))), ..nothing() };
        assert_eq!(back.apply_to(&direct), Err(ScheduledMessageError::NoTopic));
    }

    #[test]
    fn the_object_has_the_keys_of_its_kind() {
        let object = to_channel().to_wire_object();
        assert_eq!((&object["type"], &object["to"], &object["topic"]), (&json!("stream"), &json!(20), &json!("lunch")));
        let direct = ScheduledMessage {
            to: ScheduledDestination::Direct(vec![UserId(2)]),
            failure: Some("no".to_owned()),
            ..to_channel()
        };
        assert_eq!(
            direct.to_wire_object(),
            json!({
                "scheduled_message_id": 7, "type": "private", "to": [2], "content": "hi",
                "rendered_content": "<p>hi</p>", "scheduled_delivery_timestamp": 100, "failed": true,
            })
        );
    }

    #[test]
    fn the_notice_quotes_every_line() {
        let notice = to_channel().failure_notice("a\nb");
        assert!(notice.ends_with("error:\n\n> a\n> b\n\n[View scheduled messages](#scheduled)"), "{notice}");
        assert!(notice.contains("<time:100>"), "{notice}");
    }
}
