//! The rows of the table about migrations. Only the administrator gets here, so what the engine says
//! about SQL is told as it is.

use fhir_store::outcome;
use http::StatusCode;
use migrations::EffectRefused;
use migrations::on_demand::ScriptFault;

use super::{Verdict, packages};
use crate::migrate::{MigrationRefusal, ScriptRefusal};

/// A migration that was not run.
pub(super) fn refused(cause: &MigrationRefusal, entry: Option<usize>) -> Verdict {
    let row = |status, kind| Verdict::new(status, kind, cause.to_string());
    let verdict = match cause {
        MigrationRefusal::Effect { refused: EffectRefused::Unprepared, .. } => {
            row(StatusCode::CONFLICT, outcome::CONFLICT).retry_after(1)
        }
        MigrationRefusal::Effect { .. } => row(StatusCode::UNPROCESSABLE_ENTITY, outcome::INVALID),
        MigrationRefusal::Together => row(StatusCode::UNPROCESSABLE_ENTITY, outcome::NOT_SUPPORTED),
        MigrationRefusal::Prepare(cause) => packages::unprepared(cause),
        MigrationRefusal::Running => row(StatusCode::CONFLICT, outcome::CONFLICT).retry_after(1),
    };
    verdict.at_entry(entry)
}

/// Scripts that were not applied, or not all of them.
pub(super) fn not_applied(cause: &ScriptRefusal) -> Verdict {
    let row = |status, kind| Verdict::new(status, kind, cause.to_string());
    match cause {
        ScriptRefusal::List(ScriptFault::NotAList | ScriptFault::NotAScript { .. }) => {
            row(StatusCode::BAD_REQUEST, outcome::STRUCTURE)
        }
        ScriptRefusal::List(ScriptFault::Changed { .. }) => row(StatusCode::CONFLICT, outcome::CONFLICT),
        ScriptRefusal::Sql { .. } => row(StatusCode::UNPROCESSABLE_ENTITY, outcome::INVALID),
    }
}
