//! The store of messages, flags and reactions. One method is one transaction.

use std::sync::Arc;

use async_trait::async_trait;

use crate::StoreError;
use crate::id::{AttachmentId, ChannelId, EventId, MessageId, UserId};
use crate::log::event::{MessageEvent, NewEvent};
use crate::messages::narrow::{MessageSelection, MessageWindow};
use crate::model::flag_change::FlagOp;
use crate::model::message::{ContentFlags, Conversation, EditHistoryEntry, Flag, Message, Reaction};
use crate::model::snapshot::RealmSnapshot;
use crate::model::user_message::{UnreadMessages, UserMessage};
use crate::wire::StoredMessage;

/// A message to append.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// [`RealmSnapshot::changed`] of the state it was permitted on; it is sent unless
    /// [`RealmSnapshot::rules_changed`] has gone beyond.
    pub decided_at: EventId,
    /// Where it goes. It replaces the event's recipient.
    pub to: MessageDestination,
    /// The message and what its event says. The numbers in it are replaced.
    pub event: MessageEvent,
    /// The uploads that it uses.
    pub attachments: Vec<AttachmentId>,
}

/// The recipient and topic of a message to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageDestination {
    /// To a channel.
    Channel {
        /// The channel.
        channel_id: ChannelId,
        /// Whether it is open to all queues that ask for public channels.
        public: bool,
    },
    /// To users, the sender among them, in the order of their numbers.
    Direct(Vec<UserId>),
}

/// The outcome of appending a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    /// It is durable.
    Done {
        /// Its number.
        id: MessageId,
        /// When it was sent, in unix seconds.
        sent_s: i64,
    },
    /// The realm had changed at this place since it was permitted; nothing was written.
    Stale(EventId),
}

/// A page of messages around an anchor, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePage {
    /// The messages, each with the reader's flags.
    pub messages: Vec<(Arc<StoredMessage>, Vec<Flag>)>,
    /// Where they were looked for; [`crate::messages::narrow::NEWEST`] for "after the last".
    pub anchor: MessageId,
    /// Whether the message at the anchor is among them.
    pub found_anchor: bool,
    /// Whether there is none before them.
    pub found_oldest: bool,
    /// Whether there is none after them.
    pub found_newest: bool,
}

/// The realm position and message revisions that a message write was decided on.
///
/// The store compares it inside the transaction that writes. When the realm's rules or one of the messages have changed
/// since, it writes nothing, brings the realm in memory forward, and returns [`WriteOutcome::Unchanged`]; the caller reads
/// again and takes the decision again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteGuard {
    /// [`RealmSnapshot::changed`] of the realm; refused when [`RealmSnapshot::rules_changed`] has gone beyond.
    pub realm: EventId,
    /// The messages, each with the [`Message::revision`] that was read.
    pub messages: Vec<(MessageId, EventId)>,
}

impl WriteGuard {
    /// Returns the state of these messages, read in that realm or before.
    #[must_use]
    pub fn new<'m>(realm: &RealmSnapshot, messages: impl IntoIterator<Item = &'m Message>) -> Self {
        let messages = messages.into_iter().map(|message| (message.id, message.revision)).collect();
        Self { realm: realm.changed(), messages }
    }
}

/// As [`WriteGuard`], of a user's own copies, which are read by the thousand and without their revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagWriteGuard {
    /// [`RealmSnapshot::changed`] of the realm; refused when [`RealmSnapshot::rules_changed`] has gone beyond.
    pub realm: EventId,
    /// [`EventLog::head`](crate::log::store::EventLog::head) before the copies were read; refused when one of the messages was edited or moved after it.
    pub log: EventId,
    /// The messages, in the order of their numbers.
    pub messages: Vec<MessageId>,
}

/// A change to one message, and to those that move with it.
pub struct MessageEdit {
    /// [`RealmSnapshot::changed`] of the state it was permitted on; when the realm has changed since, nothing is written.
    pub decided_at: EventId,
    /// The message.
    pub id: MessageId,
    /// [`Message::revision`] it was decided on; when it is another, nothing is written.
    pub revision: EventId,
    /// The new text, its HTML, and what it has in it.
    pub content: Option<(String, String, ContentFlags)>,
    /// The uploads that the new text uses.
    pub attachments: Vec<AttachmentId>,
    /// The new place and topic.
    pub to: Option<(ChannelId, String)>,
    /// The messages that move, the edited one among them, each once. Empty when none does. When one of them is no
    /// longer in the edited one's topic, nothing is written.
    pub moves: Vec<MessageId>,
    /// Whom the new text concerns, and the flag each gets for it. Where the text changes they take the place of those
    /// the message has for its text, whenever it got them.
    pub flags: Vec<(UserId, Flag)>,
    /// Who did it; `None` for the server.
    pub user_id: Option<UserId>,
    /// When, in unix seconds.
    pub at_s: i64,
    /// What is told.
    pub events: Vec<NewEvent>,
}

/// The outcome of an edit, a reaction or another message write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is durable; its last event stands at this place.
    Done(EventId),
    /// It was so already, or what it is about is gone or has changed; nothing was written.
    Unchanged,
}

/// A topic of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelTopic {
    /// As its newest message spells it.
    pub name: String,
    /// Its newest message.
    pub max_id: MessageId,
}

/// The store of messages, flags and reactions.
#[async_trait]
pub trait MessageStore: Send + Sync {
    /// Sends a message. Many are written in one transaction; each is answered after the commit that holds it.
    async fn append(&self, message: NewMessage) -> Result<SendOutcome, StoreError>;

    /// Returns the messages of these numbers that exist, in the order of their numbers, with the user's flags. Whether
    /// the user may read them is not asked here.
    async fn find(&self, user_id: UserId, ids: &[MessageId]) -> Result<Vec<(Message, Vec<Flag>)>, StoreError>;

    /// As [`MessageStore::find`] without the texts. The flags are those that decide what this flag changes: it and,
    /// where it is [`Flag::Read`], [`Flag::Historical`] and those of mentions. Others may be there too.
    async fn copies(&self, user_id: UserId, ids: &[MessageId], flag: Flag) -> Result<Vec<UserMessage>, StoreError>;

    /// Returns the messages of a selection around an anchor.
    async fn window(&self, selection: &MessageSelection, window: MessageWindow) -> Result<MessagePage, StoreError>;

    /// Returns the messages of a conversation from one on, with the time each was sent in unix seconds, the oldest
    /// first.
    async fn conversation(
        &self,
        conversation: &Conversation,
        from: MessageId,
    ) -> Result<Vec<(MessageId, i64)>, StoreError>;

    /// Returns who wrote in a conversation or gave a reaction there, in the order of their numbers.
    async fn participants(&self, conversation: &Conversation) -> Result<Vec<UserId>, StoreError>;

    /// Returns whether the message is the first of its conversation that is there. Costs no I/O for a conversation that
    /// was asked about lately.
    async fn begins(&self, conversation: &Conversation, id: MessageId) -> Result<bool, StoreError>;

    /// Returns whether exactly these users, in the order of their numbers, have written to each other.
    async fn have_written(&self, users: &[UserId]) -> Result<bool, StoreError>;

    /// Returns the topics of a channel with messages within the selection, the newest first.
    async fn topics(
        &self,
        selection: &MessageSelection,
        channel_id: ChannelId,
    ) -> Result<Vec<ChannelTopic>, StoreError>;

    /// Returns the newest messages of the selection that the reader has not read, at most `limit`.
    async fn unread(&self, selection: &MessageSelection, limit: usize) -> Result<UnreadMessages, StoreError>;

    /// Returns the oldest message of each of these channels that has one.
    async fn first_messages(&self, channels: &[ChannelId]) -> Result<Vec<(ChannelId, MessageId)>, StoreError>;

    /// Returns how many messages each channel was sent since that time in unix seconds, where there were any. Looks at
    /// each of these messages once.
    async fn traffic(&self, since_s: i64) -> Result<Vec<(ChannelId, i64)>, StoreError>;

    /// Returns the sets of users the user is in, all of them in the order of their numbers, with the newest message of
    /// each; the newest first, at most `limit`.
    async fn recent_directs(&self, user_id: UserId, limit: usize) -> Result<Vec<(Vec<UserId>, MessageId)>, StoreError>;

    /// Returns who has read a message that they received, in the order of their numbers, and for whom it counts as read
    /// ([`UserMessage::counts_as_read`]). Its sender is left out.
    async fn readers(&self, message: &Message) -> Result<Vec<UserId>, StoreError>;

    /// Numbers of the user's messages with a flag other than [`Flag::Read`], in order.
    async fn flagged(&self, user_id: UserId, flag: Flag) -> Result<Vec<MessageId>, StoreError>;

    /// Sets or takes away a user's flag on those of the messages that exist. [`WriteOutcome::Unchanged`] when what was
    /// decided on has changed.
    async fn set_flag(
        &self,
        user_id: UserId,
        flag: (Flag, FlagOp),
        decided: &FlagWriteGuard,
        event: (i64, NewEvent),
    ) -> Result<WriteOutcome, StoreError>;

    /// Edits a message, and moves those that go with it.
    async fn edit(&self, edit: MessageEdit) -> Result<WriteOutcome, StoreError>;

    /// Returns the earlier states of several messages, of each the newest first.
    async fn edits_of(&self, ids: &[MessageId]) -> Result<Vec<(MessageId, EditHistoryEntry)>, StoreError>;

    /// Returns the earlier states of a message, the newest first.
    async fn edits(&self, id: MessageId) -> Result<Vec<EditHistoryEntry>, StoreError>;

    /// Deletes messages with everything users made of them. [`WriteOutcome::Unchanged`] when there are none, one of them is
    /// gone, or what was decided on has changed.
    async fn delete(&self, decided: &WriteGuard, event: (i64, Vec<NewEvent>)) -> Result<WriteOutcome, StoreError>;

    /// Adds a reaction to the one message it was decided on; [`WriteOutcome::Unchanged`] when it is there, the message is
    /// not, or what was decided on has changed.
    async fn react(
        &self,
        decided: &WriteGuard,
        reaction: &Reaction,
        event: (i64, NewEvent),
    ) -> Result<WriteOutcome, StoreError>;

    /// Takes a reaction away from the one message it was decided on; [`WriteOutcome::Unchanged`] when it is not there, or what
    /// was decided on has changed.
    async fn unreact(
        &self,
        decided: &WriteGuard,
        reaction: &Reaction,
        event: (i64, NewEvent),
    ) -> Result<WriteOutcome, StoreError>;
}
