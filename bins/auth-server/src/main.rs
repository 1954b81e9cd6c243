//! Authorization server of a FHIR data platform for health payers.
//!
//! Owns configuration, the choice of the database engine, the ports to the outside (partners' key
//! sets, clock, chance), the listener and its limits, logs, metrics and shutdown. Refuses rules:
//! those are in `oauth-core`, their wire form in `auth-http`, their SQL in `auth-storage`.
//!
//! ```text
//! auth-authorization_server --root-client-id root --root-client-secret change-me
//! ```

mod config;
mod keys;
mod serve;

mod bootstrap;
mod clock;
mod database;
mod hashing;
mod health;
mod init_bundle;
mod jwks_fetch;
mod outbound;
mod package_registry;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context as _;
use migrations::init_bundle::InitBundle;
use server_kit::error_chain::format_error_chain;
use server_kit::logging;

use crate::config::{Command, Config};

/// A request allocates a few hundred times, and the system's allocator takes a sixth of the time of a cheap one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The name of the program, before its errors.
const PROGRAM: &str = "auth-server";

fn main() -> ExitCode {
    let config = match config::read(std::env::args_os(), variable) {
        Ok(config) => config,
        Err(end) => return end.print_and_exit_code(PROGRAM),
    };
    let bundle = match init_bundle::load(&config, variable) {
        Ok(bundle) => bundle,
        Err(end) => return end.print_and_exit_code(PROGRAM),
    };
    logging::start_logging(config.observing.log_format, config.observing.filter());
    match run(&config, bundle) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("stopping: {}", format_error_chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn run(config: &Config, bundle: Option<InitBundle>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let hashing = hashing::threads().context("cannot start the runtime of hashing")?;
    let runtime = runtime.context("cannot start the runtime")?;
    let done = runtime.block_on(async {
        match config.task() {
            Command::Serve => serve::serve(config, bundle, hashing.handle()).await,
            Command::Keys(command) => keys::run(config, command).await,
        }
    });
    // What still runs on threads for blocking work ends with the process.
    runtime.shutdown_background();
    hashing.shutdown_background();
    done
}

#[expect(
    clippy::disallowed_methods,
    reason = "clap cannot know variables whose names depend on a value or stand in a file"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
