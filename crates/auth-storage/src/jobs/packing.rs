//! The parts of files as they are kept: each packed by itself.
//!
//! What is exported repeats itself, so packed it is a small part of what it was: less to write and to keep. It is
//! unpacked again for whoever asks, a part at a time. Sent as they are, one after another, the parts would be one gzip
//! stream by RFC 1952 (section 2.2), but there are clients (httpx 0.28) that take its first member for the whole and
//! lose the rest without a word.

use std::io::{self, Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tokio::task::{JoinError, spawn_blocking};

use super::rows::Part;

/// Lines that are packed.
pub(super) fn packed(lines: &[u8]) -> io::Result<Vec<u8>> {
    // The quickest: better ones take several times as long for a quarter less. There is room for what packs badly: a
    // vector that grows to it has up to twice as much.
    let mut encoder = GzEncoder::new(Vec::with_capacity(lines.len() / 8 * 5), Compression::fast());
    encoder.write_all(lines)?;
    let mut packed = encoder.finish()?;
    packed.shrink_to_fit();
    Ok(packed)
}

/// Lines as they were, on a thread where nobody waits.
pub(super) async fn unpacked(packed: Vec<u8>) -> io::Result<Vec<u8>> {
    let unpack = move || {
        let mut lines = Vec::with_capacity(packed.len() * 4);
        GzDecoder::new(&packed[..]).read_to_end(&mut lines)?;
        Ok(lines)
    };
    spawn_blocking(unpack).await.map_err(io::Error::other)?
}

/// Lines that will be a part of a file.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) file: String,
    pub(super) number: i64,
    pub(super) resources: i64,
    pub(super) content: Vec<u8>,
}

impl Lines {
    /// Returns the part they make.
    pub(super) fn packed(self) -> io::Result<Part> {
        let Self { file, number, resources, content } = self;
        let size_bytes = i64::try_from(content.len()).unwrap_or(i64::MAX);
        Ok(Part { file, number, resources, size_bytes, packed: packed(&content)? })
    }
}

/// Parts being packed, on threads of their own and few at once.
#[derive(Debug, Default)]
pub(super) struct Packer {
    under_way: std::collections::VecDeque<tokio::task::JoinHandle<io::Result<Part>>>,
    done: Vec<Part>,
}

/// Parts packed at the same time; with what is read meanwhile they are all the lines that are held.
const AT_ONCE: usize = 2;

impl Packer {
    /// Takes lines, when there is room for them.
    pub(super) async fn add(&mut self, lines: Lines) -> io::Result<()> {
        while self.under_way.len() >= AT_ONCE {
            self.take_oldest().await?;
        }
        self.under_way.push_back(spawn_blocking(move || lines.packed()));
        Ok(())
    }

    /// All parts, in the order in which they came.
    pub(super) async fn finish(mut self) -> io::Result<Vec<Part>> {
        while !self.under_way.is_empty() {
            self.take_oldest().await?;
        }
        Ok(self.done)
    }

    async fn take_oldest(&mut self) -> io::Result<()> {
        if let Some(oldest) = self.under_way.pop_front() {
            self.done.push(oldest.await.map_err(|error: JoinError| io::Error::other(error))??);
        }
        Ok(())
    }
}
