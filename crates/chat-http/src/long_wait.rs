//! What a request tells the connection it came by: that it waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a request has come to where it waits for long, with nothing more to read from its caller.
///
/// A listener that wants to know puts one into each request's extensions and keeps a clone. It may then take the
/// request's future elsewhere, as long as somebody polls it.
#[derive(Debug, Clone, Default)]
pub struct LongWait(Arc<AtomicBool>);

impl LongWait {
    /// Says so, once and for all.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was said.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
