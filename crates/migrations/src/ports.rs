//! What the store has to offer for migrations to run.

use async_trait::async_trait;
use fhir_store::{ResourceWrite, StoreError, WriteOutcome};

use crate::on_demand_scripts::{ScriptOutcome, SqlScript, SqlScriptRecord};
use crate::progress::ProgressReporter;
use crate::step::{MigrationStep, MigrationStepError, UserSqlError};

/// The store that migrations are run on. One method is one transaction, unless it says otherwise.
#[async_trait]
pub trait MigrationStore: Send + Sync {
    /// Applies the writes and the effects of due migrations in one transaction, and marks those migrations as `done`.
    ///
    /// So a migration is run exactly when its row says so. The transaction has a separate session, and what SQL sets in
    /// it does not reach later steps. `now_us` is the time of every version written, UNIX microseconds.
    ///
    /// # Errors
    /// The outer error means the store itself failed, the inner one that a rule refuses a write or an
    /// effect was refused; nothing is stored in either case, unless SQL itself ended the transaction.
    async fn transact_migration_steps(
        &self,
        steps: Vec<MigrationStep>,
        progress: &ProgressReporter,
        now_us: i64,
    ) -> Result<Result<Vec<WriteOutcome>, MigrationStepError>, StoreError>;

    /// Runs a migration whose SQL cannot run in a transaction, and then writes it as `done`.
    ///
    /// When the process ends between the two, no row is written and the migration is run again: this is the one kind
    /// that runs at least once, not exactly once. No other node runs a migration of the same id concurrently.
    ///
    /// # Errors
    /// As of [`MigrationStore::transact_migration_steps`]; what the SQL did before it was refused stays.
    async fn run_outside_transaction(
        &self,
        write: ResourceWrite,
        sql: &str,
        progress: &ProgressReporter,
        now_us: i64,
    ) -> Result<Result<WriteOutcome, OutsideTransactionMigrationError>, StoreError>;

    /// Returns the scripts that were applied on demand, in the order of their application.
    ///
    /// # Errors
    /// When the store fails.
    async fn applied_scripts(&self) -> Result<Vec<SqlScriptRecord>, StoreError>;

    /// Runs a script and records it in one transaction, unless its id is recorded already.
    ///
    /// # Errors
    /// The outer error means the store itself failed, the inner one that the engine refuses the script;
    /// nothing is stored in either case.
    async fn apply_script(
        &self,
        script: &SqlScript,
        now_us: i64,
    ) -> Result<Result<ScriptOutcome, UserSqlError>, StoreError>;
}

/// The reason why a migration was not run outside a transaction.
#[derive(Debug, thiserror::Error)]
pub enum OutsideTransactionMigrationError {
    /// The reasons that apply inside a transaction too.
    #[error(transparent)]
    Step(#[from] MigrationStepError),
    /// Another request, or another node, is running it.
    #[error("the migration is being run by another request")]
    Running,
}
