//! Logs on stderr, as text for people or as JSON for machines.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Text for people, in color on a terminal.
    Text,
    /// One JSON object per line.
    Json,
}

/// Starts to write log events that pass `filter` to stderr.
pub fn start_logging(format: LogFormat, filter: EnvFilter) {
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
