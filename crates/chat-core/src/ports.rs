//! What the rules need a database for. One method is one transaction.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::change::{CommitOutcome, RealmCommit};
use crate::event::{EventRecord, MessageEvent, NewEvent, QueueFilter};
use crate::id::{AttachmentId, ChannelId, EventId, MessageId, UserId};
use crate::message::{ContentFlags, Conversation, Flag, Message, Reaction};
use crate::narrow::{MessageSelection, MessageWindow};
use crate::object::StoredMessage;
use crate::own_copy::{UnreadMessages, UserMessage};
use crate::presence::{Presence, PresenceStatus};
use crate::snapshot::RealmSnapshot;
use crate::user::{ApiKey, PasswordHash};

/// The database failed; whether anything was written is not known unless the method says so.
#[derive(Debug, thiserror::Error)]
#[error("the database failed: {0}")]
pub struct StoreError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// The cause within a [`StoreError`] that says that the database cannot be used at the moment: it is gone, full or
/// locked. The same request may well succeed later.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Unavailable(pub Box<dyn std::error::Error + Send + Sync>);

/// The cause within a [`StoreError`] that says that a search was given up because it took too long. The same search
/// takes as long again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the search took too long")]
pub struct TooCostly;

impl StoreError {
    /// Returns whether it was a search that took too long.
    #[must_use]
    pub fn is_too_costly(&self) -> bool {
        self.0.is::<TooCostly>()
    }

    /// Returns whether the database cannot be used at the moment.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        let own: &(dyn std::error::Error + 'static) = self.0.as_ref();
        std::iter::successors(Some(own), |error| error.source()).any(<dyn std::error::Error>::is::<Unavailable>)
    }
}

/// The store of the realm's state.
#[async_trait]
pub trait RealmStore: Send + Sync {
    /// Returns the realm as this node knows it: at least everything that this node's own methods returned. Costs no
    /// I/O.
    fn realm(&self) -> Arc<RealmSnapshot>;

    /// Makes changes and events true together. Returns when they are durable and, unless the database failed right after, in
    /// [`RealmStore::realm`]; when the realm changed after the decision, returns with the newer realm in memory and nothing written.
    async fn commit(&self, commit: RealmCommit) -> Result<CommitOutcome, StoreError>;

    /// A user's secrets.
    async fn credentials(&self, user_id: UserId) -> Result<Option<Credentials>, StoreError>;

    /// Returns whether [`RealmStore::realm`] holds everything that any node committed up to half a second ago. When it
    /// does not, whoever is let in by it may have been shut out elsewhere. Costs no I/O.
    fn is_current(&self) -> bool;

    /// Brings [`RealmStore::realm`] up to what is committed by now. Costs one statement for all who ask at once.
    async fn refresh(&self) -> Result<(), StoreError>;

    /// Returns when no node, as long as it heeds [`RealmStore::is_current`], uses a realm any longer that is older than
    /// this call.
    async fn known_everywhere(&self);
}

/// A user's stored password hash and API key.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The API key.
    pub api_key: Option<ApiKey>,
    /// What the password is compared with.
    pub password_hash: Option<PasswordHash>,
}

/// The realm's append-only log of events.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Returns the last place this node knows of. Costs no I/O.
    fn head(&self) -> EventId;

    /// Returns the records after a place, in order, at most `limit`. From memory when it reaches back that far.
    ///
    /// Never a record that [`RealmStore::realm`] does not hold yet. A queue goes on after the last record it looked
    /// at, whether it wanted it or not.
    ///
    /// `Err(PrunedError)` inside when records after that place are gone.
    async fn after(
        &self,
        after: EventId,
        limit: usize,
    ) -> Result<Result<Vec<Arc<EventRecord>>, PrunedError>, StoreError>;

    /// Returns when a record after that place may concern the user; at once when there is one already. Costs
    /// nothing while it waits, and forgets the caller when dropped.
    async fn wait(&self, listener: LogListener, after: EventId);

    /// Forgets records older than that time in unix seconds. Returns how many.
    async fn prune(&self, older_than_s: i64) -> Result<u64, StoreError>;
}

/// A waiter for new records of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogListener {
    /// The user.
    pub user_id: UserId,
    /// [`QueueFilter::overhears`] of the queue.
    pub overhears: bool,
    /// [`Told::until`](crate::typing::Told::until) as the queue was given it last: what is told of typing after it
    /// wakes, too.
    pub told: u64,
}

/// Records after the requested position have been removed from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("An event newer than {0} has already been pruned!")]
pub struct PrunedError(pub EventId);

/// An event queue: its owner, filter and position in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQueue {
    /// Its name, not to be guessed.
    pub id: String,
    /// Its owner.
    pub user_id: UserId,
    /// What it wants.
    pub filter: QueueFilter,
    /// The last event before its registration; it has only what came later, whatever a client says it has.
    pub begins_after: EventId,
    /// When its client was last heard of, in unix seconds, as far as was written down.
    pub seen_s: i64,
    /// Seconds without its client after which it goes.
    pub idle_limit_s: i64,
}

/// The store of event queues. A queue is a row: it costs no memory, and any node serves it.
#[async_trait]
pub trait QueueStore: Send + Sync {
    /// Makes a queue.
    async fn register(&self, queue: EventQueue) -> Result<(), StoreError>;

    /// Returns the queue of that name, whoever owns it. Costs no I/O for a queue that was asked for in the last
    /// minutes. A queue that another node deleted is found for as long as that takes to be told: a moment, and at most
    /// the second that a lost connection takes to come back.
    async fn find(&self, id: &str) -> Result<Option<Arc<EventQueue>>, StoreError>;

    /// Notes that the client is there. Written down now and then, as often as the time after which the queue goes
    /// asks for: what a client gets follows from the event it says it has, so a note that is lost loses no event and
    /// repeats none.
    fn note(&self, queue: &EventQueue, seen_s: i64);

    /// Deletes the user's queue of that name. Says whether there was one.
    async fn delete(&self, id: &str, user_id: UserId) -> Result<bool, StoreError>;

    /// Deletes queues whose client was not heard of for too long. Returns how many.
    async fn expire(&self, now_s: i64) -> Result<u64, StoreError>;
}

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
    /// Where they were looked for; [`crate::narrow::NEWEST`] for "after the last".
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
    /// [`EventLog::head`] before the copies were read; refused when one of the messages was edited or moved after it.
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

/// Whether a flag is set or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlagOp {
    /// Set.
    Add,
    /// Taken away.
    Remove,
}

impl FlagOp {
    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
        }
    }
}

/// One earlier state of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditHistoryEntry {
    /// When it ended, in unix seconds.
    pub at_s: i64,
    /// Who ended it; `None` for the server.
    pub user_id: Option<UserId>,
    /// The text and its HTML before, when that changed.
    pub content: Option<(String, String)>,
    /// The channel before and after, when that changed.
    pub channel: Option<(ChannelId, ChannelId)>,
    /// The topic before and after, when that changed.
    pub topic: Option<(String, String)>,
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

/// The store of users' last activity. In memory: no method does I/O, and [`PresenceStore::note`] takes no memory of a
/// user who was there before.
///
/// What was noted is written down in the background, about once a second for all together, and other nodes read it
/// then. A node that is killed loses the signs of life of that second; the next ones, a minute later, bring them back.
pub trait PresenceStore: Send + Sync {
    /// Notes a user's sign of life. What it changes is [`Presence::after`].
    fn note(&self, user_id: UserId, status: PresenceStatus, now_s: i64);

    /// When a user was there; `None` when nothing was ever heard of them.
    fn of(&self, user_id: UserId) -> Option<Presence>;

    /// Returns who is known, in the order of their numbers: with a batch above 0 those alone who were written down
    /// after it or are not yet.
    fn since(&self, batch: i64) -> KnownPresences;
}

/// The presences that changed since a client's last request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPresences {
    /// Each user once.
    pub presences: Vec<(UserId, Presence)>,
    /// The last batch that is in them; 0 before the first. Batches are numbered in the order of their commits, on all
    /// nodes alike.
    pub last: i64,
}
