//! The rows of jobs and of what they make.
//!
//! A node holds a job for a while and says again and again that it still does; the rows of one that says it no more
//! are taken by another. Every write of a job names its holder, so what a node does after it lost a job is refused.

use fhir_resource::ResourceId;
use payer_exchange::jobs::{Job, JobFile, JobState, JobWork, NewJob, OPEN_JOBS_PER_OWNER_MAX, TooManyJobsError};
use serde_json::Value;

use sql_engines::run;

use crate::db::AuthDatabase;
use crate::dialect::Sql;
use crate::engine::Tx;
use crate::tokens::forget;

/// For how long a job is held without a word of its holder, in microseconds.
pub(super) const HELD_US: i64 = 30_000_000;
/// How often a job is taken up without getting on before it is given up.
const ATTEMPTS_MAX: i64 = 5;

/// Two that ask at once may both be let in: the limit bounds what one owner costs, and one more does not matter.
const ENQUEUE: &str =
    "INSERT INTO bulk_job (id, owner, url, work, state, created_us, turn_us, held_until_us, attempts, progress, done)
SELECT $1, $2, $3, $4, 'requested', $5, $5, 0, 0, '', 0
WHERE (SELECT count(*) FROM bulk_job j WHERE j.owner = $2 AND j.ended_us IS NULL) < $6";
static TAKE: Sql = Sql::new(
    "UPDATE bulk_job SET state = 'running', holder = $1, held_until_us = $2, attempts = attempts + 1
WHERE id = (
    SELECT id FROM bulk_job WHERE ended_us IS NULL AND held_until_us <= $3 ORDER BY turn_us, id LIMIT 1 {skip_locked}
)
RETURNING id, owner, work, created_us, attempts, progress, done",
);
const HOLD: &str = "UPDATE bulk_job SET held_until_us = $3 WHERE id = $1 AND holder = $2 AND ended_us IS NULL";
const ADVANCE: &str = "UPDATE bulk_job SET progress = $3, done = $4, attempts = 0
WHERE id = $1 AND holder = $2 AND ended_us IS NULL";
const GIVE_BACK: &str = "UPDATE bulk_job SET holder = NULL, held_until_us = $3, turn_us = $4
WHERE id = $1 AND holder = $2 AND ended_us IS NULL";
const END: &str = "UPDATE bulk_job SET state = $3, ended_us = $4, failure = $5, holder = NULL
WHERE id = $1 AND holder = $2 AND ended_us IS NULL";
const FIND: &str = "SELECT state, url, work, created_us, done FROM bulk_job WHERE id = $1 AND owner = $2";
/// What a job keeps for itself has a name that no type has.
const FILES: &str = "SELECT file, CAST(sum(resources) AS BIGINT), CAST(sum(size_bytes) AS BIGINT),
    CAST(sum(octet_length(content)) AS BIGINT)
FROM bulk_job_part WHERE job_id = $1 AND file NOT LIKE '~%' GROUP BY file ORDER BY file";
const ADD_PART: &str = "INSERT INTO bulk_job_part (job_id, file, part, resources, size_bytes, content)
VALUES ($1, $2, $3, $4, $5, $6)";
const PART: &str = "SELECT content FROM bulk_job_part WHERE job_id = $1 AND file = $2 AND part = $3";
const DROP_FILE: &str = "DELETE FROM bulk_job_part WHERE job_id = $1 AND file = $2";
const DELETE: &str = "DELETE FROM bulk_job WHERE id = $1 AND owner = $2";
static FORGET: Sql = Sql::new(
    "DELETE FROM bulk_job WHERE id IN (
    SELECT id FROM bulk_job WHERE ended_us < $1 ORDER BY ended_us LIMIT $2 {skip_locked}
)",
);

/// A job that this node holds.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) id: ResourceId,
    /// Whose it is: the id of the client.
    pub(super) owner: String,
    /// The name this node holds it by; another each time.
    pub(super) holder: String,
    pub(super) work: JobWork,
    pub(super) created_us: i64,
    /// How far it got, as its work writes it down; empty at the beginning.
    pub(super) progress: String,
    pub(super) done: i64,
    /// Whether it was taken up too often without getting on.
    pub(super) is_hopeless: bool,
}

/// A part of a file.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) file: String,
    pub(super) number: i64,
    pub(super) resources: i64,
    /// How long its lines are.
    pub(super) size_bytes: i64,
    /// Its lines, packed.
    pub(super) packed: Vec<u8>,
}

/// Somebody else has the job by now, or it was cancelled.
#[derive(Debug)]
pub(super) struct Lost;

pub(super) async fn enqueue(
    db: &AuthDatabase,
    job: &NewJob,
    now_us: i64,
) -> Result<Result<ResourceId, TooManyJobsError>, sqlx::Error> {
    let id = uuid::Uuid::new_v4();
    let work = serde_json::to_string(&job.work).map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
    let added = run!(db.writer(), execute: sqlx::query(ENQUEUE)
        .bind(id.to_string()).bind(&job.owner).bind(&job.url).bind(&work).bind(now_us)
        .bind(i64::from(OPEN_JOBS_PER_OWNER_MAX)))?;
    Ok(if added == 0 { Err(TooManyJobsError) } else { Ok(ResourceId::from(id)) })
}

/// Takes the job whose turn it is.
pub(super) async fn take(db: &AuthDatabase, now_us: i64) -> Result<Option<Held>, sqlx::Error> {
    type Row = (String, String, String, i64, i64, String, i64);
    let holder = uuid::Uuid::new_v4().to_string();
    let row: Option<Row> = run!(db.writer(), fetch_optional: sqlx::query_as(TAKE.text_for_dialect(db.dialect()))
        .bind(&holder).bind(now_us.saturating_add(HELD_US)).bind(now_us))?;
    let Some((id, owner, work, created_us, attempts, progress, done)) = row else {
        return Ok(None);
    };
    let id = parsed_id(&id)?;
    let work = parsed_work(&work)?;
    Ok(Some(Held { id, owner, holder, work, created_us, progress, done, is_hopeless: attempts > ATTEMPTS_MAX }))
}

impl Held {
    /// Says that this node still works on it.
    pub(super) async fn hold(&self, db: &AuthDatabase, now_us: i64) -> Result<Result<(), Lost>, sqlx::Error> {
        let until_us = now_us.saturating_add(HELD_US);
        let held = run!(db.writer(), execute: sqlx::query(HOLD)
            .bind(self.id.as_str()).bind(&self.holder).bind(until_us))?;
        Ok(if held == 0 { Err(Lost) } else { Ok(()) })
    }

    /// Lets anybody take it, from `from_us` on, behind those who wait.
    pub(super) async fn give_back(&self, db: &AuthDatabase, from_us: i64, now_us: i64) -> Result<(), sqlx::Error> {
        run!(db.writer(), execute: sqlx::query(GIVE_BACK)
            .bind(self.id.as_str()).bind(&self.holder).bind(from_us).bind(now_us))?;
        Ok(())
    }

    /// Writes down within a transaction how far it got, and what it made on the way.
    pub(super) async fn advance(
        &self,
        tx: &mut Tx,
        progress: &str,
        done: i64,
        parts: impl IntoIterator<Item = Part>,
    ) -> Result<Result<(), Lost>, sqlx::Error> {
        let advanced = run!(tx.on(), execute: sqlx::query(ADVANCE)
            .bind(self.id.as_str()).bind(&self.holder).bind(progress).bind(done))?;
        if advanced == 0 {
            return Ok(Err(Lost));
        }
        for part in parts {
            run!(tx.on(), execute: sqlx::query(ADD_PART)
                .bind(self.id.as_str()).bind(&part.file).bind(part.number)
                .bind(part.resources).bind(part.size_bytes).bind(part.packed))?;
        }
        Ok(Ok(()))
    }

    /// Ends it within a transaction: complete, or with a reason why not, for the log.
    pub(super) async fn end(
        &self,
        tx: &mut Tx,
        failure: Option<&str>,
        now_us: i64,
    ) -> Result<Result<(), Lost>, sqlx::Error> {
        let state = if failure.is_some() { "failed" } else { "completed" };
        let ended = run!(tx.on(), execute: sqlx::query(END)
            .bind(self.id.as_str()).bind(&self.holder).bind(state).bind(now_us).bind(failure))?;
        Ok(if ended == 0 { Err(Lost) } else { Ok(()) })
    }

    /// Drops within a transaction what it kept for itself.
    pub(super) async fn drop_file(&self, tx: &mut Tx, file: &str) -> Result<(), sqlx::Error> {
        run!(tx.on(), execute: sqlx::query(DROP_FILE).bind(self.id.as_str()).bind(file))?;
        Ok(())
    }
}

pub(super) async fn find(db: &AuthDatabase, id: &ResourceId, owner: &str) -> Result<Option<Job>, sqlx::Error> {
    let row: Option<(String, String, String, i64, i64)> =
        run!(db.reader(), fetch_optional: sqlx::query_as(FIND).bind(id.as_str()).bind(owner))?;
    let Some((state, url, work, created_us, done)) = row else {
        return Ok(None);
    };
    let state = match state.as_str() {
        "requested" => JobState::Requested,
        "running" => JobState::Running,
        "completed" => JobState::Completed,
        _ => JobState::Failed,
    };
    let files = if state == JobState::Completed { files(db, id).await? } else { Vec::new() };
    let work = parsed_work(&work)?;
    let incremental = matches!(&work, JobWork::Export(work) if work.since_us.is_some());
    let done = u64::try_from(done).unwrap_or(0);
    Ok(Some(Job { id: id.clone(), state, url, endpoint: work.endpoint(), created_us, done, incremental, files }))
}

async fn files(db: &AuthDatabase, id: &ResourceId) -> Result<Vec<JobFile>, sqlx::Error> {
    let rows: Vec<(String, i64, i64, i64)> = run!(db.reader(), fetch_all: sqlx::query_as(FILES).bind(id.as_str()))?;
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let file = |(name, resources, size_bytes, packed_bytes)| JobFile {
        name,
        resources: count(resources),
        size_bytes: count(size_bytes),
        packed_bytes: count(packed_bytes),
    };
    Ok(rows.into_iter().map(file).collect())
}

/// A part as it is kept: packed.
pub(super) async fn part(db: &AuthDatabase, id: &str, file: &str, number: i64) -> Result<Option<Vec<u8>>, sqlx::Error> {
    run!(db.reader(), fetch_optional: sqlx::query_scalar(PART).bind(id).bind(file).bind(number))
}

/// Deletes a job with all its parts within a transaction; whoever works on it is refused from now on.
pub(super) async fn delete(tx: &mut Tx, id: &ResourceId, owner: &str) -> Result<(), sqlx::Error> {
    run!(tx.on(), execute: sqlx::query(DELETE).bind(id.as_str()).bind(owner))?;
    Ok(())
}

/// Deletes the jobs that ended before a moment, with all their parts; returns how many jobs.
pub(super) async fn forget_before(db: &AuthDatabase, before_us: i64) -> Result<u64, sqlx::Error> {
    forget(db, &FORGET, before_us).await
}

fn parsed_id(id: &str) -> Result<ResourceId, sqlx::Error> {
    id.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

fn parsed_work(work: &str) -> Result<JobWork, sqlx::Error> {
    serde_json::from_str(work).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Returns what a line of a part says.
pub(super) fn line<T: serde::de::DeserializeOwned>(line: &[u8]) -> Result<T, sqlx::Error> {
    serde_json::from_slice(line).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Something as a line of a part.
pub(super) fn push_line(part: &mut Vec<u8>, value: &Value) {
    part.extend_from_slice(value.to_string().as_bytes());
    part.push(b'\n');
}
