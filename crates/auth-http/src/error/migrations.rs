//! The rows of the table about migrations. Only the administrator gets here, so what the engine says
//! about SQL stands in the answer.

use fhir_service::error::{MigrationRunError, ScriptRunError};
use fhir_store::operation_outcome;
use http::StatusCode;
use migrations::MigrationEffectError;
use migrations::on_demand_scripts::ScriptListError;

use super::{ErrorResponse, packages};

/// A migration that was not run.
pub(super) fn refused(cause: &MigrationRunError, entry: Option<usize>) -> ErrorResponse {
    let row = |status, kind| ErrorResponse::new(status, kind, cause.to_string());
    let verdict = match cause {
        MigrationRunError::Effect { refused: MigrationEffectError::Unprepared, .. } => {
            row(StatusCode::CONFLICT, operation_outcome::WRITE_CONFLICT).retry_after(1)
        }
        MigrationRunError::Effect { .. } => row(StatusCode::UNPROCESSABLE_ENTITY, operation_outcome::INVALID_RESOURCE),
        MigrationRunError::Together => row(StatusCode::UNPROCESSABLE_ENTITY, operation_outcome::METHOD_NOT_SUPPORTED),
        MigrationRunError::Prepare(cause) => packages::unprepared(cause),
        MigrationRunError::Running => row(StatusCode::CONFLICT, operation_outcome::WRITE_CONFLICT).retry_after(1),
    };
    verdict.at_entry(entry)
}

/// Scripts that were not applied, or not all of them.
pub(super) fn not_applied(cause: &ScriptRunError) -> ErrorResponse {
    let row = |status, kind| ErrorResponse::new(status, kind, cause.to_string());
    match cause {
        ScriptRunError::List(ScriptListError::NotAList | ScriptListError::NotAScript { .. }) => {
            row(StatusCode::BAD_REQUEST, operation_outcome::MALFORMED_BODY)
        }
        ScriptRunError::List(ScriptListError::Changed { .. }) => {
            row(StatusCode::CONFLICT, operation_outcome::WRITE_CONFLICT)
        }
        ScriptRunError::Sql { .. } => row(StatusCode::UNPROCESSABLE_ENTITY, operation_outcome::INVALID_RESOURCE),
    }
}
