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

use super::{FetchedPackage, PackageId, PackageRegistry, RegistryError, Tarball};

/// A package that is still to be packed.
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
    /// An empty package for FHIR R4.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        let manifest = json!({
            "name": name, "version": version, "fhirVersions": ["4.0.1"], "type": "IG", "author": "tests",
            "canonical": format!("http://{name}.example"), "dependencies": {},
        });
        let manifest = manifest.as_object().cloned().unwrap_or_default();
        Self { manifest, entries: Vec::new(), index: Vec::new() }
    }

    /// A member of `package.json`.
    #[must_use]
    pub fn saying(mut self, member: &str, value: Value) -> Self {
        self.manifest.insert(member.to_owned(), value);
        self
    }

    /// A dependency.
    #[must_use]
    pub fn needing(mut self, name: &str, version: &str) -> Self {
        if let Some(Value::Object(needs)) = self.manifest.get_mut("dependencies") {
            needs.insert(name.to_owned(), version.into());
        }
        self
    }

    /// A resource, as a separate file and in the index.
    #[must_use]
    pub fn with(mut self, resource: &Value) -> Self {
        let text = |name: &str| resource.get(name).and_then(Value::as_str).unwrap_or_default();
        let file = format!("{}-{}.json", text("resourceType"), text("id"));
        self.index.push(json!({
            "filename": file, "resourceType": text("resourceType"), "id": text("id"), "url": text("url"),
            "version": text("version"),
        }));
        self.file(&format!("package/{file}"), resource.to_string().as_bytes())
    }

    /// Any file.
    #[must_use]
    pub fn file(mut self, path: &str, content: &[u8]) -> Self {
        self.entries.push(Entry { kind: EntryType::Regular, path: path.to_owned(), content: content.to_vec() });
        self
    }

    /// An entry that is no file: a folder, a link, a device.
    #[must_use]
    pub fn entry(mut self, path: &str, kind: EntryType) -> Self {
        self.entries.push(Entry { kind, path: path.to_owned(), content: Vec::new() });
        self
    }

    /// Returns what published packages have besides: the index, examples, and folders of other things, with resources
    /// in them that are none of the package.
    #[must_use]
    pub fn as_published(self) -> Self {
        let index = json!({"index-version": 2, "files": self.index});
        let example = definition("ValueSet", "http://example.example/ValueSet/example", "1").to_string();
        let patient = json!({"resourceType": "Patient", "id": "example"}).to_string();
        let guide =
            json!({"resourceType": "ImplementationGuide", "id": "ig", "url": "http://ig.example/ig"}).to_string();
        self.entry("package", EntryType::Directory)
            .file("package/.index.json", index.to_string().as_bytes())
            .file("package/ImplementationGuide-ig.json", guide.as_bytes())
            .file("package/ig-r4.json", b"{\"no\": \"resource\"}")
            .entry("package/example", EntryType::Directory)
            .file("package/example/ValueSet-example.json", example.as_bytes())
            .file("package/example/Patient-example.json", patient.as_bytes())
            .file("package/example/.index.json", b"{}")
            .file("package/xml/ValueSet-example.xml", b"<ValueSet/>")
            .file("package/openapi/Patient.openapi.json", example.as_bytes())
            .file("package/other/spec.internals", &[0, 159, 146, 150])
            .file("package/other/nested/deeper/ValueSet-deep.json", example.as_bytes())
            .file("docs/ValueSet-beside.json", example.as_bytes())
    }

    /// Returns the tarball.
    ///
    /// # Errors
    /// None that a test would meet.
    pub fn pack(&self) -> io::Result<Vec<u8>> {
        let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let manifest = Value::Object(self.manifest.clone()).to_string();
        append(&mut tar, EntryType::Regular, "package/package.json", manifest.as_bytes())?;
        for Entry { kind, path, content } in &self.entries {
            append(&mut tar, *kind, path, content)?;
        }
        tar.into_inner()?.finish()
    }

    /// Which package this is.
    ///
    /// # Errors
    /// When its name or version is none.
    pub fn id(&self) -> Result<PackageId, super::PackageIdError> {
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

/// A canonical of any type.
#[must_use]
pub fn definition(kind: &str, url: &str, version: &str) -> Value {
    let id: String = url.rsplit('/').next().unwrap_or_default().to_owned();
    let mut resource = json!({"resourceType": kind, "id": id, "url": url, "name": id, "status": "active"});
    if let Some(members) = resource.as_object_mut().filter(|_| !version.is_empty()) {
        members.insert("version".to_owned(), version.into());
    }
    resource
}

/// Bytes as a tarball.
#[derive(Debug, Clone)]
pub struct TarballBytes(pub Arc<[u8]>);

impl Tarball for TarballBytes {
    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Cursor::new(Arc::clone(&self.0))))
    }
}

/// A registry in memory.
#[derive(Debug, Default)]
pub struct FakeRegistry {
    tarballs: Mutex<BTreeMap<PackageId, Vec<u8>>>,
    fetches: AtomicUsize,
    is_out: AtomicBool,
}

impl FakeRegistry {
    /// With these packages.
    ///
    /// # Errors
    /// When one cannot be packed.
    pub fn of(packages: &[TestPackage]) -> io::Result<Self> {
        let shelf = Self::default();
        for package in packages {
            let id = package.id().map_err(io::Error::other)?;
            shelf.put(id, package.pack()?);
        }
        Ok(shelf)
    }

    /// Takes in a tarball, whatever it holds.
    pub fn put(&self, package: PackageId, tarball: Vec<u8>) {
        self.tarballs.lock().unwrap_or_else(PoisonError::into_inner).insert(package, tarball);
    }

    /// Does not answer any more.
    pub fn goes_out(&self) {
        self.is_out.store(true, Ordering::Relaxed);
    }

    /// Returns how many packages were asked for.
    #[must_use]
    pub fn fetches(&self) -> usize {
        self.fetches.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl PackageRegistry for FakeRegistry {
    fn address(&self) -> &'static str {
        "the shelf"
    }

    async fn versions(&self, name: &str) -> Result<Vec<String>, RegistryError> {
        let tarballs = self.tarballs.lock().unwrap_or_else(PoisonError::into_inner);
        let versions = tarballs.keys().filter(|id| id.name() == name).map(|id| id.version().to_owned());
        let versions: Vec<String> = versions.collect();
        if versions.is_empty() { Err(RegistryError::Unknown) } else { Ok(versions) }
    }

    async fn fetch(&self, package: &PackageId) -> Result<FetchedPackage, RegistryError> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        if self.is_out.load(Ordering::Relaxed) {
            return Err(RegistryError::Unreachable { reason: "it is out".to_owned(), source: None });
        }
        let tarball = self.tarballs.lock().unwrap_or_else(PoisonError::into_inner).get(package).cloned();
        let tarball = tarball.ok_or(RegistryError::Unknown)?;
        Ok(FetchedPackage::read(package, Arc::new(TarballBytes(tarball.into())))?)
    }
}

/// Packs bytes as they are, whatever they are.
///
/// # Errors
/// None that a test would meet.
pub fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes)?;
    gzip.finish()
}
