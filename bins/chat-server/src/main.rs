//! Team-chat server with the REST API existing clients speak.
//!
//! Owns configuration, the choice of the database engine, clock, chance and the hashing of passwords, the listener
//! and its limits, logs, metrics and shutdown. Refuses rules: those are in `chat-core`, their wire form in
//! `chat-http`, their SQL in `chat-storage`.
//!
//! ```text
//! chat-server --owner-email ada@example.org --owner-password realm_change-me
//! ```

mod config;
mod serve;
mod user;

mod bootstrap;
mod confined;
mod database;
mod export;
mod files;
mod import;
mod keys;
mod mail;
mod memory;
mod passwords;
mod progress;
mod push;
mod system_runtime;
mod web;

mod fast_repoll;
mod long_poll_detach;

use std::process::ExitCode;

use anyhow::Context as _;
use server_kit::config::ConfigEarlyExit;
use server_kit::error_chain::format_error_chain;
use server_kit::logging;

use crate::config::{Command, Config};

/// A request allocates a few hundred times, and the system's allocator keeps for each thread what one hash of a
/// password took.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// So many tasks run before a thread looks for what has arrived. A message wakes all who wait for it, and with the
/// runtime's 61 the first of them are back with their next request, and served, before the last have their answer.
const EVENT_INTERVAL: u32 = 512;

/// The name of the program, before its errors.
const PROGRAM: &str = "chat-server";

fn main() -> ExitCode {
    let config = match config::read(std::env::args_os()) {
        Ok(config) => config,
        Err(end) => return end.print_and_exit_code(PROGRAM),
    };
    if let Err(error) = serve::check(&config) {
        return ConfigEarlyExit::Invalid(format_error_chain(error.as_ref())).print_and_exit_code(PROGRAM);
    }
    logging::start_logging(config.observing.log_format, config.observing.filter());
    match run(&config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("stopping: {}", format_error_chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn run(config: &Config) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().event_interval(EVENT_INTERVAL).enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let done = runtime.block_on(async {
        match config.task() {
            Command::Serve => serve::serve(config).await,
            Command::User(command) => user::run(config, command).await,
            Command::Keys(command) => keys::run(config, command).await,
            Command::Import { folder, .. } => import::run(config, folder).await,
            Command::Export { folder, release } => export::run(config, (folder, *release)).await,
        }
    });
    // What still runs on threads for blocking work ends with the process.
    runtime.shutdown_background();
    done
}
