//! Jobs: exports and member matches, as rows that any node takes up.
//!
//! A job is a row with a place in a queue. A node takes the one whose turn it is and holds it by a lease; it works in
//! steps, and each step writes what it made and how far it got in one transaction. A node that is killed leaves a
//! lease that runs out, and whoever takes the job then goes on from the last step: nothing is lost, nothing twice.
//! After a while a node gives a long job back, so that short ones have their turn.
//!
//! **The decision:** what a job makes is kept in the database, in parts of about a megabyte, packed. Any node can serve
//! it without shared storage, it is there exactly when the progress that made it is, and it goes with the job. Files on
//! the disks of the nodes were the road not taken: they are on one node, and outlive what they belong to. It costs a
//! second copy of what is exported until the job expires, a packed one.

mod export;
mod group_expiry;
mod job_audit;
mod matching;
mod packing;
mod people;
mod rows;
mod worker;

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fhir_resource::{ResourceId, ResourceKey};
use fhir_store::{ResourceStore as _, ResourceWrite, StoreError, WriteOperation};
use payer_exchange::jobs::{Job, JobEndOutcome, JobEndpoint, JobState, JobStore, NewJob, TooManyJobsError};
use payer_exchange::member_match::match_group;
use sql_engines::retry_on_contention;
use task_set::{TaskSet, UnexpectedTaskEnd};
use tokio::sync::{Notify, watch};

use crate::db::AuthDatabase;
use crate::fault::fhir;

use worker::Worker;

/// The settings of background jobs: FHIR base URL, format, number of concurrent jobs, and clock.
#[derive(Clone)]
pub struct JobQueueConfig {
    /// The base URL of this server's FHIR endpoint, without a slash at the end.
    pub fhir_base: String,
    /// True when `/fhir` stores the native format.
    pub correct_format: bool,
    /// Most jobs that this node works on concurrently; 0 leaves them to other nodes.
    pub at_once: usize,
    /// Returns the current time in UNIX microseconds. Nodes compare their leases by it, so their clocks may differ by a
    /// few seconds but not by half a minute.
    pub now_us: Arc<dyn Fn() -> i64 + Send + Sync>,
}

impl fmt::Debug for JobQueueConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fhir_base, correct_format, at_once, now_us: _ } = self;
        f.debug_struct("JobQueueConfig")
            .field("fhir_base", fhir_base)
            .field("correct_format", correct_format)
            .field("at_once", at_once)
            .finish_non_exhaustive()
    }
}

/// The queue of background jobs, and the handle to this node's worker tasks; one per process.
///
/// [`JobQueue::stop_and_release_jobs`] ends the tasks after their current steps. When it is dropped without that, they
/// end at once, and another node continues when their leases have expired.
#[derive(Debug)]
pub struct JobQueue {
    db: AuthDatabase,
    settings: Arc<JobQueueConfig>,
    /// Told when there is something new.
    news: Arc<Notify>,
    stop: watch::Sender<bool>,
    tasks: Mutex<TaskSet>,
}

impl JobQueue {
    /// Starts the worker tasks on the current runtime.
    #[must_use]
    pub fn start(db: AuthDatabase, settings: JobQueueConfig) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (news, mut tasks) = (Arc::new(Notify::new()), TaskSet::default());
        let (at_once, settings) = (settings.at_once, Arc::new(settings));
        for _ in 0..at_once {
            let worker = Worker {
                db: db.clone(),
                settings: Arc::clone(&settings),
                news: Arc::clone(&news),
                stopped: stopped.clone(),
            };
            tasks.spawn_until_stopped("work on jobs", worker.work());
        }
        Self { db, settings, news, stop, tasks: Mutex::new(tasks) }
    }

    /// Requests that the worker tasks end after their current steps.
    pub fn request_stop(&self) {
        // Without a task nothing listens.
        let _ = self.stop.send(true);
    }

    /// Stops the worker tasks after their current steps, and releases their jobs to other nodes. Further calls do
    /// nothing.
    pub async fn stop_and_release_jobs(&self) {
        self.request_stop();
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.join_all().await;
    }

    /// Waits until a worker task has ended although it was not stopped.
    pub async fn wait_for_unexpected_end(&self) -> UnexpectedTaskEnd {
        poll_fn(|context| self.tasks.lock().unwrap_or_else(PoisonError::into_inner).poll_unexpected_end(context)).await
    }

    /// Deletes the jobs that ended before `before_us`, UNIX microseconds, with their files, and returns their number.
    /// Groups and Consents that a match made stay for later exports; only Groups whose period is over are set to
    /// inactive, and deleted ninety days later.
    ///
    /// # Errors
    /// [`StoreError`]; jobs that are deleted by then stay deleted.
    pub async fn delete_jobs_ended_before(&self, before_us: i64) -> Result<u64, StoreError> {
        let forgotten = rows::forget_before(&self.db, before_us).await.map_err(fhir)?;
        let groups = group_expiry::end(&self.db, (self.settings.now_us)()).await?;
        tracing::debug!(groups, "Groups whose time is over were ended");
        Ok(forgotten)
    }

    /// Deletes what a completed match wrote besides its files: its Groups, and the Consents it kept.
    async fn take_back(&self, id: &ResourceId, now_us: i64) -> Result<(), StoreError> {
        let mut keys: Vec<ResourceKey> = Vec::new();
        for group in match_group::match_group_ids(id) {
            keys.extend(format!("Group/{group}").parse().ok());
        }
        for consent in matching::consents_of(&self.db, id).await? {
            keys.extend(format!("Consent/{consent}").parse().ok());
        }
        for some in keys.chunks(matching::BATCH) {
            let writes =
                some.iter().map(|key| ResourceWrite::unconditional(key.clone(), WriteOperation::Delete)).collect();
            // A deletion without a condition is refused by no rule.
            if let Err(refusal) = self.db.transact_writes(writes, now_us).await? {
                return Err(StoreError::Failed(Box::new(refusal)));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl JobStore for JobQueue {
    async fn enqueue(&self, job: NewJob, now_us: i64) -> Result<Result<ResourceId, TooManyJobsError>, StoreError> {
        let queued = retry_on_contention(|| rows::enqueue(&self.db, &job, now_us)).await.map_err(fhir)?;
        self.news.notify_one();
        Ok(queued)
    }

    async fn find_job(&self, id: &ResourceId, owner: &str) -> Result<Option<Job>, StoreError> {
        rows::find(&self.db, id, owner).await.map_err(fhir)
    }

    async fn cancel_or_delete_job(
        &self,
        id: &ResourceId,
        owner: &str,
        now_us: i64,
    ) -> Result<Option<JobEndOutcome>, StoreError> {
        let Some(job) = self.find_job(id, owner).await? else {
            return Ok(None);
        };
        if let (JobState::Completed, JobEndpoint::Match(_)) = (&job.state, job.endpoint) {
            self.take_back(id, now_us).await?;
        }
        let delete = || async {
            let mut tx = self.db.begin().await?;
            rows::delete(&mut tx, id, owner).await?;
            tx.commit().await
        };
        retry_on_contention(delete).await.map_err(fhir)?;
        Ok(Some(match job.state {
            JobState::Requested | JobState::Running => JobEndOutcome::Cancelled,
            JobState::Completed | JobState::Failed => JobEndOutcome::Deleted,
        }))
    }

    async fn read_file_part(&self, id: &ResourceId, file: &str, part: u32) -> Result<Option<Vec<u8>>, StoreError> {
        match rows::part(&self.db, id.as_str(), file, i64::from(part)).await.map_err(fhir)? {
            Some(packed) => Ok(Some(packing::unpacked(packed).await.map_err(|error| fhir(error.into()))?)),
            None => Ok(None),
        }
    }
}
