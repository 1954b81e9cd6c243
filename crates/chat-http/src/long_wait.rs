//! What a request tells the connection it came by: that it waits, and that it can be asked again.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use axum::response::Response;

/// Whether a request has come to where it waits for long, with nothing more to read from its caller.
///
/// A listener that wants to know puts one into each request's extensions and keeps a clone. It may then take the
/// request's future elsewhere, as long as somebody polls it.
#[derive(Clone, Default)]
pub struct LongWait(Arc<Told>);

#[derive(Default)]
struct Told {
    begun: AtomicBool,
    repeat: OnceLock<Arc<dyn Repeat>>,
}

/// A request that its client asks again and again, with another number in its query each time and not a byte of it
/// otherwise different.
///
/// A listener that recognises one may ask for its answer here. It saves finding the route, the account and the
/// parameters anew; it does not save a check of anything that may have changed since.
pub trait Repeat: Send + Sync {
    /// Returns the parameter in the query that is the number.
    fn parameter(&self) -> &'static str;

    /// Returns the answer to the same request by the same client with that number: what [`crate::router()`] would
    /// answer. `None` when the caller would not be let in any more; the request is then to be asked in full.
    fn again(self: Arc<Self>, number: i64) -> Option<Pin<Box<dyn Future<Output = Response> + Send>>>;
}

impl LongWait {
    /// Says so, once and for all.
    pub fn begin(&self) {
        self.0.begun.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was said.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed)
    }

    /// Says that the request can be asked again in this way.
    pub fn offer(&self, repeat: impl FnOnce() -> Arc<dyn Repeat>) {
        self.0.repeat.get_or_init(repeat);
    }

    /// Returns how the request can be asked again, if it can.
    #[must_use]
    pub fn repeat(&self) -> Option<&Arc<dyn Repeat>> {
        self.0.repeat.get()
    }
}

impl fmt::Debug for LongWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repeats = self.repeat().map(|repeat| repeat.parameter());
        f.debug_struct("LongWait").field("begun", &self.has_begun()).field("repeats", &repeats).finish()
    }
}
