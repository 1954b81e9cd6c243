//! The stores of the realm, of its log and of event queues. One method is one transaction.

use std::sync::Arc;

use async_trait::async_trait;

use crate::StoreError;
use crate::event_log::event::{LogRecord, QueueFilter};
use crate::event_log::realm_commit::{CommitOutcome, RealmCommit};
use crate::id::{EventId, UserId};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::{ApiKey, PasswordHash};

/// The store of the realm's state.
#[async_trait]
pub trait RealmStore: Send + Sync {
    /// Returns this node's snapshot of the realm: at least everything that the node's own methods returned. Does no
    /// I/O. Costs no I/O.
    fn snapshot(&self) -> Arc<RealmSnapshot>;

    /// Commits changes and events together; returns when they are durable and, unless the database failed right after,
    /// in [`RealmStore::snapshot`]. When the realm changed after the decision, the newer realm is in memory and
    /// nothing is written.
    async fn commit(&self, commit: RealmCommit) -> Result<CommitOutcome, StoreError>;

    /// Loads a user's credentials.
    async fn load_credentials(&self, user_id: UserId) -> Result<Option<Credentials>, StoreError>;

    /// Returns whether this node's snapshot holds everything that any node committed up to half a second ago; if not,
    /// it may admit someone shut out elsewhere. Does no I/O. Costs no I/O.
    fn is_realm_current(&self) -> bool;

    /// Brings this node's snapshot up to the newest commit. One statement serves all concurrent callers. Costs one
    /// statement for all who ask at once.
    async fn refresh_realm(&self) -> Result<(), StoreError>;

    /// Waits until no node that heeds [`RealmStore::is_realm_current`] uses a realm snapshot older than this call.
    async fn wait_for_all_nodes(&self);
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
    /// Returns the id of the last record that this node knows. Does no I/O. Costs no I/O.
    fn last_event_id(&self) -> EventId;

    /// Returns the records after an event id, in order, at most `limit`; from memory when it reaches back that far.
    ///
    /// Never a record that [`RealmStore::snapshot`] does not hold yet. A queue goes on after the last record it
    /// looked at, whether it wanted it or not.
    ///
    /// `Err(PrunedRecordsError)` inside when records after that place are gone.
    async fn records_after(
        &self,
        after: EventId,
        limit: usize,
    ) -> Result<Result<Vec<Arc<LogRecord>>, PrunedRecordsError>, StoreError>;

    /// Waits for a record after that event id which may concern the listener's user; returns at once when there is one.
    /// Waiting costs nothing, and dropping the future ends it.
    async fn wait_for_record(&self, listener: LogWaiter, after: EventId);

    /// Deletes records older than that time in unix seconds, and returns how many.
    async fn prune_records(&self, older_than_s: i64) -> Result<u64, StoreError>;
}

/// A waiter for new records of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogWaiter {
    /// The user.
    pub user_id: UserId,
    /// [`QueueFilter::receives_all_public_channels`] of the queue.
    pub receives_public: bool,
    /// [`PendingTypingNotifications::until`](crate::people::typing_notifications::PendingTypingNotifications::until) as
    /// the queue was given it last: what is told of typing after it wakes, too.
    pub typing_seen: u64,
}

/// Records after the requested position have been removed from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("An event newer than {0} has already been pruned!")]
pub struct PrunedRecordsError(pub EventId);

/// An event queue: its id, owner, filter and position in the log.
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
pub trait EventQueueStore: Send + Sync {
    /// Registers a queue.
    async fn register_queue(&self, queue: EventQueue) -> Result<(), StoreError>;

    /// Returns the queue of that id, of any owner, without I/O if it was requested in the last minutes. A queue
    /// deleted on another node is still found for a moment, at most the second that a lost connection takes to return.
    async fn find_queue(&self, id: &str) -> Result<Option<Arc<EventQueue>>, StoreError>;

    /// Notes that the client of the queue is active; stored only as often as the idle timeout of the queue needs. A
    /// lost note loses or repeats no event, because clients name the last event they have. Written down now and then,
    /// as often as the time after which the queue goes asks for: what a client gets follows from the event it says it
    /// has, so a note that is lost loses no event and repeats none.
    fn note_client_seen(&self, queue: &EventQueue, seen_s: i64);

    /// Deletes the user's queue of that id, and returns whether it existed. Says whether there was one.
    async fn delete_queue(&self, id: &str, user_id: UserId) -> Result<bool, StoreError>;

    /// Deletes queues whose clients were inactive for too long, and returns how many.
    async fn delete_expired_queues(&self, now_s: i64) -> Result<u64, StoreError>;
}
