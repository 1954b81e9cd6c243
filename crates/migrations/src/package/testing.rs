//! Packages made on the fly, in the layout in which packages are published, and a registry of them.
//! For tests alone: the feature `testing`.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};
use tar::{Builder, EntryType, Header};

use super::{DownloadedTarball, FetchedPackage, PackageId, PackageRegistry, RegistryError};

/// A package built for a test.
#[derive(Debug, Clone)]
pub struct TestPackage {
    manifest: Map<String, Value>,
    entries: Vec<Entry>,
    index: Vec<Value>,
}

#[derive(Debug, Clone)]
struct Entry {
    kind: EntryType,
    path: String,
    content: Vec<u8>,
}

impl TestPackage {
    /// Creates an empty package for FHIR R4.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        let manifest = json!({
            "name": name, "version": version, "fhirVersions": ["4.0.1"], "type": "IG", "author": "tests",
            "canonical": format!("http://{name}.example"), "dependencies": {},
        });
        let manifest = manifest.as_object().cloned().unwrap_or_default();
        Self { manifest, entries: Vec::new(), index: Vec::new() }
    }

    /// Returns the package with a member added to `package.json`.
    #[must_use]
    pub fn with_manifest_member(mut self, member: &str, value: Value) -> Self {
        self.manifest.insert(member.to_owned(), value);
        self
    }

    /// Returns the package with a dependency added.
    #[must_use]
    pub fn with_dependency(mut self, name: &str, version: &str) -> Self {
        if let Some(Value::Object(needs)) = self.manifest.get_mut("dependencies") {
            needs.insert(name.to_owned(), version.into());
        }
        self
    }

    /// Returns the package with a resource added, as a file and in the index.
    #[must_use]
    pub fn with_resource(mut self, resource: &Value) -> Self {
        let text = |name: &str| resource.get(name).and_then(Value::as_str).unwrap_or_default();
        let file = format!("{}-{}.json", text("resourceType"), text("id"));
        self.index.push(json!({
            "filename": file, "resourceType": text("resourceType"), "id": text("id"), "url": text("url"),
            "version": text("version"),
        }));
        self.with_file(&format!("package/{file}"), resource.to_string().as_bytes())
    }

    /// Returns the package with a file added.
    #[must_use]
    pub fn with_file(mut self, path: &str, content: &[u8]) -> Self {
        self.entries.push(Entry { kind: EntryType::Regular, path: path.to_owned(), content: content.to_vec() });
        self
    }

    /// Returns the package with an entry that is not a file, such as a folder or a link.
    #[must_use]
    pub fn with_special_entry(mut self, path: &str, kind: EntryType) -> Self {
        self.entries.push(Entry { kind, path: path.to_owned(), content: Vec::new() });
        self
    }

    /// Returns the package with the files that published packages also have: index, examples, other folders.
    #[must_use]
    pub fn with_published_extras(self) -> Self {
        let index = json!({"index-version": 2, "files": self.index});
        let example = canonical_definition("ValueSet", "http://example.example/ValueSet/example", "1").to_string();
        let patient = json!({"resourceType": "Patient", "id": "example"}).to_string();
        let guide =
            json!({"resourceType": "ImplementationGuide", "id": "ig", "url": "http://ig.example/ig"}).to_string();
        self.with_special_entry("package", EntryType::Directory)
            .with_file("package/.index.json", index.to_string().as_bytes())
            .with_file("package/ImplementationGuide-ig.json", guide.as_bytes())
            .with_file("package/ig-r4.json", b"{\"no\": \"resource\"}")
            .with_special_entry("package/example", EntryType::Directory)
            .with_file("package/example/ValueSet-example.json", example.as_bytes())
            .with_file("package/example/Patient-example.json", patient.as_bytes())
            .with_file("package/example/.index.json", b"{}")
            .with_file("package/xml/ValueSet-example.xml", b"<ValueSet/>")
            .with_file("package/openapi/Patient.openapi.json", example.as_bytes())
            .with_file("package/other/spec.internals", &[0, 159, 146, 150])
            .with_file("package/other/nested/deeper/ValueSet-deep.json", example.as_bytes())
            .with_file("docs/ValueSet-beside.json", example.as_bytes())
    }

    /// Packs the package into a tarball.
    ///
    /// # Errors
    /// None in practice, because the bytes are written to memory.
    pub fn pack_tarball(&self) -> io::Result<Vec<u8>> {
        let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let manifest = Value::Object(self.manifest.clone()).to_string();
        append(&mut tar, EntryType::Regular, "package/package.json", manifest.as_bytes())?;
        for Entry { kind, path, content } in &self.entries {
            append(&mut tar, *kind, path, content)?;
        }
        tar.into_inner()?.finish()
    }

    /// Returns the id of the package.
    ///
    /// # Errors
    /// [`PackageIdError`](super::PackageIdError) for a name or version that no package can have.
    pub fn package_id(&self) -> Result<PackageId, super::PackageIdError> {
        let text = |name: &str| self.manifest.get(name).and_then(Value::as_str).unwrap_or_default();
        PackageId::new(text("name"), text("version"))
    }
}

/// Writes an entry without the checks of the library: tests need entries it refuses.
fn append(tar: &mut Builder<impl io::Write>, kind: EntryType, path: &str, content: &[u8]) -> io::Result<()> {
    let mut header = Header::new_ustar();
    if path.len() > 100 {
        tar.append_pax_extensions([("path", path.as_bytes())])?;
    }
    for (place, byte) in header.as_old_mut().name.iter_mut().zip(path.bytes()) {
        *place = byte;
    }
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(u64::try_from(content.len()).unwrap_or(u64::MAX));
    header.set_cksum();
    tar.append(&header, content)
}

/// Returns a canonical resource of this type, URL and version, without other content.
#[must_use]
pub fn canonical_definition(kind: &str, url: &str, version: &str) -> Value {
    let id: String = url.rsplit('/').next().unwrap_or_default().to_owned();
    let mut resource = json!({"resourceType": kind, "id": id, "url": url, "name": id, "status": "active"});
    if let Some(members) = resource.as_object_mut().filter(|_| !version.is_empty()) {
        members.insert("version".to_owned(), version.into());
    }
    resource
}

/// A downloaded tarball in memory.
#[derive(Debug, Clone)]
pub struct InMemoryTarball(pub Arc<[u8]>);

impl DownloadedTarball for InMemoryTarball {
    fn open_reader(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Cursor::new(Arc::clone(&self.0))))
    }
}

/// A package registry in memory.
#[derive(Debug, Default)]
pub struct FakePackageRegistry {
    tarballs: Mutex<BTreeMap<PackageId, Vec<u8>>>,
    fetches: AtomicUsize,
    is_out: AtomicBool,
}

impl FakePackageRegistry {
    /// Creates a registry with these packages.
    ///
    /// # Errors
    /// When one cannot be packed.
    pub fn with_packages(packages: &[TestPackage]) -> io::Result<Self> {
        let shelf = Self::default();
        for package in packages {
            let id = package.package_id().map_err(io::Error::other)?;
            shelf.add_tarball(id, package.pack_tarball()?);
        }
        Ok(shelf)
    }

    /// Adds a tarball with any content under the id of a package.
    pub fn add_tarball(&self, package: PackageId, tarball: Vec<u8>) {
        self.tarballs.lock().unwrap_or_else(PoisonError::into_inner).insert(package, tarball);
    }

    /// Makes the registry stop answering.
    pub fn stop_answering(&self) {
        self.is_out.store(true, Ordering::Relaxed);
    }

    /// Returns how many packages were fetched from the registry.
    #[must_use]
    pub fn fetch_count(&self) -> usize {
        self.fetches.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl PackageRegistry for FakePackageRegistry {
    fn display_address(&self) -> &'static str {
        "the shelf"
    }

    async fn package_versions(&self, name: &str) -> Result<Vec<String>, RegistryError> {
        let tarballs = self.tarballs.lock().unwrap_or_else(PoisonError::into_inner);
        let versions = tarballs.keys().filter(|id| id.name() == name).map(|id| id.version().to_owned());
        let versions: Vec<String> = versions.collect();
        if versions.is_empty() { Err(RegistryError::Unknown) } else { Ok(versions) }
    }

    async fn fetch_package(&self, package: &PackageId) -> Result<FetchedPackage, RegistryError> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        if self.is_out.load(Ordering::Relaxed) {
            return Err(RegistryError::Unreachable { reason: "it is out".to_owned(), source: None });
        }
        let tarball = self.tarballs.lock().unwrap_or_else(PoisonError::into_inner).get(package).cloned();
        let tarball = tarball.ok_or(RegistryError::Unknown)?;
        Ok(FetchedPackage::from_tarball(package, Arc::new(InMemoryTarball(tarball.into())))?)
    }
}

/// Compresses bytes as gzip.
///
/// # Errors
/// None in practice, because the bytes are written to memory.
pub fn gzip_bytes(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes)?;
    gzip.finish()
}
