//! What the bytes of files are kept in.

use std::fs::File;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;

use super::FileKey;

/// An operation of the file store failed.
#[derive(Debug, thiserror::Error)]
#[error("the store of files failed: {0}")]
pub struct FileError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// The store of file contents. Every node reaches the same.
#[async_trait]
pub trait FileStore: Send + Sync {
    /// Keeps a small file; it replaces one of that key.
    async fn put(&self, key: &FileKey, bytes: Bytes) -> Result<(), FileError>;

    /// Keeps what is in an open file, from its beginning, and never holds all of it in memory. It is there as a whole
    /// or not at all.
    async fn put_file(&self, key: &FileKey, file: File) -> Result<(), FileError>;

    /// Opens a file, or the bytes of it in a range that lies within; `None` when there is none.
    async fn open(&self, key: &FileKey, range: Option<Range<u64>>) -> Result<Option<Box<dyn FileReader>>, FileError>;

    /// Deletes a file, if it is there.
    async fn delete(&self, key: &FileKey) -> Result<(), FileError>;
}

/// A file that is read piece by piece.
#[async_trait]
pub trait FileReader: Send {
    /// Returns the next piece; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, FileError>;
}
