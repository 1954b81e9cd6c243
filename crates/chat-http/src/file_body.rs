//! A file as the body of an answer, piece by piece.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use chat_core::files::{FileReader, FileStoreError};
use http_body::Frame;

type PieceFuture = Pin<Box<dyn Future<Output = (Box<dyn FileReader>, Result<Option<Bytes>, FileStoreError>)> + Send>>;

/// Returns the body that a reader reads. It breaks off where the store fails.
pub(crate) fn streamed(reader: Box<dyn FileReader>) -> Body {
    Body::new(FileBody { reading: Some(read(reader)) })
}

struct FileBody {
    /// `None` after the end.
    reading: Option<PieceFuture>,
}

fn read(mut reader: Box<dyn FileReader>) -> PieceFuture {
    Box::pin(async move {
        let piece = reader.next_chunk().await;
        (reader, piece)
    })
}

impl http_body::Body for FileBody {
    type Data = Bytes;
    type Error = FileStoreError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, FileStoreError>>> {
        let Some(reading) = &mut self.reading else { return Poll::Ready(None) };
        let (reader, piece) = ready!(reading.as_mut().poll(context));
        self.reading = None;
        match piece {
            Ok(Some(piece)) => {
                self.reading = Some(read(reader));
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Ok(None) => Poll::Ready(None),
            Err(error) => {
                tracing::error!(%error, "a file broke off while it was sent");
                Poll::Ready(Some(Err(error)))
            }
        }
    }
}
