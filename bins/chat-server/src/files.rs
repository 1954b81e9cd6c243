//! Where the bytes of files are: a folder of the data directory, or S3.

use std::fs::File;
use std::io::SeekFrom;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use chat_core::files::{FileKey, FileReader, FileStore, FileStoreError};
use chat_http::UploadSettings;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt as _, PutPayload, WriteMultipart};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use crate::config::{Bucket, Config};

/// The folder of the data directory that files are kept in.
const FOLDER: &str = "files";
/// Bytes of a piece that is written to a folder: what is held in memory of a file that comes.
const FOLDER_PIECE: usize = 256 * 1024;
/// Bytes of a piece that is written to S3, which takes no smaller ones but the last.
const S3_PIECE: usize = 5 * 1024 * 1024;
/// Pieces under way at once.
const PIECES_AT_ONCE: usize = 2;
/// The region of services that have none.
const USUAL_REGION: &str = "us-east-1";

/// The folder of the data directory in which files that come wait. They have no names in it.
const SPOOL: &str = "incoming";
const MIB: usize = 1024 * 1024;

/// Returns how large uploads may be, and where they wait.
pub(crate) fn upload_settings(config: &Config) -> UploadSettings {
    let quota_bytes = config.files.quota_mib().map(|mib| i64::try_from(mib * MIB).unwrap_or(i64::MAX));
    let spool_dir = config.database.data_dir.join(SPOOL);
    UploadSettings { max_bytes: config.files.file_max_mib() * MIB, quota_bytes, spool_dir }
}

/// The files of this server.
pub(crate) struct Files {
    store: Arc<dyn ObjectStore>,
    piece_bytes: usize,
    /// The folder, unless files are in S3.
    folder: Option<PathBuf>,
}

impl Files {
    /// Returns where the operator wants them.
    ///
    /// # Errors
    /// When the folder cannot be made, or the address of S3 is none.
    pub(crate) fn open(config: &Config) -> anyhow::Result<Self> {
        make_folder(&config.database.data_dir.join(SPOOL))?;
        match config.files.bucket() {
            Some(bucket) => Self::in_bucket(&bucket),
            None => Self::in_folder(&config.database.data_dir.join(FOLDER)),
        }
    }

    fn in_folder(folder: &std::path::Path) -> anyhow::Result<Self> {
        make_folder(folder)?;
        let store = LocalFileSystem::new_with_prefix(folder)
            .with_context(|| format!("cannot keep files in {}", folder.display()))?;
        // A file that was answered for is on the disk; a folder that lost its last file goes.
        let store = store.with_fsync(true).with_automatic_cleanup(true);
        Ok(Self { store: Arc::new(store), piece_bytes: FOLDER_PIECE, folder: Some(folder.to_owned()) })
    }

    fn in_bucket(bucket: &Bucket<'_>) -> anyhow::Result<Self> {
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket.name)
            .with_region(bucket.region.unwrap_or(USUAL_REGION))
            .with_allow_http(bucket.endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")));
        if let Some(endpoint) = bucket.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some((id, secret)) = bucket.key {
            builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        }
        let store = builder.build().context("cannot keep files in S3")?;
        tracing::info!(bucket = bucket.name, "files are kept in S3");
        let store = PrefixStore::new(store, bucket.prefix);
        Ok(Self { store: Arc::new(store), piece_bytes: S3_PIECE, folder: None })
    }

    /// Closes a file that was written, and the folders it is in, to other users of the machine. The folder of all files
    /// is closed to them from the start ([`make_folder`]), so nothing is open in between.
    fn close_to_others(&self, key: &FileKey) -> Result<(), FileStoreError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let file = folder.join(key.as_str());
        set_mode(&file, FILE_MODE).map_err(failed)?;
        for parent in file.ancestors().skip(1).take_while(|parent| *parent != folder) {
            set_mode(parent, FOLDER_MODE).map_err(failed)?;
        }
        Ok(())
    }

    async fn copy(&self, mut file: tokio::fs::File, writer: &mut WriteMultipart) -> Result<(), FileStoreError> {
        loop {
            let mut piece = BytesMut::with_capacity(self.piece_bytes);
            while piece.len() < self.piece_bytes && file.read_buf(&mut piece).await.map_err(failed)? > 0 {}
            if piece.is_empty() {
                return Ok(());
            }
            writer.wait_for_capacity(PIECES_AT_ONCE).await.map_err(failed)?;
            writer.put(piece.freeze());
        }
    }
}

/// Makes a folder that is closed to other users of the machine; one that is there is closed to them.
pub(crate) fn make_folder(folder: &std::path::Path) -> anyhow::Result<()> {
    let made = std::fs::create_dir_all(folder).and_then(|()| set_mode(folder, FOLDER_MODE));
    made.with_context(|| format!("cannot make the folder {}", folder.display()))
}

/// Read and written by the server's own user alone.
const FILE_MODE: u32 = 0o600;
/// The same of a folder.
const FOLDER_MODE: u32 = 0o700;

#[cfg(unix)]
fn set_mode(path: &std::path::Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &std::path::Path, _: u32) -> std::io::Result<()> {
    Ok(())
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> FileStoreError {
    FileStoreError(error.into())
}

fn path(key: &FileKey) -> Path {
    Path::from(key.as_str())
}

#[async_trait]
impl FileStore for Files {
    async fn put_bytes(&self, key: &FileKey, bytes: Bytes) -> Result<(), FileStoreError> {
        self.store.put(&path(key), PutPayload::from_bytes(bytes)).await.map_err(failed)?;
        self.close_to_others(key)
    }

    async fn put_file(&self, key: &FileKey, file: File) -> Result<(), FileStoreError> {
        let mut file = tokio::fs::File::from_std(file);
        file.seek(SeekFrom::Start(0)).await.map_err(failed)?;
        let upload = self.store.put_multipart(&path(key)).await.map_err(failed)?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, self.piece_bytes);
        match self.copy(file, &mut writer).await {
            Ok(()) => {
                writer.finish().await.map_err(failed)?;
                self.close_to_others(key)
            }
            Err(error) => {
                if let Err(error) = writer.abort().await {
                    tracing::warn!(%error, "the start of a file stays where it is");
                }
                Err(error)
            }
        }
    }

    async fn open(
        &self,
        key: &FileKey,
        range: Option<Range<u64>>,
    ) -> Result<Option<Box<dyn FileReader>>, FileStoreError> {
        let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
        match self.store.get_opts(&path(key), options).await {
            Ok(found) => Ok(Some(Box::new(Reading(found.into_stream())))),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    async fn delete(&self, key: &FileKey) -> Result<(), FileStoreError> {
        match self.store.delete(&path(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

/// A file that is read as the store sends it.
struct Reading(BoxStream<'static, object_store::Result<Bytes>>);

#[async_trait]
impl FileReader for Reading {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, FileStoreError> {
        self.0.next().await.transpose().map_err(failed)
    }
}

#[cfg(test)]
mod tests;
