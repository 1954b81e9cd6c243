//! The first reading of a tarball: what it is, and that all of it can be read.

use std::collections::HashSet;
use std::io::Read;
use std::ops::ControlFlow;

use super::archive::{self, PackageTarballError};
use super::canonical;
use super::conformance::InstalledConformance;
use super::id::PackageId;
use super::manifest::{self, PackageManifest};

/// The contents of a package tarball: manifest, number of canonicals, conformance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TarballContents {
    /// The manifest.
    pub manifest: PackageManifest,
    /// The number of canonicals.
    pub canonicals: usize,
    /// The canonical URLs that a server with the package declares conformance to.
    pub conformance: InstalledConformance,
}

impl TarballContents {
    /// Reads a tarball to its end, and verifies that it is the package `asked`. This takes CPU time, so it should not
    /// run on an async worker thread.
    ///
    /// `.index.json` is not read: it may be absent or wrong, and the files are read anyway.
    ///
    /// # Errors
    /// [`PackageTarballError`].
    pub fn read_and_verify(tarball: impl Read, asked: &PackageId) -> Result<Self, PackageTarballError> {
        let mut found = None;
        let (mut canonicals, mut conformance) = (HashSet::new(), InstalledConformance::default());
        archive::walk(tarball, |file, content| {
            if file == manifest::FILE {
                found = Some(PackageManifest::read(content)?);
            }
            if let Some(head) = canonical::head_in(file, content)? {
                canonicals.extend(canonical::name_of(file, &head)?);
                conformance.add(&head);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let manifest = found.ok_or(PackageTarballError::NoManifest)?;
        if manifest.id != *asked {
            return Err(PackageTarballError::OtherPackage(manifest.id.to_string()));
        }
        Ok(Self { manifest, canonicals: canonicals.len(), conformance })
    }
}
