//! How far a long command is, on stderr, when a user looks.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The steps of one part of a command.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Shows nothing where stderr is no terminal.
    pub(crate) fn new(what: &'static str, steps: usize) -> Self {
        let bar = ProgressBar::new(u64::try_from(steps).unwrap_or(u64::MAX)).with_message(what);
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Shows nothing: where a server does it.
    pub(crate) fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// There are so many steps, now that they are known.
    pub(crate) fn expect(&self, steps: u64) {
        self.0.set_length(steps);
    }

    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}
