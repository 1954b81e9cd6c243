//! Ctrl-C and SIGTERM as a value, so that a command ends through its destructors and leaves nothing running.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

/// The status of a process that a second Ctrl-C ended, as shells report it.
const INTERRUPTED: i32 = 130;
const POLL: Duration = Duration::from_millis(50);

/// Remembers that the user asked to stop; a second Ctrl-C ends the process at once.
#[derive(Debug, Clone)]
pub struct Flag(Arc<AtomicBool>);

impl Flag {
    /// Takes over SIGINT and SIGTERM for the rest of the process.
    ///
    /// # Errors
    /// When the handlers cannot be installed.
    pub fn install() -> Result<Self> {
        let raised = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // Registered first, so that it sees the flag as the previous signal left it.
            flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&raised))
                .and_then(|_| flag::register(signal, Arc::clone(&raised)))
                .context("cannot listen for Ctrl-C")?;
        }
        Ok(Self(raised))
    }

    /// A flag that nothing raises.
    #[cfg(test)]
    pub(crate) fn never() -> Self {
        Self(Arc::new(AtomicBool::new(false)))
    }

    /// Whether a signal has arrived.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Blocks until a signal has arrived.
    pub fn wait(&self) {
        while !self.is_raised() {
            thread::sleep(POLL);
        }
    }
}
