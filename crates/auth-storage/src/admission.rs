//! Admission of token requests, many in one statement.
//!
//! A token request touches the database once: its nonce is claimed and the current versions of its Client and
//! Organization are read, in a batch of the [`Batcher`]. A request is answered after the commit that holds its claim.

use std::collections::{BTreeMap, HashSet};
use std::future::poll_fn;
use std::sync::Arc;

use async_trait::async_trait;
use oauth_core::ports::{JtiClaim, JtiClaimOutcome, JtiClaimResult, ReplayStore, StoreError};
use serde_json::{Value, json};
use sql_engines::{BEGIN_WRITE_SQLITE, PerEngine, retry_on_contention};
use sqlx::{Connection as _, PgConnection, Postgres, Sqlite, SqliteConnection};
use task_set::UnexpectedTaskEnd;
use tokio::sync::Mutex;

use crate::batcher::{BatchHandler, Batcher, Kept};
use crate::db::AuthDatabase;
use crate::dialect::hex;
use crate::fault;
use crate::readers::Readers;
use crate::replay::{self, WINDOW_S, Window};

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

/// The handle to the task that claims the `jti`s of token requests, many in one statement; one per process.
///
/// [`JtiClaimTask::drain_and_stop`] ends it after the waiting requests are answered; when it is dropped without that,
/// it ends at once and the waiting requests fail.
#[derive(Debug)]
pub struct JtiClaimTask(Batcher<Claims>);

/// The reason why a request could not be admitted although the database may be well.
#[derive(Debug, thiserror::Error)]
enum NotAdmitted {
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

impl JtiClaimTask {
    /// Starts the task on the current runtime.
    #[must_use]
    pub fn start(db: &AuthDatabase) -> Self {
        Self(Batcher::start(Claims(match (db.reader(), db.writer()) {
            (PerEngine::Postgres(pool), _) | (_, PerEngine::Postgres(pool)) => {
                PerEngine::Postgres(Kept::new(pool.clone()))
            }
            (PerEngine::Sqlite(readers), PerEngine::Sqlite(writer)) => {
                PerEngine::Sqlite((readers.clone(), Kept::new(writer.clone())))
            }
        })))
    }

    /// Waits until the task has ended although it was not stopped.
    pub async fn wait_for_unexpected_end(&self) -> UnexpectedTaskEnd {
        poll_fn(|context| self.0.poll_ended(context)).await
    }

    /// Answers the waiting requests, accepts no more, and returns when the task has ended. Further calls do nothing.
    pub async fn drain_and_stop(&self) {
        self.0.stop().await;
    }
}

#[async_trait]
impl ReplayStore for JtiClaimTask {
    async fn claim_jti(&self, admission: JtiClaim) -> Result<JtiClaimResult, StoreError> {
        let lives_s = admission.nonce.as_ref().map_or(0, |nonce| nonce.expires_s.saturating_sub(admission.now_s));
        if lives_s >= WINDOW_S {
            return Err(NotAdmitted::ExpiresTooLate(lives_s).into());
        }
        // Postgres refuses it even as a parameter, and would refuse the whole batch with it.
        let organization_id = admission.organization_id.as_deref().unwrap_or_default();
        if admission.client_id.contains('\0') || organization_id.contains('\0') {
            return Err(NotAdmitted::Nul.into());
        }
        let admitted = self.0.ask(admission).await?.map_err(|error| fault::shared(&error))?;
        admitted.ok_or_else(|| NotAdmitted::NoRow.into())
    }
}

/// Makes the claims of a batch; on SQLite those who claim nothing ask the connections that read.
struct Claims(PerEngine<Kept<Postgres>, (Readers, Kept<Sqlite>)>);

#[async_trait]
impl BatchHandler for Claims {
    type Request = JtiClaim;
    /// Each window has a commit to itself, so what failed in one says nothing of the others.
    type Answer = Result<Option<JtiClaimResult>, Arc<sqlx::Error>>;

    const NAME: &'static str = "admit token requests";
    const BATCH_SIZE_MAX: usize = 512;

    async fn answer(&mut self, asked: &[JtiClaim]) -> Result<Vec<Self::Answer>, Arc<sqlx::Error>> {
        // Requests received in different windows belong in different tables.
        let mut windows: BTreeMap<Window, Vec<usize>> = BTreeMap::new();
        for (place, admission) in asked.iter().enumerate() {
            windows.entry(Window::of(admission.now_s)).or_default().push(place);
        }
        let mut answers: Vec<Self::Answer> = asked.iter().map(|_| Ok(None)).collect();
        for (window, places) in windows {
            let batch = Batch::of(window, places.iter().filter_map(|place| asked.get(*place)));
            let admitted = self.admit(&batch).await.map_err(Arc::new);
            let mut rows = admitted.map(|rows| batch.answers(&rows).into_iter());
            for place in places {
                let Some(answer) = answers.get_mut(place) else { continue };
                *answer = match &mut rows {
                    Ok(rows) => Ok(rows.next().flatten()),
                    Err(error) => Err(Arc::clone(error)),
                };
            }
        }
        Ok(answers)
    }

    fn idle(&mut self) {
        match &mut self.0 {
            PerEngine::Postgres(kept) => kept.idle(),
            PerEngine::Sqlite((_, kept)) => kept.idle(),
        }
    }

    fn may_linger(&self) -> bool {
        matches!(&self.0, PerEngine::Postgres(kept) if kept.may_linger())
    }
}

impl Claims {
    /// Makes the claims and reads the versions; returns when both are committed.
    async fn admit(&mut self, batch: &Batch) -> Result<Vec<Row>, sqlx::Error> {
        // Never contended: it lets one attempt after the other have the connection.
        let claims = Mutex::new(self);
        retry_on_contention(|| async {
            let mut claims = claims.lock().await;
            let admitted = match &mut claims.0 {
                PerEngine::Postgres(kept) => batch.admit_postgres(kept.connection().await?).await,
                PerEngine::Sqlite((_, kept)) if batch.claims() => batch.admit_sqlite(kept.connection().await?).await,
                PerEngine::Sqlite((readers, _)) => {
                    sqlx::query_as(VERSIONS_SQLITE).bind(batch.ids_json()).fetch_all(&*readers).await
                }
            };
            admitted.inspect_err(|_| claims.idle())
        })
        .await
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
    fn of<'a>(window: Window, asked: impl Iterator<Item = &'a JtiClaim>) -> Self {
        let mut batch = Self {
            window,
            now_s: i64::MAX,
            nonces: Vec::new(),
            expires_s: Vec::new(),
            client_ids: Vec::new(),
            organization_ids: Vec::new(),
            asks_claim: Vec::new(),
        };
        let mut seen = HashSet::new();
        for admission in asked {
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

    /// Returns whether a claim has to be made in the next window too.
    fn reaches_ahead(&self) -> bool {
        let end_s = self.window.end_s();
        self.nonces.iter().zip(&self.expires_s).any(|(nonce, expires_s)| nonce.is_some() && *expires_s >= end_s)
    }

    async fn admit_postgres(&self, connection: &mut PgConnection) -> Result<Vec<Row>, sqlx::Error> {
        if !self.claims() {
            return sqlx::query_as(VERSIONS_POSTGRES)
                .bind(texts(&self.client_ids))
                .bind(optional_texts(&self.organization_ids))
                .fetch_all(connection)
                .await;
        }
        let nonces: Vec<Option<&[u8]>> =
            self.nonces.iter().map(|nonce| nonce.as_ref().map(<[u8; 32]>::as_slice)).collect();
        let statements = self.window.statements();
        let reaches_ahead = self.reaches_ahead();
        let admit = sqlx::query_as(if reaches_ahead { statements.admit_ahead } else { statements.admit })
            .bind(nonces)
            .bind(&self.expires_s)
            .bind(texts(&self.client_ids))
            .bind(optional_texts(&self.organization_ids))
            .bind(self.now_s);
        let admit = if reaches_ahead { admit.bind(self.window.end_s()) } else { admit };
        admit.fetch_all(connection).await
    }

    /// The statement of Postgres as a transaction: SQLite has no insert inside a query.
    async fn admit_sqlite(&self, connection: &mut SqliteConnection) -> Result<Vec<Row>, sqlx::Error> {
        let mut tx = connection.begin_with(BEGIN_WRITE_SQLITE).await?;
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
                let nonce = hex(nonce);
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

    /// Returns the answer to each request, in their order.
    fn answers(&self, rows: &[Row]) -> Vec<Option<JtiClaimResult>> {
        let mut answers = vec![None; self.asks_claim.len()];
        for (place, holds, client_version, organization_version) in rows {
            let place = usize::try_from(*place).unwrap_or(usize::MAX);
            let (Some(answer), Some(asks)) = (answers.get_mut(place), self.asks_claim.get(place)) else {
                continue;
            };
            *answer = Some(JtiClaimResult {
                claim: match (asks, holds) {
                    (false, _) => JtiClaimOutcome::NotAsked,
                    (true, true) => JtiClaimOutcome::Fresh,
                    (true, false) => JtiClaimOutcome::Replayed,
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
