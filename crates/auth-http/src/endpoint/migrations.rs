//! `/db/migrations`: SQL applied on demand, each script once.
//!
//! # Source
//! Specification, Endpoints. The answer is not specified; it lists every script of the request in its
//! order and says of each whether it was applied `now` or `before`. The SQL stands only in what was
//! applied now, so a caller that knows the platform's own answer, a list of what is fresh, finds the
//! same objects in it. The administrator alone may call it, because SQL may do everything.

use axum::extract::State;
use axum::response::Response;
use fhir_service::access::require_administrator;
use fhir_service::error::{ScriptRunError, ServiceError};
use fhir_service::migration_run::{AppliedScriptOutcome, applied_scripts, apply_scripts};
use fhir_service::representation::format_instant;
use migrations::on_demand_scripts::{ScriptOutcome, SqlScript, SqlScriptRecord};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response::private_json;
use crate::state::App;

/// Applies what is new.
pub(crate) async fn post(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    require_administrator(&call.context)?;
    let scripts =
        SqlScript::parse_scripts(&call.take_resource()?).map_err(ScriptRunError::from).map_err(ServiceError::from)?;
    let done = apply_scripts(&app.fhir, scripts).await?;
    private_json(&done.iter().map(applied).collect::<Vec<_>>())
}

/// Lists what was applied, in the order of application.
pub(crate) async fn get(State(app): State<App>, call: ResourceRequest) -> Result<Response, ApiError> {
    require_administrator(&call.context)?;
    let applied = applied_scripts(&app.fhir).await?;
    private_json(&applied.iter().map(listed).collect::<Vec<_>>())
}

fn applied(AppliedScriptOutcome { record, outcome }: &AppliedScriptOutcome) -> Value {
    let (id, checksum, ts) = (&record.script.id, record.script.checksum(), format_instant(record.applied_us));
    match outcome {
        ScriptOutcome::Now => {
            json!({"id": id, "sql": record.script.sql, "applied": "now", "ts": ts, "checksum": checksum})
        }
        ScriptOutcome::Before(_) => json!({"id": id, "applied": "before", "ts": ts, "checksum": checksum}),
    }
}

fn listed(record: &SqlScriptRecord) -> Value {
    let SqlScript { id, sql } = &record.script;
    json!({"id": id, "ts": format_instant(record.applied_us), "sql": sql, "checksum": record.script.checksum()})
}
