//! The tasks by which a node hears of what others wrote, and notifies them what it wrote.

use std::sync::Arc;
use std::time::Duration;

use chat_core::StoreError;
use sqlx::postgres::{PgListener, PgNotification};
use tokio::time::{MissedTickBehavior, timeout};

use crate::engine::run;
use crate::fault::failed;
use crate::store::Shared;
use crate::{log, presence, queue, typing};

/// How often a node looks whether the log has grown without a notification, and writes down what queues confirmed and
/// who was there.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often a node makes sure that it has heard of everything. Several times in a lease
/// ([`crate::memory::freshness::LEASE`]), so that requests need not.
const CONFIRM_EVERY: Duration = Duration::from_millis(150);
/// How long a node waits before it listens again, after the connection was lost.
const LISTEN_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// A connection that has brought nothing for so long is asked whether it is still there: one that broke without a
/// word brings nothing either.
const CHECK_LISTENING_AFTER: Duration = Duration::from_secs(5);
/// How long it has to answer.
const LISTENING_ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// The channel on which Postgres notifies nodes that the log has grown.
const NOTIFICATION: &str = "chat_log";
/// Nothing of it has to last, so its commit does not wait for the disk.
const NOTIFY: &str = "SELECT set_config('synchronous_commit', 'off', TRUE), pg_notify('chat_log', $1)";
/// The channel on which Postgres notifies nodes that a queue is gone; without a name, that many are.
const QUEUE_GONE: &str = "chat_queue_gone";

/// Looks now and then whether the log has grown, whatever notifications came.
pub(crate) async fn look(shared: Arc<Shared>) {
    let mut every = tokio::time::interval(LOOK_EVERY);
    loop {
        every.tick().await;
        let looked = async {
            if log::head(&shared.db).await? > shared.memory.recent_log.head() {
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

/// Makes sure, several times in a lease, that the node has heard of everything.
pub(crate) async fn confirm(shared: Arc<Shared>) {
    let mut every = tokio::time::interval(CONFIRM_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        if let Err(error) = shared.refresh().await {
            tracing::debug!(%error, "the head of the log could not be read");
        }
    }
}

/// Hears from other nodes that the log has grown.
pub(crate) async fn listen(shared: Arc<Shared>) {
    loop {
        match hear_on(&shared).await {
            Ok(()) => tracing::warn!("other nodes were not heard for a moment: the connection for it was lost"),
            Err(error) => {
                tracing::warn!(%error, "other nodes cannot be heard");
                tokio::time::sleep(LISTEN_AGAIN_AFTER).await;
            }
        }
        // Queues that other nodes delete from here on are not heard of until the node listens again.
        shared.memory.queues.reset();
    }
}

/// Listens on one connection until that is lost.
async fn hear_on(shared: &Shared) -> Result<(), StoreError> {
    let Some(postgres) = shared.db.postgres() else { return Ok(()) };
    let pool = postgres.all();
    let mut listener = postgres.outage().bound(PgListener::connect_with(&pool)).await.map_err(failed)?;
    // The caller listens again, and has to forget first what it may have missed.
    listener.eager_reconnect(false);
    let channels = [NOTIFICATION, QUEUE_GONE, typing::NOTIFICATION];
    postgres.outage().bound(listener.listen_all(channels)).await.map_err(failed)?;
    // What happened while nobody listened is not known.
    shared.memory.queues.reset();
    loop {
        shared.catch_up().await?;
        loop {
            match next(&mut listener).await.map_err(failed)? {
                None => return Ok(()),
                Some(notification) if hear(shared, &notification) => break,
                Some(_) => {}
            }
        }
    }
}

/// Returns the next notification; `None` when the connection is lost.
async fn next(listener: &mut PgListener) -> Result<Option<PgNotification>, sqlx::Error> {
    loop {
        if let Ok(received) = timeout(CHECK_LISTENING_AFTER, listener.try_recv()).await {
            return received;
        }
        let asked = sqlx::query("SELECT 1").execute(&mut *listener);
        let Ok(answered) = timeout(LISTENING_ANSWERS_WITHIN, asked).await else { return Ok(None) };
        answered?;
    }
}

/// Takes in what another node tells. Says whether the log has to be read.
fn hear(shared: &Shared, notification: &PgNotification) -> bool {
    match (notification.channel(), notification.payload()) {
        (QUEUE_GONE, "") => shared.memory.queues.reset(),
        (QUEUE_GONE, id) => shared.memory.queues.forget(id),
        (typing::NOTIFICATION, payload) => typing::hear(shared, payload),
        // What this node has told itself is in memory already. A place that cannot be read is taken seriously.
        (_, place) => return place.parse().unwrap_or(i64::MAX) > shared.memory.recent_log.head().0,
    }
    false
}

/// Tells other nodes that the log has grown: once for all that was committed while it told the last time, and never
/// inside a transaction, where it would take a lock on the whole instance.
pub(crate) async fn tell(shared: Arc<Shared>) {
    loop {
        shared.grown.notified().await;
        let head = shared.memory.recent_log.head().to_string();
        if let Err(error) = run!(shared.db.writer(), execute: sqlx::query(NOTIFY).bind(head.clone())) {
            tracing::warn!(%error, "other nodes were not told; they will look for themselves");
        }
    }
}
