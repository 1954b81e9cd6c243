//! The errors of migrations that run.

use fhir_resource::ResourceKey;
use migrations::on_demand_scripts::ScriptListError;
use migrations::package::PrepareInstallError;
use migrations::{MigrationEffectError, UserSqlError};

/// The reason why a migration was not run.
#[derive(Debug, thiserror::Error)]
pub enum MigrationRunError {
    /// Its SQL or its package was refused.
    #[error("{key}: {refused}")]
    Effect {
        /// The migration.
        key: ResourceKey,
        /// Why it was refused.
        refused: MigrationEffectError,
    },
    /// A transaction contains a migration whose SQL no transaction can hold.
    #[error(
        "SQL that is not-in-transaction is run by a request of its own or an entry of a batch, not in a transaction"
    )]
    Together,
    /// Another request is running it.
    #[error("the migration is being run by another request; try again")]
    Running,
    /// Its package could not be prepared.
    #[error("{0}")]
    Prepare(#[from] PrepareInstallError),
}

impl MigrationRunError {
    /// Returns whether the migration seemed to be done, and is not there any more.
    pub(crate) fn is_unprepared(&self) -> bool {
        matches!(self, Self::Effect { refused: MigrationEffectError::Unprepared, .. })
    }
}

/// The reason why not all scripts were applied.
#[derive(Debug, thiserror::Error)]
pub enum ScriptRunError {
    /// The list of scripts is refused as a whole.
    #[error("{0}")]
    List(#[from] ScriptListError),
    /// The database refuses a script; the scripts applied before it stay applied.
    #[error("{id:?}: {refused}; {}", describe_applied(.applied))]
    Sql {
        /// The id of the script.
        id: String,
        /// Why it was refused.
        refused: UserSqlError,
        /// The ids of the scripts that this request applied before.
        applied: Vec<String>,
    },
}

fn describe_applied(applied: &[String]) -> String {
    if applied.is_empty() {
        return "nothing was applied".to_owned();
    }
    format!("applied before it, and kept: {}", applied.join(", "))
}
