//! The operations on packages: list, install, uninstall. For the administrator alone.
//!
//! # Source
//! `docs/decisions.md`, "Packages". Who may is not specified; the administrator alone,
//! because a package changes what every other caller's data is judged by. The form of the list is not
//! specified either: a `Parameters` like the answer of an installation.

use migrations::PackageId;
use migrations::package::{InstallReason, InstalledPackage, PreparedInstall};
use serde_json::{Value, json};

use crate::access;
use crate::error::{PackageOperationError, ServiceError};
use crate::limits::PACKAGES_PER_REQUEST_MAX;
use crate::representation;
use crate::request_context::RequestContext;
use crate::service_state::FhirService;

/// Returns the installed packages as a `Parameters` resource, by name and version.
///
/// # Errors
/// [`ServiceError::Denied`] unless the caller is the administrator, and when the store fails.
pub async fn list_packages(service: &FhirService, context: &RequestContext) -> Result<Value, ServiceError> {
    access::require_administrator(context)?;
    let installed = service.packages.store().installed_packages().await?;
    Ok(parameters(installed.iter().map(listed).collect()))
}

/// Installs packages with all they depend on, and returns them as `Parameters`.
///
/// # Errors
/// [`ServiceError::Denied`] unless the caller is the administrator; [`PackageOperationError`].
pub async fn install_packages(
    service: &FhirService,
    context: &RequestContext,
    body: Option<Value>,
) -> Result<Value, ServiceError> {
    access::require_administrator(context)?;
    let requested = to_install(&body.ok_or(ServiceError::NoBody)?)?;
    let prepared = service.packages.prepare_install(&requested).await.map_err(PackageOperationError::from)?;
    let installed = service.packages.store().install_prepared(&prepared, service.now_us()).await?;
    installed.map_err(PackageOperationError::from)?;
    Ok(parameters(fetched(&prepared)))
}

/// Uninstalls packages, and returns them as `Parameters`.
///
/// # Errors
/// [`ServiceError::Denied`] unless the caller is the administrator; [`PackageOperationError`].
pub async fn uninstall_packages(
    service: &FhirService,
    context: &RequestContext,
    body: Option<Value>,
) -> Result<Value, ServiceError> {
    access::require_administrator(context)?;
    let requested = to_uninstall(service, &body.ok_or(ServiceError::NoBody)?).await?;
    let uninstalled = service.packages.store().uninstall_packages(&requested, service.now_us()).await?;
    uninstalled.map_err(PackageOperationError::from)?;
    let deleted = |id| [text("name", id), text("status", &"deleted")];
    Ok(parameters(requested.iter().map(|id| package(&deleted(id))).collect()))
}

/// Returns the packages to install, each once.
///
/// # Errors
/// What is wrong with the request.
fn to_install(body: &Value) -> Result<Vec<PackageId>, PackageOperationError> {
    let mut requested = Vec::new();
    for name in names(body)? {
        let id: PackageId = name.parse()?;
        if !requested.contains(&id) {
            requested.push(id);
        }
    }
    Ok(requested)
}

/// Returns the packages to uninstall, each once: by name and version, or by a name of which one version is installed.
///
/// # Errors
/// What is wrong with the request.
async fn to_uninstall(service: &FhirService, body: &Value) -> Result<Vec<PackageId>, ServiceError> {
    let installed = service.packages.store().installed_packages().await?;
    let mut requested = Vec::new();
    for name in names(body)? {
        let id = if name.contains(['@', '#']) {
            name.parse().map_err(PackageOperationError::from)?
        } else {
            let mut of_name = installed.iter().map(|package| &package.id).filter(|id| id.name() == name);
            match (of_name.next(), of_name.next()) {
                (None, _) => return Err(PackageOperationError::Unknown(name.to_owned()).into()),
                (Some(only), None) => only.clone(),
                (Some(one), Some(other)) => {
                    let versions = [one, other].into_iter().chain(of_name).map(|id| id.version().to_owned());
                    return Err(PackageOperationError::Several(name.to_owned(), versions.collect()).into());
                }
            }
        };
        if !requested.contains(&id) {
            requested.push(id);
        }
    }
    Ok(requested)
}

fn names(body: &Value) -> Result<Vec<&str>, PackageOperationError> {
    let parameters = body.get("parameter").and_then(Value::as_array).ok_or(PackageOperationError::NotParameters)?;
    let mut names = Vec::new();
    for parameter in parameters {
        match parameter.get("name").and_then(Value::as_str) {
            Some("package") => {
                let value = parameter.get("valueString").and_then(Value::as_str);
                names.push(value.ok_or(PackageOperationError::NotParameters)?);
            }
            Some(other) => return Err(PackageOperationError::Unsupported(other.to_owned())),
            None => return Err(PackageOperationError::NotParameters),
        }
    }
    if names.is_empty() || names.len() > PACKAGES_PER_REQUEST_MAX {
        Err(PackageOperationError::NotParameters)
    } else {
        Ok(names)
    }
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

/// Returns the parts of an installed package, which every answer has.
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
    parts.push(json!({"name": "installed", "valueInstant": representation::format_instant(installed.installed_us)}));
    package(&parts)
}

/// Returns the requested packages, then what they need.
fn fetched(prepared: &PreparedInstall) -> Vec<Value> {
    let packages = prepared.packages().iter().rev();
    let count = |canonicals: usize| u64::try_from(canonicals).unwrap_or(u64::MAX);
    packages.map(|one| package(&parts(&one.id, count(one.canonicals), one.intention, &one.source))).collect()
}
