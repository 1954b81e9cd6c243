//! What a start is doing, reported while it runs.

use std::sync::{Arc, Mutex, PoisonError};

/// A reporter of what a migration is doing. Clones share the report.
#[derive(Debug, Clone, Default)]
pub struct ProgressReporter(Arc<Mutex<String>>);

impl ProgressReporter {
    /// Creates a reporter that has reported nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports the current activity, to the log and to readers.
    pub fn report(&self, what: impl Into<String>) {
        let what = what.into();
        tracing::info!("{what}");
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    /// Returns the last report; empty before the first.
    #[must_use]
    pub fn last_report(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
