//! The task that takes up jobs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use payer_exchange::jobs::JobWork;
use sql_engines::is_contention;
use tokio::sync::{Notify, watch};

use super::rows::{self, Held, Lost};
use super::{JobQueueConfig, export, job_audit, matching};
use crate::db::AuthDatabase;

/// How long a node without news waits before it looks for jobs of others.
const LOOK: Duration = Duration::from_secs(2);
/// How often a node says that it still holds a job: three times within a lease.
const HOLD: Duration = Duration::from_secs(10);
/// How long a job is worked on before it goes behind those that wait.
const TURN: Duration = Duration::from_secs(10);
/// How long a job rests after a failure of the engine, in microseconds.
const REST_US: i64 = 5_000_000;

/// The reason why a job is not worked on any more, for now or for good.
#[derive(Debug)]
pub(super) enum Pause {
    /// Its turn is over, or the server stops.
    Turn,
    /// It is another's, or nobody's any more.
    Lost,
    /// The engine failed; again later.
    Failed(sqlx::Error),
    /// It cannot be done.
    Impossible(String),
}

impl From<sqlx::Error> for Pause {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<std::io::Error> for Pause {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Lost> for Pause {
    fn from(_: Lost) -> Self {
        Self::Lost
    }
}

/// How long a job may be worked on.
pub(super) struct Turn {
    ends: Instant,
    stopped: watch::Receiver<bool>,
}

impl Turn {
    pub(super) fn is_over(&self) -> bool {
        *self.stopped.borrow() || Instant::now() >= self.ends
    }

    /// # Errors
    /// [`Pause::Turn`], when it is over.
    pub(super) fn check(&self) -> Result<(), Pause> {
        if self.is_over() { Err(Pause::Turn) } else { Ok(()) }
    }
}

/// A task that works on one job at a time.
pub(super) struct Worker {
    pub(super) db: AuthDatabase,
    pub(super) settings: Arc<JobQueueConfig>,
    pub(super) news: Arc<Notify>,
    pub(super) stopped: watch::Receiver<bool>,
}

impl Worker {
    pub(super) async fn work(mut self) {
        while !*self.stopped.borrow() {
            match rows::take(&self.db, (self.settings.now_us)()).await {
                Ok(Some(held)) => self.take_turn(held).await,
                Ok(None) => self.wait().await,
                Err(error) => {
                    // Others who took a job at this moment are no failure.
                    if !is_contention(&error) {
                        tracing::error!(%error, "jobs cannot be taken up");
                    }
                    self.wait().await;
                }
            }
        }
    }

    async fn wait(&mut self) {
        tokio::select! {
            () = self.news.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
            // The sender lives as long as the handle; when both are gone, so is the reason to wait.
            _ = self.stopped.changed() => {}
        }
    }

    async fn take_turn(&self, held: Held) {
        let began = Instant::now();
        let turn = Turn { ends: began + TURN, stopped: self.stopped.clone() };
        let worked = if held.is_hopeless {
            Err(Pause::Impossible("it was taken up again and again and did not get on".to_owned()))
        } else {
            tokio::select! {
                worked = self.work_on(&held, &turn) => worked,
                lost = self.keep(&held) => Err(lost),
            }
        };
        let now_us = (self.settings.now_us)();
        let job = held.id.as_str();
        let after = match worked {
            Ok(()) => {
                tracing::info!(job, duration_ms = began.elapsed().as_millis(), "a job is complete");
                Ok(())
            }
            Err(Pause::Lost) => {
                tracing::info!(job, "a job was cancelled, or is another node's by now");
                Ok(())
            }
            Err(Pause::Turn) => held.give_back(&self.db, 0, now_us).await,
            Err(Pause::Failed(error)) => {
                tracing::error!(job, %error, "a job rests, because the database failed");
                held.give_back(&self.db, now_us.saturating_add(REST_US), now_us).await
            }
            Err(Pause::Impossible(why)) => {
                tracing::error!(job, why, "a job failed");
                self.fail(&held, &why, now_us).await
            }
        };
        if let Err(error) = after {
            tracing::error!(job, %error, "a job cannot be given back; it is taken up when its lease has run out");
        }
    }

    async fn work_on(&self, held: &Held, turn: &Turn) -> Result<(), Pause> {
        match &held.work {
            JobWork::Export(work) => Box::pin(export::run(&self.db, &self.settings, (held, work), turn)).await,
            JobWork::Match(work) => Box::pin(matching::run(&self.db, &self.settings, (held, work), turn)).await,
        }
    }

    /// Holds a job for as long as it is worked on; ends when it is lost.
    async fn keep(&self, held: &Held) -> Pause {
        let mut failures = 0;
        loop {
            tokio::time::sleep(HOLD).await;
            match held.hold(&self.db, (self.settings.now_us)()).await {
                Ok(Ok(())) => failures = 0,
                Ok(Err(lost)) => return lost.into(),
                // Once or twice the lease is long enough; every write asks for it anyway.
                Err(error) if failures > 1 => return error.into(),
                Err(_) => failures += 1,
            }
        }
    }

    async fn fail(&self, held: &Held, why: &str, now_us: i64) -> Result<(), sqlx::Error> {
        let mut tx = self.db.begin().await?;
        match held.end(&mut tx, Some(why), now_us).await? {
            Ok(()) => {
                job_audit::ended(&self.db, &mut tx, held, (Vec::new(), now_us), true).await?;
                tx.commit().await
            }
            Err(Lost) => tx.roll_back().await,
        }
    }
}
