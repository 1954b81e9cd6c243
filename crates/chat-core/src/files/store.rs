//! What the bytes of files are kept in.

use std::fs::File;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;

use super::FileKey;

/// An operation of the file store failed.
#[derive(Debug, thiserror::Error)]
#[error("the store of files failed: {0}")]
pub struct FileStoreError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// The store of file contents, shared by all nodes. Every node reaches the same.
#[async_trait]
pub trait FileStore: Send + Sync {
    /// Stores a small file from memory, in place of an existing file of that key.
    async fn put_bytes(&self, key: &FileKey, bytes: Bytes) -> Result<(), FileStoreError>;

    /// Stores the content of an open file, from its beginning, without holding all of it in memory. The file is stored
    /// as a whole or not at all.
    async fn put_file(&self, key: &FileKey, file: File) -> Result<(), FileStoreError>;

    /// Opens a file, or the bytes of it in a range that lies within; `None` when there is none.
    async fn open(
        &self,
        key: &FileKey,
        range: Option<Range<u64>>,
    ) -> Result<Option<Box<dyn FileReader>>, FileStoreError>;

    /// Deletes a file, if it is there.
    async fn delete(&self, key: &FileKey) -> Result<(), FileStoreError>;
}

/// A file that is read chunk by chunk.
#[async_trait]
pub trait FileReader: Send {
    /// Returns the next chunk of the file; `None` at the end.
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, FileStoreError>;
}
