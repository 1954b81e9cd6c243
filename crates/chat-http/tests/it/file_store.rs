//! Files in memory, and forms that carry some.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use bytes::Bytes;
use chat_core::files::{FileKey, FileReader, FileStore, FileStoreError};

/// A store of files that keeps them in memory.
#[derive(Default)]
pub(crate) struct MemoryFileStore(Mutex<BTreeMap<String, Bytes>>);

impl MemoryFileStore {
    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.0.lock().unwrap()
    }

    /// The keys of all files.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.files().keys().cloned().collect()
    }
}

#[async_trait]
impl FileStore for MemoryFileStore {
    async fn put_bytes(&self, key: &FileKey, bytes: Bytes) -> Result<(), FileStoreError> {
        self.files().insert(key.as_str().to_owned(), bytes);
        Ok(())
    }

    async fn put_file(&self, key: &FileKey, mut file: File) -> Result<(), FileStoreError> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        self.put_bytes(key, bytes.into()).await
    }

    async fn open(
        &self,
        key: &FileKey,
        range: Option<Range<u64>>,
    ) -> Result<Option<Box<dyn FileReader>>, FileStoreError> {
        let found = self.files().get(key.as_str()).cloned();
        let place = |place: u64| usize::try_from(place).unwrap();
        Ok(found.map(|whole| {
            let asked = range.map_or(whole.clone(), |range| whole.slice(place(range.start)..place(range.end)));
            Box::new(MemoryFileReader(asked)) as Box<dyn FileReader>
        }))
    }

    async fn delete(&self, key: &FileKey) -> Result<(), FileStoreError> {
        self.files().remove(key.as_str());
        Ok(())
    }
}

/// A file that comes in pieces.
struct MemoryFileReader(Bytes);

#[async_trait]
impl FileReader for MemoryFileReader {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, FileStoreError> {
        let piece = self.0.split_to(self.0.len().min(7_000));
        Ok((!piece.is_empty()).then_some(piece))
    }
}

/// What stands between the parts of a form.
pub(crate) const BOUNDARY: &str = "-----the-boundary-----";

/// A form with these files: the field, the file's name, the media type that is claimed, and what is in it.
pub(crate) fn form(files: &[(&str, &str, &str, &[u8])]) -> Vec<u8> {
    let mut form = Vec::new();
    for (field, name, media_type, content) in files {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
             Content-Type: {media_type}\r\n\r\n"
        );
        form.extend_from_slice(head.as_bytes());
        form.extend_from_slice(content);
        form.extend_from_slice(b"\r\n");
    }
    form.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    form
}

/// A PNG of that size, red.
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    use image::{ImageFormat, Rgba, RgbaImage};
    let mut bytes = std::io::Cursor::new(Vec::new());
    RgbaImage::from_pixel(width, height, Rgba([200, 0, 0, 255])).write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// A GIF of so many frames, 40 by 30 pixels.
pub(crate) fn gif(frames: u8) -> Vec<u8> {
    use image::codecs::gif::GifEncoder;
    use image::{Frame, Rgba, RgbaImage};
    let mut bytes = Vec::new();
    let frame = |shade: u8| Frame::new(RgbaImage::from_pixel(40, 30, Rgba([shade, 0, 0, 255])));
    GifEncoder::new(&mut bytes).encode_frames((0..frames).map(|place| frame(place * 9))).unwrap();
    bytes
}
