//! Team-chat server with the REST API existing clients speak.
//!
//! Owns configuration, the listener and its limits, logs, metrics and shutdown; refuses to hold a
//! rule of the chat. In this version the chat API itself is not built: the server answers `/health`,
//! and everything under `/api/v1` with the envelope of a 404, so that no client takes it for more.
//!
//! Key decision: the accept loop is our own, over `hyper`. The ready-made ones stop accepting at
//! the connection limit, where the caller then waits for nothing; ours answers 503.
//!
//! ```text
//! chat-server --listen 127.0.0.1:9991
//! ```

mod api;
mod config;
mod listen;
mod logging;
mod metrics;
mod shutdown;
mod tls;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use tokio::task::JoinSet;

use crate::config::Config;
use crate::listen::{Limits, Listener, Tolerance};
use crate::shutdown::Stop;

fn main() -> ExitCode {
    let config = match config::read(std::env::args_os()) {
        Ok(config) => config,
        Err(end) => return end.exit_code(),
    };
    logging::start(&config.log);
    match serve(&config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("stopping: {}", reason(&error));
            ExitCode::FAILURE
        }
    }
}

fn serve(config: &Config) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(run(config))
}

async fn run(config: &Config) -> anyhow::Result<()> {
    let mut background = JoinSet::new();
    let stop = Stop::on_signal(&mut background).context("cannot wait for signals")?;
    let tls = match config.tls.files() {
        Some((certificate, key)) => {
            let tls = tls::Tls::load(certificate, key)?;
            background.spawn(Arc::clone(&tls).reload_on_hangup(tls::hangup()?));
            Some(tls)
        }
        None => None,
    };
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        "starting: no database, because the chat API is not part of this version; \
         all of /api/v1 answers 404"
    );
    let metrics = metrics_listener(config, &mut background).await?;
    let listener = Listener::bind(config.listen, limits(config), tls).await?;
    tracing::info!("listening on {}", listener.url());
    tokio::join!(
        listener.serve(api::router(config.limits.rate_limit_per_ip()), stop.clone()),
        serve_metrics(metrics, stop)
    );
    tracing::info!("stopped");
    Ok(())
}

fn limits(config: &Config) -> Limits {
    Limits {
        header_timeout: config.limits.header_timeout(),
        connections_max: config.limits.connections_max(),
        connections_per_address: config.limits.connections_per_address(),
        tolerance: Tolerance::default(),
    }
}

async fn metrics_listener(config: &Config, background: &mut JoinSet<()>) -> anyhow::Result<Option<(Listener, Router)>> {
    let Some(address) = config.metrics.metrics_listen else {
        return Ok(None);
    };
    let router = metrics::install(background)?;
    let listener = Listener::bind(address, limits(config), None).await?;
    tracing::info!("metrics at {}/metrics", listener.url());
    Ok(Some((listener, router)))
}

async fn serve_metrics(metrics: Option<(Listener, Router)>, stop: Stop) {
    if let Some((listener, router)) = metrics {
        listener.serve(router, stop).await;
    }
}

/// All causes in one line, each said once: some say their own cause already.
fn reason(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !line.contains(&cause) {
            line.extend([if line.is_empty() { "" } else { ": " }, &cause]);
        }
    }
    line.replace('\n', " ")
}
