//! What a request reports to the connection it came by: that it waits, and that it can be repeated.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use axum::response::Response;

/// Whether a request has come to where it waits for long, with nothing more to read from its caller.
///
/// A listener that wants to know puts one into each request's extensions and keeps a clone. It may then take the
/// request's future elsewhere, as long as it is polled.
#[derive(Clone, Default)]
pub struct LongWait(Arc<LongWaitState>);

#[derive(Default)]
struct LongWaitState {
    begun: AtomicBool,
    repoll: OnceLock<Arc<dyn Repoll>>,
}

/// A request that its client asks again and again, with another number in its query each time and not a byte of it
/// otherwise different.
///
/// A listener that recognises one may ask for its answer here. It saves finding the route, the account and the
/// parameters again; it does not save a check of anything that may have changed since.
pub trait Repoll: Send + Sync {
    /// Returns the parameter in the query that is the number.
    fn parameter(&self) -> &'static str;

    /// Returns the answer to the same request by the same client with that number: what [`crate::router()`] would
    /// answer. `None` when the caller would not be let in any more; the request is then to be asked in full.
    fn poll_after(self: Arc<Self>, number: i64) -> Option<Pin<Box<dyn Future<Output = Response> + Send>>>;
}

impl LongWait {
    /// Reports that the request waits, once and for all.
    pub fn begin(&self) {
        self.0.begun.store(true, Ordering::Relaxed);
    }

    /// Returns whether the request waits.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed)
    }

    /// Says that the request can be asked again in this way.
    pub fn offer(&self, repoll: impl FnOnce() -> Arc<dyn Repoll>) {
        self.0.repoll.get_or_init(repoll);
    }

    /// Returns how the request can be asked again, if it can.
    #[must_use]
    pub fn repoll(&self) -> Option<&Arc<dyn Repoll>> {
        self.0.repoll.get()
    }
}

impl fmt::Debug for LongWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repeats = self.repoll().map(|repoll| repoll.parameter());
        f.debug_struct("LongWait").field("begun", &self.has_begun()).field("repeats", &repeats).finish()
    }
}
