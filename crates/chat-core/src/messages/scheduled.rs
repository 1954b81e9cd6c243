//! Messages that wait for their time.
//!
//! A message is permitted and rendered twice: when it is scheduled, so that its author learns at once what is wrong
//! with it, and when it goes out, by what is true then. It goes out, or fails, in the transaction that ends its waiting
//! ([`ScheduledStore::settle`]): any node may try, the first one does it, and a node that dies leaves it as it was.

pub mod change;
pub mod delivery;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::StoreError;
use crate::id::{ChannelId, EventId, MessageId, ScheduledId, UserId};
use crate::log::event::{EventAudience, NewEvent};
use crate::messages::compose::{ChannelRef, RequestedRecipient, SendRequest};
use crate::messages::store::{MessageDestination, NewMessage, WriteOutcome};
use crate::wire::add;

/// Messages of one user that wait at once. Not specified; we stop where no person can know them all.
pub const MAX_SCHEDULED: usize = 1_000;
/// Seconds after its time at which a message is not sent any more: what was right to say then may be wrong now.
///
/// # Source
/// Not specified; the number of the existing server.
pub const MAX_LATE_S: i64 = 600;

/// A scheduled message, waiting or failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledMessage {
    /// Its number.
    pub id: ScheduledId,
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

/// An update of a scheduled message; fields that are `None` stay. What `to` means depends on the kind of place, and
/// when that is not given, on the message: [`ScheduledMessageUpdate::read`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledMessageUpdate<T = ScheduledRecipient> {
    /// The kind of place, when it is given.
    pub kind: Option<ScheduledType>,
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
pub enum ScheduledType {
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

/// The reason why a message is not scheduled, or stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduledError {
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
    #[error("Too many scheduled messages (maximum {MAX_SCHEDULED}).")]
    TooMany,
}

/// Lets a time pass that is still to come.
///
/// # Errors
/// [`ScheduledError::NotInFuture`].
pub fn in_future(due_s: i64, now_s: i64) -> Result<i64, ScheduledError> {
    if due_s > now_s { Ok(due_s) } else { Err(ScheduledError::NotInFuture) }
}

impl<T> ScheduledMessageUpdate<T> {
    /// Lets a revision pass that says something and nothing by halves, whatever it is of.
    ///
    /// # Source
    /// Specification, `PATCH /scheduled_messages/{scheduled_message_id}`.
    ///
    /// # Errors
    /// The first of: nothing is given; a type without `to`; a channel without topic; a time that is over.
    pub fn check(&self, now_s: i64) -> Result<(), ScheduledError> {
        let Self { kind, to, content, topic, due_s } = self;
        let texts = content.is_some() || topic.is_some();
        if !texts && kind.is_none() && to.is_none() && due_s.is_none() {
            return Err(ScheduledError::NothingToChange);
        }
        if self.kind.is_some() && self.to.is_none() {
            return Err(ScheduledError::NoReceiver);
        }
        if self.kind == Some(ScheduledType::Channel) && self.topic.is_none() {
            return Err(ScheduledError::NoTopic);
        }
        self.due_s.map_or(Ok(()), |due_s| in_future(due_s, now_s).map(drop))
    }

    /// Returns the revision with its place read as the kind of place that the message will have.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<E>(
        &self,
        before: &ScheduledMessage,
        read: impl FnOnce(ScheduledType, &T) -> Result<ScheduledRecipient, E>,
    ) -> Result<ScheduledMessageUpdate, E> {
        let kind = self.kind.unwrap_or(match before.to {
            ScheduledDestination::Channel(..) => ScheduledType::Channel,
            ScheduledDestination::Direct(_) => ScheduledType::Direct,
        });
        let to = self.to.as_ref().map(|to| read(kind, to)).transpose()?;
        let (content, topic) = (self.content.clone(), self.topic.clone());
        Ok(ScheduledMessageUpdate { kind: self.kind, to, content, topic, due_s: self.due_s })
    }
}

impl ScheduledMessageUpdate {
    /// Returns the message as it is wanted, and whether more of it changes than its time; then it has to be composed
    /// again.
    ///
    /// # Errors
    /// When it failed and gets no new time, or is to go to a channel and has no topic.
    pub fn applied(&self, before: &ScheduledMessage) -> Result<(ScheduledMessage, bool), ScheduledError> {
        if before.failure.is_some() && self.due_s.is_none() {
            return Err(ScheduledError::NotInFuture);
        }
        let old_topic = match &before.to {
            ScheduledDestination::Channel(_, topic) => Some(topic),
            ScheduledDestination::Direct(_) => None,
        };
        let to = match (&self.to, &before.to) {
            (Some(ScheduledRecipient::Channel(id)), _) | (None, ScheduledDestination::Channel(id, _)) => {
                let topic = self.topic.as_ref().or(old_topic).ok_or(ScheduledError::NoTopic)?;
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
    /// Returns what its sender wants to send.
    #[must_use]
    pub fn send_request(&self) -> SendRequest<'_> {
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

    /// Returns the same, as it was read and rendered when it was composed.
    #[must_use]
    pub fn composed(self, message: &NewMessage) -> Self {
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

    /// Returns the object of the wire.
    #[must_use]
    pub fn object(&self) -> Value {
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

    /// Told when it is scheduled.
    #[must_use]
    pub fn added(&self) -> NewEvent {
        self.event(json!({"op": "add", "scheduled_messages": [self.object()]}))
    }

    /// Told when it is another now, or failed.
    #[must_use]
    pub fn updated(&self) -> NewEvent {
        self.event(json!({"op": "update", "scheduled_message": self.object()}))
    }

    /// Told when it went out, or was given up.
    #[must_use]
    pub fn removed(&self) -> NewEvent {
        self.event(json!({"op": "remove", "scheduled_message_id": self.id}))
    }

    fn event(&self, more: Value) -> NewEvent {
        let mut event = json!({"type": "scheduled_messages"});
        add(&mut event, more);
        NewEvent::plain(EventAudience::users([self.user_id]), event)
    }

    /// Returns the notice to its sender when it did not go out, among their own notes.
    #[must_use]
    pub fn notice(&self, failure: &str) -> String {
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

/// The way in which a scheduled message stops waiting.
#[derive(Debug, Clone)]
pub enum ScheduledEnd {
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
pub enum ScheduledOutcome {
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
pub trait ScheduledStore: Send + Sync {
    /// Keeps a message, whose number and revision are given here, and notifies its sender. `None` when they have
    /// [`MAX_SCHEDULED`] already.
    async fn schedule(&self, message: ScheduledMessage, at_s: i64) -> Result<Option<ScheduledId>, StoreError>;

    /// A user's messages, the next one first.
    async fn scheduled_of(&self, user_id: UserId) -> Result<Vec<ScheduledMessage>, StoreError>;

    /// Makes the message of that number this, and notifies its sender. [`WriteOutcome::Unchanged`] when its revision is
    /// another, or it is gone.
    async fn reschedule(&self, message: ScheduledMessage, at_s: i64) -> Result<WriteOutcome, StoreError>;

    /// Gives a user's message up. Says whether there was one.
    async fn unschedule(&self, user_id: UserId, id: ScheduledId, at_s: i64) -> Result<bool, StoreError>;

    /// A user's message of that number.
    async fn scheduled(&self, user_id: UserId, id: ScheduledId) -> Result<Option<ScheduledMessage>, StoreError>;

    /// Messages of all users whose time has come and that have not failed, the oldest first, at most `limit`.
    async fn due(&self, now_s: i64, limit: usize) -> Result<Vec<ScheduledMessage>, StoreError>;

    /// Ends the waiting of a message as it was read, and notifies its sender: all of it, or nothing.
    async fn settle(
        &self,
        message: &ScheduledMessage,
        end: ScheduledEnd,
        at_s: i64,
    ) -> Result<ScheduledOutcome, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_channel() -> ScheduledMessage {
        ScheduledMessage {
            id: ScheduledId(7),
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

    fn said(result: Result<(), ScheduledError>) -> String {
        result.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_revision_says_something_and_nothing_by_halves() {
        let check = |revision: ScheduledMessageUpdate| said(revision.check(50));
        assert_eq!(check(nothing()), "Nothing to change");
        let kind =
            ScheduledMessageUpdate { kind: Some(ScheduledType::Direct), topic: Some("x".to_owned()), ..nothing() };
        assert_eq!(check(kind), "Recipient required when updating type of scheduled message.");
        let to = Some(ScheduledRecipient::Channel(ChannelId(20)));
        let channel = ScheduledMessageUpdate { kind: Some(ScheduledType::Channel), to, ..nothing() };
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
        assert_eq!(said(text.applied(&failed).map(drop)), "Scheduled delivery time must be in the future.");
        let time = ScheduledMessageUpdate { due_s: Some(200), ..nothing() };
        assert_eq!(time.applied(&failed), Ok((ScheduledMessage { due_s: 200, ..to_channel() }, false)));
    }

    #[test]
    fn what_is_not_given_stays() {
        let topic = ScheduledMessageUpdate { topic: Some("dinner".to_owned()), ..nothing() };
        let (changed, recompose) = topic.applied(&to_channel()).unwrap();
        assert_eq!((changed.to, recompose), (ScheduledDestination::Channel(ChannelId(20), "dinner".to_owned()), true));
        let people = ScheduledMessageUpdate {
            kind: Some(ScheduledType::Direct),
            to: Some(ScheduledRecipient::Direct(vec![UserId(2)])),
            ..nothing()
        };
        let (direct, _) = people.applied(&to_channel()).unwrap();
        assert_eq!(direct.to, ScheduledDestination::Direct(vec![UserId(2)]));
        // Of direct messages the topic is ignored.
        assert_eq!(topic.applied(&direct).unwrap(), (direct.clone(), false));
        let back = ScheduledMessageUpdate { to: Some(ScheduledRecipient::Channel(ChannelId(20))), ..nothing() };
        assert_eq!(back.applied(&direct), Err(ScheduledError::NoTopic));
    }

    #[test]
    fn the_object_has_the_keys_of_its_kind() {
        let object = to_channel().object();
        assert_eq!((&object["type"], &object["to"], &object["topic"]), (&json!("stream"), &json!(20), &json!("lunch")));
        let direct = ScheduledMessage {
            to: ScheduledDestination::Direct(vec![UserId(2)]),
            failure: Some("no".to_owned()),
            ..to_channel()
        };
        assert_eq!(
            direct.object(),
            json!({
                "scheduled_message_id": 7, "type": "private", "to": [2], "content": "hi",
                "rendered_content": "<p>hi</p>", "scheduled_delivery_timestamp": 100, "failed": true,
            })
        );
    }

    #[test]
    fn the_notice_quotes_every_line() {
        let notice = to_channel().notice("a\nb");
        assert!(notice.ends_with("error:\n\n> a\n> b\n\n[View scheduled messages](#scheduled)"), "{notice}");
        assert!(notice.contains("<time:100>"), "{notice}");
    }
}
