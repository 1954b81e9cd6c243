//! Logs on stderr, as text for people or as JSON for machines.

use std::io::IsTerminal as _;

use crate::config::{LogFormat, ObservingConfig};

/// Sends everything logged from now on to stderr.
pub(crate) fn start(config: &ObservingConfig) {
    let builder = tracing_subscriber::fmt().with_env_filter(config.filter()).with_writer(std::io::stderr);
    match config.log_format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
