//! Everything that a node keeps of the database in memory.
//!
//! A node answers most requests from here. Each cache has the same two verbs: `apply` takes in the next record of the
//! log, and `reset` drops everything when a part of the log is gone that this node has not read.
//!
//! **Invariant**: [`Memory::apply`] is called with the records of the log in their order and without a hole. What a
//! cache does not understand it drops, so an event of a later version costs time and not truth.
//!
//! | Cache | Holds | Valid until | Bound | Saves |
//! |---|---|---|---|---|
//! | [`RealmCache`] | users, keys, channels, memberships, groups, settings | the next record | the realm | every statement of a permission check |
//! | [`RecentLog`] | the end of the log, as events serialized once | older records leave | 4,096 records, 16 MiB | a statement for each poll, the text for each receiver |
//! | [`QueueCache`] | event queues and their filters | a node deletes the queue; 10 minutes | 32 MiB | the lookup of a poll: 1,000 of its 49,500 instructions are left |
//! | [`ChannelWindows`] | the newest messages of channels that are read, and what their readers have of them | one of the messages changes | 64 channels of 400 messages and 1 MiB, 16 MiB in all | the last 100 messages: 908 → 98 µs on SQLite, 1,480 → 218 on Postgres |
//! | [`MessageIndex`] | where the newest messages are: recipient, topic, sender, flags of the text | a changed message is marked, and read again before the next use | 65,536 messages of 64 bytes | ten pages of 500 walks for 50,000 unread messages; with the changes made beside it a start went from 724 to 26 ms on SQLite, from 484 to 36 on Postgres |
//! | [`ReadStateCache`] | what a user has read, by recipient | an event that may change it | 16 users of 256 KiB | reading 500 sets again (0.4 ms) for each flag, and for each result of a search |
//! | [`StartedTopics`] | conversations that have a message | messages are deleted or moved | 8,192 conversations | a statement for each message that follows a topic; not measured alone |
//!
//! The figures are those of `docs/performance-log.md`.
//!
//! **How stale a node may be.** The node that commits applies its records before it answers. Other nodes are notified,
//! and look at the head of the log three times in half a second ([`freshness::LEASE`]); a request that finds a node's
//! knowledge older than that asks for the head first. So a key that was revoked opens nothing half a second after the
//! commit, and reads that must follow what another node answered ([`crate::store::Shared::hear_all`]) ask always. A
//! queue that another node deleted may be found for the second that a lost connection takes to come back.
//!
//! Three memories do not follow the log and are not here: who was there (`presence.rs`, read by the number of its
//! batch), who is typing (`typing.rs`, lasts for seconds), and what queues confirmed (`queue.rs`, this node's own
//! notes).

pub(crate) mod channel_windows;
pub(crate) mod freshness;
pub(crate) mod message_index;
pub(crate) mod queue_cache;
pub(crate) mod read_state_cache;
pub(crate) mod realm_cache;
pub(crate) mod recent_log;
pub(crate) mod started_topics;

use std::sync::Arc;

use chat_core::event_log::event::LogRecord;
use chat_core::model::realm_snapshot::RealmSnapshot;

use channel_windows::ChannelWindows;
use freshness::Freshness;
use message_index::MessageIndex;
use queue_cache::QueueCache;
use read_state_cache::ReadStateCache;
use realm_cache::RealmCache;
use recent_log::RecentLog;
use started_topics::StartedTopics;

/// The caches of a node.
pub(crate) struct Memory {
    pub(crate) realm: RealmCache,
    pub(crate) recent_log: RecentLog,
    pub(crate) queues: QueueCache,
    pub(crate) channel_windows: ChannelWindows,
    pub(crate) message_index: MessageIndex,
    pub(crate) read_states: ReadStateCache,
    pub(crate) started_topics: StartedTopics,
    /// When this node last knew that it had heard of everything.
    pub(crate) freshness: Freshness,
}

impl Memory {
    /// Begins with a realm that was read from the database, and with nothing else.
    pub(crate) fn new(realm: RealmSnapshot) -> Self {
        Self {
            recent_log: RecentLog::from(realm.log_position()),
            realm: RealmCache::new(realm),
            queues: QueueCache::new(),
            channel_windows: ChannelWindows::default(),
            message_index: MessageIndex::default(),
            read_states: ReadStateCache::default(),
            started_topics: StartedTopics::default(),
            freshness: Freshness::default(),
        }
    }

    /// Takes in the records that follow what is in memory; those that are in it already change nothing.
    pub(crate) fn apply(&self, records: Vec<Arc<LogRecord>>) {
        let head = self.recent_log.head();
        for record in records.into_iter().filter(|record| record.id > head) {
            // First the realm, so that whoever is woken sees what the record changed.
            let realm = self.realm.apply(&record);
            self.channel_windows.apply(&record);
            self.message_index.apply(&record);
            self.started_topics.apply(&record);
            self.read_states.apply(&record);
            self.recent_log.apply(record, &realm);
        }
    }

    /// Begins again with a realm that was read from the database: everything that [`Memory::apply`] brings forward is
    /// replaced or dropped, queues too, and everyone who waits is woken.
    pub(crate) fn reset(&self, realm: RealmSnapshot) {
        let head = realm.log_position();
        self.realm.reset(realm);
        self.channel_windows.reset();
        self.message_index.reset();
        self.started_topics.reset();
        self.read_states.reset(head);
        self.queues.reset();
        self.recent_log.reset(head);
    }
}
