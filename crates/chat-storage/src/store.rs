//! The store of a node: the database, what the node keeps of it in memory, and the tasks that keep that current.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use chat_core::event::EventRecord;
use chat_core::ports::StoreError;
use chat_core::snapshot::RealmSnapshot;
use sqlx::postgres::{PgListener, PgNotification};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::append::{Waiting, append_all};
use crate::begun::Begun;
use crate::db::Db;
use crate::fault::failed;
use crate::known::Known;
use crate::lately::Lately;
use crate::matching::Matching;
use crate::newest::Newest;
use crate::presence::{self, Presences};
use crate::recent::Recent;
use crate::round::Rounds;
use crate::tail::Tail;
use crate::typing::{self, Spread};
use crate::{log, queue, realm, words};

/// Most messages that wait to be written; further ones wait to be let in.
const WAITING_MAX: usize = 2_048;
/// How often a node looks whether the log has grown without its being told, and writes down what queues confirmed and
/// who was there.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a node waits before it asks again to be told, after the connection was lost.
const LISTEN_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The name under which Postgres tells nodes that the log has grown.
const NOTIFICATION: &str = "chat_log";
/// Nothing of it has to last, so its commit does not wait for the disk.
const NOTIFY: &str = "SELECT set_config('synchronous_commit', 'off', TRUE), pg_notify('chat_log', $1)";
/// The name under which Postgres tells nodes that a queue is gone; without a name, that many are.
const QUEUE_GONE: &str = "chat_queue_gone";
const NOTIFY_GONE: &str = "SELECT pg_notify('chat_queue_gone', $1)";
/// More queues than these that are gone at once are not told one by one.
const GONE_TOLD_MAX: usize = 20;

/// The chat's database as a node uses it. Cloning it is cheap and gives another handle on the same one.
///
/// It implements every port of [`chat_core::ports`]. [`Store::stop`] ends its tasks after what waits was written;
/// dropped without that, they end at once and what waits fails.
#[derive(Clone)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
    tasks: Arc<Mutex<Option<Tasks>>>,
}

/// What the tasks of a store and its methods share.
pub(crate) struct Shared {
    pub(crate) db: Db,
    pub(crate) realm: ArcSwap<RealmSnapshot>,
    pub(crate) tail: Tail,
    pub(crate) known: Known,
    pub(crate) recent: Recent,
    pub(crate) newest: Newest,
    /// What users were seen to have read.
    pub(crate) lately: Lately,
    pub(crate) begun: Begun,
    /// Where texts are compared with what is searched for.
    pub(crate) matching: Matching,
    /// What queues confirmed and is not written down yet: the event, and when in unix seconds.
    pub(crate) notes: Mutex<HashMap<String, i64>>,
    pub(crate) presences: Presences,
    /// Tells other nodes who is typing.
    pub(crate) spread: Spread,
    pub(crate) queue: mpsc::Sender<Waiting>,
    /// Only one of this node writes to the log at a time: the others would wait for its head in the database and
    /// hold a connection each.
    pub(crate) writing: Arc<tokio::sync::Mutex<()>>,
    /// Only one at a time brings the memory forward.
    advancing: tokio::sync::Mutex<()>,
    /// Whether other nodes have moved the head of the log.
    hearing: Rounds,
    /// The log has grown by this node's doing.
    grown: Notify,
    /// Letters were written down by this node.
    pub(crate) mail_written: Notify,
    /// The index of words has the properties of every message, see [`words::Property`].
    pub(crate) properties_indexed: AtomicBool,
}

struct Tasks {
    stop: oneshot::Sender<()>,
    appending: JoinSet<()>,
    following: JoinSet<()>,
}

impl Store {
    /// Reads the realm and starts the tasks of a node on the current runtime.
    ///
    /// # Errors
    /// When the realm cannot be read.
    pub async fn start(db: Db) -> Result<Self, StoreError> {
        let realm = realm::load(&db).await?;
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let (stop, stopped) = oneshot::channel();
        let (spread, typed) = Spread::new(db.postgres().is_some());
        let shared = Arc::new(Shared {
            tail: Tail::from(realm.at()),
            known: Known::new(),
            recent: Recent::default(),
            newest: Newest::default(),
            lately: Lately::default(),
            begun: Begun::default(),
            matching: Matching::default(),
            realm: ArcSwap::from_pointee(realm),
            db,
            notes: Mutex::default(),
            presences: Presences::default(),
            spread,
            queue,
            writing: Arc::default(),
            advancing: tokio::sync::Mutex::default(),
            hearing: Rounds::default(),
            grown: Notify::new(),
            mail_written: Notify::new(),
            properties_indexed: AtomicBool::new(false),
        });
        presence::read(&shared).await?;
        shared.properties_indexed.store(!words::has_backlog(&shared).await?, Ordering::Release);
        let mut appending = JoinSet::new();
        appending.spawn(append_all(Arc::clone(&shared), waiting, stopped));
        let mut following = JoinSet::new();
        following.spawn(look(Arc::clone(&shared)));
        following.spawn(words::take_up(Arc::clone(&shared)));
        if let Some(pool) = shared.db.postgres() {
            following.spawn(typing::spread(pool.clone(), typed));
            following.spawn(listen(Arc::clone(&shared)));
            following.spawn(tell(Arc::clone(&shared)));
        }
        let tasks = Tasks { stop, appending, following };
        Ok(Self { shared, tasks: Arc::new(Mutex::new(Some(tasks))) })
    }

    /// Writes what waits, takes nothing more, and closes the database. Once is enough; again does nothing.
    pub async fn stop(&self) {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Tasks { stop, mut appending, mut following }) = tasks else { return };
        // The task may have ended by itself; then there is nobody to tell.
        let _ = stop.send(());
        while let Some(ended) = appending.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "the task that writes messages failed");
            }
        }
        following.shutdown().await;
        if let Err(error) = queue::write_notes(&self.shared).await {
            tracing::warn!(%error, "what queues confirmed was not written down");
        }
        if let Err(error) = self.settle_presences().await {
            tracing::warn!(%error, "who was there was not written down");
        }
        self.shared.db.close().await;
    }

    /// Writes down who was there, tells of those who are back, and reads what other nodes wrote. The store does it by
    /// itself every second; whoever calls it need not wait for that.
    ///
    /// # Errors
    /// When the database failed; what was not written is written the next time.
    pub async fn settle_presences(&self) -> Result<(), StoreError> {
        presence::settle(&self.shared).await
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// When it does not, after ten seconds at most.
    pub async fn ping(&self) -> Result<(), sqlx::Error> {
        self.shared.db.ping().await
    }
}

impl Shared {
    /// Takes into memory what this node has just committed, and before it what others have.
    ///
    /// What is committed is committed: when the log cannot be read now, it is read when the node looks again.
    pub(crate) async fn publish(&self, records: Vec<Arc<EventRecord>>) {
        let advancing = self.advancing.lock().await;
        let Some(first) = records.first() else { return };
        if first.id.0 > self.tail.head().0 + 1 {
            // Reads these records too.
            if let Err(error) = self.read_up().await {
                tracing::warn!(%error, "the log could not be read; it will be when the node looks again");
            }
        } else {
            self.take(records);
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
        let asked = async {
            if log::head(&self.db).await? > self.tail.head() {
                self.catch_up().await?;
            }
            Ok(())
        };
        self.hearing.ask(asked).await
    }

    /// Forgets queues that this node has deleted, and tells the other nodes to.
    pub(crate) async fn tell_gone(&self, ids: &[String]) {
        for id in ids {
            self.known.forget(id);
        }
        let Some(pool) = self.db.postgres() else { return };
        let all = [String::new()];
        for id in if ids.len() > GONE_TOLD_MAX { &all } else { ids } {
            if let Err(error) = sqlx::query(NOTIFY_GONE).bind(id).execute(pool).await {
                tracing::warn!(%error, "other nodes were not told of a queue that is gone; they will keep it a while");
            }
        }
    }

    /// Takes in what another node tells. Says whether the log has to be read.
    fn hear(&self, told: &PgNotification) -> bool {
        match (told.channel(), told.payload()) {
            (QUEUE_GONE, "") => self.known.forget_all(),
            (QUEUE_GONE, id) => self.known.forget(id),
            (typing::NOTIFICATION, told) => typing::hear(self, told),
            // What this node has told itself is in memory already. A place that cannot be read is taken seriously.
            (_, place) => return place.parse().unwrap_or(i64::MAX) > self.tail.head().0,
        }
        false
    }

    async fn read_up(&self) -> Result<(), StoreError> {
        loop {
            let records = log::read(&self.db, self.tail.head(), log::CHUNK).await?;
            let more = records.len() == log::CHUNK;
            self.take(records);
            if !more {
                return Ok(());
            }
        }
    }

    fn take(&self, records: Vec<Arc<EventRecord>>) {
        let head = self.tail.head();
        for record in records.into_iter().filter(|record| record.id > head) {
            // First the realm, so that whoever is woken sees what the record changed.
            let realm = Arc::new(self.realm.load().with(&record));
            self.realm.store(Arc::clone(&realm));
            self.recent.take(&record);
            self.newest.take(&record);
            self.begun.take(&record);
            self.lately.note(&record);
            self.tail.push(record, &realm);
        }
    }
}

/// Looks now and then whether the log has grown, whoever was to tell.
async fn look(shared: Arc<Shared>) {
    let mut every = tokio::time::interval(LOOK_EVERY);
    loop {
        every.tick().await;
        let looked = async {
            if log::head(&shared.db).await? > shared.tail.head() {
                shared.catch_up().await?;
            }
            queue::write_notes(&shared).await
        };
        if let Err(error) = looked.await {
            tracing::warn!(%error, "the log could not be read");
        }
        if let Err(error) = presence::settle(&shared).await {
            tracing::warn!(%error, "who was there could not be written down; it will be when the node looks again");
        }
    }
}

/// Hears from other nodes that the log has grown.
async fn listen(shared: Arc<Shared>) {
    let Some(pool) = shared.db.postgres() else { return };
    loop {
        let heard = async {
            let mut listener = PgListener::connect_with(pool).await.map_err(failed)?;
            listener.listen_all([NOTIFICATION, QUEUE_GONE, typing::NOTIFICATION]).await.map_err(failed)?;
            // What was told while nobody listened is not known.
            shared.known.forget_all();
            loop {
                shared.catch_up().await?;
                while !shared.hear(&listener.recv().await.map_err(failed)?) {}
            }
        };
        let ended: Result<(), StoreError> = heard.await;
        if let Err(error) = ended {
            tracing::warn!(%error, "other nodes cannot be heard");
        }
        tokio::time::sleep(LISTEN_AGAIN_AFTER).await;
    }
}

/// Tells other nodes that the log has grown: once for all that was committed while it told the last time, and never
/// inside a transaction, where it would take a lock on the whole instance.
async fn tell(shared: Arc<Shared>) {
    let Some(pool) = shared.db.postgres() else { return };
    loop {
        shared.grown.notified().await;
        let head = shared.tail.head().to_string();
        if let Err(error) = sqlx::query(NOTIFY).bind(head).execute(pool).await {
            tracing::warn!(%error, "other nodes were not told; they will look for themselves");
        }
    }
}
