//! An export, step by step: read some pages, write their lines and the place after them.
//!
//! Resources are read in the order of their ids, type after type, as they were at the moment of the request: one that
//! was written since is looked up in the history. Lines are packed while more are read, and while the last of a page
//! are packed and a step is being written the next page is read, so that the engine is never waited for twice. A step
//! is what a second makes, because a commit waits for the disk: a node that is killed loses no more than that.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use fhir_resource::ResourceType;
use fhir_store::StoreError;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use payer_exchange::bulk_export::{
    ExportLineWriter, ExportQueryContext, ExportRow, ExportSubjects, ExportWork, ExportedType,
};
use payer_exchange::{MemberMatchStore as _, consent};

use sql_engines::{PerEngine, run};

use super::packing::{self, Packer};
use super::rows::{Held, Part};
use super::worker::{Pause, Turn};
use super::{JobQueueConfig, job_audit};
use crate::db::AuthDatabase;
use crate::engine::Tx;
use crate::resources::Table;

/// Bytes from which a part is full; the one resource that goes beyond is part of it.
const PART_BYTES: usize = 512 * 1024;
/// Bytes of a page, by what a row of the page before measured.
const PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Rows of the first page.
const FIRST_ROWS: usize = 64;
const ROWS_MAX: usize = 16_384;
/// Rows that are taken together, where they are there. The driver wakes its thread for each that is taken while it
/// waits for room; so it makes many meanwhile and is woken once.
const TOGETHER: usize = 32;
/// When a step is written: after this time, or when so much is packed. What is packed waits beside a page, and what
/// cannot be packed well is as much as a page, so this bounds the memory of an export.
const STEP: Duration = Duration::from_secs(1);
const STEP_BYTES: usize = 1024 * 1024;
/// Patients whose Consents are read in one statement.
const CONSENTS_OF: usize = 1000;

const PAGE: &str = "SELECT t.id, t.txid, {us:t.ts}, CAST(t.resource AS TEXT) FROM {table} t
WHERE t.id > $1 AND t.ts > {from_us:$2} ORDER BY t.id LIMIT $3";
/// What a resource was at a moment, unless it was gone.
const THEN: &str = "SELECT h.txid, {us:h.ts}, CAST(h.resource AS TEXT), h.op FROM {history} h
WHERE h.id = $1 AND h.ts <= {from_us:$2} ORDER BY h.txid DESC LIMIT 1";

/// A row of [`PAGE`].
type PageRow = (String, i64, i64, String);

/// A place in an export, as its job keeps it: what comes next is behind `after` in the type of this number.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Place {
    kind: usize,
    after: String,
    part: i64,
}

/// An export under way.
struct Export<'a> {
    db: &'a AuthDatabase,
    settings: &'a JobQueueConfig,
    held: &'a Held,
    work: &'a ExportWork,
    consenting: Option<BTreeSet<String>>,
}

/// A page, made into lines.
struct Made {
    /// The last id of the page; `None` when there was nothing any more.
    last: Option<String>,
    /// Of its parts the last are still being packed.
    packer: Packer,
    /// The number of the part behind them.
    next_part: i64,
    resources: i64,
    /// Rows that the next page of the type should have.
    rows: usize,
}

/// What is made and not written yet.
struct Step {
    /// What comes next.
    place: Place,
    done: i64,
    parts: Vec<Part>,
    /// When the last step was written; the first of a turn is written as soon as there is something, so that whoever
    /// asks sees it under way.
    written: Option<Instant>,
}

impl Step {
    /// Adds a page, when all of it is packed.
    async fn add(&mut self, made: Made, place: Place) -> std::io::Result<()> {
        self.parts.append(&mut made.packer.finish().await?);
        self.place = place;
        self.done += made.resources;
        Ok(())
    }

    fn is_due(&self) -> bool {
        let packed: usize = self.parts.iter().map(|part| part.packed.len()).sum();
        packed >= STEP_BYTES || self.written.is_none_or(|written| written.elapsed() >= STEP)
    }
}

/// Works on an export until it is complete or its turn is over.
pub(super) async fn run(
    db: &AuthDatabase,
    settings: &JobQueueConfig,
    (held, work): (&Held, &ExportWork),
    turn: &Turn,
) -> Result<(), Pause> {
    let consenting = consenting(db, settings, work).await?;
    let export = Export { db, settings, held, work, consenting };
    let place: Place = match held.progress.as_str() {
        "" => Place::default(),
        text => serde_json::from_str(text).map_err(|error| Pause::Impossible(error.to_string()))?,
    };
    let mut step = Step { place, done: held.done, parts: Vec::new(), written: None };
    turn.check()?;
    while let Some(type_work) = work.types.get(step.place.kind) {
        export.write_type(type_work, &mut step, turn).await?;
        step.place = Place { kind: step.place.kind + 1, ..Place::default() };
    }
    let mut tx = db.begin().await?;
    export.advance(&mut tx, &mut step).await?;
    let now_us = (settings.now_us)();
    held.end(&mut tx, None, now_us).await??;
    let counts = vec![("resources", u64::try_from(step.done).unwrap_or_default())];
    job_audit::ended(db, &mut tx, held, (counts, now_us), false).await?;
    Ok(tx.commit().await?)
}

/// Returns who of the patients allows it at this moment. It is asked again whenever a node takes the job up.
async fn consenting(
    db: &AuthDatabase,
    settings: &JobQueueConfig,
    work: &ExportWork,
) -> Result<Option<BTreeSet<String>>, Pause> {
    let (Some(rule), ExportSubjects::These(patients)) = (&work.consent, &work.subjects) else {
        return Ok(None);
    };
    let base_url = format!("{}/", settings.fhir_base);
    let patients: Vec<&str> = patients.iter().map(String::as_str).collect();
    let mut consenting = BTreeSet::new();
    for some in patients.chunks(CONSENTS_OF) {
        let consents = db.consents_of_patients(some, &settings.fhir_base).await.map_err(failed)?;
        consenting.extend(consent::consenting_patients(rule, some, &consents, ((settings.now_us)(), &base_url)));
    }
    Ok(Some(consenting))
}

fn failed(error: StoreError) -> Pause {
    Pause::Failed(sqlx::Error::AnyDriverError(Box::new(error)))
}

impl Export<'_> {
    /// Makes what is left of a type, and writes it whenever a step is due.
    async fn write_type(&self, type_work: &ExportedType, step: &mut Step, turn: &Turn) -> Result<(), Pause> {
        let kind: ResourceType =
            type_work.resource_type.parse().map_err(|_| Pause::Impossible(type_work.resource_type.clone()))?;
        let Some(table) = Table::find(self.db, &kind).await? else {
            return Ok(());
        };
        let terms = ExportQueryContext { base_url: &self.settings.fhir_base, now_us: self.held.created_us };
        let read_with = (terms, self.settings.correct_format);
        let lines = ExportLineWriter::for_type(self.work, (type_work, kind), self.consenting.as_ref(), read_with)
            .map_err(|unsupported| Pause::Impossible(unsupported.to_string()))?;
        let mut made = self.page(&table, &lines, &step.place, FIRST_ROWS).await?;
        while let Some(last) = made.last.take() {
            let next = Place { kind: step.place.kind, after: last, part: made.next_part };
            let following = self.page(&table, &lines, &next, made.rows);
            let (is_written, following) = tokio::join!(self.add(step, made, next.clone(), turn), following);
            if is_written? {
                turn.check()?;
            }
            made = following?;
        }
        Ok(())
    }

    /// Adds a page to a step, which is written where it is due; whether it was.
    async fn add(&self, step: &mut Step, made: Made, place: Place, turn: &Turn) -> Result<bool, Pause> {
        step.add(made, place).await?;
        let is_due = step.is_due() || turn.is_over();
        if is_due {
            self.write(step).await?;
        }
        Ok(is_due)
    }

    /// Returns the parts of the page at a place.
    async fn page(
        &self,
        table: &Table,
        lines: &ExportLineWriter<'_>,
        place: &Place,
        rows: usize,
    ) -> Result<Made, Pause> {
        let sql = table.sql(self.db.dialect(), PAGE);
        let since_us = self.work.since_us.unwrap_or(-1).max(-1);
        let limit = i64::try_from(rows).unwrap_or(i64::MAX);
        macro_rules! asked {
            ($executor:expr) => {{
                let asked = sqlx::query_as(sql).bind(&place.after).bind(since_us).bind(limit).fetch($executor);
                self.make(table, lines, (place.part, rows), asked).await
            }};
        }
        match self.db.reader() {
            PerEngine::Postgres(pool) => asked!(pool),
            PerEngine::Sqlite(readers) => {
                let mut reader = readers.acquire().await?;
                asked!(reader.connection()?)
            }
        }
    }

    /// Takes rows until the page is full. What is behind it is asked for again.
    async fn make(
        &self,
        table: &Table,
        lines: &ExportLineWriter<'_>,
        (mut number, asked): (i64, usize),
        rows: impl Stream<Item = Result<PageRow, sqlx::Error>> + Unpin,
    ) -> Result<Made, Pause> {
        let (mut packer, mut last, mut resources) = (Packer::default(), None, 0);
        let (mut read, mut read_bytes) = (0_usize, 0_usize);
        let mut filling = Filling::default();
        let mut rows = rows.ready_chunks(TOGETHER).map(stream::iter).flatten();
        while let Some((id, version, updated_us, text)) = rows.try_next().await? {
            read += 1;
            read_bytes += text.len();
            let row = ExportRow { id: &id, version, updated_us, text: &text };
            let written = if updated_us <= self.held.created_us {
                self.is_before(updated_us).then(|| lines.write_line(row, &mut filling.content))
            } else {
                self.write_as_then(table, lines, &id, &mut filling.content).await?
            };
            match written.unwrap_or(Ok(false)) {
                Ok(is_written) => filling.resources += i64::from(is_written),
                Err(_) => {
                    tracing::error!(table = table.kind(), id, "a stored resource cannot be read and is passed over");
                }
            }
            last = Some(id);
            if filling.content.len() >= PART_BYTES {
                resources += filling.resources;
                packer.add(filling.lines(table, &mut number)).await?;
            }
            if read_bytes >= PAGE_BYTES {
                break;
            }
        }
        drop(rows);
        if filling.resources > 0 {
            resources += filling.resources;
            packer.add(filling.lines(table, &mut number)).await?;
        }
        let rows = (PAGE_BYTES * read).checked_div(read_bytes).unwrap_or(asked).clamp(FIRST_ROWS / 8, ROWS_MAX);
        Ok(Made { last, packer, next_part: number, resources, rows })
    }

    fn is_before(&self, updated_us: i64) -> bool {
        self.work.until_us.is_none_or(|until_us| updated_us < until_us)
    }

    /// Writes a resource that changed since the request as it was then.
    async fn write_as_then(
        &self,
        table: &Table,
        lines: &ExportLineWriter<'_>,
        id: &str,
        out: &mut Vec<u8>,
    ) -> Result<Option<Result<bool, payer_exchange::bulk_export::UnreadableRowError>>, Pause> {
        let sql = table.sql(self.db.dialect(), THEN);
        let then: Option<(i64, i64, String, String)> = run!(self.db.reader(), fetch_optional:
            sqlx::query_as(sql).bind(id).bind(self.held.created_us))?;
        let Some((version, updated_us, text, operation)) = then else {
            return Ok(None);
        };
        let is_after = self.work.since_us.is_none_or(|since_us| updated_us > since_us);
        if operation == "delete" || !is_after || !self.is_before(updated_us) {
            return Ok(None);
        }
        Ok(Some(lines.write_line(ExportRow { id, version, updated_us, text: &text }, out)))
    }

    /// Writes a step and the place behind it, in one transaction.
    async fn write(&self, step: &mut Step) -> Result<(), Pause> {
        let mut tx = self.db.begin().await?;
        self.advance(&mut tx, step).await?;
        tx.commit().await?;
        // Nobody reads what was written for a while, and it would fill all the memory there is for pages.
        self.db.release_pages().await?;
        step.written = Some(Instant::now());
        Ok(())
    }

    /// The same within a transaction.
    async fn advance(&self, tx: &mut Tx, step: &mut Step) -> Result<(), Pause> {
        let progress = serde_json::to_string(&step.place).map_err(|error| Pause::Impossible(error.to_string()))?;
        let parts = std::mem::take(&mut step.parts);
        Ok(self.held.advance(tx, &progress, step.done, parts).await??)
    }
}

/// A part that is being filled.
#[derive(Default)]
struct Filling {
    content: Vec<u8>,
    resources: i64,
}

impl Filling {
    /// Its lines, as the part of this number; the next is empty, and one further.
    fn lines(&mut self, table: &Table, number: &mut i64) -> packing::Lines {
        let next = Self { content: Vec::with_capacity(PART_BYTES + PART_BYTES / 8), resources: 0 };
        let Self { content, resources } = std::mem::replace(self, next);
        let lines = packing::Lines { file: table.kind().to_owned(), number: *number, resources, content };
        *number += 1;
        lines
    }
}
