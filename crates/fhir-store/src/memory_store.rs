//! A store in memory, for tests and for programs that keep nothing.
//!
//! It runs the same rules as the engines ([`crate::transaction_plan`]) and is the shortest example of how to.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use fhir_resource::{ResourceId, ResourceKey, ResourceType, StoredResource, StoredResourceText};
use fhir_search::ReferenceResolver;
use uuid::{Builder, Uuid};

use crate::access_filter::AccessFilter;
use crate::history::{
    HistoryPage, HistoryPageBuilder, HistoryQuery, HistoryVersionDemand, ResourceVersion, VersionInteraction,
};
use crate::ports::{
    ListPage, ListQuery, ResourceLookup, ResourceStore, ResourceWrite, StoreError, TransactionError, WriteError,
    WriteOutcome,
};
use crate::transaction_plan::{self, WriteDecision, WriteTarget};

/// A resource store in memory, for tests and for programs that persist nothing: a sorted map behind one lock.
///
/// The ids that it assigns are counted, not random, so that tests know them: two stores assign the same ids, and the
/// ids are not secret.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Clone, Debug, Default)]
struct State {
    rows: BTreeMap<ResourceKey, Row>,
    /// Oldest first.
    versions: Vec<ResourceVersion>,
    last_version: i64,
    last_id: u128,
}

#[derive(Clone, Debug)]
enum Row {
    Live(StoredResource),
    Dead { version: i64 },
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A transaction changes the state in one assignment at its end, so a state left behind by
        // a panic is a consistent one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ResourceStore for MemoryStore {
    async fn read(&self, key: &ResourceKey) -> Result<ResourceLookup, StoreError> {
        Ok(lookup(self.lock().rows.get(key)))
    }

    async fn read_as_text(&self, key: &ResourceKey) -> Result<ResourceLookup<StoredResourceText>, StoreError> {
        Ok(match lookup(self.lock().rows.get(key)) {
            ResourceLookup::Found(stored) => ResourceLookup::Found(StoredResourceText::from(&stored)),
            ResourceLookup::Deleted { version } => ResourceLookup::Deleted { version },
            ResourceLookup::Missing => ResourceLookup::Missing,
        })
    }

    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError> {
        let state = self.lock();
        let is_asked_for = |stored: &StoredResource| {
            query.filters.iter().all(|filter| filter.matches_resource(stored))
                && query.within.contains_resource(&stored.key, &stored.resource)
        };
        let matching = || state.live(&query.resource_type).filter(|stored| is_asked_for(stored));
        let skipped = usize::try_from(query.offset()).unwrap_or(usize::MAX);
        let count = usize::try_from(query.count).unwrap_or(usize::MAX);
        Ok(ListPage {
            total: u64::try_from(matching().count()).unwrap_or(u64::MAX),
            entries: matching().skip(skipped).take(count).cloned().collect(),
        })
    }

    async fn read_version(&self, key: &ResourceKey, version: i64) -> Result<Option<ResourceVersion>, StoreError> {
        let state = self.lock();
        let found = state.versions.iter().find(|known| known.stored.version == version && known.stored.key == *key);
        Ok(found.cloned())
    }

    async fn read_history(&self, query: &HistoryQuery) -> Result<HistoryPage, StoreError> {
        let state = self.lock();
        let mut versions: Vec<&ResourceVersion> =
            state.versions.iter().filter(|version| is_asked_for(query, version)).collect();
        versions.sort_by_key(|version| Reverse((version.stored.updated_us, version.stored.version)));
        let mut pager = HistoryPageBuilder::new(query);
        for version in versions {
            if pager.add_version(version.clone()) == HistoryVersionDemand::Nothing {
                break;
            }
        }
        Ok(pager.finish())
    }

    async fn types_ever_written(&self) -> Result<Vec<ResourceType>, StoreError> {
        let state = self.lock();
        let kinds: BTreeSet<ResourceType> = state.rows.keys().map(|key| key.resource_type.clone()).collect();
        Ok(kinds.into_iter().collect())
    }

    async fn transact_writes(
        &self,
        writes: Vec<ResourceWrite>,
        now_us: i64,
    ) -> Result<Result<Vec<WriteOutcome>, TransactionError>, StoreError> {
        let mut state = self.lock();
        let mut transaction = Transaction { before: &state, after: Changes::of(&state), now_us };
        let outcome = transaction.run(writes);
        let changes = transaction.after;
        if outcome.is_ok() {
            state.commit(changes);
        }
        Ok(outcome)
    }
}

impl State {
    fn live<'a>(&'a self, resource_type: &'a ResourceType) -> impl Iterator<Item = &'a StoredResource> {
        let live = self.rows.values().filter_map(|row| match row {
            Row::Live(stored) => Some(stored),
            Row::Dead { .. } => None,
        });
        live.filter(move |stored| stored.key.resource_type == *resource_type)
    }

    fn commit(&mut self, changes: Changes) {
        self.rows.extend(changes.rows);
        self.versions.extend(changes.versions);
        self.last_version = changes.last_version;
        self.last_id = changes.last_id;
    }
}

fn is_asked_for(query: &HistoryQuery, version: &ResourceVersion) -> bool {
    let stored = &version.stored;
    query.kinds.iter().any(|(resource_type, _)| *resource_type == stored.key.resource_type)
        && query.id.as_ref().is_none_or(|id| *id == stored.key.id)
        && query.window.since_us.is_none_or(|since_us| stored.updated_us >= since_us)
        && query.window.after.is_none_or(|place| place.is_before_version(stored))
}

fn lookup(row: Option<&Row>) -> ResourceLookup {
    match row {
        Some(Row::Live(stored)) => ResourceLookup::Found(stored.clone()),
        Some(Row::Dead { version }) => ResourceLookup::Deleted { version: *version },
        None => ResourceLookup::Missing,
    }
}

/// What of other types the condition of a write may look at.
struct Reached<'a> {
    state: &'a State,
    chained: &'a BTreeMap<ResourceType, AccessFilter>,
}

impl Reached<'_> {
    fn has(&self, stored: &StoredResource) -> bool {
        let within = self.chained.get(&stored.key.resource_type);
        within.is_some_and(|within| within.contains_resource(&stored.key, &stored.resource))
    }
}

impl ReferenceResolver for Reached<'_> {
    fn find_resource(&self, key: &ResourceKey) -> Option<StoredResource> {
        match lookup(self.state.rows.get(key)) {
            ResourceLookup::Found(stored) if self.has(&stored) => Some(stored),
            ResourceLookup::Found(_) | ResourceLookup::Deleted { .. } | ResourceLookup::Missing => None,
        }
    }

    fn resources_of_type(&self, resource_type: &ResourceType) -> Vec<StoredResource> {
        self.state.live(resource_type).filter(|stored| self.has(stored)).cloned().collect()
    }
}

/// What a transaction will have changed.
struct Changes {
    rows: BTreeMap<ResourceKey, Row>,
    versions: Vec<ResourceVersion>,
    last_version: i64,
    last_id: u128,
}

impl Changes {
    fn of(state: &State) -> Self {
        let State { last_version, last_id, .. } = *state;
        Self { rows: BTreeMap::new(), versions: Vec::new(), last_version, last_id }
    }
}

struct Transaction<'a> {
    before: &'a State,
    after: Changes,
    now_us: i64,
}

impl Transaction<'_> {
    fn run(&mut self, writes: Vec<ResourceWrite>) -> Result<Vec<WriteOutcome>, TransactionError> {
        let refuse = |index| move |cause| TransactionError { index, cause };
        let mut targets = Vec::with_capacity(writes.len());
        for (index, write) in writes.iter().enumerate() {
            targets.push(self.resolve(write).map_err(refuse(index))?);
        }
        transaction_plan::check_distinct_targets(&targets)
            .map_err(|(index, cause)| TransactionError { index, cause })?;
        let urls = transaction_plan::collect_full_urls(&writes, &targets);
        let mut answers = Vec::with_capacity(writes.len());
        for (index, (write, target)) in writes.into_iter().zip(&targets).enumerate() {
            let current = target.current_state_key().map_or(ResourceLookup::Missing, |key| self.current(key));
            let decision = transaction_plan::decide_write(write, target, current, &urls).map_err(refuse(index))?;
            answers.push(self.carry_out(decision));
        }
        Ok(answers)
    }

    fn resolve(&mut self, write: &ResourceWrite) -> Result<WriteTarget, WriteError> {
        let matches: Vec<ResourceKey> = match transaction_plan::conditional_write_lookup(write) {
            Some(condition) => {
                let reached = Reached { state: self.before, chained: &condition.reach.chained };
                let live = self.before.live(&write.resource_type);
                let found = live.filter(|stored| condition.matches_resource(stored, Some(&reached)));
                found.map(|stored| stored.key.clone()).take(2).collect()
            }
            None => Vec::new(),
        };
        transaction_plan::resolve_write_target(write, &matches, &self.next_id())
    }

    fn current(&self, key: &ResourceKey) -> ResourceLookup {
        lookup(self.after.rows.get(key).or_else(|| self.before.rows.get(key)))
    }

    fn carry_out(&mut self, decision: WriteDecision) -> WriteOutcome {
        if matches!(decision, WriteDecision::Nothing(_)) {
            return decision.into_write_outcome(0, self.now_us);
        }
        self.after.last_version += 1;
        let version = self.after.last_version;
        let written = decision.into_write_outcome(version, self.now_us);
        let (change, row, stored) = match &written {
            WriteOutcome::Created(stored) => (VersionInteraction::Created, Row::Live(stored.clone()), stored),
            WriteOutcome::Updated(stored) => (VersionInteraction::Updated, Row::Live(stored.clone()), stored),
            WriteOutcome::Deleted(stored) => (VersionInteraction::Deleted, Row::Dead { version }, stored),
            WriteOutcome::Unchanged(_) | WriteOutcome::Existing(_) | WriteOutcome::Absent => return written,
        };
        self.after.rows.insert(stored.key.clone(), row);
        let stored = StoredResource { version, updated_us: self.now_us, ..stored.clone() };
        self.after.versions.push(ResourceVersion { change, stored });
        written
    }

    fn next_id(&mut self) -> ResourceId {
        self.after.last_id += 1;
        let uuid: Uuid = Builder::from_random_bytes(self.after.last_id.to_be_bytes()).into_uuid();
        ResourceId::from(uuid)
    }
}
