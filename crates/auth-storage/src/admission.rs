//! Admission of token requests, many in one statement.
//!
//! A token request touches the database once: its nonce is claimed and the current versions of its
//! Client and Organization are read. One task owns that statement. While it runs, requests gather,
//! and what has gathered is the next batch; so a lone request waits for nobody, and under load one
//! commit serves hundreds. A request is answered after the commit that holds its claim.
//!
//! Not taken: a statement per request, which costs Postgres six times the work per claim, and a
//! timer that waits for batches to fill, which delays the lone request.

use std::collections::{BTreeMap, HashSet};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use async_trait::async_trait;
use oauth_core::ports::{Admission, AdmissionStore, Admitted, Claim, StoreError};
use serde_json::{Value, json};
use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, Database, Pool, Postgres, Sqlite, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use crate::db::{BEGIN_SQLITE, Db};
use crate::dialect::hex;
use crate::engine::On;
use crate::fault::{self, retried};
use crate::replay::{self, WINDOW_S, Window};
use crate::tasks::{TaskEnded, TaskSet};

/// Most requests in one statement.
const BATCH_MAX: usize = 512;
/// Most requests that wait for a batch; further ones wait to be let in.
const WAITING_MAX: usize = 4 * BATCH_MAX;
/// Most batches in a row on one connection, so that whoever else waits for it has a turn.
const IN_A_ROW_MAX: u32 = 16;
/// How often a batch lets everybody else on the runtime have a turn before it is sent.
const TURNS: u32 = 2;

/// Versions alone, for requests without a nonce: [`Statements::admit`] without its inserts.
///
/// [`Statements::admit`]: crate::replay::Statements::admit
const VERSIONS_POSTGRES: &str = "SELECT asked.place - 1, FALSE, client.txid, organization.txid
FROM unnest($1::TEXT[], $2::TEXT[]) WITH ORDINALITY AS asked (client_id, organization_id, place)
LEFT JOIN client ON client.id = asked.client_id
LEFT JOIN organization ON organization.id = asked.organization_id";
/// The same on SQLite, where the ids come as `[[client, organization], …]`.
const VERSIONS_SQLITE: &str = "SELECT asked.key, FALSE, client.txid, organization.txid
FROM json_each($1) AS asked
LEFT JOIN client ON client.id = asked.value ->> 0
LEFT JOIN organization ON organization.id = asked.value ->> 1";

/// A row of the statements: place in the batch, whether the claim holds, the two versions.
type Row = (i64, bool, Option<i64>, Option<i64>);

/// A request that waits for admission.
struct Asked {
    admission: Admission,
    answer: oneshot::Sender<Result<Admitted, StoreError>>,
}

/// The task that admits token requests, and the way to it. One per process.
///
/// [`Admissions::stop`] ends it after what waits was answered; dropped without that, it ends at
/// once and what waits fails.
#[derive(Debug)]
pub struct Admissions {
    queue: mpsc::Sender<Asked>,
    worker: Mutex<Option<Worker>>,
}

#[derive(Debug)]
struct Worker {
    stop: oneshot::Sender<()>,
    tasks: TaskSet,
}

/// Why a request could not be admitted although the database may be well.
#[derive(Debug, thiserror::Error)]
enum NotAdmitted {
    #[error("admission has stopped")]
    Stopped,
    #[error("a nonce expires {0} seconds from now; it has to be less than {WINDOW_S}")]
    ExpiresTooLate(i64),
    #[error("an id contains the character NUL")]
    Nul,
    #[error("the statement returned no row for a request")]
    NoRow,
}

impl From<NotAdmitted> for StoreError {
    fn from(cause: NotAdmitted) -> Self {
        Self(Box::new(cause))
    }
}

impl Admissions {
    /// Starts admitting on the current runtime.
    #[must_use]
    pub fn start(db: Db) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let (stop, stopped) = oneshot::channel();
        let mut tasks = TaskSet::default();
        tasks.spawn("admit token requests", admit_all(db, waiting, stopped));
        Self { queue, worker: Mutex::new(Some(Worker { stop, tasks })) }
    }

    /// Returns when a task has ended that was to run until it was stopped.
    pub async fn task_ended(&self) -> TaskEnded {
        poll_fn(|context| {
            let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
            worker.as_mut().map_or(Poll::Pending, |worker| worker.tasks.poll_ended(context))
        })
        .await
    }

    /// Answers what waits, admits nothing more, and returns when the task has ended. Once is
    /// enough; again does nothing.
    pub async fn stop(&self) {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Worker { stop, mut tasks }) = worker {
            // The task may have ended by itself; then there is nobody to tell.
            let _ = stop.send(());
            tasks.join().await;
        }
    }
}

#[async_trait]
impl AdmissionStore for Admissions {
    async fn admit(&self, admission: Admission) -> Result<Admitted, StoreError> {
        let lives_s = admission.nonce.as_ref().map_or(0, |nonce| nonce.expires_s.saturating_sub(admission.now_s));
        if lives_s >= WINDOW_S {
            return Err(NotAdmitted::ExpiresTooLate(lives_s).into());
        }
        // Postgres refuses it even as a parameter, and would refuse the whole batch with it.
        let organization_id = admission.organization_id.as_deref().unwrap_or_default();
        if admission.client_id.contains('\0') || organization_id.contains('\0') {
            return Err(NotAdmitted::Nul.into());
        }
        let (answer, answered) = oneshot::channel();
        let asked = Asked { admission, answer };
        self.queue.send(asked).await.map_err(|_| NotAdmitted::Stopped)?;
        answered.await.map_err(|_| NotAdmitted::Stopped)?
    }
}

/// The connections batches run on, kept from one batch to the next while requests wait.
///
/// A pool asks a connection how it is whenever it comes back, which under load is one exchange with
/// the engine more for every batch.
struct Lane {
    db: Db,
    postgres: Option<PoolConnection<Postgres>>,
    writer: Option<PoolConnection<Sqlite>>,
    in_a_row: u32,
}

impl Lane {
    fn new(db: Db) -> Self {
        Self { db, postgres: None, writer: None, in_a_row: 0 }
    }

    /// Gives the connections back: nobody waits, it is somebody else's turn, or one has failed.
    fn let_go(&mut self) {
        (self.postgres, self.writer) = (None, None);
        self.in_a_row = 0;
    }
}

/// The connection that is kept, or one from the pool, kept from now on.
async fn kept<'k, DB: Database>(
    slot: &'k mut Option<PoolConnection<DB>>,
    pool: &Pool<DB>,
) -> Result<&'k mut DB::Connection, sqlx::Error> {
    let connection = match slot.take() {
        Some(connection) => connection,
        None => pool.acquire().await?,
    };
    Ok(slot.insert(connection))
}

/// Admits batch after batch until told to stop or nobody can ask any more.
async fn admit_all(db: Db, mut waiting: mpsc::Receiver<Asked>, mut stopped: oneshot::Receiver<()>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut lane = Lane::new(db);
    loop {
        let received = tokio::select! {
            received = waiting.recv_many(&mut batch, BATCH_MAX) => received,
            _ = &mut stopped, if !waiting.is_closed() => {
                waiting.close();
                continue;
            }
        };
        if received == 0 {
            return;
        }
        gather(&mut waiting, &mut batch).await;
        // Requests received in different windows belong in different tables.
        let mut windows: BTreeMap<Window, Vec<Asked>> = BTreeMap::new();
        for asked in batch.drain(..).filter(|asked| !asked.answer.is_closed()) {
            windows.entry(Window::of(asked.admission.now_s)).or_default().push(asked);
        }
        for (window, asked) in windows {
            admit_window(&mut lane, window, asked).await;
        }
        lane.in_a_row += 1;
        if waiting.is_empty() || lane.in_a_row >= IN_A_ROW_MAX {
            lane.let_go();
        }
    }
}

/// Lets requests that are being worked on join the batch.
///
/// What is ready to run on this thread runs first: a request whose signature is about to be checked shares
/// this commit instead of starting the next one. A lone request finds nobody and is not held up.
async fn gather(waiting: &mut mpsc::Receiver<Asked>, batch: &mut Vec<Asked>) {
    for _ in 0..TURNS {
        let before = batch.len();
        tokio::task::yield_now().await;
        while batch.len() < BATCH_MAX
            && let Ok(asked) = waiting.try_recv()
        {
            batch.push(asked);
        }
        if batch.len() == before {
            return;
        }
    }
}

/// Admits requests of one window and answers each.
async fn admit_window(lane: &mut Lane, window: Window, asked: Vec<Asked>) {
    let batch = Batch::of(window, &asked);
    // Never contended: it lets one attempt after the other have the lane.
    let lane = &tokio::sync::Mutex::new(lane);
    let admitted = retried(|| async {
        let mut lane = lane.lock().await;
        let done = batch.admit(&mut lane).await;
        done.inspect_err(|_| lane.let_go())
    });
    match admitted.await {
        Ok(rows) => {
            let mut answers = batch.answers(&rows);
            for (Asked { answer, .. }, admitted) in asked.into_iter().zip(answers.drain(..)) {
                // Whoever asked may have gone away meanwhile.
                drop(answer.send(admitted.ok_or_else(|| NotAdmitted::NoRow.into())));
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            for Asked { answer, .. } in asked {
                drop(answer.send(Err(fault::shared(&error))));
            }
        }
    }
}

/// Requests of one window as columns.
struct Batch {
    window: Window,
    /// The earliest time of any of them: what is expired then is expired for all.
    now_s: i64,
    /// Claims to make. A nonce asked for twice is claimed for the first only.
    nonces: Vec<Option<[u8; 32]>>,
    expires_s: Vec<i64>,
    client_ids: Vec<Arc<str>>,
    organization_ids: Vec<Option<Arc<str>>>,
    /// Whether a nonce was asked for at all.
    asks_claim: Vec<bool>,
}

impl Batch {
    fn of(window: Window, asked: &[Asked]) -> Self {
        let mut batch = Self {
            window,
            now_s: i64::MAX,
            nonces: Vec::with_capacity(asked.len()),
            expires_s: Vec::with_capacity(asked.len()),
            client_ids: Vec::with_capacity(asked.len()),
            organization_ids: Vec::with_capacity(asked.len()),
            asks_claim: Vec::with_capacity(asked.len()),
        };
        let mut seen = HashSet::with_capacity(asked.len());
        for Asked { admission, .. } in asked {
            let nonce = admission.nonce.as_ref();
            let digest = nonce.map(|nonce| replay::digest_of(&admission.client_id, &nonce.jti));
            batch.now_s = batch.now_s.min(admission.now_s);
            batch.nonces.push(digest.filter(|digest| seen.insert(*digest)));
            batch.expires_s.push(nonce.map_or(0, |nonce| nonce.expires_s));
            batch.client_ids.push(Arc::clone(&admission.client_id));
            batch.organization_ids.push(admission.organization_id.clone());
            batch.asks_claim.push(nonce.is_some());
        }
        batch
    }

    fn claims(&self) -> bool {
        self.nonces.iter().any(Option::is_some)
    }

    /// Makes the claims and reads the versions; returns when both are committed.
    async fn admit(&self, lane: &mut Lane) -> Result<Vec<Row>, sqlx::Error> {
        match (lane.db.reader(), lane.db.writer()) {
            (On::Postgres(pool), _) | (_, On::Postgres(pool)) => {
                let connection = kept(&mut lane.postgres, pool).await?;
                if !self.claims() {
                    return sqlx::query_as(VERSIONS_POSTGRES)
                        .bind(texts(&self.client_ids))
                        .bind(optional_texts(&self.organization_ids))
                        .fetch_all(connection)
                        .await;
                }
                let nonces: Vec<Option<&[u8]>> =
                    self.nonces.iter().map(|nonce| nonce.as_ref().map(<[u8; 32]>::as_slice)).collect();
                sqlx::query_as(self.window.statements().admit)
                    .bind(nonces)
                    .bind(&self.expires_s)
                    .bind(texts(&self.client_ids))
                    .bind(optional_texts(&self.organization_ids))
                    .bind(self.now_s)
                    .bind(self.window.end_s())
                    .fetch_all(connection)
                    .await
            }
            (On::Sqlite(_), On::Sqlite(writer)) if self.claims() => {
                self.admit_sqlite(kept(&mut lane.writer, writer).await?).await
            }
            (On::Sqlite(readers), _) => sqlx::query_as(VERSIONS_SQLITE).bind(self.ids_json()).fetch_all(readers).await,
        }
    }

    /// The statement of Postgres as a transaction: SQLite has no insert inside a query.
    async fn admit_sqlite(&self, connection: &mut SqliteConnection) -> Result<Vec<Row>, sqlx::Error> {
        let mut tx = connection.begin_with(BEGIN_SQLITE).await?;
        let statements = self.window.statements();
        let own = self.claim(&mut tx, statements.claim, |_, _| true).await?;
        let end_s = self.window.end_s();
        let reaches_ahead = |nonce: &str, expires_s| expires_s >= end_s && own.contains(nonce);
        let ahead = self.claim(&mut tx, statements.claim_ahead, reaches_ahead).await?;
        let mut rows: Vec<Row> = sqlx::query_as(VERSIONS_SQLITE).bind(self.ids_json()).fetch_all(&mut *tx).await?;
        tx.commit().await?;
        for (place, holds, ..) in &mut rows {
            let place = usize::try_from(*place).unwrap_or(usize::MAX);
            let claimed = self.nonces.get(place).copied().flatten().zip(self.expires_s.get(place));
            *holds = claimed.is_some_and(|(nonce, expires_s)| {
                let nonce = hex(&nonce);
                own.contains(&nonce) && (*expires_s < end_s || ahead.contains(&nonce))
            });
        }
        Ok(rows)
    }

    /// Inserts the nonces that `wanted` picks, and returns those that were new there.
    async fn claim(
        &self,
        connection: &mut SqliteConnection,
        sql: &'static str,
        wanted: impl Fn(&str, i64) -> bool,
    ) -> Result<HashSet<String>, sqlx::Error> {
        let claims = self.nonces.iter().zip(&self.expires_s);
        let claims: Vec<Value> = claims
            .filter_map(|(nonce, expires_s)| Some((hex(&nonce.as_ref()?[..]), *expires_s)))
            .filter(|(nonce, expires_s)| wanted(nonce, *expires_s))
            .map(|(nonce, expires_s)| json!([nonce, expires_s]))
            .collect();
        if claims.is_empty() {
            return Ok(HashSet::new());
        }
        let claims = Value::Array(claims).to_string();
        let new: Vec<String> = sqlx::query_scalar(sql).bind(claims).bind(self.now_s).fetch_all(connection).await?;
        Ok(new.into_iter().collect())
    }

    fn ids_json(&self) -> String {
        let ids = self.client_ids.iter().zip(&self.organization_ids);
        let ids = ids.map(|(client, organization)| json!([&**client, organization.as_deref()]));
        Value::Array(ids.collect()).to_string()
    }

    /// The answer to each request, in their order.
    fn answers(&self, rows: &[Row]) -> Vec<Option<Admitted>> {
        let mut answers = vec![None; self.asks_claim.len()];
        for (place, holds, client_version, organization_version) in rows {
            let place = usize::try_from(*place).unwrap_or(usize::MAX);
            let (Some(answer), Some(asks)) = (answers.get_mut(place), self.asks_claim.get(place)) else {
                continue;
            };
            *answer = Some(Admitted {
                claim: match (asks, holds) {
                    (false, _) => Claim::NotAsked,
                    (true, true) => Claim::Fresh,
                    (true, false) => Claim::Replayed,
                },
                client_version: *client_version,
                organization_version: *organization_version,
            });
        }
        answers
    }
}

fn texts(ids: &[Arc<str>]) -> Vec<&str> {
    ids.iter().map(|id| &**id).collect()
}

fn optional_texts(ids: &[Option<Arc<str>>]) -> Vec<Option<&str>> {
    ids.iter().map(Option::as_deref).collect()
}
