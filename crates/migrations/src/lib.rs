//! One-time migrations as resources: what a `PlatformMigration` says, read and checked.
//!
//! Owned here: the vocabulary of migrations (actions, states, parameters) and the rules on it.
//! Refused here: SQL drivers, HTTP, the environment. Running migrations is not built yet; a caller
//! that meets one [`Status::ToRun`] has to refuse it rather than store it as if it would run.
//!
//! The decision: a migration is read into a type whose values can all be run, so that every mistake in
//! a document is named when it is written and none is met in the middle of a start. The road not taken
//! is to keep the document and look into it step by step.
//!
//! (The folder `migrations/` at the top of the workspace is something else: the server's own schema.)
//!
//! ```
//! use migrations::{Action, Migration, Status};
//! use serde_json::json;
//!
//! let migration = Migration::read("platform", &json!({
//!     "action": "aidbox-migration-run-sql",
//!     "status": "to-run",
//!     "params": { "parameter": [{ "name": "sql", "valueString": "SELECT 1" }] },
//! }))?;
//! assert_eq!(migration.action, Action::RunSql { sql: "SELECT 1".to_owned() });
//! assert_eq!(migration.status, Status::ToRun);
//! # Ok::<(), migrations::MigrationFault>(())
//! ```

mod migration;
pub mod package;
mod progress;

pub use migration::{Action, Migration, MigrationFault, Status};
pub use package::{PackageFault, PackageId};
pub use progress::Progress;

/// The resource type of migrations.
pub const RESOURCE_TYPE: &str = "PlatformMigration";
