//! Making the rows of resources that were there before: any node may, one does at a time, in steps.
//!
//! A step has the type to itself: it waits for the writes that began before, and those that follow see
//! the number it makes rows for. What a node that dies had done in a step is undone, and another takes
//! the next step where the last one ended.

use fhir_resource::ResourceType;

use sql_engines::{PerEngine, retry_on_contention, run};

use super::index::{self, Index, row_numbers};
use super::number;
use super::row::{Place, Rows};
use super::rows::{self, Known, Placed};
use crate::db::AuthDatabase;
use crate::dialect::Sql;
use crate::document::Document;
use crate::engine::Tx;
use crate::resources::{Found, Table, lock_name};

/// Resources of one step.
const STEP: i64 = 200;

static NEXT: Sql = Sql::new(
    "SELECT number, kind, position FROM search_type WHERE state = 'building' ORDER BY number LIMIT 1 {skip_locked}",
);
static GONE: Sql =
    Sql::new("SELECT number FROM search_type WHERE state = 'retired' ORDER BY number LIMIT 1 {skip_locked}");
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::TEXT";
const FOLLOWING: &str = "SELECT t.id, t.resource FROM {table} t WHERE t.id > $1 ORDER BY t.id LIMIT $2";
const ADVANCE: &str = "UPDATE search_type SET position = $1 WHERE number = $2";
const RETIRE: &str = "UPDATE search_type SET state = 'retired' WHERE kind = $1 AND number < $2";
const COMPLETE: &str = "UPDATE search_type SET state = 'ready' WHERE number = $1";
const CHANGED: &str = "UPDATE search_state SET revision = revision + 1";
const FORGET: &str = "DELETE FROM search_type WHERE number = $1";

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// There may be more to do.
    Done,
    /// There is nothing to do, or another node does it.
    Idle,
}

impl AuthDatabase {
    /// Builds the missing rows of the search index of stored resources, and deletes outdated ones, until none are left
    /// or another node does it.
    ///
    /// # Errors
    /// When the engine fails; rows that are built by then stay.
    pub async fn rebuild_search_index(&self) -> Result<(), sqlx::Error> {
        retry_on_contention(|| register(self)).await?;
        while retry_on_contention(|| step(self)).await? == Step::Done {}
        while retry_on_contention(|| clear(self)).await? == Step::Done {}
        Ok(())
    }
}

async fn register(db: &AuthDatabase) -> Result<(), sqlx::Error> {
    let mut tx = db.begin().await?;
    number::register_tables(&mut tx).await?;
    tx.commit().await
}

async fn step(db: &AuthDatabase) -> Result<Step, sqlx::Error> {
    let mut tx = db.begin().await?;
    let next = NEXT.text_for_dialect(tx.dialect());
    let next: Option<(i64, String, String)> = run!(tx.on(), fetch_optional: sqlx::query_as(next))?;
    let Some((number, kind, position)) = next else {
        tx.roll_back().await?;
        return Ok(Step::Idle);
    };
    let kind: ResourceType = kind.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    if let PerEngine::Postgres(connection) = tx.on() {
        sqlx::query(LOCK).bind(lock_name(&kind)).execute(connection).await?;
    }
    let index = match db.known_index() {
        Some(known) if known.revision == index::revision(&mut tx).await? => known,
        _ => Index::read(&mut tx).await?.into(),
    };
    match advance(&mut tx, &index, (number, &kind), &position).await? {
        Some(position) => {
            run!(tx.on(), execute: sqlx::query(ADVANCE).bind(position).bind(number))?;
        }
        None => complete(&mut tx, (number, &kind)).await?,
    }
    tx.commit().await?;
    Ok(Step::Done)
}

/// Makes the rows of the resources behind `position`; returns the last id, `None` when there are no more.
async fn advance(
    tx: &mut Tx,
    index: &Index,
    (number, kind): (i64, &ResourceType),
    position: &str,
) -> Result<Option<String>, sqlx::Error> {
    let Found::Table(table) = Table::find_in(tx, kind).await? else { return Ok(None) };
    let sql = table.sql(tx.dialect(), FOLLOWING);
    let resources: Vec<(String, Document)> = run!(tx.on(), fetch_all: sqlx::query_as(sql).bind(position).bind(STEP))?;
    let last = resources.last().map(|(id, _)| id.clone());
    let made = resources.into_iter().filter_map(|(id, document)| {
        let body = document.read(kind.as_str(), &id)?;
        let rows = index.rows(number, (kind, &id), &body);
        Some((id, rows))
    });
    let made: Vec<(String, Rows)> = made.collect();
    let mut added = Placed::default();
    for (id, rows) in &made {
        added.extend(rows.iter(), id);
    }
    rows::add(tx, added, Known::Perhaps).await?;
    Ok(last)
}

async fn complete(tx: &mut Tx, (number, kind): (i64, &ResourceType)) -> Result<(), sqlx::Error> {
    run!(tx.on(), execute: sqlx::query(RETIRE).bind(kind.as_str()).bind(number))?;
    run!(tx.on(), execute: sqlx::query(COMPLETE).bind(number))?;
    run!(tx.on(), execute: sqlx::query(CHANGED))?;
    tracing::info!(%kind, "searches of the type have all their rows");
    Ok(())
}

/// Deletes the rows of a number that no search uses any more.
async fn clear(db: &AuthDatabase) -> Result<Step, sqlx::Error> {
    let mut tx = db.begin().await?;
    let gone = GONE.text_for_dialect(tx.dialect());
    let Some(number) = run!(tx.on(), fetch_optional: sqlx::query_scalar::<_, i64>(gone))? else {
        tx.roll_back().await?;
        return Ok(Step::Idle);
    };
    let (from, to) = row_numbers(number);
    for place in Place::ALL {
        run!(tx.on(), execute: sqlx::query(place.clearing()).bind(from).bind(to))?;
    }
    run!(tx.on(), execute: sqlx::query(FORGET).bind(number))?;
    tx.commit().await?;
    Ok(Step::Done)
}
