//! Numbering types and parameters: when a type is first written, and when definitions change.

use std::collections::{BTreeMap, BTreeSet};

use fhir_resource::ResourceType;
use fhir_resource::patient_compartment::{CompartmentMembership, patient_compartment_membership};
use fhir_search::{FIRST_INSTALLED_PARAMETER_NUMBER, SearchParameterCatalog, SearchParameterType};

use sql_engines::run;

use super::compare::LAST;
use super::index::{self, Index, Known, Numbers, row_number};
use super::row::{digest_of, uri_number};
use crate::dialect::Sql;
use crate::engine::Tx;
use crate::resources::{Found, Table};

const NEXT_TYPE: &str =
    "UPDATE search_state SET revision = revision + 1, last_type = last_type + 1 RETURNING last_type";
const NEXT_DEFINITION: &str = "UPDATE search_state SET last_definition = last_definition + 1 RETURNING last_definition";
const REDEFINED: &str =
    "UPDATE search_state SET revision = revision + 1, definitions = definitions + 1 RETURNING definitions";
const HAS_TYPE: &str = "SELECT CAST(count(*) AS BIGINT) FROM search_type WHERE kind = $1 AND state <> 'retired'";
const PUT_TYPE: &str =
    "INSERT INTO search_type (number, kind, definitions, state, position) VALUES ($1, $2, $3, $4, '')";
/// What is under way for a type is of no use once there is a newer one.
const SUPERSEDE: &str = "UPDATE search_type SET state = 'retired' WHERE kind = $1 AND state = 'building'";
const PUT_DEFINITION: &str = "INSERT INTO search_definition (number, url, digest, since) VALUES ($1, $2, $3, $4)";
const FORGET_DEFINITION: &str = "DELETE FROM search_definition WHERE number = $1";
const KINDS: &str = "SELECT DISTINCT kind FROM search_type WHERE state <> 'retired'";
const TABLES: &str = "SELECT name FROM resource_type ORDER BY name";
const OWN: &str = "SELECT own FROM search_state";
const SET_OWN: &str = "UPDATE search_state SET own = $1, revision = revision + 1";
/// `$1` is `[[number], …]`, `$2` and `$3` are where the addresses begin and end.
static WITH_ADDRESS: Sql = Sql::new(
    "SELECT CAST(e.value ->> 0 AS BIGINT) FROM {elements:$1} WHERE EXISTS (
    SELECT 1 FROM search_token i
    WHERE i.parameter = CAST(e.value ->> 0 AS BIGINT) AND i.code >= $2 AND i.code < $3
)",
);
const ANY_ROW: &str = "SELECT CAST(count(*) AS BIGINT) FROM (SELECT 1 AS one FROM {table} LIMIT 1) AS first";

/// Gives a type its number. Its rows are complete from the start when nothing of it was written yet.
pub(super) async fn register(tx: &mut Tx, index: &Index, kind: &ResourceType) -> Result<(), sqlx::Error> {
    // From here on no other transaction numbers anything before this one has ended.
    let number: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(NEXT_TYPE))?;
    let others: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(HAS_TYPE).bind(kind.as_str()))?;
    if others > 0 {
        return Ok(());
    }
    let state = if is_empty(tx, kind).await? { "ready" } else { "building" };
    put_type(tx, (number, kind.as_str()), index.definitions, state).await
}

async fn put_type(tx: &mut Tx, (number, kind): (i64, &str), definitions: i64, state: &str) -> Result<(), sqlx::Error> {
    run!(tx.on(), execute: sqlx::query(PUT_TYPE).bind(number).bind(kind).bind(definitions).bind(state))?;
    Ok(())
}

async fn is_empty(tx: &mut Tx, kind: &ResourceType) -> Result<bool, sqlx::Error> {
    let Found::Table(table) = Table::find_in(tx, kind).await? else { return Ok(true) };
    let sql = table.sql(tx.dialect(), ANY_ROW);
    let rows: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(sql))?;
    Ok(rows == 0)
}

/// Numbers what `SearchParameter` resources define now, and has the rows of the types concerned made
/// again. Returns whether anything changed.
pub(super) async fn redefine(tx: &mut Tx) -> Result<bool, sqlx::Error> {
    let installed = index::installed(tx).await?;
    let digests: BTreeMap<&str, i64> =
        installed.iter().map(|(url, resource)| (url.as_str(), digest_of(Some(&resource.to_string())))).collect();
    let known = index::known(tx).await?;
    let stays = |(url, known): &(&String, &Known)| digests.get(url.as_str()) == Some(&known.digest);
    let new: Vec<&str> = digests
        .iter()
        .filter(|(url, digest)| known.get(**url).is_none_or(|known| known.digest != **digest))
        .map(|(url, _)| *url)
        .collect();
    let gone: Vec<i64> = known.iter().filter(|known| !stays(known)).map(|(_, known)| known.number).collect();
    if new.is_empty() && gone.is_empty() {
        return Ok(false);
    }
    let since: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(REDEFINED))?;
    for number in gone {
        run!(tx.on(), execute: sqlx::query(FORGET_DEFINITION).bind(number))?;
    }
    let mut numbered = Vec::with_capacity(new.len());
    for url in new {
        let number: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(NEXT_DEFINITION))?;
        let digest = digests.get(url).copied().unwrap_or_default();
        run!(tx.on(), execute: sqlx::query(PUT_DEFINITION).bind(number).bind(url).bind(digest).bind(since))?;
        numbered.push(number);
    }
    let catalog = Index::read(tx).await?.catalog;
    for kind in kinds(tx).await? {
        if concerns(&catalog, &kind, &numbered) {
            renew(tx, &kind, since).await?;
        }
    }
    tracing::info!(definitions = numbered.len(), "search parameters were defined");
    Ok(true)
}

/// Returns whether a type has one of these parameters.
fn concerns(catalog: &SearchParameterCatalog, kind: &str, numbered: &[i64]) -> bool {
    let Ok(kind) = kind.parse::<ResourceType>() else { return false };
    let mut numbers = catalog.parameters_of_type(&kind).map(|parameter| parameter.number);
    numbers.any(|number| number >= FIRST_INSTALLED_PARAMETER_NUMBER && numbered.contains(&number))
}

/// Has the rows of a type made under another number, while those of the old one answer.
async fn renew(tx: &mut Tx, kind: &str, definitions: i64) -> Result<(), sqlx::Error> {
    run!(tx.on(), execute: sqlx::query(SUPERSEDE).bind(kind))?;
    let number: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(NEXT_TYPE))?;
    put_type(tx, (number, kind), definitions, "building").await
}

/// Has all rows made again, for somebody wrote past the rules.
pub(super) async fn renew_all(tx: &mut Tx) -> Result<(), sqlx::Error> {
    let index = Index::read(tx).await?;
    let redefined = redefine(tx).await?;
    let definitions = if redefined { Index::read(tx).await?.definitions } else { index.definitions };
    for kind in kinds(tx).await? {
        renew(tx, &kind, definitions).await?;
    }
    Ok(())
}

/// Numbers the types that have a table and no number: tables of an older version of this server, or that
/// SQL of a user made. Their rows are made in steps.
pub(super) async fn register_tables(tx: &mut Tx) -> Result<(), sqlx::Error> {
    let index = Index::read(tx).await?;
    let tables: Vec<String> = run!(tx.on(), fetch_all: sqlx::query_scalar(TABLES))?;
    for kind in tables.iter().filter_map(|kind| kind.parse::<ResourceType>().ok()) {
        if index.covers(&kind) && index.numbers(&kind).is_none() {
            register(tx, &index, &kind).await?;
        }
    }
    Ok(())
}

/// Says at which address references are to our own resources. Another one than before has the rows of those types made
/// again that have absolute references to either: relative ones have no address in the index.
pub(super) async fn set_own(tx: &mut Tx, own: &str) -> Result<(), sqlx::Error> {
    let before: String = run!(tx.on(), fetch_one: sqlx::query_scalar(OWN))?;
    if before == own {
        return Ok(());
    }
    run!(tx.on(), execute: sqlx::query(SET_OWN).bind(own))?;
    // Of rows that were made without an address it is not known what they leave out.
    if before.is_empty() {
        return renew_all(tx).await;
    }
    let index = Index::read(tx).await?;
    let mut looked_up: BTreeMap<i64, String> = BTreeMap::new();
    let mut concerned: BTreeSet<String> = BTreeSet::new();
    for kind in kinds(tx).await? {
        match addresses(&index, &kind) {
            Some(numbers) => looked_up.extend(numbers.into_iter().map(|number| (number, kind.clone()))),
            None => drop(concerned.insert(kind)),
        }
    }
    for base in [before.as_str(), own] {
        let found = with_address(tx, looked_up.keys(), base).await?;
        concerned.extend(found.iter().filter_map(|number| looked_up.get(number).cloned()));
    }
    tracing::info!(
        types = concerned.len(),
        "the base URL changed: resources with absolute references are indexed again"
    );
    for kind in concerned {
        renew(tx, &kind, index.definitions).await?;
    }
    Ok(())
}

/// Returns the numbers of the rows in which a type has the addresses of its references; `None` where its rows do not
/// say: they are still being made, or the type has references that no parameter finds.
fn addresses(index: &Index, kind: &str) -> Option<Vec<i64>> {
    let kind: ResourceType = kind.parse().ok()?;
    let Numbers { ready, written } = index.numbers(&kind)?;
    let (number, _) = (*ready).filter(|_| written.len() == 1)?;
    let references = index
        .catalog
        .parameters_of_type(&kind)
        .filter(|parameter| parameter.parameter_type == SearchParameterType::Reference);
    let numbers: Vec<i64> = references.map(|parameter| uri_number(row_number(number, parameter.number))).collect();
    let is_complete =
        !numbers.is_empty() || !matches!(patient_compartment_membership(&kind), CompartmentMembership::Reference(_));
    is_complete.then_some(numbers)
}

/// Those of the numbers that have addresses below a base URL.
async fn with_address(tx: &mut Tx, numbers: impl Iterator<Item = &i64>, base: &str) -> Result<Vec<i64>, sqlx::Error> {
    let numbers: Vec<[i64; 1]> = numbers.map(|number| [*number]).collect();
    let numbers = serde_json::json!(numbers).to_string();
    let (from, to) = (format!("{base}/"), format!("{base}/{LAST}"));
    let sql = WITH_ADDRESS.text_for_dialect(tx.dialect());
    run!(tx.on(), fetch_all: sqlx::query_scalar(sql).bind(&numbers).bind(&from).bind(&to))
}

async fn kinds(tx: &mut Tx) -> Result<Vec<String>, sqlx::Error> {
    run!(tx.on(), fetch_all: sqlx::query_scalar(KINDS))
}
