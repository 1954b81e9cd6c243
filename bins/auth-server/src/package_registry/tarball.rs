//! A tarball in a file.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use migrations::package::DownloadedTarball;

/// A file that is open: it can be read as long as it is held, also when its name is gone.
#[derive(Debug)]
pub(super) struct FileTarball(Arc<File>);

impl FileTarball {
    pub(super) fn new(file: File) -> Self {
        Self(Arc::new(file))
    }
}

impl DownloadedTarball for FileTarball {
    fn open_reader(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Reader { file: Arc::clone(&self.0), place: 0 }))
    }
}

/// A place in a file of its own, because readers of one file share the place the system keeps.
struct Reader {
    file: Arc<File>,
    place: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.place)?;
        self.place = self.place.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}
