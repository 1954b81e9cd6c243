//! Installed packages: what each brought, what it needs, and its canonicals as resources.
//!
//! A canonical is a row of its type's table like any other resource, so it is read, listed and
//! found by whatever finds resources, on every node, from the commit on. Beside it stands which
//! packages have it.
//!
//! Whoever installs or uninstalls has the types of canonicals to itself, and then all packages.
//! These locks stand first among those of types, in the order in which every transaction takes
//! them (`resources/transact.rs`).

mod batch;
mod install;
mod uninstall;

use async_trait::async_trait;
use fhir_resource::{ResourceKey, ResourceType, StoredResource};
use fhir_store::{ResourceLookup, ResourceStore as _, StoreError};
use migrations::package::{
    InstallReason, InstalledConformance, InstalledPackage, PackageChangeError, PackageStore, PreparedInstall,
    compare_canonical_versions,
};
use migrations::{PackageId, package};

use sql_engines::{PerEngine, RetryableError, retry_on_contention, run};

use crate::db::AuthDatabase;
use crate::engine::Tx;
use crate::fault::fhir;
use crate::resources::lock_name;
use crate::search::Pending;

pub(crate) use install::install;
pub(crate) use uninstall::uninstall;

const INSTALLED: &str = "SELECT name, version, direct, canonicals, source, installed_us FROM fhir_package";
const CONFORMANCE: &str = "SELECT name, direct, conformance FROM fhir_package";
const OF_URL: &str = "SELECT DISTINCT id, version FROM fhir_package_canonical WHERE url = $1 AND kind = $2";
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended(name, 0))::TEXT FROM (
    SELECT name FROM unnest($1::TEXT[]) WITH ORDINALITY AS asked (name, place) ORDER BY place
) AS ordered";
/// FHIR itself: its profiles are examples, and no server is asked to conform to its statements.
const CORE: &str = "hl7.fhir.r4.core";
/// The lock of all packages. No type has an underscore in its name.
const PACKAGES: &str = "fhir_package";

/// A row of [`INSTALLED`].
type Row = (String, String, bool, i64, String, i64);

/// The reason why packages were not written.
pub(crate) enum Halt {
    /// They are refused.
    Refused(PackageChangeError),
    /// The engine failed.
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for Halt {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<PackageChangeError> for Halt {
    fn from(refused: PackageChangeError) -> Self {
        Self::Refused(refused)
    }
}

impl RetryableError for Halt {
    fn is_contention(&self) -> bool {
        match self {
            Self::Refused(_) => false,
            Self::Failed(error) => error.is_contention(),
        }
    }
}

#[async_trait]
impl PackageStore for AuthDatabase {
    async fn installed_packages(&self) -> Result<Vec<InstalledPackage>, StoreError> {
        let rows: Vec<Row> = run!(self.reader(), fetch_all: sqlx::query_as(INSTALLED)).map_err(fhir)?;
        let installed: Result<Vec<_>, _> = rows.into_iter().map(installed).collect();
        let mut installed = installed.map_err(fhir)?;
        installed.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(installed)
    }

    async fn installed_conformance(&self) -> Result<InstalledConformance, StoreError> {
        let rows: Vec<(String, bool, String)> =
            run!(self.reader(), fetch_all: sqlx::query_as(CONFORMANCE)).map_err(fhir)?;
        let mut all = InstalledConformance::default();
        for (_, direct, text) in rows.iter().filter(|(name, ..)| name != CORE) {
            let decode = |error| fhir(sqlx::Error::Decode(Box::new(error)));
            let InstalledConformance { guides, requirements, profiles } = serde_json::from_str(text).map_err(decode)?;
            let (guides, requirements) = if *direct { (guides, requirements) } else { Default::default() };
            all.extend(InstalledConformance { guides, requirements, profiles });
        }
        Ok(all)
    }

    async fn find_canonical(
        &self,
        kind: &ResourceType,
        url: &str,
        version: Option<&str>,
    ) -> Result<Option<StoredResource>, StoreError> {
        let mut found: Vec<(String, String)> =
            run!(self.reader(), fetch_all: sqlx::query_as(OF_URL).bind(url).bind(kind.as_str())).map_err(fhir)?;
        found.retain(|(_, of)| version.is_none_or(|version| of == version));
        found.sort_by(|(_, one), (_, other)| compare_canonical_versions(other, one));
        for (id, _) in found {
            let id = id.parse().map_err(|error| fhir(sqlx::Error::Decode(Box::new(error))))?;
            // Somebody may have deleted the resource.
            if let ResourceLookup::Found(stored) = self.read(&ResourceKey { resource_type: kind.clone(), id }).await? {
                return Ok(Some(stored));
            }
        }
        Ok(None)
    }

    async fn install_prepared(
        &self,
        prepared: &PreparedInstall,
        now_us: i64,
    ) -> Result<Result<u64, PackageChangeError>, StoreError> {
        let attempt = || async {
            let mut tx = self.begin().await?;
            let mut search = Pending::new(self);
            let canonicals = install((&mut tx, &mut search), prepared, now_us).await?;
            search.write(&mut tx).await?;
            tx.commit().await?;
            if let Some(index) = search.known() {
                self.remember_index(&index);
            }
            Ok(canonicals)
        };
        answer(retry_on_contention(attempt).await)
    }

    async fn uninstall_packages(
        &self,
        packages: &[PackageId],
        now_us: i64,
    ) -> Result<Result<(), PackageChangeError>, StoreError> {
        let attempt = || async {
            let mut tx = self.begin().await?;
            let mut search = Pending::new(self);
            uninstall((&mut tx, &mut search), packages, now_us).await?;
            search.write(&mut tx).await?;
            tx.commit().await?;
            if let Some(index) = search.known() {
                self.remember_index(&index);
            }
            Ok(())
        };
        answer(retry_on_contention(attempt).await)
    }
}

fn answer<T>(done: Result<T, Halt>) -> Result<Result<T, PackageChangeError>, StoreError> {
    match done {
        Ok(done) => Ok(Ok(done)),
        Err(Halt::Refused(refused)) => Ok(Err(refused)),
        Err(Halt::Failed(error)) => Err(fhir(error)),
    }
}

fn installed((name, version, direct, canonicals, source, installed_us): Row) -> Result<InstalledPackage, sqlx::Error> {
    Ok(InstalledPackage {
        id: package_id(&name, &version)?,
        intention: if direct { InstallReason::Direct } else { InstallReason::Transitive },
        canonicals: u64::try_from(canonicals).unwrap_or(0),
        source,
        installed_us,
    })
}

fn package_id(name: &str, version: &str) -> Result<PackageId, sqlx::Error> {
    PackageId::new(name, version).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Returns the types of canonicals, by the names of their locks.
pub(crate) fn kinds() -> Result<Vec<ResourceType>, sqlx::Error> {
    let kinds = package::CANONICAL_TYPES.iter().map(|kind| kind.parse());
    let kinds: Result<Vec<ResourceType>, _> = kinds.collect();
    let mut kinds = kinds.map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    kinds.sort_by_key(lock_name);
    Ok(kinds)
}

/// Has packages and their canonicals to itself until the transaction ends. On SQLite it has
/// everything anyway.
async fn lock(tx: &mut Tx) -> Result<(), sqlx::Error> {
    if let PerEngine::Postgres(connection) = tx.on() {
        let names: Vec<String> = kinds()?.iter().map(lock_name).chain([PACKAGES.to_owned()]).collect();
        sqlx::query(LOCK).bind(names).execute(connection).await?;
    }
    Ok(())
}
