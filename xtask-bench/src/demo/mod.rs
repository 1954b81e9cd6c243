//! `cargo xtask demo`: both servers on their embedded database, doing their main job before the reader's eyes.
//!
//! At its end stand the address of a small app, and a member who may let it in, in a browser.
//!
//! It talks to them over HTTP alone, with a third-party client and a third-party JWT library, as a partner
//! would; every command it prints is one of the calls it made or would make.

mod app;
mod auth;
mod chat;
pub(crate) mod http;
mod partner;
pub(crate) mod server;

use anyhow::{Context, Result};
use clap::Args;
use xshell::{Shell, cmd};

use xtask::{interrupt, workspace::Workspace};

/// What the demonstration does at its end.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Options {
    /// End after the run instead of waiting for Ctrl-C; status 0 only when the claim was in the token, the message
    /// arrived, and the app sends a browser to the page where a member signs in.
    #[arg(long)]
    exit: bool,
}

/// Builds, starts, shows, waits. Both servers and their data are gone when it returns.
///
/// # Errors
/// When a build fails, a server does not come up, or the run did not show the claim or the message.
pub(crate) fn run(workspace: &Workspace, options: Options) -> Result<()> {
    let interrupted = interrupt::Flag::install()?;
    build(workspace)?;
    let folder = tempfile::Builder::new()
        .prefix("demo-")
        .tempdir()
        .context("cannot create a folder for the demonstration data")?;
    let binaries = workspace.target.join("debug");

    let auth = auth::start(&binaries, folder.path(), &interrupted)?;
    auth.show()?;
    let chat = chat::start(&binaries, folder.path(), &interrupted)?;
    chat.show()?;
    let app = app::start(&auth)?;
    app.show()?;

    if !options.exit {
        println!("\nCtrl-C ends the app and both servers, and removes their data.");
        interrupted.wait();
    }
    // Explicit, so that the order is clear: the servers end before their data goes.
    drop(app);
    drop(chat);
    drop(auth);
    Ok(())
}

/// The dev profile: it is minutes faster from a fresh clone, and nothing here is measured.
fn build(workspace: &Workspace) -> Result<()> {
    println!("Building both servers; the first time takes some minutes, and cargo says what it is at …");
    let shell = Shell::new()?;
    shell.change_dir(&workspace.root);
    cmd!(shell, "cargo build -p auth-server -p chat-server").quiet().run().context("the servers do not build")
}
