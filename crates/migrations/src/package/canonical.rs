//! Canonicals: what of a package is stored.

use std::collections::HashSet;
use std::io::Read;
use std::ops::ControlFlow;

use fhir_resource::{ResourceId, ResourceKey, ResourceType};
use fhir_store::body_validation;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::archive::{self, PackageTarballError};
use super::{limits, manifest};

/// The resource types of canonicals that are stored from packages.
///
/// # Source
/// `docs/decisions.md`, "Packages".
pub const CANONICAL_TYPES: [&str; 5] =
    ["CodeSystem", "ConceptMap", "SearchParameter", "StructureDefinition", "ValueSet"];

/// Bytes of the digest an id is made of.
const ID_BYTES: usize = 16;

/// A canonical resource of a package: one with a `url`.
#[derive(Debug, Clone, PartialEq)]
pub struct CanonicalResource {
    /// The key under which it is stored. The id is made of type, URL and version, so that `patient` in two packages, or
    /// in two versions of one, are two resources.
    pub key: ResourceKey,
    /// `url`.
    pub url: String,
    /// `version`; empty when it has none.
    pub version: String,
    /// The body as it is stored ([`fhir_resource::StoredResource::resource`]).
    pub resource: Value,
}

/// What of a file says whether it holds a canonical; the rest of it is only checked to be JSON.
#[derive(Deserialize)]
pub(super) struct Head {
    #[serde(rename = "resourceType")]
    pub(super) kind: Option<Value>,
    pub(super) url: Option<Value>,
    version: Option<Value>,
    /// `kind` of a definition or a statement.
    #[serde(rename = "kind")]
    pub(super) flavor: Option<Value>,
    #[serde(rename = "type")]
    pub(super) of_type: Option<Value>,
    pub(super) derivation: Option<Value>,
    #[serde(rename = "abstract")]
    pub(super) is_abstract: Option<Value>,
    pub(super) rest: Option<Value>,
}

/// What names a canonical.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    kind: &'static str,
    url: String,
    version: String,
}

/// Visits the canonicals of a package in file order, until `visit` breaks. Of one that occurs twice only the first file
/// is visited.
///
/// # Errors
/// [`PackageTarballError`]; some canonicals may have been visited by then.
pub fn visit_package_canonicals(
    tarball: impl Read,
    mut visit: impl FnMut(CanonicalResource) -> ControlFlow<()>,
) -> Result<(), PackageTarballError> {
    let mut seen = HashSet::new();
    archive::walk(tarball, |file, content| {
        let Some(name) = name_in(file, content)? else { return Ok(ControlFlow::Continue(())) };
        let key = name.key(file)?;
        if !seen.insert(key.clone()) {
            return Ok(ControlFlow::Continue(()));
        }
        let resource = resource(file, content, &key)?;
        Ok(visit(CanonicalResource { key, url: name.url, version: name.version, resource }))
    })
}

/// Returns what names the canonical in a file, if there is one in it.
///
/// # Errors
/// [`PackageTarballError::Json`], and [`PackageTarballError::Resource`] for one whose name cannot be stored.
pub(super) fn name_in(file: &str, content: &[u8]) -> Result<Option<Name>, PackageTarballError> {
    match head_in(file, content)? {
        Some(head) => name_of(file, &head),
        None => Ok(None),
    }
}

/// Returns what the resource in a file says of itself, if there is one in it.
///
/// # Errors
/// [`PackageTarballError::Json`].
pub(super) fn head_in(file: &str, content: &[u8]) -> Result<Option<Head>, PackageTarballError> {
    if file == manifest::FILE || file.starts_with('.') {
        return Ok(None);
    }
    let content = without_mark(content);
    if content.trim_ascii_start().first() != Some(&b'{') {
        // Valid JSON all the same, or the file is broken.
        return json::<serde::de::IgnoredAny>(file, content).map(|_| None);
    }
    json(file, content).map(Some)
}

/// Returns what names the canonical that a resource is, if it is one.
///
/// # Errors
/// [`PackageTarballError::Resource`] for one whose name cannot be stored.
pub(super) fn name_of(file: &str, head: &Head) -> Result<Option<Name>, PackageTarballError> {
    let kind = head.kind.as_ref().and_then(Value::as_str);
    let kind = kind.and_then(|kind| CANONICAL_TYPES.into_iter().find(|known| *known == kind));
    let (Some(kind), Some(url)) = (kind, head.url.as_ref().and_then(Value::as_str)) else { return Ok(None) };
    let version = head.version.as_ref().and_then(Value::as_str).unwrap_or_default();
    if [url, version].iter().any(|text| text.len() > limits::CANONICAL_KEY_MAX_BYTES || text.contains('\0')) {
        let problem = format!("url and version have at most {} bytes, none of them 0", limits::CANONICAL_KEY_MAX_BYTES);
        return Err(PackageTarballError::Resource { file: file.to_owned(), problem });
    }
    Ok(Some(Name { kind, url: url.to_owned(), version: version.to_owned() }))
}

impl Name {
    fn key(&self, file: &str) -> Result<ResourceKey, PackageTarballError> {
        let unfit = |problem: String| PackageTarballError::Resource { file: file.to_owned(), problem };
        let kind: ResourceType = self.kind.parse().map_err(|_| unfit("its type".to_owned()))?;
        let digest = Sha256::new()
            .chain_update(self.kind)
            .chain_update([0])
            .chain_update(&self.url)
            .chain_update([0])
            .chain_update(&self.version)
            .finalize();
        let digits = digest.iter().take(ID_BYTES).flat_map(|byte| [byte >> 4, byte & 15]);
        let id: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
        let id: ResourceId = id.parse().map_err(|_| unfit("its id".to_owned()))?;
        Ok(ResourceKey { resource_type: kind, id })
    }
}

fn resource(file: &str, content: &[u8], key: &ResourceKey) -> Result<Value, PackageTarballError> {
    let mut body: Value = json(file, without_mark(content))?;
    if let Value::Object(members) = &mut body {
        members.shift_remove("id");
    }
    let stored = body_validation::prepare_stored_body(key, body);
    stored.map_err(|faults| PackageTarballError::Resource {
        file: file.to_owned(),
        problem: faults.first().map(ToString::to_string).unwrap_or_default(),
    })
}

fn json<'a, T: Deserialize<'a>>(file: &str, content: &'a [u8]) -> Result<T, PackageTarballError> {
    serde_json::from_slice(content).map_err(|source| PackageTarballError::Json { file: file.to_owned(), source })
}

/// Some published files begin with the byte order mark of UTF-8.
fn without_mark(content: &[u8]) -> &[u8] {
    content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content)
}
