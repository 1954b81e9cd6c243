//! Before the server serves: its init bundle, and the answers in the meantime.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use fhir_service::error::ServiceError;
use fhir_service::request_context::RequestContext;
use fhir_service::request_query::RequestQuery;
use fhir_service::resource_format::ResourceFormat;
use fhir_service::{brand_type_names, bundle};
use fhir_store::bundle::BundleType;
use http::StatusCode;
use serde_json::{Value, json};

use crate::error::{self, ApiError};
use crate::middleware::{self, observe};
use crate::response;
use crate::state::{App, AppState, RouterComponents};

/// The report of an executed init bundle: its entries and those that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitBundleReport {
    /// The number of entries.
    pub entries: usize,
    /// The entries of a batch that failed, each with its index and the reason; empty for a transaction.
    pub failed: Vec<(usize, String)>,
}

/// The reason why an init bundle was not executed; a failed transaction leaves nothing behind.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ExecuteInitBundleError(String);

/// Executes an init bundle before the server starts, as a Bundle that the administrator posts to `/fhir`.
///
/// # Errors
/// [`ExecuteInitBundleError`], whose text names the entry and the reason for the operator.
///
/// # Source
/// Specification, Migrations: how they are submitted; the FHIR endpoint and its rewriting of extensions
/// as for any bundle of that endpoint.
pub async fn execute_init_bundle(
    parts: RouterComponents,
    mut document: Value,
) -> Result<InitBundleReport, ExecuteInitBundleError> {
    let service = AppState::new(parts).fhir;
    let platform_name = &service.settings().platform_name;
    brand_type_names::rename_brand_types(platform_name, &mut document);
    if let Some((index, name)) = brand_type_names::find_foreign_brand_migration(&document) {
        return Err(ExecuteInitBundleError(foreign(platform_name, index, &name)));
    }
    let queries = RequestQuery::of_bundle_entries(&document);
    let stop = |fault: ServiceError| ExecuteInitBundleError(ApiError::from(fault).for_operator());
    let context = RequestContext::of_administrator(ResourceFormat::Fhir);
    let request = bundle::parse_bundle(&service, &context, document, &queries).await.map_err(stop)?;
    let (kind, entries) = (request.bundle_type, request.entries.len());
    let answered = bundle::execute_bundle(&service, &context, request, &queries).await.map_err(stop)?;
    let failed = if kind == BundleType::Batch { failures(&answered) } else { Vec::new() };
    Ok(InitBundleReport { entries, failed })
}

/// The reason why a bundle with a migration of another brand word stops the start, also a batch: skipping it would
/// start a server on a schema that is not there.
fn foreign(brand: &str, index: usize, name: &str) -> String {
    let word = name.strip_suffix("Migration").unwrap_or(name).to_ascii_lowercase();
    let place = fhir_store::bundle::entry_fhirpath(index);
    format!(
        "{place}: {name} is a migration of a platform named {word}, and this one is named {brand}: start with \
         --platform-name {word} (BOX_PLATFORM_NAME), or write PlatformMigration"
    )
}

/// Returns the entries of a batch's answer that say why they failed.
fn failures(answered: &Value) -> Vec<(usize, String)> {
    let entries = answered.get("entry").and_then(Value::as_array);
    let outcome = |entry: &Value| entry.pointer("/response/outcome").filter(|outcome| is_failure(outcome)).cloned();
    let outcomes = entries.into_iter().flatten().map(outcome);
    let failed = outcomes.enumerate().filter_map(|(index, outcome)| Some((index, error::issues_in_words(&outcome?))));
    failed.collect()
}

/// Returns whether an outcome says more than what the writer of a stored resource should know.
fn is_failure(outcome: &Value) -> bool {
    let issues = outcome.get("issue").and_then(Value::as_array).into_iter().flatten();
    let severities = issues.filter_map(|issue| issue.get("severity").and_then(Value::as_str));
    severities.into_iter().any(|severity| matches!(severity, "fatal" | "error"))
}

/// Returns the router that serves until the server is ready: `/health` reports the progress, every other path is 503.
///
/// # Source
/// `docs/decisions.md`, "Starting".
pub fn startup_router(parts: RouterComponents) -> Router {
    let app: App = Arc::new(AppState::new(parts));
    Router::new()
        .route("/health", get(health))
        .fallback(not_ready)
        .layer(from_fn(middleware::drain))
        .layer(from_fn_with_state(Arc::clone(&app), observe::observe))
        .with_state(app)
}

async fn health(State(app): State<App>) -> Response {
    let told = json!({"status": "starting", "progress": app.progress.last_report()});
    response::json(StatusCode::SERVICE_UNAVAILABLE, ResourceFormat::Native, &told)
}

async fn not_ready() -> ApiError {
    ApiError::NotReady
}
