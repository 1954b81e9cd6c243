//! `/$packages`, `/$fhir-package-install`, `/$fhir-package-uninstall`: FHIR packages, for the
//! administrator.

use axum::extract::State;
use axum::response::Response;
use fhir_service::packages;
use http::StatusCode;

use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response;
use crate::state::App;

/// Lists what is installed.
pub(crate) async fn get(State(app): State<App>, call: ResourceRequest) -> Result<Response, ApiError> {
    let installed = packages::list_packages(&app.fhir, &call.context).await?;
    Ok(response::json(StatusCode::OK, call.context.format, &installed))
}

/// Installs packages with all they depend on.
pub(crate) async fn install(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    let body = call.take_body();
    let installed = packages::install_packages(&app.fhir, &call.context, body).await?;
    Ok(response::json(StatusCode::OK, call.context.format, &installed))
}

/// Uninstalls packages.
pub(crate) async fn uninstall(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    let body = call.take_body();
    let uninstalled = packages::uninstall_packages(&app.fhir, &call.context, body).await?;
    Ok(response::json(StatusCode::OK, call.context.format, &uninstalled))
}
