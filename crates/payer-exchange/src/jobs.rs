//! Jobs: work that outlives its request, and the port to the store of jobs.
//!
//! A job belongs to the client that requested it, whichever token the client shows later: for every other caller it
//! does not exist. What it makes is files of newline-delimited JSON in numbered parts, so that a reader never holds
//! more than one of them.
//!
//! # Source
//! HL7 Bulk Data Access, asynchronous request pattern.

use async_trait::async_trait;
use fhir_resource::ResourceId;
use fhir_store::StoreError;
use serde::{Deserialize, Serialize};

use crate::bulk_export::ExportWork;
use crate::member_match::MatchWork;
use crate::requester::MatchRequesterKind;

/// Most jobs of one owner that have not ended. Not specified; ten, so that one partner that asks again and again
/// does not keep the others waiting.
pub const OPEN_JOBS_PER_OWNER_MAX: u32 = 10;

/// The work of a job: an export or a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobWork {
    /// Writes resources to files.
    Export(ExportWork),
    /// Matches members and creates Groups of them.
    Match(Box<MatchWork>),
}

impl JobWork {
    /// Returns the endpoint of the job: that of exports, or that of one kind of match.
    #[must_use]
    pub fn endpoint(&self) -> JobEndpoint {
        match self {
            Self::Export(_) => JobEndpoint::Export,
            Self::Match(work) => JobEndpoint::Match(work.kind),
        }
    }
}

/// The endpoint at which a job was started and is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEndpoint {
    /// `$export-status`.
    Export,
    /// `Group/$bulk-member-match-status` or `Group/$provider-member-match-status`.
    Match(MatchRequesterKind),
}

/// A job that is to be queued.
#[derive(Clone, Debug, PartialEq)]
pub struct NewJob {
    /// The id of the client that owns it.
    pub owner: String,
    /// The address of the request, which the manifest repeats.
    pub url: String,
    /// The work.
    pub work: JobWork,
}

/// The state of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// No node has begun it.
    Requested,
    /// A node works on it, or did until it ended.
    Running,
    /// The job is done and its files are complete.
    Completed,
    /// The job failed, and a retry would not help.
    Failed,
}

/// A job as its owner sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its id.
    pub id: ResourceId,
    /// Its state.
    pub state: JobState,
    /// The address of the request.
    pub url: String,
    /// The endpoint at which it is polled.
    pub endpoint: JobEndpoint,
    /// The transaction time, UNIX microseconds: no resource that was written later is in the output.
    pub created_us: i64,
    /// The number of resources or members that are done so far.
    pub done: u64,
    /// True for an export with `_since`, which has only changed resources.
    pub incremental: bool,
    /// The output files; complete when the job is.
    pub files: Vec<JobFile>,
}

/// An output file of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFile {
    /// The name of the file: the resource type of its lines.
    pub name: String,
    /// The number of lines.
    pub resources: u64,
    /// The size in bytes, unpacked.
    pub size_bytes: u64,
    /// The size as stored, packed, in bytes.
    pub packed_bytes: u64,
}

/// The error of an owner that has [`OPEN_JOBS_PER_OWNER_MAX`] jobs that have not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{OPEN_JOBS_PER_OWNER_MAX} jobs of this client have not ended: wait for one, or cancel it")]
pub struct TooManyJobsError;

/// The outcome of [`JobStore::cancel_or_delete_job`]: cancelled or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEndOutcome {
    /// The job had not ended: the node that works on it stops at its next step.
    Cancelled,
    /// The job had ended: it is deleted with everything that it wrote.
    Deleted,
}

/// The store and queue of jobs.
#[async_trait]
pub trait JobStore: Send + Sync {
    /// Puts a job in the queue, and returns its id.
    ///
    /// # Errors
    /// The outer error means that the store failed, the inner one that the owner has too many open jobs.
    async fn enqueue(&self, job: NewJob, now_us: i64) -> Result<Result<ResourceId, TooManyJobsError>, StoreError>;

    /// Returns a job of this owner, if it exists.
    ///
    /// # Errors
    /// When the store fails.
    async fn find_job(&self, id: &ResourceId, owner: &str) -> Result<Option<Job>, StoreError>;

    /// Cancels a running job of this owner, or deletes an ended one with its output, of a completed match also its
    /// Groups and the Consents that it stored; `None` when there is no such job.
    ///
    /// # Errors
    /// When the store fails; it may then be called again.
    async fn cancel_or_delete_job(
        &self,
        id: &ResourceId,
        owner: &str,
        now_us: i64,
    ) -> Result<Option<JobEndOutcome>, StoreError>;

    /// Returns the lines in a part of a job's file, by number from 0; `None` after the last one.
    ///
    /// # Errors
    /// When the store fails.
    async fn read_file_part(&self, id: &ResourceId, file: &str, part: u32) -> Result<Option<Vec<u8>>, StoreError>;
}
