//! Scripts applied on demand, each tracked by its id.

use migrations::UserSqlError;
use migrations::on_demand_scripts::{ScriptOutcome, SqlScript, SqlScriptRecord};
use sql_engines::{RetryableError, retry_on_contention, run};

use crate::db::AuthDatabase;
use crate::dialect::Sql;
use crate::engine::Tx;
use crate::script::{self, ScriptFault};

static NEXT_VERSION: Sql = Sql::new("{next_version}");
/// Two that record one id at once wait for each other here.
const RECORD: &str = "INSERT INTO sql_script (id, txid, applied_us, sql) VALUES ($1, $2, $3, $4)
ON CONFLICT (id) DO NOTHING";
const FIND: &str = "SELECT id, sql, applied_us FROM sql_script WHERE id = $1";
const ALL: &str = "SELECT id, sql, applied_us FROM sql_script ORDER BY txid";

/// Id, SQL, and when it was applied.
type Row = (String, String, i64);

fn record((id, sql, applied_us): Row) -> SqlScriptRecord {
    SqlScriptRecord { script: SqlScript { id, sql }, applied_us }
}

pub(super) async fn applied(db: &AuthDatabase) -> Result<Vec<SqlScriptRecord>, sqlx::Error> {
    let rows: Vec<Row> = run!(db.reader(), fetch_all: sqlx::query_as(ALL))?;
    Ok(rows.into_iter().map(record).collect())
}

impl RetryableError for ScriptFault {
    fn is_contention(&self) -> bool {
        match self {
            Self::Refused(_) => false,
            Self::Failed(error) => error.is_contention(),
        }
    }
}

pub(super) async fn apply(
    db: &AuthDatabase,
    script: &SqlScript,
    now_us: i64,
) -> Result<Result<ScriptOutcome, UserSqlError>, sqlx::Error> {
    match retry_on_contention(|| attempt(db, script, now_us)).await {
        Ok(applied) => Ok(Ok(applied)),
        Err(ScriptFault::Refused(refused)) => Ok(Err(refused)),
        Err(ScriptFault::Failed(error)) => Err(error),
    }
}

async fn attempt(db: &AuthDatabase, script: &SqlScript, now_us: i64) -> Result<ScriptOutcome, ScriptFault> {
    let session = db.session().await.map_err(ScriptFault::Failed)?;
    let mut tx = session.begin().await.map_err(ScriptFault::Failed)?;
    let done = apply_once(&mut tx, script, now_us).await;
    let ended = if done.is_ok() { tx.commit().await } else { tx.roll_back().await };
    session.close().await;
    db.forget_tables();
    let done = done?;
    // A constraint that waits for the end of the transaction is refused only there.
    ended.map_err(|error| script::fault(error, db.engine_name(), migrations::SqlPosition::WHOLE_TEXT))?;
    db.renew_index().await.map_err(ScriptFault::Failed)?;
    Ok(done)
}

async fn apply_once(tx: &mut Tx, script: &SqlScript, now_us: i64) -> Result<ScriptOutcome, ScriptFault> {
    if let Some(before) = recorded(tx, script, now_us).await.map_err(ScriptFault::Failed)? {
        return Ok(ScriptOutcome::Before(before));
    }
    script::run_within(tx, &script.sql).await?;
    Ok(ScriptOutcome::Now)
}

/// Records the script, or finds what is recorded under its id.
async fn recorded(tx: &mut Tx, script: &SqlScript, now_us: i64) -> Result<Option<SqlScriptRecord>, sqlx::Error> {
    let next = NEXT_VERSION.text_for_dialect(tx.dialect());
    let version: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(next))?;
    let inserted = run!(tx.on(), execute: sqlx::query(RECORD)
        .bind(&script.id).bind(version).bind(now_us).bind(&script.sql))?;
    if inserted == 1 {
        return Ok(None);
    }
    let row: Row = run!(tx.on(), fetch_one: sqlx::query_as(FIND).bind(&script.id))?;
    Ok(Some(record(row)))
}
