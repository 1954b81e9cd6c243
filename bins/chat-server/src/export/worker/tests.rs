use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use chat_core::files::{FileReader, FileStoreError};
use chat_core::id::UserId;
use chat_core::organization::data_exports::work::CLAIM_S;
use chat_core::organization::data_exports::{self, ARCHIVE_KEPT_S, OrganizationSize};
use chat_storage::ChatStore;
use flate2::read::GzDecoder;

use super::*;
use crate::database;
use crate::export::tests::{Place, elsewhere};
use crate::files::Files;

/// The files of a server, of which writes can be counted or refused.
struct WatchedFiles {
    files: Files,
    written: AtomicUsize,
    is_full: bool,
}

#[async_trait]
impl FileStore for WatchedFiles {
    async fn put_bytes(&self, key: &FileKey, bytes: Bytes) -> Result<(), FileStoreError> {
        self.files.put_bytes(key, bytes).await
    }

    async fn put_file(&self, key: &FileKey, file: File) -> Result<(), FileStoreError> {
        self.written.fetch_add(1, Ordering::SeqCst);
        if self.is_full { Err(FileStoreError("no space left".into())) } else { self.files.put_file(key, file).await }
    }

    async fn open(
        &self,
        key: &FileKey,
        range: Option<Range<u64>>,
    ) -> Result<Option<Box<dyn FileReader>>, FileStoreError> {
        self.files.open(key, range).await
    }

    async fn delete(&self, key: &FileKey) -> Result<(), FileStoreError> {
        self.files.delete(key).await
    }
}

/// A server with an organization that came from elsewhere.
struct TestServer {
    place: Place,
    store: Arc<ChatStore>,
    files: Arc<WatchedFiles>,
}

impl TestServer {
    async fn start(is_full: bool) -> Self {
        let (place, source) = (Place::new(), tempfile::tempdir().unwrap());
        elsewhere(source.path());
        place.import(source.path()).await;
        let config = place.config("export", source.path());
        let store =
            Arc::new(ChatStore::start_without_secret(database::open(&config.database).await.unwrap()).await.unwrap());
        let files = Files::open(&config).unwrap();
        Self { place, store, files: Arc::new(WatchedFiles { files, written: AtomicUsize::new(0), is_full }) }
    }

    fn worker(&self, node: &str) -> ExportWorker {
        ExportWorker {
            store: Arc::clone(&self.store),
            files: Arc::<WatchedFiles>::clone(&self.files),
            base_url: "https://chat.example.org".to_owned(),
            node: node.to_owned(),
            folder: self.work_folder(),
            decisions: RealmDecisionQueue::default(),
        }
    }

    fn work_folder(&self) -> PathBuf {
        self.place.data.path().join("exports-in-progress")
    }

    /// An owner requests a public export.
    async fn request(&self, now_s: i64) -> i64 {
        let size = OrganizationSize { messages: 1, upload_bytes: 1 };
        let wanted = (DataExportType::Public, size, "https://chat.example.org");
        let worker = self.worker("a");
        let requested = worker.decide(now_s, |realm, commit| {
            data_exports::request(realm, realm.user(UserId(7)).unwrap(), wanted, commit)
        });
        requested.await.unwrap().unwrap()
    }

    fn status(&self, id: i64) -> DataExportStatus {
        all(&self.store.snapshot()).find(|(found, _)| *found == id).unwrap().1.status
    }

    /// The bytes of the archive, if there is one.
    async fn archive(&self, id: i64) -> Option<Vec<u8>> {
        let mut reader = self.files.open(&FileKey::of_data_export(id), None).await.unwrap()?;
        let mut bytes = Vec::new();
        while let Some(piece) = reader.next_chunk().await.unwrap() {
            bytes.extend_from_slice(&piece);
        }
        Some(bytes)
    }
}

#[tokio::test]
async fn an_export_that_is_requested_becomes_an_archive_that_another_server_takes_over() {
    let server = TestServer::start(false).await;
    let now_s = SystemRuntime.now_s();
    let id = server.request(now_s).await;
    server.worker("a").look(now_s).await.unwrap();
    let bytes = server.archive(id).await.unwrap();
    let size_bytes = u64::try_from(bytes.len()).unwrap();
    assert!(matches!(server.status(id), DataExportStatus::Succeeded { size_bytes: said, .. } if said == size_bytes));
    assert!(!server.work_folder().exists(), "nothing stays where it was written");
    let (other, unpacked) = (Place::new(), tempfile::tempdir().unwrap());
    tar::Archive::new(GzDecoder::new(bytes.as_slice())).unpack(unpacked.path()).unwrap();
    other.import(&unpacked.path().join(format!("organization-{id}"))).await;
    server.store.flush_and_close().await;
}

#[tokio::test]
async fn of_two_nodes_one_writes_an_export() {
    let server = TestServer::start(false).await;
    let now_s = SystemRuntime.now_s();
    let id = server.request(now_s).await;
    let (a, b) = (server.worker("a"), server.worker("b"));
    let (first, second) = tokio::join!(a.look(now_s), b.look(now_s));
    first.and(second).unwrap();
    assert!(matches!(server.status(id), DataExportStatus::Succeeded { .. }));
    assert_eq!(server.files.written.load(Ordering::SeqCst), 1);
    server.store.flush_and_close().await;
}

#[tokio::test]
async fn an_export_whose_node_was_killed_fails_and_leaves_nothing() {
    let server = TestServer::start(false).await;
    let now_s = SystemRuntime.now_s();
    let id = server.request(now_s).await;
    let killed = server.worker("killed");
    killed.decide(now_s, |realm, commit| work::claim(realm, "killed", commit)).await.unwrap().unwrap();
    fs::create_dir_all(server.work_folder().join("organization-1.partial")).unwrap();
    server.files.put_bytes(&FileKey::of_data_export(id), Bytes::from_static(b"half")).await.unwrap();
    let worker = server.worker("a");
    worker.look(now_s + CLAIM_S - 1).await.unwrap();
    assert!(matches!(server.status(id), DataExportStatus::Started { .. }));
    worker.look(now_s + CLAIM_S).await.unwrap();
    assert_eq!(server.status(id), DataExportStatus::Failed { at_s: now_s + CLAIM_S });
    assert_eq!((server.archive(id).await, server.work_folder().exists()), (None, false));
    // The next one is written.
    let next = server.request(now_s).await;
    worker.look(now_s + CLAIM_S).await.unwrap();
    assert!(matches!(server.status(next), DataExportStatus::Succeeded { .. }));
    server.store.flush_and_close().await;
}

#[tokio::test]
async fn an_export_for_which_there_is_no_room_fails_and_leaves_nothing() {
    let server = TestServer::start(true).await;
    let now_s = SystemRuntime.now_s();
    let id = server.request(now_s).await;
    server.worker("a").look(now_s).await.unwrap();
    assert!(matches!(server.status(id), DataExportStatus::Failed { .. }));
    assert_eq!((server.archive(id).await, server.work_folder().exists()), (None, false));
    // Nor is there any where it is written first.
    fs::write(server.work_folder(), "in the way").unwrap();
    let id = server.request(now_s).await;
    server.worker("a").look(now_s).await.unwrap();
    assert!(matches!(server.status(id), DataExportStatus::Failed { .. }));
    assert_eq!(server.files.written.load(Ordering::SeqCst), 1);
    server.store.flush_and_close().await;
}

#[tokio::test]
async fn an_archive_is_removed_after_a_week() {
    let server = TestServer::start(false).await;
    let now_s = SystemRuntime.now_s();
    let id = server.request(now_s).await;
    let worker = server.worker("a");
    worker.look(now_s).await.unwrap();
    let DataExportStatus::Succeeded { at_s, .. } = server.status(id) else { panic!("it is written") };
    worker.look(at_s + ARCHIVE_KEPT_S - 1).await.unwrap();
    assert!(server.archive(id).await.is_some());
    worker.look(at_s + ARCHIVE_KEPT_S).await.unwrap();
    assert_eq!(server.status(id), DataExportStatus::Deleted { at_s: at_s + ARCHIVE_KEPT_S });
    assert_eq!(server.archive(id).await, None);
    server.store.flush_and_close().await;
}
