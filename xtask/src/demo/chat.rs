//! The chat server in the demonstration: started and asked for its health; it has no API to show yet.

use std::path::Path;

use anyhow::Result;

use super::{
    http::Call,
    partner,
    server::{Program, Server, Start},
};
use crate::interrupt;

const PROGRAM: Program = Program { name: "chat-server", listen: "CHAT_LISTEN", data_dir: "CHAT_DATA_DIR" };

/// Starts the chat server; `None` when its binary does not serve.
///
/// # Errors
/// When it runs but does not become healthy.
pub(super) fn start_and_show(binaries: &Path, folder: &Path, interrupted: &interrupt::Flag) -> Result<Option<Server>> {
    let password = partner::secret()?;
    let environment = [
        ("CHAT_REALM_NAME", "Demonstration"),
        ("CHAT_OWNER_EMAIL", "owner@chat.example"),
        ("CHAT_OWNER_NAME", "Owner"),
        ("CHAT_OWNER_PASSWORD", password.as_str()),
    ];
    match Server::start(&PROGRAM, binaries, folder, &environment, interrupted)? {
        Start::Serving(server) => {
            println!("\nchat-server serves {}.", server.base_url());
            println!("Its API under /api/v1 is not built yet, so no message is sent here. To try:");
            println!("{}", Call::get(format!("{}/health", server.base_url())).curl());
            Ok(Some(server))
        }
        Start::Ended { status, log } => {
            println!("\nchat-server is not built yet: its binary does not serve, it ended at once ({status}).");
            if !log.trim().is_empty() {
                println!("{}", log.trim());
            }
            Ok(None)
        }
    }
}
