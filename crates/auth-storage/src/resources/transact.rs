//! Writes: all of a list, or none.
//!
//! What to do is decided by [`fhir_store::plan`]; here are the statements and the locks.
//!
//! SQLite has one writer, so a transaction is alone from its first statement. On Postgres advisory
//! locks give the same for the rows concerned: every write shares the lock of its type and has the
//! lock of its resource to itself, which covers resources that do not exist yet; a conditional
//! write, the first write of a type and a long list have the type to themselves. Locks are taken
//! in one order, types before resources and each by name, so writers cannot block each other for
//! ever. We did not take serializable isolation: fifty conditional creates at once then mostly
//! fail and start over, and here they wait their turn.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::slice;
use std::time::Instant;

use fhir_store::plan::{self, Decision, Target};
use fhir_store::shape::{ShapeFault, ShapeProblem};
use fhir_store::{
    Lookup, Operation, ResourceId, ResourceKey, ResourceType, Stored, Write, WriteFault, WriteRefusal, Written,
};
use migrations::{Effect, EffectRefused, Progress, SqlPlace};
use serde_json::{Map, Value};
use sqlx::types::Json;

use super::list;
use super::table::{self, Found, Table};
use crate::db::Db;
use crate::dialect::Sql;
use crate::document::Document;
use crate::engine::{On, Tx, run};
use crate::fault::Contended;
use crate::packages;
use crate::script::{self, ScriptFault};
use crate::search::Pending;

/// More writes than this to one type lock the type, not each resource: the server's lock table has
/// room for a few thousand locks in all.
const RESOURCE_LOCKS_MAX: usize = 64;

const LOCK: &str = "SELECT CASE WHEN exclusive
    THEN pg_advisory_xact_lock(hashtextextended(name, 0))::TEXT
    ELSE pg_advisory_xact_lock_shared(hashtextextended(name, 0))::TEXT END
FROM (
    SELECT name, exclusive FROM unnest($1::TEXT[], $2::BOOLEAN[]) WITH ORDINALITY
        AS asked (name, exclusive, place)
    ORDER BY place
) AS ordered";
const CURRENT: &str = "SELECT t.txid, {us:t.ts}, t.resource FROM {table} t WHERE t.id = $1 {for_update}";
const LAST_WRITE: &str = "SELECT max(txid) FROM {history} WHERE id = $1";
static NEXT_VERSION: Sql = Sql::new("{next_version}");
const PUT: &str = "INSERT INTO {table} (id, txid, ts, resource) VALUES ($1, $2, {from_us:$3}, $4)
ON CONFLICT (id) DO UPDATE
SET txid = excluded.txid, ts = excluded.ts, resource = excluded.resource";
const DELETE: &str = "DELETE FROM {table} WHERE id = $1";
const RECORD: &str = "INSERT INTO {history} (id, txid, ts, resource, op)
VALUES ($1, $2, {from_us:$3}, $4, $5)";

/// Why an attempt ended without its writes.
pub(crate) enum Halt {
    /// A rule refuses them.
    Refused(WriteRefusal),
    /// What belongs to the write of this index cannot be done to this resource.
    Effect(usize, ResourceKey, EffectRefused),
    /// The engine failed.
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for Halt {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

impl Contended for Halt {
    fn is_contended(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Effect(..) => false,
            Self::Failed(error) => error.is_contended(),
        }
    }
}

/// Why an effect did not happen.
enum EffectFault {
    Refused(EffectRefused),
    Failed(sqlx::Error),
}

impl From<ScriptFault> for EffectFault {
    fn from(fault: ScriptFault) -> Self {
        match fault {
            ScriptFault::Refused(refused) => Self::Refused(refused.into()),
            ScriptFault::Failed(error) => Self::Failed(error),
        }
    }
}

impl From<packages::Halt> for EffectFault {
    fn from(halt: packages::Halt) -> Self {
        match halt {
            packages::Halt::Refused(refused) => Self::Refused(refused.into()),
            packages::Halt::Failed(error) => Self::Failed(error),
        }
    }
}

/// What writes do besides being written, by their index.
pub(crate) type Effects = HashMap<usize, Effect>;

/// A transaction under way.
struct Attempt {
    tx: Tx,
    now_us: i64,
    progress: Progress,
    /// The table of each type written to, `None` where nothing was ever written.
    tables: HashMap<ResourceType, Option<Table>>,
    /// What becomes of the index of searches.
    search: Pending,
    /// The last write whose effect happened.
    concluded: Option<(usize, ResourceKey)>,
}

impl Attempt {
    fn new(db: &Db, tx: Tx, progress: &Progress, now_us: i64) -> Self {
        let (progress, search) = (progress.clone(), Pending::new(db));
        Self { tx, now_us, progress, tables: HashMap::new(), search, concluded: None }
    }
}

/// Does all the writes once, or none. The session is one of the pool, so no effect may be SQL of a user.
pub(crate) async fn attempt(db: &Db, writes: &[Write], effects: &Effects, now_us: i64) -> Result<Vec<Written>, Halt> {
    let mut attempt = Attempt::new(db, db.begin().await?, &Progress::new(), now_us);
    let done = attempt.run(db, writes, effects).await;
    let tables = attempt.end(db, done.is_ok()).await;
    let done = done?;
    db.remember_tables(tables?);
    Ok(done)
}

/// Does all the writes once, and the effects that are due with them, or nothing. It has a session of its
/// own: what SQL sets there stays there.
pub(crate) async fn attempt_with(
    db: &Db,
    writes: &[Write],
    effects: &Effects,
    (progress, now_us): (&Progress, i64),
) -> Result<Vec<Written>, Halt> {
    let session = db.session().await?;
    let mut attempt = Attempt::new(db, session.begin().await?, progress, now_us);
    let done = attempt.run(db, writes, effects).await;
    let concluded = attempt.concluded.take();
    let ended = attempt.end(db, done.is_ok()).await;
    session.close().await;
    db.forget_tables();
    let done = done?;
    ended.map_err(|error| match (script::fault(error, db.engine_name(), SqlPlace::WHOLE), concluded) {
        // A constraint that waits for the end of the transaction is refused only there.
        (ScriptFault::Refused(refused), Some((index, key))) => Halt::Effect(index, key, refused.into()),
        (ScriptFault::Refused(refused), None) => Halt::Failed(sqlx::Error::Protocol(refused.to_string())),
        (ScriptFault::Failed(error), _) => Halt::Failed(error),
    })?;
    Ok(done)
}

/// What would become of the writes; nothing of it is kept. The caller may hold SQLite's one writer.
pub(crate) async fn rehearse(db: &Db, writes: &[Write], now_us: i64) -> Result<Vec<Written>, Halt> {
    let session = db.session().await?;
    let mut attempt = Attempt::new(db, session.begin().await?, &Progress::new(), now_us);
    let done = attempt.run(db, writes, &Effects::new()).await;
    let ended = attempt.end(db, false).await;
    session.close().await;
    let done = done?;
    ended?;
    Ok(done)
}

impl Attempt {
    async fn run(&mut self, db: &Db, writes: &[Write], effects: &Effects) -> Result<Vec<Written>, Halt> {
        let alone = self.lock_types(db, writes, effects).await?;
        self.find_tables(db, writes).await?;
        let mut targets = Vec::with_capacity(writes.len());
        for (index, write) in writes.iter().enumerate() {
            targets.push(self.target(write).await?.map_err(refused_at(index))?);
        }
        self.lock_resources(&alone, &targets).await?;
        let urls = plan::full_urls(writes, &targets);
        let mut written = Vec::with_capacity(writes.len());
        for (index, (write, target)) in writes.iter().zip(&targets).enumerate() {
            let current = self.current(target, &write.operation).await?;
            let decision = plan::decide(write.clone(), target, current, &urls);
            let answer = self.carry_out(decision.map_err(refused_at(index))?).await?;
            written.push(match effects.get(&index) {
                Some(effect) => self.conclude((index, write), effect, answer).await?,
                None => answer,
            });
        }
        self.search.write(&mut self.tx).await?;
        Ok(written)
    }

    /// Commits what was done, or takes it back; returns the tables that are known to exist then.
    async fn end(self, db: &Db, commit: bool) -> Result<Vec<Table>, sqlx::Error> {
        if commit {
            self.tx.commit().await?;
            if let Some(index) = self.search.known() {
                db.remember_index(&index);
            }
            Ok(self.tables.into_values().flatten().collect())
        } else {
            self.tx.roll_back().await?;
            Ok(Vec::new())
        }
    }

    /// Does what belongs to a write, when it is due, and stores the migration as it stands then.
    async fn conclude(
        &mut self,
        (index, write): (usize, &Write),
        effect: &Effect,
        answer: Written,
    ) -> Result<Written, Halt> {
        let Some(previous) = migrations::due(&answer).cloned() else {
            return Ok(answer);
        };
        let sent = match (&answer, &write.operation) {
            (Written::Existing(_), Operation::Create(body) | Operation::Put(body)) => body,
            _ => &previous.resource,
        };
        let result = self.perform(index, &previous.key, effect).await?;
        let finished = migrations::finished(&previous.key, sent, &result);
        let resource = finished.map_err(|faults| refused_at(index)(WriteFault::Invalid(faults)))?;
        let concluded = self.carry_out(Decision::Replace { previous, resource }).await?;
        Ok(match (answer, concluded) {
            (Written::Created(_), Written::Updated(stored)) => Written::Created(stored),
            (_, concluded) => concluded,
        })
    }

    /// Does it, and tells its result.
    async fn perform(&mut self, index: usize, key: &ResourceKey, effect: &Effect) -> Result<Value, Halt> {
        let began = Instant::now();
        let runs = effect.runs();
        if runs {
            self.progress.say(format!("running {key}"));
        }
        let result = self.effect(effect).await.map_err(|fault| match fault {
            EffectFault::Refused(refused) => Halt::Effect(index, key.clone(), refused),
            EffectFault::Failed(error) => Halt::Failed(error),
        })?;
        if runs {
            tracing::info!(migration = %key.id, duration_ms = began.elapsed().as_millis(), "a migration was run");
            self.find_tables_again().await?;
            self.concluded = Some((index, key.clone()));
        }
        Ok(result)
    }

    async fn effect(&mut self, effect: &Effect) -> Result<Value, EffectFault> {
        match effect {
            Effect::RunSql { sql } => {
                script::run_within(&mut self.tx, sql).await?;
                self.search.distrust();
            }
            Effect::Install(prepared) => {
                let packages = packages::install((&mut self.tx, &mut self.search), prepared, self.now_us).await?;
                return Ok(packages.into());
            }
            Effect::Uninstall(package) => {
                let packages = slice::from_ref(package);
                packages::uninstall((&mut self.tx, &mut self.search), packages, self.now_us).await?;
            }
            Effect::Unprepared => return Err(EffectFault::Refused(EffectRefused::Unprepared)),
            Effect::Done(result) => return Ok(result.clone()),
        }
        Ok(migrations::done_result())
    }

    /// Users' SQL may have made or dropped tables.
    async fn find_tables_again(&mut self) -> Result<(), sqlx::Error> {
        let kinds: Vec<ResourceType> = self.tables.keys().cloned().collect();
        for kind in kinds {
            let table = match Table::find_in(&mut self.tx, &kind).await? {
                Found::Table(table) => Some(table),
                Found::None | Found::Other => None,
            };
            self.tables.insert(kind, table);
        }
        Ok(())
    }

    /// Locks the types written to and returns those this transaction has to itself.
    async fn lock_types(
        &mut self,
        db: &Db,
        writes: &[Write],
        effects: &Effects,
    ) -> Result<BTreeSet<String>, sqlx::Error> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut alone = BTreeSet::new();
        if effects.values().any(Effect::is_of_packages) {
            alone.extend(packages::kinds()?.iter().map(table::lock_name));
            counts.extend(alone.iter().map(|name| (name.clone(), 0)));
        }
        for write in writes {
            let name = table::lock_name(&write.kind);
            let first = db.known_table(write.kind.as_str()).is_none();
            if first || plan::condition(write).is_some() {
                alone.insert(name.clone());
            }
            *counts.entry(name).or_default() += 1;
        }
        let long = counts.iter().filter(|(_, count)| **count > RESOURCE_LOCKS_MAX);
        alone.extend(long.map(|(name, _)| name.clone()));
        let names = counts.into_keys().map(|name| {
            let exclusive = alone.contains(&name);
            (name, exclusive)
        });
        self.lock(names.collect()).await?;
        Ok(alone)
    }

    /// Locks the resources whose types are shared with other transactions.
    async fn lock_resources(&mut self, alone: &BTreeSet<String>, targets: &[Target]) -> Result<(), sqlx::Error> {
        let keys = targets.iter().filter_map(Target::key);
        let names: BTreeSet<String> = keys
            .map(|key| (table::lock_name(&key.kind), key.id.as_str()))
            .filter(|(table, _)| !alone.contains(table))
            .map(|(table, id)| format!("{table}/{id}"))
            .collect();
        self.lock(names.into_iter().map(|name| (name, true)).collect()).await
    }

    /// Takes locks in the order given and keeps them until the transaction ends.
    async fn lock(&mut self, locks: Vec<(String, bool)>) -> Result<(), sqlx::Error> {
        let On::Postgres(connection) = self.tx.on() else {
            return Ok(());
        };
        if locks.is_empty() {
            return Ok(());
        }
        let (names, exclusive): (Vec<String>, Vec<bool>) = locks.into_iter().unzip();
        sqlx::query(LOCK).bind(names).bind(exclusive).execute(connection).await?;
        Ok(())
    }

    async fn find_tables(&mut self, db: &Db, writes: &[Write]) -> Result<(), Halt> {
        for (index, write) in writes.iter().enumerate() {
            if self.tables.contains_key(&write.kind) {
                continue;
            }
            let name = table::lock_name(&write.kind);
            if self.tables.keys().any(|kind| table::lock_name(kind) == name) {
                return Err(refused_at(index)(other_type(&write.kind)));
            }
            let table = match db.known_table(write.kind.as_str()) {
                Some(known) => Some(known),
                None => match Table::find_in(&mut self.tx, &write.kind).await? {
                    Found::Table(table) => Some(table),
                    Found::None => None,
                    Found::Other => return Err(refused_at(index)(other_type(&write.kind))),
                },
            };
            self.tables.insert(write.kind.clone(), table);
        }
        Ok(())
    }

    /// The resource a write is about.
    async fn target(&mut self, write: &Write) -> Result<Result<Target, WriteFault>, sqlx::Error> {
        let table = self.tables.get(&write.kind).cloned().flatten();
        let matches = match (table, plan::condition(write)) {
            (Some(table), Some(asked)) => list::matches(&mut self.tx, &table, &write.kind, asked).await?,
            _ => Vec::new(),
        };
        let new_id = ResourceId::from(uuid::Uuid::new_v4());
        Ok(plan::resolve(write, &matches, &new_id))
    }

    /// The state of a target, as the writes before left it. What cannot be read can still be removed
    /// and replaced, as if it were empty.
    async fn current(&mut self, target: &Target, operation: &Operation) -> Result<Lookup, sqlx::Error> {
        let Some(key) = target.key() else {
            return Ok(Lookup::Missing);
        };
        let Some(table) = self.tables.get(&key.kind).cloned().flatten() else {
            return Ok(Lookup::Missing);
        };
        let id = key.id.as_str();
        let sql = table.sql(self.tx.dialect(), CURRENT);
        let row: Option<(i64, i64, Document)> = run!(self.tx.on(), fetch_optional: sqlx::query_as(sql).bind(id))?;
        if let Some((version, updated_us, document)) = row {
            let resource = match (document.read(key.kind.as_str(), id), operation) {
                (Some(resource), _) => resource,
                (None, Operation::Delete | Operation::Put(_)) => Value::Object(Map::new()),
                (None, Operation::Create(_) | Operation::Patch(_)) => return Err(unreadable(key)),
            };
            let key = key.clone();
            return Ok(Lookup::Found(Stored { key, version, updated_us, resource }));
        }
        let sql = table.sql(self.tx.dialect(), LAST_WRITE);
        let last: Option<i64> = run!(self.tx.on(), fetch_one: sqlx::query_scalar(sql).bind(id))?;
        Ok(last.map_or(Lookup::Missing, |version| Lookup::Deleted { version }))
    }

    async fn carry_out(&mut self, decision: Decision) -> Result<Written, sqlx::Error> {
        let (key, resource, operation) = match &decision {
            Decision::Insert { key, resource } => (key, resource, "create"),
            Decision::Replace { previous, resource } => (&previous.key, resource, "update"),
            Decision::Delete(stored) => (&stored.key, &stored.resource, "delete"),
            Decision::Nothing(_) => return Ok(decision.written(0, self.now_us)),
        };
        self.search.note(&mut self.tx, &decision).await?;
        let table = self.table_for(&key.kind).await?;
        let dialect = self.tx.dialect();
        let (id, now_us) = (key.id.as_str(), self.now_us);
        let next = NEXT_VERSION.on(dialect);
        let version: i64 = run!(self.tx.on(), fetch_one: sqlx::query_scalar(next))?;
        if operation == "delete" {
            let sql = table.sql(dialect, DELETE);
            run!(self.tx.on(), execute: sqlx::query(sql).bind(id))?;
        } else {
            let sql = table.sql(dialect, PUT);
            run!(self.tx.on(), execute: sqlx::query(sql)
                .bind(id).bind(version).bind(now_us).bind(Json(resource)))?;
        }
        let sql = table.sql(dialect, RECORD);
        run!(self.tx.on(), execute: sqlx::query(sql)
            .bind(id).bind(version).bind(now_us).bind(Json(resource)).bind(operation))?;
        Ok(decision.written(version, now_us))
    }

    /// The table of a type, made if there is none. Only a type this transaction has to itself can
    /// have none.
    async fn table_for(&mut self, kind: &ResourceType) -> Result<Table, sqlx::Error> {
        if let Some(Some(table)) = self.tables.get(kind) {
            return Ok(table.clone());
        }
        let table = Table::create(&mut self.tx, kind).await?;
        self.tables.insert(kind.clone(), Some(table.clone()));
        Ok(table)
    }
}

fn unreadable(key: &ResourceKey) -> sqlx::Error {
    sqlx::Error::Decode(format!("{key} cannot be read").into())
}

fn refused_at(index: usize) -> impl FnOnce(WriteFault) -> Halt {
    move |cause| Halt::Refused(WriteRefusal { index, cause })
}

/// The fault of writing a type that differs in case alone from one that has a table.
fn other_type(kind: &ResourceType) -> WriteFault {
    WriteFault::Invalid(vec![ShapeFault { expression: kind.as_str().to_owned(), problem: ShapeProblem::OtherType }])
}
