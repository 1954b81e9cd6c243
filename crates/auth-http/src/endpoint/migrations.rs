//! `/db/migrations`: SQL applied on demand, each script once.
//!
//! # Source
//! Specification, Endpoints. The answer is not specified; it lists every script of the request in its
//! order and says of each whether it was applied `now` or `before`. The SQL stands only in what was
//! applied now, so a caller that knows the platform's own answer, a list of what is fresh, finds the
//! same objects in it. The administrator alone may call it, because SQL may do everything.

use axum::extract::State;
use axum::response::Response;
use migrations::on_demand::{ScriptOutcome, SqlScript, SqlScriptRecord};
use serde_json::{Value, json};

use super::introspect::private_json;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::migrate::{self, ScriptRunError};
use crate::state::App;
use crate::{answer, gate};

/// Applies what is new.
pub(crate) async fn post(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    gate::permit_administrator(&call)?;
    let scripts = SqlScript::read_all(&call.take_resource()?).map_err(ScriptRunError::from)?;
    let done = migrate::apply(&app, scripts).await?;
    private_json(&done.iter().map(told).collect::<Vec<_>>())
}

/// Lists what was applied, in the order of application.
pub(crate) async fn get(State(app): State<App>, call: ResourceRequest) -> Result<Response, ApiError> {
    gate::permit_administrator(&call)?;
    let applied = app.migrations.applied_scripts().await?;
    private_json(&applied.iter().map(listed).collect::<Vec<_>>())
}

fn told((record, applied): &(SqlScriptRecord, ScriptOutcome)) -> Value {
    let (id, checksum, ts) = (&record.script.id, record.script.checksum(), answer::instant(record.applied_us));
    match applied {
        ScriptOutcome::Now => {
            json!({"id": id, "sql": record.script.sql, "applied": "now", "ts": ts, "checksum": checksum})
        }
        ScriptOutcome::Before(_) => json!({"id": id, "applied": "before", "ts": ts, "checksum": checksum}),
    }
}

fn listed(record: &SqlScriptRecord) -> Value {
    let SqlScript { id, sql } = &record.script;
    json!({"id": id, "ts": answer::instant(record.applied_us), "sql": sql, "checksum": record.script.checksum()})
}
