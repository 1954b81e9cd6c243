//! An export, step by step: read a page, write its lines and the place after it.
//!
//! Resources are read in the order of their ids, type after type, as they were at the moment of the request: one that
//! was written since is looked up in the history. While a part is being written the next page is read, so that the
//! engine is never waited for twice.

use std::collections::BTreeSet;

use fhir_store::export::{ExportWork, Lines, Row, Subjects, TypeWork};
use fhir_store::payer::{PayerStore as _, consent};
use fhir_store::{ResourceType, StoreError};
use futures_util::{Stream, TryStreamExt as _};

use super::JobSettings;
use super::rows::{Held, Part};
use super::worker::{Pause, Turn};
use crate::db::Db;
use crate::engine::{On, run};
use crate::resources::Table;

/// Bytes from which a part is full; the one resource that goes beyond is part of it.
const PART_BYTES: usize = 1024 * 1024;
/// Rows of the first page. Further ones are as long as fits a part, by what a row measured before.
const FIRST_ROWS: usize = 64;
const ROWS_MAX: usize = 4096;
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
    db: &'a Db,
    settings: &'a JobSettings,
    held: &'a Held,
    work: &'a ExportWork,
    consenting: Option<BTreeSet<String>>,
}

/// A page, made into lines.
struct Made {
    /// The last id of the page; `None` when there was nothing any more.
    last: Option<String>,
    lines: Vec<u8>,
    resources: i64,
    /// Rows that the next page of the type should have.
    rows: usize,
}

/// Works on an export until it is complete or its turn is over.
pub(super) async fn run(
    db: &Db,
    settings: &JobSettings,
    (held, work): (&Held, &ExportWork),
    turn: &Turn,
) -> Result<(), Pause> {
    let consenting = consenting(db, settings, work).await?;
    let export = Export { db, settings, held, work, consenting };
    let mut place: Place = match held.progress.as_str() {
        "" => Place::default(),
        text => serde_json::from_str(text).map_err(|error| Pause::Impossible(error.to_string()))?,
    };
    let mut done = held.done;
    while let Some(type_work) = work.types.get(place.kind) {
        turn.check()?;
        done = export.write_type(type_work, &mut place, done, turn).await?;
        place = Place { kind: place.kind + 1, ..Place::default() };
    }
    let mut tx = db.begin().await?;
    held.end(&mut tx, None, (settings.now_us)()).await??;
    Ok(tx.commit().await?)
}

/// Who of the patients allows it at this moment. It is asked again whenever a node takes the job up.
async fn consenting(db: &Db, settings: &JobSettings, work: &ExportWork) -> Result<Option<BTreeSet<String>>, Pause> {
    let (Some(rule), Subjects::These(patients)) = (&work.consent, &work.subjects) else {
        return Ok(None);
    };
    let own = format!("{}/", settings.fhir_base);
    let patients: Vec<&str> = patients.iter().map(String::as_str).collect();
    let mut consenting = BTreeSet::new();
    for some in patients.chunks(CONSENTS_OF) {
        let consents = db.consents(some, &settings.fhir_base).await.map_err(failed)?;
        consenting.extend(consent::consenting(rule, some, &consents, ((settings.now_us)(), &own)));
    }
    Ok(Some(consenting))
}

fn failed(error: StoreError) -> Pause {
    Pause::Failed(sqlx::Error::AnyDriverError(Box::new(error)))
}

impl Export<'_> {
    /// Writes what is left of a type; returns how many resources are done then.
    async fn write_type(
        &self,
        type_work: &TypeWork,
        place: &mut Place,
        mut done: i64,
        turn: &Turn,
    ) -> Result<i64, Pause> {
        let kind: ResourceType = type_work.kind.parse().map_err(|_| Pause::Impossible(type_work.kind.clone()))?;
        let Some(table) = Table::find(self.db, &kind).await? else {
            return Ok(done);
        };
        let base = (self.settings.fhir_base.as_str(), self.settings.correct_format);
        let lines = Lines::of(self.work, (type_work, kind), self.consenting.as_ref(), base)
            .map_err(|unsupported| Pause::Impossible(unsupported.to_string()))?;
        let mut made = self.page(&table, &lines, &place.after, FIRST_ROWS).await?;
        while let Some(last) = made.last.take() {
            let next = Place { kind: place.kind, after: last, part: place.part + i64::from(made.resources > 0) };
            done += made.resources;
            let (written, following) = tokio::join!(
                self.write(type_work, (place, &next), (std::mem::take(&mut made.lines), made.resources), done),
                self.page(&table, &lines, &next.after, made.rows),
            );
            written?;
            *place = next;
            turn.check()?;
            made = following?;
        }
        Ok(done)
    }

    /// The lines of the page behind `after`.
    async fn page(&self, table: &Table, lines: &Lines<'_>, after: &str, rows: usize) -> Result<Made, Pause> {
        let sql = table.sql(self.db.dialect(), PAGE);
        let since_us = self.work.since_us.unwrap_or(-1).max(-1);
        let limit = i64::try_from(rows).unwrap_or(i64::MAX);
        macro_rules! asked {
            ($pool:expr) => {{
                let asked = sqlx::query_as(sql).bind(after).bind(since_us).bind(limit).fetch($pool);
                self.make(table, lines, rows, asked).await
            }};
        }
        match self.db.reader() {
            On::Postgres(pool) => asked!(pool),
            On::Sqlite(pool) => asked!(pool),
        }
    }

    /// Takes rows until a part is full. What is behind it is asked for again.
    async fn make(
        &self,
        table: &Table,
        lines: &Lines<'_>,
        asked: usize,
        mut rows: impl Stream<Item = Result<PageRow, sqlx::Error>> + Unpin,
    ) -> Result<Made, Pause> {
        let mut made = Made { last: None, lines: Vec::new(), resources: 0, rows: asked };
        let (mut read, mut read_bytes) = (0_usize, 0_usize);
        while let Some((id, version, updated_us, text)) = rows.try_next().await? {
            read += 1;
            read_bytes += text.len();
            let row = Row { id: &id, version, updated_us, text: &text };
            let written = if updated_us <= self.held.created_us {
                self.is_before(updated_us).then(|| lines.write(row, &mut made.lines))
            } else {
                self.write_as_then(table, lines, &id, &mut made.lines).await?
            };
            match written.unwrap_or(Ok(false)) {
                Ok(is_written) => made.resources += i64::from(is_written),
                Err(_) => {
                    tracing::error!(table = table.kind(), id, "a stored resource cannot be read and is passed over");
                }
            }
            made.last = Some(id);
            if made.lines.len() >= PART_BYTES {
                break;
            }
        }
        made.rows = (PART_BYTES * read).checked_div(read_bytes).unwrap_or(asked).clamp(FIRST_ROWS / 8, ROWS_MAX);
        Ok(made)
    }

    fn is_before(&self, updated_us: i64) -> bool {
        self.work.until_us.is_none_or(|until_us| updated_us < until_us)
    }

    /// Writes a resource that changed since the request as it was then.
    async fn write_as_then(
        &self,
        table: &Table,
        lines: &Lines<'_>,
        id: &str,
        out: &mut Vec<u8>,
    ) -> Result<Option<Result<bool, fhir_store::export::UnreadableRow>>, Pause> {
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
        Ok(Some(lines.write(Row { id, version, updated_us, text: &text }, out)))
    }

    /// Writes a part and the place behind it, in one transaction.
    async fn write(
        &self,
        type_work: &TypeWork,
        (place, next): (&Place, &Place),
        (content, resources): (Vec<u8>, i64),
        done: i64,
    ) -> Result<(), Pause> {
        let part = Part { file: type_work.kind.clone(), number: place.part, resources, content };
        let progress = serde_json::to_string(next).map_err(|error| Pause::Impossible(error.to_string()))?;
        let parts = if resources > 0 { vec![part] } else { Vec::new() };
        let mut tx = self.db.begin().await?;
        self.held.advance(&mut tx, &progress, done, &parts).await??;
        Ok(tx.commit().await?)
    }
}
