//! What a node knows of the index: the parameters, and the numbers that rows have.
//!
//! The copy in memory is compared with the database by whoever uses it: a write within its
//! transaction, after it has its locks, a search within its statement.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fhir_resource::ResourceType;
use fhir_search::{FIRST_INSTALLED_PARAMETER_NUMBER, IndexedDocument, SearchParameterCatalog};
use oauth_core::security_resource_rules;
use serde_json::Value;

use sql_engines::run;

use super::row::{self, Rows, STRIDE, digest_of};
use crate::document::Document as Stored;
use crate::engine::Tx;
use crate::resources::{Found, Table};

/// Room for the numbers of the parameters of one type.
const TYPE_STRIDE: i64 = 1 << 20;
/// The type whose resources define parameters.
pub(super) const DEFINITIONS: &str = "SearchParameter";
/// What the URLs of R4's own parameters begin with: they are here already.
const BASE_URL: &str = "http://hl7.org/fhir/SearchParameter/";

const STATE: &str = "SELECT revision, definitions, own FROM search_state";
const TYPES: &str = "SELECT number, kind, definitions, state FROM search_type WHERE state <> 'retired'";
const KNOWN: &str = "SELECT number, url, digest, since FROM search_definition";
const RESOURCES: &str = "SELECT t.id, t.resource FROM {table} t ORDER BY t.id";

/// The state of the index as one transaction saw it.
#[derive(Debug)]
pub(crate) struct Index {
    /// The revision it is a copy of.
    pub(super) revision: i64,
    /// The revision of the definitions.
    pub(super) definitions: i64,
    /// The parameters.
    pub(super) catalog: Arc<SearchParameterCatalog>,
    /// The address that absolute references to our own resources begin with; empty when there is none.
    pub(super) own: String,
    /// The revision of the definitions in which an installed parameter came.
    since: HashMap<i64, i64>,
    types: HashMap<String, Numbers>,
}

/// The numbers of one type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// The one whose rows are complete, and the revision of the definitions they were made with.
    pub(super) ready: Option<(i64, i64)>,
    /// All of them; a write makes rows under each.
    pub(super) written: Vec<i64>,
}

/// An installed definition that has a number.
pub(super) struct Known {
    pub(super) number: i64,
    pub(super) digest: i64,
    pub(super) since: i64,
}

impl Index {
    /// Reads it within a transaction.
    pub(super) async fn read(tx: &mut Tx) -> Result<Self, sqlx::Error> {
        let (revision, definitions, own): (i64, i64, String) = run!(tx.on(), fetch_one: sqlx::query_as(STATE))?;
        let known = known(tx).await?;
        let installed = if known.is_empty() { BTreeMap::new() } else { installed(tx).await? };
        let numbered = installed.iter().filter_map(|(url, resource)| {
            let known = known.get(url).filter(|known| known.digest == digest_of(Some(&resource.to_string())))?;
            Some((known.number, resource))
        });
        let (catalog, refused) = if installed.is_empty() {
            (SearchParameterCatalog::with_r4_only(), Vec::new())
        } else {
            SearchParameterCatalog::with_installed(numbered)
        };
        for refused in refused {
            tracing::info!(url = refused.url, "a SearchParameter is not used: {}", refused.fault);
        }
        let since = known.into_values().map(|known| (known.number, known.since)).collect();
        let rows: Vec<(i64, String, i64, String)> = run!(tx.on(), fetch_all: sqlx::query_as(TYPES))?;
        let mut types: HashMap<String, Numbers> = HashMap::new();
        for (number, kind, definitions, state) in rows {
            let numbers = types.entry(kind).or_default();
            numbers.written.push(number);
            if state == "ready" {
                numbers.ready = Some((number, definitions));
            }
        }
        Ok(Self { revision, definitions, catalog, own, since, types })
    }

    /// Returns whether `other` was read after it.
    pub(crate) const fn is_older_than(&self, other: &Self) -> bool {
        self.revision < other.revision
    }

    /// Returns whether resources of the type have rows.
    pub(super) fn covers(&self, kind: &ResourceType) -> bool {
        covers(&self.catalog, kind)
    }

    /// Returns the numbers of a type; none when nothing of it was written since there is an index.
    pub(super) fn numbers(&self, kind: &ResourceType) -> Option<&Numbers> {
        self.types.get(kind.as_str())
    }

    /// Returns the number of the rows of a parameter of a type, when they are complete.
    pub(super) fn number(&self, kind: &ResourceType, parameter: i64) -> Option<i64> {
        let (number, definitions) = self.numbers(kind)?.ready?;
        let since = self.since.get(&parameter).copied().unwrap_or(0);
        (parameter < FIRST_INSTALLED_PARAMETER_NUMBER || since <= definitions).then(|| row_number(number, parameter))
    }

    /// Returns the rows of a resource under one number of its type.
    pub(super) fn rows(&self, number: i64, (kind, id): (&ResourceType, &str), body: &Value) -> Rows {
        let mut rows = Rows::new();
        let mut elements = 0;
        // What no answer shows no search may find: a definition can name any element.
        let shown = without_secrets(kind, body);
        // The time of the version is a column of the resource.
        let document = IndexedDocument { resource_type: kind, id, updated_us: 0, body: &shown, base_url: &self.own };
        for (parameter, entry) in self.catalog.index_entries_of(&document) {
            row::add(&mut rows, row_number(number, parameter), &entry, &mut elements);
        }
        rows
    }
}

/// A document as answers show it.
fn without_secrets<'a>(kind: &ResourceType, body: &'a Value) -> Cow<'a, Value> {
    if !security_resource_rules::may_hold_secrets(kind.as_str()) {
        return Cow::Borrowed(body);
    }
    let mut shown = body.clone();
    security_resource_rules::redact_secrets(kind.as_str(), &mut shown);
    Cow::Owned(shown)
}

/// Returns whether resources of the type have rows.
pub(super) fn covers(catalog: &SearchParameterCatalog, kind: &ResourceType) -> bool {
    catalog.has_type_specific_parameters(kind)
}

/// Returns the number of the rows of a parameter of a type.
pub(super) const fn row_number(of_type: i64, parameter: i64) -> i64 {
    of_type * TYPE_STRIDE + parameter * STRIDE
}

/// Returns the numbers of all rows of a type lie from the first to before the second.
pub(super) const fn row_numbers(of_type: i64) -> (i64, i64) {
    (of_type * TYPE_STRIDE, (of_type + 1) * TYPE_STRIDE)
}

/// Returns the revision as a transaction sees it now.
pub(super) async fn revision(tx: &mut Tx) -> Result<i64, sqlx::Error> {
    let (revision, ..): (i64, i64, String) = run!(tx.on(), fetch_one: sqlx::query_as(STATE))?;
    Ok(revision)
}

/// Returns the installed definitions that have numbers, by their URL.
pub(super) async fn known(tx: &mut Tx) -> Result<BTreeMap<String, Known>, sqlx::Error> {
    let rows: Vec<(i64, String, i64, i64)> = run!(tx.on(), fetch_all: sqlx::query_as(KNOWN))?;
    Ok(rows.into_iter().map(|(number, url, digest, since)| (url, Known { number, digest, since })).collect())
}

/// Returns the definitions that resources bring, one for each URL, without those R4 has itself.
pub(super) async fn installed(tx: &mut Tx) -> Result<BTreeMap<String, Value>, sqlx::Error> {
    let kind: ResourceType = DEFINITIONS.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    let Found::Table(table) = Table::find_in(tx, &kind).await? else { return Ok(BTreeMap::new()) };
    let sql = table.sql(tx.dialect(), RESOURCES);
    let rows: Vec<(String, Stored)> = run!(tx.on(), fetch_all: sqlx::query_as(sql))?;
    let documents = rows.into_iter().filter_map(|(id, document)| document.read(DEFINITIONS, &id));
    let named = documents.filter_map(|document| {
        let url = document.get("url")?.as_str()?.to_owned();
        (!url.starts_with(BASE_URL)).then_some((url, document))
    });
    let mut installed = BTreeMap::new();
    for (url, document) in named {
        installed.entry(url).or_insert(document);
    }
    Ok(installed)
}
