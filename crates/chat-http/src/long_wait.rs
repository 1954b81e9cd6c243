//! What a request reports to the connection it came by: that it waits, and that it can be repeated.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use axum::response::Response;

/// The signal that a request has come to where it waits for long, with nothing more to read from its caller.
///
/// A listener that wants to know puts one into each request's extensions and keeps a clone. It may then take the
/// request's future elsewhere, as long as it is polled.
#[derive(Clone, Default)]
pub struct LongPollSignal(Arc<LongWaitState>);

#[derive(Default)]
struct LongWaitState {
    begun: AtomicBool,
    repoll: OnceLock<Arc<dyn RepollableRequest>>,
}

/// A request that its client repeats, each time with another number in its query and not a byte of it otherwise
/// different.
///
/// A listener that recognises one may ask for its answer here. It saves finding the route, the account and the
/// parameters again; it does not save a check of anything that may have changed since.
pub trait RepollableRequest: Send + Sync {
    /// Returns the name of the query parameter whose number varies.
    fn varying_query_parameter(&self) -> &'static str;

    /// Returns the response to the same request by the same client with this number, as [`crate::build_chat_service()`]
    /// would answer it. `None` when the caller would not be let in any more; the request is then to be asked in full.
    fn answer_with_number(self: Arc<Self>, number: i64) -> Option<Pin<Box<dyn Future<Output = Response> + Send>>>;
}

impl LongPollSignal {
    /// Reports that the request waits, once and for all.
    pub fn report_waiting(&self) {
        self.0.begun.store(true, Ordering::Relaxed);
    }

    /// Returns whether the request waits.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed)
    }

    /// Offers a way to poll the same request again.
    pub fn offer_repoll(&self, repoll: impl FnOnce() -> Arc<dyn RepollableRequest>) {
        self.0.repoll.get_or_init(repoll);
    }

    /// Returns the offered way to poll the request again, if any.
    #[must_use]
    pub fn offered_repoll(&self) -> Option<&Arc<dyn RepollableRequest>> {
        self.0.repoll.get()
    }
}

impl fmt::Debug for LongPollSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repeats = self.offered_repoll().map(|repoll| repoll.varying_query_parameter());
        f.debug_struct("LongWait").field("begun", &self.is_waiting()).field("repeats", &repeats).finish()
    }
}
