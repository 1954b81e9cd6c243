//! Writing the rows of resources, in the transaction that writes the resources.
//!
//! What a transaction changes is noted resource by resource and written at its end, many rows in a
//! statement. Which rows go follows from the version that
//! was there, so that rows need no second index by their resource, and what did not change is not
//! written again.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use fhir_resource::{ResourceKey, ResourceType};
use fhir_search::ConditionalWriteSearch;
use fhir_store::transaction_plan::{ConditionalWriteLookup, WriteDecision};
use fhir_store::{MatchCountMode, SearchExecutionError, SearchQuery};
use serde_json::Value;

use sql_engines::run;

use super::finder::{Finder, Findings};
use super::index::{self, DEFINITIONS, Index};
use super::row::Rows;
use super::rows::{self, Known, Placed};
use super::{number, page};
use crate::db::AuthDatabase;
use crate::document::Document;
use crate::engine::Tx;
use crate::resources::{Found, Table};

/// `$1` is `[[id, …], …]`.
const OF_IDS: &str = "SELECT t.id, t.resource FROM {elements:$1} JOIN {table} t ON t.id = e.value ->> 0";

/// What a transaction changes in the index.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// What is known of the index; compared with the database when it is first used.
    index: Option<Arc<Index>>,
    compared: bool,
    redefined: bool,
    /// Whether somebody wrote past the rules.
    distrusted: bool,
    /// Whether rows that are new by the rules may be there already.
    known: Known,
    changes: BTreeMap<(ResourceType, String), Vec<Change>>,
}

/// The rows of one resource under one number of its type, before the transaction and after it.
#[derive(Debug)]
struct Change {
    complete: bool,
    before: Rows,
    after: Rows,
}

impl Pending {
    /// Nothing yet.
    pub(crate) fn new(db: &AuthDatabase) -> Self {
        Self { index: db.known_index(), ..Self::default() }
    }

    /// Nothing yet, of a transaction that is done again when it fails for [`crate::fault::is_strewn_row`]: then what is
    /// new by the rules is not compared with what is there, which on Postgres is a third of storing it.
    pub(crate) fn repeated(db: &AuthDatabase) -> Self {
        let known = if db.has_strewn_rows() { Known::Perhaps } else { Known::No };
        Self { known, ..Self::new(db) }
    }

    /// Notes that SQL of a user ran, which may have written anything.
    pub(crate) const fn distrust(&mut self) {
        self.distrusted = true;
    }

    /// Notes what a write does, before it is done.
    pub(crate) async fn note(&mut self, tx: &mut Tx, decision: &WriteDecision) -> Result<(), sqlx::Error> {
        let (key, before, after) = match decision {
            WriteDecision::Insert { key, resource } => (key, None, Some(resource)),
            WriteDecision::Replace { previous, resource } => (&previous.key, Some(&previous.resource), Some(resource)),
            WriteDecision::Delete(stored) => (&stored.key, Some(&stored.resource), None),
            WriteDecision::Nothing(_) => return Ok(()),
        };
        self.change(tx, (&key.resource_type, key.id.as_str()), (before, after)).await
    }

    /// Returns what finds the resources of a type that a batch writes; `None` where searches know nothing of it.
    pub(crate) async fn finder(&mut self, tx: &mut Tx, kind: &ResourceType) -> Result<Option<Finder>, sqlx::Error> {
        self.redefined |= kind.as_str() == DEFINITIONS;
        Ok(Finder::of(self.registered(tx, kind).await?, kind))
    }

    /// Notes what the resources of a batch become before they are written; `keys` is `[[id, …], …]`.
    pub(crate) async fn note_batch(
        &mut self,
        tx: &mut Tx,
        (table, finder): (&Table, &Finder),
        keys: &str,
        after: impl IntoIterator<Item = (String, Findings)>,
    ) -> Result<(), sqlx::Error> {
        let before = of_ids(tx, table, keys).await?;
        for (id, after) in after {
            let before = before.get(&id).map(|before| finder.findings(&id, before)).unwrap_or_default();
            self.record(finder, id, (before, after));
        }
        Ok(())
    }

    /// Notes resources of ids that nothing had before.
    pub(crate) fn note_new(&mut self, finder: &Finder, new: impl IntoIterator<Item = (String, Findings)>) {
        for (id, after) in new {
            self.record(finder, id, (Findings::default(), after));
        }
    }

    /// Notes that resources go, `[[id], …]`, before they do.
    pub(crate) async fn note_gone(
        &mut self,
        tx: &mut Tx,
        (table, kind): (&Table, &ResourceType),
        keys: &str,
    ) -> Result<(), sqlx::Error> {
        if !self.index(tx).await?.covers(kind) {
            return Ok(());
        }
        for (id, resource) in of_ids(tx, table, keys).await? {
            self.change(tx, (kind, &id), (Some(&resource), None)).await?;
        }
        Ok(())
    }

    async fn change(
        &mut self,
        tx: &mut Tx,
        (kind, id): (&ResourceType, &str),
        (before, after): (Option<&Value>, Option<&Value>),
    ) -> Result<(), sqlx::Error> {
        let Some(finder) = self.finder(tx, kind).await? else { return Ok(()) };
        let findings = |body: Option<&Value>| body.map(|body| finder.findings(id, body)).unwrap_or_default();
        self.record(&finder, id.to_owned(), (findings(before), findings(after)));
        Ok(())
    }

    /// Notes what finds a resource before and after; nothing finds one that is not there.
    fn record(&mut self, finder: &Finder, id: String, (before, after): (Findings, Findings)) {
        let of_each = |findings: Findings| findings.0.into_iter().chain(std::iter::repeat_with(Rows::new));
        let rows = of_each(before).zip(of_each(after));
        let changes = finder.complete().zip(rows);
        let changes: Vec<_> = changes.map(|(complete, (before, after))| Change { complete, before, after }).collect();
        match self.changes.entry((finder.kind().clone(), id)) {
            // What another write of this transaction left is what this one replaces.
            Entry::Occupied(mut earlier) if earlier.get().len() == changes.len() => {
                for (earlier, change) in earlier.get_mut().iter_mut().zip(changes) {
                    earlier.after = change.after;
                }
            }
            Entry::Occupied(mut earlier) => {
                earlier.insert(changes);
            }
            Entry::Vacant(place) => {
                place.insert(changes);
            }
        }
    }

    /// Returns the keys of the resources that meet a condition, two at most. The transaction has the types it looks at
    /// to itself, so their rows stay until it ends.
    pub(crate) async fn matches(
        &mut self,
        (tx, db): (&mut Tx, &AuthDatabase),
        table: &Table,
        (condition, asked): (&ConditionalWriteSearch, ConditionalWriteLookup<'_>),
    ) -> Result<Result<Vec<ResourceKey>, SearchExecutionError>, sqlx::Error> {
        db.remember_tables([table.clone()]);
        let mut index = self.registered(tx, &condition.search.resource_type).await?;
        for kind in asked.criteria.chained_resource_types() {
            if let Found::Table(table) = Table::find_in(tx, kind).await? {
                db.remember_tables([table]);
                index = self.registered(tx, kind).await?;
            }
        }
        let query = SearchQuery {
            search: condition.search.clone(),
            filters: asked.criteria.filters.clone(),
            within: asked.reach.search.clone(),
            reaches: asked.reach.chained.clone(),
            count: 2,
            counting: MatchCountMode::No,
        };
        page::keys(tx, (db, &index), table, &query).await
    }

    /// Returns the state of the index in which a type has its number, if it is one of those that have one.
    async fn registered(&mut self, tx: &mut Tx, kind: &ResourceType) -> Result<Arc<Index>, sqlx::Error> {
        let index = self.index(tx).await?;
        if !index.covers(kind) || index.numbers(kind).is_some() {
            return Ok(index);
        }
        number::register(tx, &index, kind).await?;
        self.reload(tx).await
    }

    /// Returns the state of the index as this transaction sees it. The locks of the types are held by now, so whoever
    /// numbers a type or a parameter after this sees what this transaction writes.
    async fn index(&mut self, tx: &mut Tx) -> Result<Arc<Index>, sqlx::Error> {
        if let Some(index) = &self.index
            && (self.compared || index::revision(tx).await? == index.revision)
        {
            self.compared = true;
            return Ok(Arc::clone(index));
        }
        let index = Arc::new(Index::read(tx).await?);
        self.index = Some(Arc::clone(&index));
        self.compared = true;
        Ok(index)
    }

    async fn reload(&mut self, tx: &mut Tx) -> Result<Arc<Index>, sqlx::Error> {
        let index = Arc::new(Index::read(tx).await?);
        self.index = Some(Arc::clone(&index));
        Ok(index)
    }

    /// Writes what was noted, at the end of the transaction.
    pub(crate) async fn write(&mut self, tx: &mut Tx) -> Result<(), sqlx::Error> {
        self.write_rows(tx).await?;
        if std::mem::take(&mut self.distrusted) {
            number::renew_all(tx).await?;
            self.reload(tx).await?;
        }
        if std::mem::take(&mut self.redefined) && number::redefine(tx).await? {
            self.reload(tx).await?;
        }
        Ok(())
    }

    /// Writes the rows noted so far, so that they need not be held.
    pub(crate) async fn write_rows(&mut self, tx: &mut Tx) -> Result<(), sqlx::Error> {
        let changes = std::mem::take(&mut self.changes);
        let (mut removed, mut added, mut missing) = (Placed::default(), Placed::default(), Placed::default());
        for ((_, id), changes) in &changes {
            for Change { complete, before, after } in changes {
                removed.extend(before.difference(after), id);
                if *complete {
                    added.extend(after.difference(before), id);
                } else {
                    // Where rows are still being made, the version before may have none yet.
                    missing.extend(after.iter(), id);
                }
            }
        }
        rows::remove(tx, removed).await?;
        rows::add(tx, added, self.known).await?;
        rows::add(tx, missing, Known::Perhaps).await
    }

    /// Returns the index as it is known once the transaction is committed.
    pub(crate) fn known(self) -> Option<Arc<Index>> {
        self.index.filter(|_| self.compared)
    }
}

async fn of_ids(tx: &mut Tx, table: &Table, rows: &str) -> Result<BTreeMap<String, Value>, sqlx::Error> {
    let sql = table.sql(tx.dialect(), OF_IDS);
    let rows: Vec<(String, Document)> = run!(tx.on(), fetch_all: sqlx::query_as(sql).bind(rows))?;
    Ok(rows.into_iter().filter_map(|(id, document)| Some((id, document.0?))).collect())
}
