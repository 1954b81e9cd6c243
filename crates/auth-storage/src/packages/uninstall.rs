//! Uninstalling packages, and taking back single canonicals of one.

use std::collections::BTreeMap;

use fhir_resource::{ResourceKey, ResourceType};
use migrations::PackageId;
use migrations::package::PackageChangeError;
use serde_json::{Value, json};

use sql_engines::run;

use super::{Halt, lock, package_id};
use crate::dialect::Sql;
use crate::engine::Tx;
use crate::resources::Table;
use crate::search::Pending;

const IS_INSTALLED: &str = "SELECT CAST(count(*) AS BIGINT) FROM fhir_package WHERE name = $1 AND version = $2";
const NEEDED_BY: &str = "SELECT name, version FROM fhir_package_need WHERE needed_name = $1 AND needed_version = $2";
const FORGET: &str = "DELETE FROM fhir_package WHERE name = $1 AND version = $2";
const FORGET_NEEDS: &str = "DELETE FROM fhir_package_need WHERE name = $1 AND version = $2";
const CANONICALS: &str = "SELECT kind, id FROM fhir_package_canonical
WHERE package_name = $1 AND package_version = $2 ORDER BY kind, id";
/// `$1` is `[[id], …]` here and below.
static DISOWN: Sql = Sql::new(
    "DELETE FROM fhir_package_canonical WHERE kind = $2 AND package_name = $3 AND package_version = $4
    AND id IN (SELECT e.value ->> 0 FROM {elements:$1})",
);
/// Of these, what no package has.
static ORPHANS: Sql = Sql::new(
    "SELECT e.value ->> 0 FROM {elements:$1}
WHERE NOT EXISTS (SELECT 1 FROM fhir_package_canonical c WHERE c.kind = $2 AND c.id = e.value ->> 0)",
);
static RESERVE: Sql = Sql::new("{reserve_versions:$1}");
const RECORD: &str = "INSERT INTO {history} (id, txid, ts, resource, op)
SELECT t.id, {reserved_version:$1}, {from_us:$2}, t.resource, 'delete'
FROM {elements:$1} JOIN {table} t ON t.id = e.value ->> 0";
const DELETE: &str = "DELETE FROM {table} WHERE id IN (SELECT e.value ->> 0 FROM {elements:$1})";

/// Uninstalls packages within a transaction. What needs another of them holds none of them up.
pub(crate) async fn uninstall(
    (tx, search): (&mut Tx, &mut Pending),
    packages: &[PackageId],
    now_us: i64,
) -> Result<(), Halt> {
    lock(tx).await?;
    for package in packages {
        if !is_installed(tx, package).await? {
            return Err(PackageChangeError::NotInstalled(package.clone()).into());
        }
        let mut needed_by = needed_by(tx, package).await?;
        needed_by.retain(|other| !packages.contains(other));
        if !needed_by.is_empty() {
            needed_by.sort();
            return Err(PackageChangeError::Needed { package: package.clone(), needed_by }.into());
        }
    }
    for package in packages {
        let canonicals = canonicals_of(tx, package).await?;
        release((tx, search), package, canonicals, now_us).await?;
        for statement in [FORGET, FORGET_NEEDS] {
            run!(tx.on(), execute: sqlx::query(statement).bind(package.name()).bind(package.version()))?;
        }
        tracing::info!(%package, "package uninstalled");
    }
    Ok(())
}

pub(super) async fn is_installed(tx: &mut Tx, package: &PackageId) -> Result<bool, sqlx::Error> {
    let count: i64 =
        run!(tx.on(), fetch_one: sqlx::query_scalar(IS_INSTALLED).bind(package.name()).bind(package.version()))?;
    Ok(count > 0)
}

async fn needed_by(tx: &mut Tx, package: &PackageId) -> Result<Vec<PackageId>, sqlx::Error> {
    let rows: Vec<(String, String)> =
        run!(tx.on(), fetch_all: sqlx::query_as(NEEDED_BY).bind(package.name()).bind(package.version()))?;
    rows.iter().map(|(name, version)| package_id(name, version)).collect()
}

/// Returns the canonicals a package has.
pub(super) async fn canonicals_of(tx: &mut Tx, package: &PackageId) -> Result<Vec<ResourceKey>, sqlx::Error> {
    let rows: Vec<(String, String)> =
        run!(tx.on(), fetch_all: sqlx::query_as(CANONICALS).bind(package.name()).bind(package.version()))?;
    rows.iter().map(|(kind, id)| key(kind, id)).collect()
}

fn key(kind: &str, id: &str) -> Result<ResourceKey, sqlx::Error> {
    format!("{kind}/{id}").parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Takes canonicals from a package, and deletes those that no other package has: as they are now,
/// whoever changed them since; the history keeps them.
pub(super) async fn release(
    (tx, search): (&mut Tx, &mut Pending),
    package: &PackageId,
    canonicals: Vec<ResourceKey>,
    now_us: i64,
) -> Result<(), sqlx::Error> {
    let mut by_kind: BTreeMap<ResourceType, Vec<String>> = BTreeMap::new();
    for ResourceKey { resource_type: kind, id } in canonicals {
        by_kind.entry(kind).or_default().push(id.to_string());
    }
    let dialect = tx.dialect();
    for (kind, ids) in by_kind {
        let keys = keys(&ids);
        run!(tx.on(), execute: sqlx::query(DISOWN.text_for_dialect(dialect))
            .bind(&keys).bind(kind.as_str()).bind(package.name()).bind(package.version()))?;
        let orphans: Vec<String> = run!(tx.on(), fetch_all: sqlx::query_scalar(ORPHANS.text_for_dialect(dialect)).bind(&keys).bind(kind.as_str()))?;
        delete((tx, search), &kind, &orphans, now_us).await?;
    }
    Ok(())
}

async fn delete(
    (tx, search): (&mut Tx, &mut Pending),
    kind: &ResourceType,
    ids: &[String],
    now_us: i64,
) -> Result<(), sqlx::Error> {
    if ids.is_empty() {
        return Ok(());
    }
    let table = Table::find_or_create(tx, kind).await?;
    let dialect = tx.dialect();
    let keys = keys(ids);
    search.note_gone(tx, (&table, kind), &keys).await?;
    run!(tx.on(), execute: sqlx::query(RESERVE.text_for_dialect(dialect)).bind(&keys))?;
    run!(tx.on(), execute: sqlx::query(table.sql(dialect, RECORD)).bind(&keys).bind(now_us))?;
    run!(tx.on(), execute: sqlx::query(table.sql(dialect, DELETE)).bind(&keys))?;
    Ok(())
}

fn keys(ids: &[String]) -> String {
    Value::Array(ids.iter().map(|id| json!([id])).collect()).to_string()
}
