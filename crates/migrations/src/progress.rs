//! What a start is doing, reported while it runs.

use std::sync::{Arc, Mutex, PoisonError};

/// Reports what a migration is doing. A clone is a handle on the same report.
#[derive(Debug, Clone, Default)]
pub struct ProgressReporter(Arc<Mutex<String>>);

impl ProgressReporter {
    /// Nothing was reported so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports, to the log and to readers, what is being done from now on.
    pub fn say(&self, what: impl Into<String>) {
        let what = what.into();
        tracing::info!("{what}");
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    /// Returns what was said last; empty before anything was.
    #[must_use]
    pub fn told(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
