//! Installing what was prepared.

use std::collections::HashSet;
use std::sync::Arc;

use fhir_resource::ResourceKey;
use migrations::PackageId;
use migrations::package::{InstallReason, PackageChangeError, PreparedInstall, PreparedPackage};
use serde_json::json;
use sql_engines::run;
use tokio::task::JoinHandle;

use super::batch::{self, Batch, Batches, Indexed};
use super::uninstall::{self, is_installed};
use super::{Halt, lock};
use crate::dialect::Sql;
use crate::engine::Tx;
use crate::resources::{Table, put_recorded};
use crate::search::Pending;

const PUT: &str = "INSERT INTO fhir_package AS p (name, version, direct, canonicals, source, installed_us, conformance)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (name, version) DO UPDATE SET direct = (p.direct OR excluded.direct),
    canonicals = excluded.canonicals, source = excluded.source, installed_us = excluded.installed_us,
    conformance = excluded.conformance";
const FORGET_NEEDS: &str = "DELETE FROM fhir_package_need WHERE name = $1 AND version = $2";
const NEED: &str = "INSERT INTO fhir_package_need (name, version, needed_name, needed_version)
VALUES ($1, $2, $3, $4)";
/// `$1` is `[[id, url, version], …]`.
static BELONG: Sql = Sql::new(
    "INSERT INTO fhir_package_canonical (kind, id, url, version, package_name, package_version)
SELECT $2, e.value ->> 0, e.value ->> 1, e.value ->> 2, $3, $4 FROM {elements:$1} WHERE TRUE
ON CONFLICT (kind, id, package_name, package_version) DO NOTHING",
);

/// Installs what was prepared within a transaction; returns how many canonicals the packages have
/// that were not installed before, or were asked for.
///
/// What becomes of the index of searches is noted, and written by whoever ends the transaction.
pub(crate) async fn install(
    (tx, search): (&mut Tx, &mut Pending),
    prepared: &PreparedInstall,
    now_us: i64,
) -> Result<u64, Halt> {
    lock(tx).await?;
    let mut canonicals = 0;
    for package in prepared.packages() {
        // Somebody else may have installed a dependency meanwhile.
        if package.intention == InstallReason::Transitive && is_installed(tx, &package.id).await? {
            continue;
        }
        prepared
            .progress_reporter()
            .report(format!("installing package {}: {} canonicals", package.id, package.canonicals));
        install_one((tx, search), package, now_us).await?;
        canonicals += u64::try_from(package.canonicals).unwrap_or(u64::MAX);
    }
    for package in prepared.packages() {
        for needs in &package.needs {
            if !is_installed(tx, needs).await? {
                return Err(PackageChangeError::NeedGone { package: package.id.clone(), needs: needs.clone() }.into());
            }
        }
    }
    Ok(canonicals)
}

async fn install_one(
    (tx, search): (&mut Tx, &mut Pending),
    package: &PreparedPackage,
    now_us: i64,
) -> Result<(), Halt> {
    // What it had when it was installed before, and may not have any more.
    let mut before: HashSet<ResourceKey> = uninstall::canonicals_of(tx, &package.id).await?.into_iter().collect();
    note(tx, package, now_us).await?;
    let Batches { mut ready, reading } = batch::read(Arc::clone(&package.tarball));
    // While one batch is stored, the rows of the next are found and the one after it is read.
    let mut finding = None;
    while let Some(batch) = ready.recv().await {
        let next = find((tx, search), batch).await?;
        if let Some(found) = finding.replace(next) {
            store((tx, search), (&package.id, &mut before), found, now_us).await?;
        }
    }
    if let Some(last) = finding {
        store((tx, search), (&package.id, &mut before), last, now_us).await?;
    }
    let read = reading.await.map_err(|_| sqlx::Error::WorkerCrashed)?;
    read.map_err(|fault| PackageChangeError::Tarball { package: package.id.clone(), fault })?;
    Ok(uninstall::release((tx, search), &package.id, before.into_iter().collect(), now_us).await?)
}

/// Writes down the package and what it needs.
async fn note(tx: &mut Tx, package: &PreparedPackage, now_us: i64) -> Result<(), sqlx::Error> {
    let (name, version) = (package.id.name(), package.id.version());
    let canonicals = i64::try_from(package.canonicals).unwrap_or(i64::MAX);
    let direct = package.intention == InstallReason::Direct;
    let conformance = json!(package.conformance).to_string();
    run!(tx.on(), execute: sqlx::query(PUT)
        .bind(name).bind(version).bind(direct).bind(canonicals).bind(&package.source).bind(now_us)
        .bind(conformance))?;
    run!(tx.on(), execute: sqlx::query(FORGET_NEEDS).bind(name).bind(version))?;
    for needs in &package.needs {
        run!(tx.on(), execute: sqlx::query(NEED).bind(name).bind(version).bind(needs.name()).bind(needs.version()))?;
    }
    Ok(())
}

/// Begins to find what searches find the canonicals of a batch by.
async fn find((tx, search): (&mut Tx, &mut Pending), batch: Batch) -> Result<JoinHandle<Indexed>, sqlx::Error> {
    // A type has its number once it has its table.
    Table::find_or_create(tx, &batch.kind).await?;
    let finder = search.finder(tx, &batch.kind).await?;
    Ok(batch.index(finder))
}

/// Stores a batch with its rows. What was `before` and is stored again stays.
async fn store(
    (tx, search): (&mut Tx, &mut Pending),
    (package, before): (&PackageId, &mut HashSet<ResourceKey>),
    found: JoinHandle<Indexed>,
    now_us: i64,
) -> Result<(), sqlx::Error> {
    let Indexed { batch, found } = found.await.map_err(|_| sqlx::Error::WorkerCrashed)?;
    let table = Table::find_or_create(tx, &batch.kind).await?;
    if let Some((finder, found)) = found {
        search.note_batch(tx, (&table, &finder), &batch.keys, found).await?;
    }
    put_recorded(tx, &table, (&batch.texts, &batch.keys), now_us).await?;
    let belong = BELONG.text_for_dialect(tx.dialect());
    run!(tx.on(), execute: sqlx::query(belong)
        .bind(&batch.keys).bind(batch.kind.as_str()).bind(package.name()).bind(package.version()))?;
    for key in &batch.stored {
        before.remove(key);
    }
    search.write_rows(tx).await
}
