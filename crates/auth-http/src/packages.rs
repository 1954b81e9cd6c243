//! What the operations on packages are asked for, and why they are not done.

use migrations::PackageId;
use migrations::package::{PackageChangeError, PrepareError};
use serde_json::Value;

use crate::error::ApiError;
use crate::state::App;

/// Most packages of one request.
const ASKED_MAX: usize = 100;

/// The reason why packages were not installed or uninstalled; nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackageOperationError {
    #[error("the body has to be Parameters with 1 to {ASKED_MAX} parameters package, each with a valueString")]
    NotParameters,
    #[error("the parameter {0} is not supported: packages come, as they are, from the registry this server is set to")]
    Unsupported(String),
    #[error("package: {0}")]
    Id(#[from] migrations::PackageIdError),
    #[error("several versions of package {0} are installed: {versions}", versions = .1.join(", "))]
    Several(String, Vec<String>),
    #[error("package {0} is not installed")]
    Unknown(String),
    #[error("{0}")]
    Prepare(Box<PrepareError>),
    #[error("{0}")]
    Refused(#[from] PackageChangeError),
}

impl From<PrepareError> for PackageOperationError {
    fn from(cause: PrepareError) -> Self {
        Self::Prepare(Box::new(cause))
    }
}

impl From<PackageOperationError> for ApiError {
    fn from(cause: PackageOperationError) -> Self {
        Self::Packages(Box::new(cause))
    }
}

/// Returns the packages to install, each once.
///
/// # Errors
/// What is wrong with the request.
pub(crate) fn to_install(body: &Value) -> Result<Vec<PackageId>, PackageOperationError> {
    let mut asked = Vec::new();
    for name in names(body)? {
        let id: PackageId = name.parse()?;
        if !asked.contains(&id) {
            asked.push(id);
        }
    }
    Ok(asked)
}

/// Returns the packages to uninstall, each once: by name and version, or by a name of which one version is installed.
///
/// # Errors
/// What is wrong with the request.
pub(crate) async fn to_uninstall(app: &App, body: &Value) -> Result<Vec<PackageId>, ApiError> {
    let installed = app.packages.store().installed().await?;
    let mut asked = Vec::new();
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
        if !asked.contains(&id) {
            asked.push(id);
        }
    }
    Ok(asked)
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
    if names.is_empty() || names.len() > ASKED_MAX { Err(PackageOperationError::NotParameters) } else { Ok(names) }
}
