//! Canonicals on their way from a tarball into statements: read on a thread of their own, gathered
//! by type, never more than a few batches of them in memory.

use std::collections::BTreeMap;
use std::mem;
use std::ops::ControlFlow;

use fhir_resource::{ResourceKey, ResourceType};
use migrations::package::{CanonicalResource, DownloadedTarball, PackageTarballError, visit_package_canonicals};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::resources::Text;
use crate::search::{Finder, Findings};

/// Most canonicals of one statement.
const BATCH_MAX: usize = 1000;
/// Bytes of JSON from which a batch is full, whatever it counts.
const BATCH_BYTES: usize = 2 * 1024 * 1024;
/// Batches that wait for the database, beside the one that is read, the one whose rows are found and the one that is
/// stored. One resource of megabytes is a batch.
const WAITING_MAX: usize = 1;

/// Canonicals of one type.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) kind: ResourceType,
    pub(super) texts: Vec<Text>,
    /// Of their documents together.
    size_bytes: usize,
    /// `[[id, url, version], …]`.
    pub(super) keys: String,
    /// Where they are stored.
    pub(super) stored: Vec<ResourceKey>,
    /// What is stored there: what searches find it by is taken from it.
    resources: Vec<Value>,
}

/// A batch, and what searches find its canonicals by.
#[derive(Debug)]
pub(super) struct Indexed {
    pub(super) batch: Batch,
    /// `None` where searches know nothing of the type.
    pub(super) found: Option<(Finder, Vec<(String, Findings)>)>,
}

impl Batch {
    fn new(kind: ResourceType) -> Self {
        Self { kind, texts: Vec::new(), size_bytes: 0, keys: "[".to_owned(), stored: Vec::new(), resources: Vec::new() }
    }

    /// Finds what searches find the canonicals by, on a thread where it holds nobody up.
    pub(super) fn index(mut self, finder: Option<Finder>) -> JoinHandle<Indexed> {
        spawn_blocking(move || {
            let resources = mem::take(&mut self.resources);
            let found = finder.map(|finder| {
                let ids = self.stored.iter().map(|key| key.id.as_str());
                let found = ids.zip(&resources).map(|(id, resource)| (id.to_owned(), finder.findings(id, resource)));
                let found = found.collect();
                (finder, found)
            });
            Indexed { batch: self, found }
        })
    }

    fn push(&mut self, canonical: CanonicalResource) {
        let CanonicalResource { key, url, version, resource } = canonical;
        let comma = if self.stored.is_empty() { "" } else { "," };
        let id = key.id.as_str();
        let document = resource.to_string();
        self.size_bytes += document.len();
        self.texts.push(Text { id: id.into(), document: document.into() });
        self.keys.extend([comma, &json!([id, url, version]).to_string()]);
        self.stored.push(key);
        self.resources.push(resource);
    }

    fn is_full(&self) -> bool {
        self.stored.len() >= BATCH_MAX || self.size_bytes >= BATCH_BYTES
    }

    fn closed(mut self) -> Self {
        self.keys.push(']');
        self
    }
}

/// The canonicals of a tarball as they are read.
pub(super) struct Batches {
    pub(super) ready: mpsc::Receiver<Batch>,
    pub(super) reading: JoinHandle<Result<(), PackageTarballError>>,
}

/// Reads a tarball on a thread where it holds nobody up. It stops when nobody takes the batches.
pub(super) fn read(tarball: std::sync::Arc<dyn DownloadedTarball>) -> Batches {
    let (sender, ready) = mpsc::channel(WAITING_MAX);
    let reading = spawn_blocking(move || read_into(&sender, tarball.as_ref()));
    Batches { ready, reading }
}

fn read_into(sender: &mpsc::Sender<Batch>, tarball: &dyn DownloadedTarball) -> Result<(), PackageTarballError> {
    let mut open: BTreeMap<ResourceType, Batch> = BTreeMap::new();
    visit_package_canonicals(tarball.open_reader().map_err(PackageTarballError::Broken)?, |canonical| {
        let kind = canonical.key.resource_type.clone();
        let mut batch = open.remove(&kind).unwrap_or_else(|| Batch::new(kind.clone()));
        batch.push(canonical);
        if !batch.is_full() {
            open.insert(kind, batch);
            return ControlFlow::Continue(());
        }
        match sender.blocking_send(batch.closed()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    for batch in open.into_values() {
        if sender.blocking_send(batch.closed()).is_err() {
            break;
        }
    }
    Ok(())
}
