//! A write that does something besides being written: what it does, what comes of it, when it is due.

use std::fmt;

use fhir_resource::{ResourceKey, StoredResource};
use fhir_store::body_validation::{self, RequestBodyError};
use fhir_store::{ResourceWrite, TransactionError, WriteOutcome};
use serde_json::{Map, Value, json};

use crate::migration::MigrationStatus;
use crate::package::{PackageChangeError, PackageId, PreparedInstall};

/// A write of a transaction, with the effect of the migration it writes.
#[derive(Debug, Clone, PartialEq)]
pub struct MigrationStep {
    /// The write. For a migration that is to run it has the document as it was sent, with the status `to-run`.
    pub write: ResourceWrite,
    /// The effect, which is done in the same transaction when it is due.
    pub effect: Option<MigrationEffect>,
}

/// The effect of a migration, with its packages downloaded.
#[derive(Debug, Clone, PartialEq)]
pub enum MigrationEffect {
    /// Runs SQL.
    RunSql {
        /// One or more statements, in the dialect of the engine in use.
        sql: String,
    },
    /// Installs packages that were downloaded with all their dependencies.
    Install(PreparedInstall),
    /// Uninstalls a package.
    Uninstall(PackageId),
    /// The packages were not downloaded, because the migration seemed to have run already.
    Unprepared,
    /// Nothing; the effect was done outside the transaction, with this `result`.
    Done(Value),
}

impl MigrationEffect {
    /// Returns whether the effect does anything.
    #[must_use]
    pub const fn has_work(&self) -> bool {
        match self {
            Self::RunSql { .. } | Self::Install(_) | Self::Uninstall(_) => true,
            Self::Unprepared | Self::Done(_) => false,
        }
    }

    /// Returns whether the effect installs or uninstalls packages.
    #[must_use]
    pub const fn changes_packages(&self) -> bool {
        match self {
            Self::Install(_) | Self::Uninstall(_) => true,
            Self::RunSql { .. } | Self::Unprepared | Self::Done(_) => false,
        }
    }
}

/// The reason why the effect of a migration failed; nothing of its transaction was stored.
#[derive(Debug, thiserror::Error)]
pub enum MigrationEffectError {
    /// The engine refuses the SQL.
    #[error("{0}")]
    Sql(#[from] UserSqlError),
    /// The packages cannot be installed or uninstalled.
    #[error("{0}")]
    Package(#[from] PackageChangeError),
    /// [`MigrationEffect::Unprepared`] is due after all: prepare it and try again.
    #[error("the migration was removed meanwhile; try again")]
    Unprepared,
}

/// An error that the engine returned for users' SQL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{engine} refused {place}{}: {message}", code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default())]
pub struct UserSqlError {
    /// The engine in use: `Postgres` or `SQLite`.
    pub engine: &'static str,
    /// `SQLSTATE` on Postgres, the extended result code on SQLite.
    pub code: Option<String>,
    /// The message of the engine, for the author of the SQL.
    pub message: String,
    /// The position of the error.
    pub place: SqlPosition,
}

/// A position in SQL of several statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlPosition {
    /// The number of the statement, from 1; 0 for the text as a whole.
    pub statement: usize,
    /// Line and column, both from 1, where the engine reports them.
    pub at: Option<(usize, usize)>,
}

impl SqlPosition {
    /// The position of an error that concerns the whole text.
    pub const WHOLE_TEXT: Self = Self { statement: 0, at: None };

    /// Returns the position of the character with this offset, counted from 1, in a statement.
    #[must_use]
    pub fn at_character(statement: usize, sql: &str, offset: usize) -> Self {
        let before = sql.chars().take(offset.saturating_sub(1));
        let (line, column) = before.fold((1, 1), |(line, column), character| match character {
            '\n' => (line + 1, 1),
            _ => (line, column + 1),
        });
        Self { statement, at: Some((line, column)) }
    }
}

impl fmt::Display for SqlPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.statement {
            0 => write!(f, "the SQL")?,
            statement => write!(f, "statement {statement}")?,
        }
        self.at.map_or(Ok(()), |(line, column)| write!(f, " at line {line}, column {column}"))
    }
}

/// The reason why migration steps were refused; nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum MigrationStepError {
    /// A rule refuses a write.
    #[error(transparent)]
    Write(#[from] TransactionError),
    /// The effect of a write fails.
    #[error("{key}: {refused}")]
    Effect {
        /// The number of the write, from 0, in the order given.
        index: usize,
        /// The migration.
        key: ResourceKey,
        /// The reason.
        #[source]
        refused: MigrationEffectError,
    },
}

/// Returns the version of a migration whose effect is due after a write; `None` when there is none.
///
/// A migration with the status `to-run` is due once it is written, even when the stored document has not changed. One
/// that a condition found is skipped, unless its stored status is `to-run`: then an earlier run was interrupted, and
/// skipping it would mean that it never runs.
///
/// # Source
/// Specification, States and transitions, Migration.
#[must_use]
pub fn due_effect_version(written: &WriteOutcome) -> Option<&StoredResource> {
    match written {
        WriteOutcome::Created(stored) | WriteOutcome::Updated(stored) | WriteOutcome::Unchanged(stored) => Some(stored),
        WriteOutcome::Existing(stored) => Some(stored)
            .filter(|stored| MigrationStatus::from_document(&stored.resource) == Some(MigrationStatus::ToRun)),
        WriteOutcome::Deleted(_) | WriteOutcome::Absent => None,
    }
}

/// Returns the body of a migration after its run: `done`, with its `result`. `sent` is the document that was run; after
/// an interruption it may differ from the stored one.
///
/// # Errors
/// The reasons why `sent` cannot be stored under `key`.
pub fn finished_migration_document(
    key: &ResourceKey,
    sent: &Value,
    result: &Value,
) -> Result<Value, Vec<RequestBodyError>> {
    let mut document = match body_validation::prepare_stored_body(key, sent.clone())? {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    document.insert("status".to_owned(), MigrationStatus::Done.as_str().into());
    document.insert("result".to_owned(), result.clone());
    Ok(Value::Object(document))
}

/// Returns the `result` of a migration that ran SQL. Not specified for one that uninstalled a package, which has the
/// same `result`.
///
/// # Source
/// Specification, Migration resource.
#[must_use]
pub fn sql_migration_result() -> Value {
    json!({"valueBoolean": true})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(status: &str) -> StoredResource {
        let key = "PlatformMigration/m".parse().unwrap();
        StoredResource { key, version: 1, updated_us: 0, resource: json!({"status": status}) }
    }

    #[test]
    fn what_a_condition_found_is_skipped_unless_it_was_interrupted() {
        for (written, expected) in [
            (WriteOutcome::Created(stored("to-run")), true),
            (WriteOutcome::Updated(stored("to-run")), true),
            (WriteOutcome::Unchanged(stored("to-run")), true),
            (WriteOutcome::Existing(stored("to-run")), true),
            (WriteOutcome::Existing(stored("done")), false),
            (WriteOutcome::Existing(stored("")), false),
            (WriteOutcome::Deleted(stored("to-run")), false),
            (WriteOutcome::Absent, false),
        ] {
            assert_eq!(due_effect_version(&written).is_some(), expected, "{written:?}");
        }
    }

    #[test]
    fn what_ran_is_done_with_its_result_and_otherwise_as_sent() {
        let key = "PlatformMigration/m".parse().unwrap();
        let sent = json!({"resourceType": "PlatformMigration", "id": "m", "status": "to-run", "action": "a"});
        let document = finished_migration_document(&key, &sent, &sql_migration_result()).unwrap();
        assert_eq!(document, json!({"status": "done", "action": "a", "result": {"valueBoolean": true}}));
        assert!(finished_migration_document(&key, &json!({"id": "other"}), &sql_migration_result()).is_err());
    }

    #[test]
    fn a_place_is_counted_in_characters_from_one() {
        let sql = "SELECT 1;\nSELECT é, x";
        let place = SqlPosition::at_character(2, sql, 21);
        assert_eq!((sql.chars().nth(20), place.at), (Some('x'), Some((2, 11))));
        assert_eq!(place.to_string(), "statement 2 at line 2, column 11");
        assert_eq!(SqlPosition::WHOLE_TEXT.to_string(), "the SQL");
    }
}
