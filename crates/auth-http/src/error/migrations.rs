//! The rows of the table about migrations. Only the administrator gets here, so what the engine says
//! about SQL stands in the answer.

use fhir_service::error::{MigrationRunError, ScriptRunError};
use fhir_store::outcome;
use http::StatusCode;
use migrations::EffectError;
use migrations::on_demand::ScriptError;

use super::{ErrorResponse, packages};

/// A migration that was not run.
pub(super) fn refused(cause: &MigrationRunError, entry: Option<usize>) -> ErrorResponse {
    let row = |status, kind| ErrorResponse::new(status, kind, cause.to_string());
    let verdict = match cause {
        MigrationRunError::Effect { refused: EffectError::Unprepared, .. } => {
            row(StatusCode::CONFLICT, outcome::CONFLICT).retry_after(1)
        }
        MigrationRunError::Effect { .. } => row(StatusCode::UNPROCESSABLE_ENTITY, outcome::INVALID),
        MigrationRunError::Together => row(StatusCode::UNPROCESSABLE_ENTITY, outcome::NOT_SUPPORTED),
        MigrationRunError::Prepare(cause) => packages::unprepared(cause),
        MigrationRunError::Running => row(StatusCode::CONFLICT, outcome::CONFLICT).retry_after(1),
    };
    verdict.at_entry(entry)
}

/// Scripts that were not applied, or not all of them.
pub(super) fn not_applied(cause: &ScriptRunError) -> ErrorResponse {
    let row = |status, kind| ErrorResponse::new(status, kind, cause.to_string());
    match cause {
        ScriptRunError::List(ScriptError::NotAList | ScriptError::NotAScript { .. }) => {
            row(StatusCode::BAD_REQUEST, outcome::STRUCTURE)
        }
        ScriptRunError::List(ScriptError::Changed { .. }) => row(StatusCode::CONFLICT, outcome::CONFLICT),
        ScriptRunError::Sql { .. } => row(StatusCode::UNPROCESSABLE_ENTITY, outcome::INVALID),
    }
}
