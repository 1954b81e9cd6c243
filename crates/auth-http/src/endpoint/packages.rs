//! `/$packages`, `/$fhir-package-install`, `/$fhir-package-uninstall`: FHIR packages, for the
//! administrator.
//!
//! # Source
//! `docs/decisions.md`, "Packages". Who may is not specified; the administrator alone,
//! because a package changes what every other caller's data is judged by. The form of the list is not
//! specified either: a `Parameters` like the answer of an installation.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use migrations::PackageId;
use migrations::package::{InstallReason, InstalledPackage, PreparedInstall};
use serde_json::{Value, json};

use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::packages::{self, PackageOperationError};
use crate::state::App;
use crate::{answer, gate};

/// Lists what is installed.
pub(crate) async fn get(State(app): State<App>, call: ResourceRequest) -> Result<Response, ApiError> {
    gate::permit_administrator(&call)?;
    let installed = app.packages.store().installed().await?;
    let parts = installed.iter().map(listed).collect();
    Ok(answer::json(StatusCode::OK, call.dialect, &parameters(parts)))
}

/// Installs packages with all they depend on.
pub(crate) async fn install(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    gate::permit_administrator(&call)?;
    let asked = packages::to_install(&call.take_resource()?)?;
    let prepared = app.packages.prepare(&asked).await.map_err(PackageOperationError::from)?;
    let installed = app.packages.store().install(&prepared, app.now_us()).await?;
    installed.map_err(PackageOperationError::from)?;
    Ok(answer::json(StatusCode::OK, call.dialect, &parameters(fetched(&prepared))))
}

/// Uninstalls packages.
pub(crate) async fn uninstall(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    gate::permit_administrator(&call)?;
    let asked = packages::to_uninstall(&app, &call.take_resource()?).await?;
    let uninstalled = app.packages.store().uninstall(&asked, app.now_us()).await?;
    uninstalled.map_err(PackageOperationError::from)?;
    let deleted = |id| [text("name", id), text("status", &"deleted")];
    let parts = asked.iter().map(|id| package(&deleted(id)));
    Ok(answer::json(StatusCode::OK, call.dialect, &parameters(parts.collect())))
}

fn parameters(packages: Vec<Value>) -> Value {
    let result = json!({"name": "result", "valueBoolean": true});
    let all: Vec<Value> = std::iter::once(result).chain(packages).collect();
    json!({"resourceType": "Parameters", "parameter": all})
}

fn package(parts: &[Value]) -> Value {
    json!({"name": "package", "part": parts})
}

fn text(name: &str, value: &impl ToString) -> Value {
    json!({"name": name, "valueString": value.to_string()})
}

/// Returns what every answer says of a package that is installed.
fn parts(id: &PackageId, canonicals: u64, intention: InstallReason, registry: &str) -> Vec<Value> {
    let why = match intention {
        InstallReason::Direct => "direct",
        InstallReason::Transitive => "transitive",
    };
    let kind = if registry.starts_with("file:") { "file" } else { "npm" };
    vec![
        text("name", id),
        json!({"name": "installedCanonicals", "valueInteger": canonicals}),
        text("intention", &why),
        json!({"name": "source", "part": [text("type", &kind), text("registry", &registry)]}),
    ]
}

fn listed(installed: &InstalledPackage) -> Value {
    let mut parts = parts(&installed.id, installed.canonicals, installed.intention, &installed.source);
    parts.push(json!({"name": "installed", "valueInstant": answer::instant(installed.installed_us)}));
    package(&parts)
}

/// Returns what was asked for first, then what it needed.
fn fetched(prepared: &PreparedInstall) -> Vec<Value> {
    let packages = prepared.packages().iter().rev();
    let count = |canonicals: usize| u64::try_from(canonicals).unwrap_or(u64::MAX);
    packages.map(|one| package(&parts(&one.id, count(one.canonicals), one.intention, &one.source))).collect()
}
