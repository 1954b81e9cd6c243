//! A request body that has to keep coming.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes that buy one more second over [`Pace::total_max`]: 20 MiB may take eleven minutes more,
/// which a poor mobile line needs, and whoever wants to hold a connection for long pays for it.
const BYTES_PER_SECOND_MIN: u64 = 32 * 1024;

/// How slow a request body may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Longest time without a byte.
    pub(crate) pause_max: Duration,
    /// Longest time for all of it, and a second more for every 32 KiB that came.
    pub(crate) total_max: Duration,
}

/// Whether a body was given up because it was too slow. Clones share the answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Late(Arc<AtomicBool>);

impl Late {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A body under a [`Pace`]. Its reader sees it break off with [`io::ErrorKind::TimedOut`], however
/// often it asks again.
pub(crate) struct PacedBody {
    body: Incoming,
    pace: Pace,
    late: Late,
    /// When the handler first asked: what it did before that is not the sender's fault.
    started: Option<Instant>,
    received_bytes: u64,
    /// the end of the sender's patience, while it owes the next frame.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl PacedBody {
    /// `late` is set when the body turns out too slow.
    pub(crate) fn new(body: Incoming, pace: Pace, late: Late) -> Self {
        Self { body, pace, late, started: None, received_bytes: 0, waiting: None }
    }

    fn deadline(&self, started: Instant) -> Instant {
        let earned = Duration::from_secs(self.received_bytes / BYTES_PER_SECOND_MIN);
        let total_end = started + self.pace.total_max + earned;
        total_end.min(Instant::now() + self.pace.pause_max)
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        if this.late.is_set() {
            return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
        }
        let started = *this.started.get_or_insert_with(Instant::now);
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            this.waiting = None;
            if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
                let size_bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
                this.received_bytes = this.received_bytes.saturating_add(size_bytes);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)));
        }
        let deadline = this.deadline(started);
        let waiting = this.waiting.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        ready!(waiting.as_mut().poll(cx));
        this.late.0.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
