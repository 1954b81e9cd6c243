//! The first reading of a tarball: what it is, and that all of it can be read.

use std::collections::HashSet;
use std::io::Read;
use std::ops::ControlFlow;

use super::archive::{self, TarballFault};
use super::canonical;
use super::conformance::Conformance;
use super::id::PackageId;
use super::manifest::{self, Manifest};

/// The contents of a tarball.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// What it says of itself.
    pub manifest: Manifest,
    /// How many canonicals it has.
    pub canonicals: usize,
    /// What it says a server conforms to.
    pub conformance: Conformance,
}

impl Survey {
    /// Reads a tarball to its end and checks that it is `asked`. This takes a processor for a while:
    /// call it where nothing else waits.
    ///
    /// `.index.json` is not looked at: it may be absent or wrong, and the files are read anyway.
    ///
    /// # Errors
    /// [`TarballFault`].
    pub fn read(tarball: impl Read, asked: &PackageId) -> Result<Self, TarballFault> {
        let mut found = None;
        let (mut canonicals, mut conformance) = (HashSet::new(), Conformance::default());
        archive::walk(tarball, |file, content| {
            if file == manifest::FILE {
                found = Some(Manifest::read(content)?);
            }
            if let Some(head) = canonical::head_in(file, content)? {
                canonicals.extend(canonical::name_of(file, &head)?);
                conformance.add(&head);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let manifest = found.ok_or(TarballFault::NoManifest)?;
        if manifest.id != *asked {
            return Err(TarballFault::OtherPackage(manifest.id.to_string()));
        }
        Ok(Self { manifest, canonicals: canonicals.len(), conformance })
    }
}
