//! One-time migrations: what a `PlatformMigration` says, when it is due, what it leaves, and the bundle
//! that brings it at a start.
//!
//! Owned here: the vocabulary of migrations (actions, states, parameters), the rules on it, the init
//! bundle as a file holds it, and SQL applied on demand. Refused here: SQL drivers, HTTP, the
//! environment; the store that runs what is due is a port, [`MigrationStore`].
//!
//! The first decision: a migration and the row that says it ran are one transaction. Its row is written
//! `to-run`, its effect follows, its row turns `done`; a fault at any point takes back all three. So
//! there is no state to repair after a crash. The road not taken is a queue of rows that a worker runs:
//! then a condition on the id finds a row whose effect is still missing.
//!
//! The second decision: a migration is read into a type whose values can all be run, so that every mistake in
//! a document is named when it is written and none is met in the middle of a start. The road not taken
//! is to keep the document and look into it step by step.
//!
//! (The folder `migrations/` at the top of the workspace is something else: the server's own schema.)
//!
//! ```
//! use migrations::{MigrationAction, SqlExecutionMode, PlatformMigration, MigrationStatus};
//! use serde_json::json;
//!
//! let migration = PlatformMigration::parse_document("platform", &json!({
//!     "action": "aidbox-migration-run-sql",
//!     "status": "to-run",
//!     "params": { "parameter": [{ "name": "sql", "valueString": "SELECT 1" }] },
//! }))?;
//! let sql = "SELECT 1".to_owned();
//! assert_eq!(migration.action, MigrationAction::RunSql { sql, execution: SqlExecutionMode::InTransaction });
//! assert_eq!(migration.status, MigrationStatus::ToRun);
//! # Ok::<(), migrations::MigrationDocumentError>(())
//! ```

mod migration;
pub mod package;
mod ports;
mod progress;
mod step;

pub mod init_bundle;
pub mod on_demand_scripts;

pub use migration::{MigrationAction, MigrationDocumentError, MigrationStatus, PlatformMigration, SqlExecutionMode};
pub use package::{PackageId, PackageIdError};
pub use ports::{MigrationStore, OutsideTransactionMigrationError};
pub use progress::ProgressReporter;
pub use step::{
    MigrationEffect, MigrationEffectError, MigrationStep, MigrationStepError, SqlPosition, UserSqlError,
    due_effect_version, finished_migration_document, sql_migration_result,
};

/// The resource type of migrations.
pub const MIGRATION_RESOURCE_TYPE: &str = "PlatformMigration";

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
