//! The rate at which a request body has to arrive.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// Longest pause inside a request body; after it the answer is 408.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Longest time for a request body, beside what its size earns it; after it the answer is 408.
const TOTAL_MAX: Duration = Duration::from_mins(1);
/// Bytes that earn a body one more second over [`MinimumBodyRate::total_max`]: 20 MiB may take eleven minutes more,
/// which a poor mobile line needs. A client that holds a connection for long has to send for it.
const BYTES_PER_SECOND_MIN: u64 = 32 * 1024;

/// The lowest rate at which a request body may arrive. The default is for every client, so no operator sets it.
#[derive(Debug, Clone, Copy)]
pub struct MinimumBodyRate {
    /// Longest time between two parts of the body.
    pub pause_max: Duration,
    /// Longest time for the whole body, plus a second for every 32 KiB that arrived.
    pub total_max: Duration,
}

impl Default for MinimumBodyRate {
    fn default() -> Self {
        Self { pause_max: PAUSE_MAX, total_max: TOTAL_MAX }
    }
}

/// A flag that is set when a body was too slow. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct TooSlow(Arc<AtomicBool>);

impl TooSlow {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A body with a [`MinimumBodyRate`]. When it is too slow, every further read returns [`io::ErrorKind::TimedOut`].
pub(super) struct RatedBody {
    body: Incoming,
    rate: MinimumBodyRate,
    too_slow: TooSlow,
    /// The time of the handler's first read: the time before that is not the sender's.
    started: Option<Instant>,
    received_bytes: u64,
    /// The deadline of the next frame, while the handler waits for it.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl RatedBody {
    /// Limits `body`; `too_slow` is set when it arrives too slowly.
    pub(super) fn new(body: Incoming, rate: MinimumBodyRate, too_slow: TooSlow) -> Self {
        Self { body, rate, too_slow, started: None, received_bytes: 0, waiting: None }
    }

    fn deadline(&self, started: Instant) -> Instant {
        let earned = Duration::from_secs(self.received_bytes / BYTES_PER_SECOND_MIN);
        let total_end = started + self.rate.total_max + earned;
        total_end.min(Instant::now() + self.rate.pause_max)
    }
}

impl Body for RatedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        if this.too_slow.is_set() {
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
        this.too_slow.0.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
