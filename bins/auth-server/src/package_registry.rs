//! Where FHIR packages come from: a registry over HTTP, or a folder.

mod checksum;
mod folder;
mod http;
mod tarball;

use std::sync::Arc;

use anyhow::Context as _;
use migrations::PackageId;
use migrations::package::{FetchedPackage, PackageRegistry, RegistryError};
use url::Url;

use folder::Folder;
use http::HttpRegistry;
use tarball::FileTarball;

pub(crate) use http::Patience;

/// Returns the registry at an address: `http(s)://`, or a folder's `file://`.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn open(address: &Url) -> anyhow::Result<Arc<dyn PackageRegistry>> {
    if address.scheme() == "file" {
        let folder = Folder::open(address);
        return Ok(Arc::new(folder.with_context(|| format!("cannot use --fhir-package-registry {address}"))?));
    }
    Ok(Arc::new(HttpRegistry::new(address, Patience::default())))
}

/// Reads a tarball on a thread where it holds nobody up.
async fn read(package: &PackageId, tarball: FileTarball) -> Result<FetchedPackage, RegistryError> {
    let package = package.clone();
    let read = tokio::task::spawn_blocking(move || FetchedPackage::from_tarball(&package, Arc::new(tarball)));
    let read = read.await.map_err(|error| RegistryError::Unreachable {
        reason: "reading the tarball broke off".to_owned(),
        source: Some(Box::new(error)),
    })?;
    Ok(read?)
}

#[cfg(test)]
mod tests;
