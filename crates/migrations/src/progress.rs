//! What a start is busy with, told while it is.

use std::sync::{Arc, Mutex, PoisonError};

/// Tells what is being done. Cloning it gives another handle on the same story.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Mutex<String>>);

impl Progress {
    /// Nothing told so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says, to the log and to whoever asks, what is being done from now on.
    pub fn say(&self, what: impl Into<String>) {
        let what = what.into();
        tracing::info!("{what}");
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    /// What was said last; empty before anything was.
    #[must_use]
    pub fn told(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
