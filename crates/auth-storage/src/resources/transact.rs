//! Writes: all of a list, or none.
//!
//! What to do is decided by [`fhir_store::transaction_plan`]; here are the statements and the locks.
//!
//! SQLite has one writer, so a transaction is alone from its first statement. On Postgres advisory
//! locks give the same for the rows concerned: every write shares the lock of its type and has the
//! lock of its resource to itself, which covers resources that do not exist yet; a conditional
//! write, the first write of a type and a long list have the type to themselves. Locks are taken
//! in one order, types before resources and each by name, so writers cannot block each other for
//! ever. We did not take serializable isolation: fifty conditional creates at once then mostly
//! fail and start over, and here they wait their turn.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::slice;
use std::time::{Duration, Instant};

use fhir_resource::{ResourceId, ResourceKey, ResourceType, StoredResource};
use fhir_store::body_validation::{RequestBodyError, RequestBodyErrorKind};
use fhir_store::transaction_plan::{self, ConditionalWriteLookup, WriteDecision, WriteTarget};
use fhir_store::{
    ResourceLookup, ResourceWrite, SearchExecutionError, TransactionError, WriteError, WriteOperation, WriteOutcome,
};
use migrations::{MigrationEffect, MigrationEffectError, ProgressReporter, SqlPosition};
use serde_json::{Map, Value};
use sql_engines::{PerEngine, RetryableError};

use super::append::new_id;
use super::list;
use super::logins::NewLogins;
use super::table::{self, Found, Table};
use super::versions::{self, State, Unwritten};
use crate::db::AuthDatabase;
use crate::engine::Tx;
use crate::fault::is_strewn_row;
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
/// The reason why an attempt ended without its writes.
pub(crate) enum Halt {
    /// A rule refuses them.
    Refused(TransactionError),
    /// What belongs to the write of this index cannot be done to this resource.
    Effect(usize, ResourceKey, MigrationEffectError),
    /// The engine failed.
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for Halt {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

impl RetryableError for Halt {
    fn is_contention(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Effect(..) => false,
            Self::Failed(error) => error.is_contention() || is_strewn_row(error),
        }
    }
}

/// The reason why an effect did not happen.
enum EffectFault {
    Refused(MigrationEffectError),
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
pub(crate) type Effects = HashMap<usize, MigrationEffect>;

/// A transaction under way.
struct Attempt {
    tx: Tx,
    now_us: i64,
    progress: ProgressReporter,
    /// The table of each type written to, `None` where nothing was ever written.
    tables: HashMap<ResourceType, Option<Table>>,
    /// How resources stood that are written next, as far as they were read.
    states: HashMap<ResourceKey, State>,
    /// Numbers of writes, taken and not given yet, the next one last.
    numbers: Vec<i64>,
    /// What is written and not in the tables yet.
    unwritten: Unwritten,
    /// Users that get other names to sign in with.
    logins: NewLogins,
    /// What becomes of the index of searches.
    search: Pending,
    /// The last write whose effect happened.
    concluded: Option<(usize, ResourceKey)>,
    /// What is left of the time that its conditions may take together: others wait for what it holds.
    search_time: Duration,
}

impl Attempt {
    fn new(db: &AuthDatabase, tx: Tx, progress: &ProgressReporter, now_us: i64) -> Self {
        let (progress, search) = (progress.clone(), Pending::new(db));
        let (tables, states) = (HashMap::new(), HashMap::new());
        let (numbers, unwritten) = (Vec::new(), Unwritten::default());
        let (logins, search_time) = (NewLogins::default(), db.search_time());
        let concluded = None;
        Self { tx, now_us, progress, tables, states, numbers, unwritten, logins, search, concluded, search_time }
    }
}

/// Does all the writes once, or none. The session is one of the pool, so no effect may be SQL of a user. Whoever calls
/// it does so again when it is contended.
pub(crate) async fn attempt(
    db: &AuthDatabase,
    writes: &[ResourceWrite],
    effects: &Effects,
    now_us: i64,
) -> Result<Vec<WriteOutcome>, Halt> {
    let searches = writes.iter().any(|write| transaction_plan::conditional_write_lookup(write).is_some());
    let _turn = if searches { Some(db.condition_turn().await?) } else { None };
    let mut attempt = Attempt::new(db, db.begin().await?, &ProgressReporter::new(), now_us);
    attempt.search = Pending::repeated(db);
    let done = attempt.run(db, writes, effects).await;
    if let Err(Halt::Failed(error)) = &done
        && is_strewn_row(error)
    {
        db.remember_strewn_rows();
    }
    let tables = attempt.end(db, done.is_ok()).await;
    let done = done?;
    db.remember_tables(tables?);
    Ok(done)
}

/// Does all the writes once, and the effects that are due with them, or nothing. It has a session of its
/// own: what SQL sets there stays there.
pub(crate) async fn attempt_with(
    db: &AuthDatabase,
    writes: &[ResourceWrite],
    effects: &Effects,
    (progress, now_us): (&ProgressReporter, i64),
) -> Result<Vec<WriteOutcome>, Halt> {
    let session = db.session().await?;
    let mut attempt = Attempt::new(db, session.begin().await?, progress, now_us);
    let done = attempt.run(db, writes, effects).await;
    let concluded = attempt.concluded.take();
    let ended = attempt.end(db, done.is_ok()).await;
    session.close().await;
    db.forget_tables();
    let done = done?;
    ended.map_err(|error| match (script::fault(error, db.engine_name(), SqlPosition::WHOLE_TEXT), concluded) {
        // A constraint that waits for the end of the transaction is refused only there.
        (ScriptFault::Refused(refused), Some((index, key))) => Halt::Effect(index, key, refused.into()),
        (ScriptFault::Refused(refused), None) => Halt::Failed(sqlx::Error::Protocol(refused.to_string())),
        (ScriptFault::Failed(error), _) => Halt::Failed(error),
    })?;
    Ok(done)
}

/// Returns what would become of the writes; nothing of it is kept. The caller may hold SQLite's one writer.
pub(crate) async fn rehearse(
    db: &AuthDatabase,
    writes: &[ResourceWrite],
    now_us: i64,
) -> Result<Vec<WriteOutcome>, Halt> {
    let session = db.session().await?;
    let mut attempt = Attempt::new(db, session.begin().await?, &ProgressReporter::new(), now_us);
    let done = attempt.run(db, writes, &Effects::new()).await;
    let ended = attempt.end(db, false).await;
    session.close().await;
    let done = done?;
    ended?;
    Ok(done)
}

impl Attempt {
    async fn run(
        &mut self,
        db: &AuthDatabase,
        writes: &[ResourceWrite],
        effects: &Effects,
    ) -> Result<Vec<WriteOutcome>, Halt> {
        let alone = self.lock_types(db, writes, effects).await?;
        self.find_tables(db, writes).await?;
        let mut targets = Vec::with_capacity(writes.len());
        for (index, write) in writes.iter().enumerate() {
            targets.push(self.target(db, write).await?.map_err(refused_at(index))?);
        }
        transaction_plan::check_distinct_targets(&targets).map_err(|(index, cause)| refused_at(index)(cause))?;
        self.lock_resources(&alone, &targets).await?;
        let urls = transaction_plan::collect_full_urls(writes, &targets);
        let mut written = Vec::with_capacity(writes.len());
        for (index, (write, target)) in writes.iter().zip(&targets).enumerate() {
            let left = targets.get(index..).unwrap_or_default();
            let current = self.current(target, left, &write.operation).await?;
            let decision = transaction_plan::decide_write(write.clone(), target, current, &urls);
            let decision = decision.map_err(refused_at(index))?;
            self.logins.note(index, &decision);
            let answer = self.carry_out(decision, left.len()).await?;
            written.push(match effects.get(&index) {
                Some(effect) => self.conclude((index, write), effect, answer).await?,
                None => answer,
            });
        }
        self.flush().await?;
        self.search.write(&mut self.tx).await?;
        match self.logins.taken(&mut self.tx).await? {
            Some(index) => Err(refused_at(index)(WriteError::Taken("userName or email"))),
            None => Ok(written),
        }
    }

    /// Commits what was done, or takes it back; returns the tables that are known to exist then.
    async fn end(self, db: &AuthDatabase, commit: bool) -> Result<Vec<Table>, sqlx::Error> {
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
        (index, write): (usize, &ResourceWrite),
        effect: &MigrationEffect,
        answer: WriteOutcome,
    ) -> Result<WriteOutcome, Halt> {
        let Some(previous) = migrations::due_effect_version(&answer).cloned() else {
            return Ok(answer);
        };
        let sent = match (&answer, &write.operation) {
            (WriteOutcome::Existing(_), WriteOperation::Create(body) | WriteOperation::Put(body)) => body,
            _ => &previous.resource,
        };
        let result = self.perform(index, &previous.key, effect).await?;
        let finished = migrations::finished_migration_document(&previous.key, sent, &result);
        let resource = finished.map_err(|faults| refused_at(index)(WriteError::Invalid(faults)))?;
        let concluded = self.carry_out(WriteDecision::Replace { previous, resource }, 1).await?;
        Ok(match (answer, concluded) {
            (WriteOutcome::Created(_), WriteOutcome::Updated(stored)) => WriteOutcome::Created(stored),
            (_, concluded) => concluded,
        })
    }

    /// Does it, and tells its result.
    async fn perform(&mut self, index: usize, key: &ResourceKey, effect: &MigrationEffect) -> Result<Value, Halt> {
        let began = Instant::now();
        let runs = effect.has_work();
        if runs {
            self.progress.report(format!("running {key}"));
        }
        // What was written before is what SQL sees, and what it does nobody foresees.
        self.flush().await?;
        self.states.clear();
        self.numbers.clear();
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

    async fn effect(&mut self, effect: &MigrationEffect) -> Result<Value, EffectFault> {
        match effect {
            MigrationEffect::RunSql { sql } => {
                script::run_within(&mut self.tx, sql).await?;
                self.search.distrust();
            }
            MigrationEffect::Install(prepared) => {
                let packages = packages::install((&mut self.tx, &mut self.search), prepared, self.now_us).await?;
                return Ok(packages.into());
            }
            MigrationEffect::Uninstall(package) => {
                let packages = slice::from_ref(package);
                packages::uninstall((&mut self.tx, &mut self.search), packages, self.now_us).await?;
            }
            MigrationEffect::Unprepared => return Err(EffectFault::Refused(MigrationEffectError::Unprepared)),
            MigrationEffect::Done(result) => return Ok(result.clone()),
        }
        Ok(migrations::sql_migration_result())
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
        db: &AuthDatabase,
        writes: &[ResourceWrite],
        effects: &Effects,
    ) -> Result<BTreeSet<String>, sqlx::Error> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut alone = BTreeSet::new();
        if effects.values().any(MigrationEffect::changes_packages) {
            alone.extend(packages::kinds()?.iter().map(table::lock_name));
            counts.extend(alone.iter().map(|name| (name.clone(), 0)));
        }
        for write in writes {
            let name = table::lock_name(&write.resource_type);
            let first = db.known_table(write.resource_type.as_str()).is_none();
            let condition = transaction_plan::conditional_write_lookup(write);
            if first || condition.is_some() {
                alone.insert(name.clone());
            }
            *counts.entry(name).or_default() += 1;
            // What a condition looks at stays as it is until what it decided is committed.
            for kind in condition.iter().flat_map(|condition| condition.criteria.chained_resource_types()) {
                let name = table::lock_name(kind);
                alone.insert(name.clone());
                counts.entry(name).or_default();
            }
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
    async fn lock_resources(&mut self, alone: &BTreeSet<String>, targets: &[WriteTarget]) -> Result<(), sqlx::Error> {
        // Nobody else knows an id that was made here.
        let keys =
            targets.iter().filter_map(WriteTarget::current_state_key).filter(|key| !self.states.contains_key(key));
        let names: BTreeSet<String> = keys
            .map(|key| (table::lock_name(&key.resource_type), key.id.as_str()))
            .filter(|(table, _)| !alone.contains(table))
            .map(|(table, id)| format!("{table}/{id}"))
            .collect();
        self.lock(names.into_iter().map(|name| (name, true)).collect()).await
    }

    /// Takes locks in the order given and keeps them until the transaction ends.
    async fn lock(&mut self, locks: Vec<(String, bool)>) -> Result<(), sqlx::Error> {
        let PerEngine::Postgres(connection) = self.tx.on() else {
            return Ok(());
        };
        if locks.is_empty() {
            return Ok(());
        }
        let (names, exclusive): (Vec<String>, Vec<bool>) = locks.into_iter().unzip();
        sqlx::query(LOCK).bind(names).bind(exclusive).execute(connection).await?;
        Ok(())
    }

    async fn find_tables(&mut self, db: &AuthDatabase, writes: &[ResourceWrite]) -> Result<(), Halt> {
        for (index, write) in writes.iter().enumerate() {
            if self.tables.contains_key(&write.resource_type) {
                continue;
            }
            let name = table::lock_name(&write.resource_type);
            if self.tables.keys().any(|kind| table::lock_name(kind) == name) {
                return Err(refused_at(index)(other_type(&write.resource_type)));
            }
            let table = match db.known_table(write.resource_type.as_str()) {
                Some(known) => Some(known),
                None => match Table::find_in(&mut self.tx, &write.resource_type).await? {
                    Found::Table(table) => Some(table),
                    Found::None => None,
                    Found::Other => return Err(refused_at(index)(other_type(&write.resource_type))),
                },
            };
            self.tables.insert(write.resource_type.clone(), table);
        }
        Ok(())
    }

    /// Returns the resource a write is about.
    async fn target(
        &mut self,
        db: &AuthDatabase,
        write: &ResourceWrite,
    ) -> Result<Result<WriteTarget, WriteError>, sqlx::Error> {
        let table = self.tables.get(&write.resource_type).cloned().flatten();
        let matches = match (table, transaction_plan::conditional_write_lookup(write)) {
            (Some(table), Some(asked)) => match self.matches(db, &table, (&write.resource_type, asked)).await? {
                Ok(matches) => matches,
                Err(refused) => return Ok(Err(refused.into())),
            },
            _ => Vec::new(),
        };
        let new_id = ResourceId::from(new_id(self.now_us));
        let target = transaction_plan::resolve_write_target(write, &matches, &new_id);
        if let Some(key) = target.as_ref().ok().and_then(WriteTarget::current_state_key).filter(|key| key.id == new_id)
        {
            self.states.insert(key.clone(), State::Missing);
        }
        Ok(target)
    }

    /// Returns the keys of the resources that meet a condition, two at most, if they are found in the time that is
    /// left.
    async fn matches(
        &mut self,
        db: &AuthDatabase,
        table: &Table,
        (kind, asked): (&ResourceType, ConditionalWriteLookup<'_>),
    ) -> Result<Result<Vec<ResourceKey>, SearchExecutionError>, sqlx::Error> {
        let limit = self.tx.limit(self.search_time).await?;
        let began = Instant::now();
        let found = match &asked.criteria.search {
            None => list::matches(&mut self.tx, table, kind, asked).await.map(Ok),
            Some(search) => self.search.matches((&mut self.tx, db), table, (search, asked)).await,
        };
        self.search_time = self.search_time.saturating_sub(began.elapsed());
        self.tx.unlimit(limit, found).await
    }

    /// Returns the state of a target, as the writes before left it; `left` are the targets from it on. What cannot be
    /// read can still be removed and replaced, as if it were empty.
    async fn current(
        &mut self,
        target: &WriteTarget,
        left: &[WriteTarget],
        operation: &WriteOperation,
    ) -> Result<ResourceLookup, sqlx::Error> {
        let Some(key) = target.current_state_key() else {
            return Ok(ResourceLookup::Missing);
        };
        if self.unwritten.holds(key) {
            self.flush().await?;
        }
        if !self.states.contains_key(key) {
            self.read_ahead(left).await?;
        }
        let (version, updated_us, document) = match self.states.remove(key) {
            Some(State::There { version, updated_us, document }) => (version, updated_us, document),
            Some(State::Deleted { version }) => return Ok(ResourceLookup::Deleted { version }),
            Some(State::Missing) | None => return Ok(ResourceLookup::Missing),
        };
        let resource = match (document.read(key.resource_type.as_str(), key.id.as_str()), operation) {
            (Some(resource), _) => resource,
            (None, WriteOperation::Delete | WriteOperation::Put(_)) => Value::Object(Map::new()),
            (None, WriteOperation::Create(_) | WriteOperation::Patch(_)) => return Err(unreadable(key)),
        };
        Ok(ResourceLookup::Found(StoredResource { key: key.clone(), version, updated_us, resource }))
    }

    /// Reads the states of the first of `targets`. What has an unwritten version is read once that is written.
    async fn read_ahead(&mut self, targets: &[WriteTarget]) -> Result<(), sqlx::Error> {
        let mut asked: BTreeMap<&ResourceType, HashSet<&str>> = BTreeMap::new();
        for key in targets.iter().take(versions::AT_ONCE).filter_map(WriteTarget::current_state_key) {
            if !self.unwritten.holds(key) && !self.states.contains_key(key) {
                asked.entry(&key.resource_type).or_default().insert(key.id.as_str());
            }
        }
        for (kind, ids) in asked {
            // Of a type without a table nothing ever was.
            let Some(Some(table)) = self.tables.get(kind) else { continue };
            for (id, state) in versions::states(&mut self.tx, table, &ids).await? {
                let id = id.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
                self.states.insert(ResourceKey { resource_type: kind.clone(), id }, state);
            }
        }
        Ok(())
    }

    /// Does what was decided for the first of the `left` writes.
    async fn carry_out(&mut self, decision: WriteDecision, left: usize) -> Result<WriteOutcome, sqlx::Error> {
        let (key, resource, operation) = match &decision {
            WriteDecision::Insert { key, resource } => (key, resource, "create"),
            WriteDecision::Replace { previous, resource } => (&previous.key, resource, "update"),
            WriteDecision::Delete(stored) => (&stored.key, &stored.resource, "delete"),
            WriteDecision::Nothing(_) => return Ok(decision.into_write_outcome(0, self.now_us)),
        };
        if self.unwritten.is_full() || self.unwritten.holds(key) {
            self.flush().await?;
        }
        self.search.note(&mut self.tx, &decision).await?;
        self.ensure_table(&key.resource_type).await?;
        if self.numbers.is_empty() {
            self.numbers = versions::numbers(self.tx.on(), left.clamp(1, versions::AT_ONCE)).await?;
        }
        let version = self.numbers.pop().ok_or(sqlx::Error::RowNotFound)?;
        self.unwritten.push(key, version, operation, resource);
        Ok(decision.into_write_outcome(version, self.now_us))
    }

    /// Writes what waits to be written.
    async fn flush(&mut self) -> Result<(), sqlx::Error> {
        self.unwritten.write(&mut self.tx, &self.tables, self.now_us).await?;
        self.search.write_rows(&mut self.tx).await
    }

    /// Makes the table of a type if there is none. Only a type this transaction has to itself can have
    /// none.
    async fn ensure_table(&mut self, kind: &ResourceType) -> Result<(), sqlx::Error> {
        if !matches!(self.tables.get(kind), Some(Some(_))) {
            let table = Table::create(&mut self.tx, kind).await?;
            self.tables.insert(kind.clone(), Some(table));
        }
        Ok(())
    }
}

fn unreadable(key: &ResourceKey) -> sqlx::Error {
    sqlx::Error::Decode(format!("{key} cannot be read").into())
}

fn refused_at(index: usize) -> impl FnOnce(WriteError) -> Halt {
    move |cause| Halt::Refused(TransactionError { index, cause })
}

/// Returns the fault of writing a type that differs in case alone from one that has a table.
fn other_type(kind: &ResourceType) -> WriteError {
    WriteError::Invalid(vec![RequestBodyError {
        expression: kind.as_str().to_owned(),
        problem: RequestBodyErrorKind::OtherType,
    }])
}
