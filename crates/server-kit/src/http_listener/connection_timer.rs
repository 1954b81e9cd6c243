//! The time limits of a connection: for the head of a request, and between two requests.
//!
//! The HTTP library has one time limit for both, which begins when the response before was sent: a client that reuses a
//! connection for its next request would have as little time as one that sends a head byte by byte. So both are
//! measured here, by a stream that reports when bytes are read and written
//! ([`ObservedStream`](super::detach::ObservedStream)), and by marks where a head was complete and a response was
//! given.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// The phase of a connection, and the limits of each phase.
pub(super) struct ConnectionTimer {
    phase: Mutex<Phase>,
    header_timeout: Duration,
    keep_alive_timeout: Duration,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// The head of a request is being read, and has to be complete by then.
    Head(Instant),
    /// The response to a request is being made.
    Request,
    /// The response is complete, and not wholly written.
    Responded,
    /// Between two requests; the next one has to begin by then.
    Idle(Instant),
}

impl ConnectionTimer {
    /// Creates the timer of a connection that was just opened.
    pub(super) fn new(header_timeout: Duration, keep_alive_timeout: Duration) -> Arc<Self> {
        let phase = Mutex::new(Phase::Head(Instant::now() + header_timeout));
        Arc::new(Self { phase, header_timeout, keep_alive_timeout })
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a head is complete.
    pub(super) fn head_complete(&self) {
        *self.phase() = Phase::Request;
    }

    /// Records the response, or returns one that records when its body ends.
    pub(super) fn responded(self: &Arc<Self>, response: Response<Body>) -> Response<Body> {
        let complete = OnComplete(Arc::clone(self));
        // Most responses are complete already.
        if response.body().size_hint().exact().is_some() {
            return response;
        }
        response.map(|body| Body::new(StreamedBody { body, _complete: complete }))
    }

    pub(super) fn bytes_read(&self) {
        let mut phase = self.phase();
        if matches!(*phase, Phase::Idle(_)) {
            *phase = Phase::Head(Instant::now() + self.header_timeout);
        }
    }

    pub(super) fn flushed(&self) {
        let mut phase = self.phase();
        if matches!(*phase, Phase::Responded) {
            *phase = Phase::Idle(Instant::now() + self.keep_alive_timeout);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match *self.phase() {
            Phase::Head(until) | Phase::Idle(until) => Some(until),
            Phase::Request | Phase::Responded => None,
        }
    }
}

/// Records, when it is dropped, that the response is complete.
struct OnComplete(Arc<ConnectionTimer>);

impl Drop for OnComplete {
    fn drop(&mut self) {
        *self.0.phase() = Phase::Responded;
    }
}

/// The body of a response that is made while it is sent.
struct StreamedBody {
    body: Body,
    _complete: OnComplete,
}

impl HttpBody for StreamedBody {
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

/// Waits for the time limit of the phase that a connection is in.
pub(super) struct Deadline {
    timer: Arc<ConnectionTimer>,
    sleep: Pin<Box<Sleep>>,
}

impl Deadline {
    pub(super) fn of(timer: &Arc<ConnectionTimer>) -> Self {
        let first = timer.deadline().unwrap_or_else(Instant::now);
        Self { timer: Arc::clone(timer), sleep: Box::pin(sleep_until(first)) }
    }

    /// Ready when the time is over. To be polled whenever the connection was polled.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(until) = self.timer.deadline() else { return Poll::Pending };
        if self.sleep.is_elapsed() || self.sleep.deadline() > until {
            self.sleep.as_mut().reset(until);
        }
        loop {
            ready!(self.sleep.as_mut().poll(context));
            // It may have been set for an earlier phase, which ended in time.
            if self.sleep.deadline() >= until {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(until);
        }
    }
}
