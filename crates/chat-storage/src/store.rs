//! The store of a node: the database, what the node keeps of it in memory, and the tasks that keep that current.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use chat_core::StoreError;
use chat_core::event_log::event::LogRecord;
use secrecy::SecretString;
use task_set::{TaskSet, UnexpectedTaskEnd};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::append::{QueuedMessage, append_all};
use crate::coalesce::Coalescer;
use crate::db::ChatDatabase;
use crate::encryption::SecretCipher;
use crate::engine::run;
use crate::fault::StoredSecretsError;
use crate::log::LogGap;
use crate::memory::Memory;
use crate::memory::freshness::LEASE;
use crate::presence::{self, PresenceCache};
use crate::text_matching::TextMatching;
use crate::typing::{self, TypingBroadcast};
use crate::{data_key, log, log_follower, queue, realm, word_index};

/// Most messages that wait to be written; further ones wait to be let in.
const WAITING_MAX: usize = 2_048;
const NOTIFY_GONE: &str = "SELECT pg_notify('chat_queue_gone', $1)";
/// More queues than these that are gone at once are not told one by one.
const GONE_TOLD_MAX: usize = 20;

/// The chat's storage on one node: the database, the caches in memory and the background tasks. A clone is another
/// handle to the same storage and cheap.
///
/// It implements every port of [`chat_core::event_log::store`]. [`ChatStore::flush_and_close`] ends its tasks after the
/// waiting writes are done; when it is dropped without that, they end at once and the waiting writes fail.
#[derive(Clone)]
pub struct ChatStore {
    pub(crate) shared: Arc<Shared>,
    tasks: Arc<Mutex<Option<Tasks>>>,
}

/// What the tasks of a store and its methods share.
pub(crate) struct Shared {
    pub(crate) db: ChatDatabase,
    pub(crate) cipher: SecretCipher,
    /// What this node keeps of the database.
    pub(crate) memory: Memory,
    /// Where texts are compared with what is searched for.
    pub(crate) matching: TextMatching,
    /// What queues confirmed and is not written down yet: the event, and when in unix seconds.
    pub(crate) notes: Mutex<HashMap<String, i64>>,
    pub(crate) presences: PresenceCache,
    /// Tells other nodes who is typing.
    pub(crate) spread: TypingBroadcast,
    pub(crate) queue: mpsc::Sender<QueuedMessage>,
    /// Only one of this node writes to the log at a time: the others would wait for its head in the database and
    /// hold a connection each.
    pub(crate) writing: Arc<tokio::sync::Mutex<()>>,
    /// Only one at a time brings the memory forward.
    advancing: Arc<tokio::sync::Mutex<()>>,
    /// Whether other nodes have moved the head of the log.
    hearing: Coalescer,
    /// The log has grown by this node's doing.
    pub(crate) grown: Notify,
    /// Letters were written down by this node.
    pub(crate) mail_written: Notify,
    /// The index of words has the properties of every message, see [`word_index::IndexedProperty`].
    pub(crate) properties_indexed: AtomicBool,
}

struct Tasks {
    stop: oneshot::Sender<()>,
    appending: TaskSet,
    following: TaskSet,
}

impl ChatStore {
    /// Starts a node whose operator has set no key-encryption secret: see [`ChatStore::start_with_secret`].
    ///
    /// # Errors
    /// As [`ChatStore::start_with_secret`].
    pub async fn start_without_secret(db: ChatDatabase) -> Result<Self, StoredSecretsError> {
        Self::start_with_secret(db, None).await
    }

    /// Loads the realm and starts the background tasks of a node on the current runtime. API keys, links and letters
    /// are encrypted under a key in the database. That key is encrypted under `secret`, or stored in clear without one;
    /// a database that was started with a secret needs it from then on.
    ///
    /// # Errors
    /// [`StoredSecretsError`] when the secret is missing or wrong, or the realm cannot be read.
    pub async fn start_with_secret(
        db: ChatDatabase,
        secret: Option<&SecretString>,
    ) -> Result<Self, StoredSecretsError> {
        let cipher = data_key::open(&db, secret).await?;
        let realm = realm::load(&db, cipher.hasher()).await?;
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let (stop, stopped) = oneshot::channel();
        let (spread, typed) = TypingBroadcast::new(db.postgres().is_some());
        let shared = Arc::new(Shared {
            memory: Memory::new(realm),
            matching: TextMatching::default(),
            db,
            cipher,
            notes: Mutex::default(),
            presences: PresenceCache::default(),
            spread,
            queue,
            writing: Arc::default(),
            advancing: Arc::default(),
            hearing: Coalescer::default(),
            grown: Notify::new(),
            mail_written: Notify::new(),
            properties_indexed: AtomicBool::new(false),
        });
        presence::read(&shared).await?;
        shared.properties_indexed.store(!word_index::has_backlog(&shared).await?, Ordering::Release);
        let mut appending = TaskSet::default();
        appending.spawn_until_stopped("write messages", append_all(Arc::clone(&shared), waiting, stopped));
        let mut following = TaskSet::default();
        following.spawn_until_stopped("look at the log", log_follower::look(Arc::clone(&shared)));
        following.spawn_finite("index older messages", word_index::take_up(Arc::clone(&shared)));
        if shared.db.postgres().is_some() {
            following.spawn_until_stopped("watch the database", shared.db.clone().watch());
            following.spawn_until_stopped("spread who is typing", typing::spread(shared.db.clone(), typed));
            following.spawn_until_stopped("listen to other nodes", log_follower::listen(Arc::clone(&shared)));
            following.spawn_until_stopped("notify other nodes", log_follower::tell(Arc::clone(&shared)));
            following.spawn_until_stopped("confirm the head of the log", log_follower::confirm(Arc::clone(&shared)));
        }
        let tasks = Tasks { stop, appending, following };
        Ok(Self { shared, tasks: Arc::new(Mutex::new(Some(tasks))) })
    }

    /// Does the waiting writes, accepts no more, and closes the database. Further calls do nothing.
    pub async fn flush_and_close(&self) {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Tasks { stop, mut appending, mut following }) = tasks else { return };
        // The task may have ended by itself.
        let _ = stop.send(());
        appending.join_all().await;
        following.abort_and_join_all().await;
        if let Err(error) = queue::write_notes(&self.shared).await {
            tracing::warn!(%error, "what queues confirmed was not written down");
        }
        if let Err(error) = self.sync_presences().await {
            tracing::warn!(%error, "who was there was not written down");
        }
        self.shared.db.close().await;
    }

    /// Writes the presences that this node noted, reports the users who are back, and reads the presences that other
    /// nodes wrote. The store does this every second without being called.
    ///
    /// # Errors
    /// When the database fails; what was not written is written the next time.
    pub async fn sync_presences(&self) -> Result<(), StoreError> {
        presence::settle(&self.shared).await
    }

    /// Waits until a task of the store has ended that should run until [`ChatStore::flush_and_close`], and returns
    /// which: without it, messages are not written or other nodes are not heard. Never returns after
    /// [`ChatStore::flush_and_close`].
    pub async fn wait_for_task_end(&self) -> UnexpectedTaskEnd {
        poll_fn(|context| self.poll_ended(context)).await
    }

    fn poll_ended(&self, context: &mut Context<'_>) -> Poll<UnexpectedTaskEnd> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Tasks { appending, following, .. }) = tasks.as_mut() else { return Poll::Pending };
        match appending.poll_unexpected_end(context) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending => following.poll_unexpected_end(context),
        }
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// When it does not, after ten seconds at most.
    pub async fn ping(&self) -> Result<(), sqlx::Error> {
        self.shared.db.ping().await
    }

    /// Checks that the database is writable: writes one row and commits it.
    ///
    /// # Errors
    /// When it does not.
    pub async fn check_writable(&self) -> Result<(), sqlx::Error> {
        self.shared.db.check_writable().await
    }

    /// Returns by how many seconds a clock that shows `now_s` is ahead of the database server's clock; 0 on SQLite,
    /// where both are one.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn clock_ahead_of_database_s(&self, now_s: i64) -> Result<i64, StoreError> {
        Ok(self.shared.db.now_s().await?.map_or(0, |database_s| now_s.saturating_sub(database_s)))
    }

    /// Suspends reading what other nodes write until the returned guard is dropped, as on a suspended node. For tests
    /// of several nodes.
    #[doc(hidden)]
    pub async fn suspend_log_following(&self) -> impl Drop + use<> {
        Arc::clone(&self.shared.advancing).lock_owned().await
    }
}

impl Shared {
    /// Takes into memory what this node has just committed, and before it what others have.
    ///
    /// What is committed is committed: when the log cannot be read now, it is read when the node looks again.
    pub(crate) async fn publish(&self, records: Vec<Arc<LogRecord>>) {
        let advancing = self.advancing.lock().await;
        let Some(first) = records.first() else { return };
        if first.id.0 > self.memory.recent_log.head().0 + 1 {
            // Reads these records too.
            if let Err(error) = self.read_up().await {
                tracing::warn!(%error, "the log could not be read; it will be when the node looks again");
            }
        } else {
            self.memory.apply(records);
        }
        drop(advancing);
        self.grown.notify_one();
    }

    /// Takes into memory what was committed since.
    pub(crate) async fn catch_up(&self) -> Result<(), StoreError> {
        let _advancing = self.advancing.lock().await;
        self.read_up().await
    }

    /// Takes into memory what other nodes have committed until now. SQLite has one node.
    ///
    /// The head of the log is asked for once for all who want it at the same time.
    pub(crate) async fn hear_all(&self) -> Result<(), StoreError> {
        if self.db.postgres().is_none() {
            return Ok(());
        }
        self.refresh().await
    }

    /// Takes into memory what was committed until now by whatever process. Costs one statement for all who ask at the
    /// same time.
    pub(crate) async fn refresh(&self) -> Result<(), StoreError> {
        self.hearing.ask(self.look_at_head()).await
    }

    async fn look_at_head(&self) -> Result<(), StoreError> {
        let asked_at = Instant::now();
        if log::head(&self.db).await? > self.memory.recent_log.head() {
            self.catch_up().await?;
        }
        self.memory.freshness.note(asked_at);
        Ok(())
    }

    /// Returns whether everything is in memory that was committed longer than [`LEASE`] ago. SQLite has one node.
    pub(crate) fn is_current(&self) -> bool {
        self.db.postgres().is_none() || self.memory.freshness.is_current()
    }

    /// Waits until no node uses a realm that is older than this moment.
    pub(crate) async fn known_everywhere(&self) {
        if self.db.postgres().is_some() {
            tokio::time::sleep(LEASE).await;
        }
    }

    /// Forgets queues that this node has deleted, and tells the other nodes to.
    pub(crate) async fn tell_gone(&self, ids: &[String]) {
        for id in ids {
            self.memory.queues.forget(id);
        }
        if self.db.postgres().is_none() {
            return;
        }
        let all = [String::new()];
        for id in if ids.len() > GONE_TOLD_MAX { &all } else { ids } {
            if let Err(error) = run!(self.db.writer(), execute: sqlx::query(NOTIFY_GONE).bind(id)) {
                tracing::warn!(%error, "other nodes were not told of a queue that is gone; they will keep it a while");
            }
        }
    }

    async fn read_up(&self) -> Result<(), StoreError> {
        loop {
            let asked_at = Instant::now();
            let records = match log::read(&self.db, self.memory.recent_log.head(), log::CHUNK).await? {
                Ok(records) => records,
                Err(gap) => {
                    self.start_over(gap).await?;
                    continue;
                }
            };
            let more = records.len() == log::CHUNK;
            self.memory.apply(records);
            if !more {
                self.memory.freshness.note(asked_at);
                return Ok(());
            }
        }
    }

    /// Begins again, because a part of the log is gone that this node has not read.
    async fn start_over(&self, gap: LogGap) -> Result<(), StoreError> {
        let realm = realm::load(&self.db, self.cipher.hasher()).await?;
        let (after, gone_to, head) = (gap.after.0, gap.gone_to.0, realm.log_position().0);
        tracing::warn!(after, gone_to, head, "log pruned past this node: the organization was read again");
        self.memory.reset(realm);
        Ok(())
    }
}
