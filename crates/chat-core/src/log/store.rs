//! The stores of the realm, of its log and of event queues. One method is one transaction.

use std::sync::Arc;

use async_trait::async_trait;

use crate::StoreError;
use crate::id::{EventId, UserId};
use crate::log::commit::{CommitOutcome, RealmCommit};
use crate::log::event::{EventRecord, QueueFilter};
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::{ApiKey, PasswordHash};

/// The store of the realm's state.
#[async_trait]
pub trait RealmStore: Send + Sync {
    /// Returns the realm as this node knows it: at least everything that this node's own methods returned. Costs no
    /// I/O.
    fn realm(&self) -> Arc<RealmSnapshot>;

    /// Makes changes and events true together. Returns when they are durable and, unless the database failed right
    /// after, in [`RealmStore::realm`]; when the realm changed after the decision, returns with the newer realm in
    /// memory and nothing written.
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
    /// [`QueueFilter::receives_public`] of the queue.
    pub receives_public: bool,
    /// [`TypingOutcome::until`](crate::people::typing::TypingOutcome::until) as the queue was given it last: what is
    /// told of typing after it wakes, too.
    pub typing_seen: u64,
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
