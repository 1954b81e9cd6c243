//! How long a connection may take over the head of a request, and how long it may stay open between two requests.
//!
//! The HTTP library has one time limit for both, which begins when the answer before was sent: a client that keeps a
//! connection for its next request would have as little time as one that sends a head byte by byte. So both are
//! measured here: a stream that tells when bytes come and go ([`Timed`]), and marks where a head was complete and an
//! answer was given.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// What a connection is doing, and what it is allowed.
pub(super) struct Clock {
    phase: Mutex<Phase>,
    header_timeout: Duration,
    keep_alive_timeout: Duration,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// The head of a request is being read, and has to be complete by then.
    Head(Instant),
    /// A request is being answered.
    Request,
    /// The answer was given, and is not wholly written.
    Answered,
    /// Between two requests; the next one has to begin by then.
    Idle(Instant),
}

impl Clock {
    /// A connection that has just been opened.
    pub(super) fn new(header_timeout: Duration, keep_alive_timeout: Duration) -> Arc<Self> {
        let phase = Mutex::new(Phase::Head(Instant::now() + header_timeout));
        Arc::new(Self { phase, header_timeout, keep_alive_timeout })
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A head is complete.
    pub(super) fn request(&self) {
        *self.phase() = Phase::Request;
    }

    /// The answer to it.
    pub(super) fn answered(self: &Arc<Self>, answer: Response<Body>) -> Response<Body> {
        let given = Given(Arc::clone(self));
        // Of most answers all is there.
        if answer.body().size_hint().exact().is_some() {
            return answer;
        }
        answer.map(|body| Body::new(Streamed { body, _given: given }))
    }

    fn read(&self) {
        let mut phase = self.phase();
        if matches!(*phase, Phase::Idle(_)) {
            *phase = Phase::Head(Instant::now() + self.header_timeout);
        }
    }

    fn flushed(&self) {
        let mut phase = self.phase();
        if matches!(*phase, Phase::Answered) {
            *phase = Phase::Idle(Instant::now() + self.keep_alive_timeout);
        }
    }

    fn until(&self) -> Option<Instant> {
        match *self.phase() {
            Phase::Head(until) | Phase::Idle(until) => Some(until),
            Phase::Request | Phase::Answered => None,
        }
    }
}

/// Marks, when it is dropped, that nothing is added to an answer any more.
struct Given(Arc<Clock>);

impl Drop for Given {
    fn drop(&mut self) {
        *self.0.phase() = Phase::Answered;
    }
}

/// The body of an answer that is made while it is sent.
struct Streamed {
    body: Body,
    _given: Given,
}

impl HttpBody for Streamed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Waits for the time limit of whatever the connection is doing.
pub(super) struct Limit {
    clock: Arc<Clock>,
    sleep: Pin<Box<Sleep>>,
}

impl Limit {
    pub(super) fn of(clock: &Arc<Clock>) -> Self {
        let first = clock.until().unwrap_or_else(Instant::now);
        Self { clock: Arc::clone(clock), sleep: Box::pin(sleep_until(first)) }
    }

    /// Ready when it is over. To be asked whenever the connection was polled.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(until) = self.clock.until() else { return Poll::Pending };
        if self.sleep.is_elapsed() || self.sleep.deadline() > until {
            self.sleep.as_mut().reset(until);
        }
        loop {
            ready!(self.sleep.as_mut().poll(context));
            // It may have been set for something that was over in time.
            if self.sleep.deadline() >= until {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(until);
        }
    }
}

/// A stream that tells its clock when something was read, and when all was written.
pub(super) struct Timed<I> {
    stream: I,
    clock: Arc<Clock>,
}

impl<I> Timed<I> {
    pub(super) fn new(stream: I, clock: &Arc<Clock>) -> Self {
        Self { stream, clock: Arc::clone(clock) }
    }

    pub(super) fn into_inner(self) -> I {
        self.stream
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Timed<I> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = to.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, to))?;
        if to.filled().len() > before {
            self.clock.read();
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Timed<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, from)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.clock.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
